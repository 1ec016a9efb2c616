//! Metrics of what the records felt: recovery, delayed records, and the cost to the tasks that stayed in place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RunInput, balance};
use crate::histogram::{self, merge, ms};
use crate::latency::{Distribution, INTERVAL_US, IntervalSummary, interval_of};

/// What the tasks that never moved paid while others did, by intended arrival.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForegroundCost {
    /// Tasks that stayed with their owner throughout.
    pub tasks: u64,
    /// 99th percentile of their latency before the first event, in milliseconds.
    pub p99_at_rest_ms: f64,
    /// The same in the window.
    pub p99_in_window_ms: f64,
    /// The second over the first.
    pub p99_ratio: f64,
    /// Latency in the window beyond the mean at rest, summed over records, in seconds.
    pub excess_latency_s: f64,
}

/// `None` where there is nothing to compare: no window, no unmoved task, or no record on either side.
pub(super) fn foreground_cost(input: &RunInput<'_>) -> Option<ForegroundCost> {
    input.latency.window_us?;
    let moved = balance::moves(input);
    let unmoved: Vec<_> = input
        .tasks
        .iter()
        .zip(&input.latency.tasks)
        .filter(|(name, _)| !moved.iter().any(|task| task == *name))
        .map(|(_, latency)| latency)
        .collect();
    let (rest, rest_sum_us) = total(unmoved.iter().map(|task| &task.rest));
    let (window, window_sum_us) = total(unmoved.iter().map(|task| &task.window));
    if rest.is_empty() || window.is_empty() {
        return None;
    }
    let (at_rest, in_window) = (rest.value_at_quantile(0.99), window.value_at_quantile(0.99));
    let mean_at_rest_us = rest_sum_us as f64 / rest.len() as f64;
    let excess_us = window_sum_us as f64 - mean_at_rest_us * window.len() as f64;
    Some(ForegroundCost {
        tasks: unmoved.len() as u64,
        p99_at_rest_ms: ms(at_rest),
        p99_in_window_ms: ms(in_window),
        p99_ratio: in_window as f64 / at_rest.max(1) as f64,
        excess_latency_s: excess_us / 1e6,
    })
}

fn total<'a>(parts: impl Iterator<Item = &'a Distribution>) -> (hdrhistogram::Histogram<u64>, u64) {
    let mut sum = histogram::empty();
    let mut sum_us = 0;
    for part in parts {
        merge(&mut sum, &part.histogram);
        sum_us += part.sum_us;
    }
    (sum, sum_us)
}

/// Records of the window that came later than the SLO allows; those that never came are later still.
pub(super) fn delayed_records(input: &RunInput<'_>) -> u64 {
    let never = if input.latency.window_us.is_some() { input.undrained } else { 0 };
    input.latency.counts.window_late + never
}

/// From an event to the end of the last 100 ms interval, before the next event, whose 99th percentile was over the
/// SLO: 0 if there was none; `None` if latency never came back (the last interval that served anything was over, or
/// records were left over).
pub(super) fn recovery_us(
    input: &RunInput<'_>,
    intervals: &[IntervalSummary],
    at_us: i64,
    until_us: Option<i64>,
) -> Option<u64> {
    let slo_ms = ms(input.latency.slo_us);
    let after = intervals
        .iter()
        .filter(|interval| interval.index >= interval_of(at_us))
        .filter(|interval| until_us.is_none_or(|until_us| interval.index < interval_of(until_us)));
    let mut last_over = None;
    let mut last_served = None;
    for interval in after {
        last_served = Some(interval.index);
        if interval.latency_ms.p99 > slo_ms {
            last_over = Some(interval.index);
        }
    }
    let left_over = until_us.is_none() && input.undrained > 0;
    if left_over || (last_over.is_some() && last_over == last_served) {
        return None;
    }
    Some(last_over.map_or(0, |index| u64::try_from((index + 1) * INTERVAL_US - at_us).unwrap_or(0)))
}
