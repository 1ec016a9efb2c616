//! Whether the warm-up was long enough, by a stated rule.
//!
//! A scenario sets the warm-up's length, so that all strategies and trials start their clocks at the same time. The
//! rule judges it afterwards: a start that is still slow (cold caches, a backlog) shows in a first second that is
//! slower than what follows it at rest.

use crate::figure::middle;
use crate::latency::LatencyRecord;

/// Intervals in the second after the warm-up.
const FIRST: i64 = 10;
/// How far above the rest the first second may lie.
const FACTOR: f64 = 1.5;

/// A warning if the first second after the warm-up was slower than the time from there to the first scripted event:
/// its median of interval p99s more than 1.5 times that of the rest. `None` if all is well, or if there is less than
/// a second of rest to compare with.
#[must_use]
pub fn check(latency: &LatencyRecord) -> Option<String> {
    let until = latency.window_us.map_or(i64::MAX, |(from_us, _)| crate::latency::interval_of(from_us));
    let at_rest: Vec<_> = latency
        .per_interval()
        .into_iter()
        .filter(|interval| (0..until).contains(&interval.index))
        .map(|interval| (interval.index, interval.latency_ms.p99))
        .collect();
    let p99s = |first: bool| {
        at_rest
            .iter()
            .filter(|(index, _)| (*index < FIRST) == first)
            .map(|(_, p99)| *p99)
            .collect::<Vec<f64>>()
    };
    if (p99s(false).len() as i64) < FIRST {
        return None;
    }
    let (first, rest) = (middle(p99s(true))?, middle(p99s(false))?);
    (first > rest * FACTOR).then(|| {
        format!(
            "latency had not settled when the warm-up ended (p99 {first:.1} ms in the first second, {rest:.1} ms \
             after it): a longer `warm_up` is needed"
        )
    })
}
