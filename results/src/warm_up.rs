//! Whether the warm-up was long enough, by a stated rule.
//!
//! A scenario sets the warm-up's length, so that all strategies and trials start their clocks at the same time. The
//! rule judges it afterwards: a start that is still slow (cold caches, a backlog) shows in a first second that is
//! slower than what follows it at rest.

use hdrhistogram::Histogram;

use crate::figure::middle;
use crate::histogram::{self, ms};
use crate::latency::{IntervalSummary, LatencyRecord};

/// Intervals in the second after the warm-up.
const FIRST: i64 = 10;
/// How far above the rest the first second may lie.
const FACTOR: f64 = 1.5;

/// The 99th percentiles of the intervals between the end of the warm-up and the first scripted event.
#[derive(Clone, Debug)]
pub struct Settling {
    /// Those of the first second, in milliseconds.
    first: Vec<f64>,
    /// Those after it, in microseconds: a histogram, because nobody knows how many there will be.
    rest: Histogram<u32>,
}

impl Default for Settling {
    fn default() -> Self {
        Self { first: Vec::new(), rest: histogram::empty() }
    }
}

impl Settling {
    /// Takes in an interval at rest.
    pub(crate) fn add(&mut self, interval: &IntervalSummary) {
        if interval.index < FIRST {
            self.first.push(interval.latency_ms.p99);
        } else {
            histogram::record(&mut self.rest, (interval.latency_ms.p99 * 1_000.0).round() as u64, 1);
        }
    }
}

/// A warning if the first second after the warm-up was slower than the time from there to the first scripted event:
/// its median of interval p99s more than 1.5 times that of the rest. `None` if all is well, or if there is less than
/// a second of rest to compare with.
#[must_use]
pub fn check(latency: &LatencyRecord) -> Option<String> {
    let Settling { first, rest } = &latency.settling;
    if (rest.len() as i64) < FIRST {
        return None;
    }
    let (first, rest) = (middle(first.clone())?, ms(rest.value_at_quantile(0.5)));
    (first > rest * FACTOR).then(|| {
        format!(
            "latency had not settled when the warm-up ended (p99 {first:.1} ms in the first second, {rest:.1} ms \
             after it): a longer `warm_up` is needed"
        )
    })
}
