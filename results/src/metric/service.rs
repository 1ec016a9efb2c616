//! Metrics of what the records felt: recovery, delayed records, and the cost to the tasks that stayed in place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RunInput, balance};
use crate::histogram::{self, merge, ms};
use crate::latency::{Distribution, INTERVAL_US, interval_of};
use crate::pause::Pause;
use crate::stretches::Stretches;

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

/// The 100 ms intervals in which service was not as it should be, and the last one that is known of.
pub(super) struct Late {
    intervals: Stretches,
    last: i64,
    /// Whether records were left over: service was late to the end and beyond.
    left_over: bool,
}

impl Late {
    /// An interval is late if the 99th percentile of what was served in it was over the SLO, or if a task had then been
    /// paused for longer than that: its records are late already, though none has been served yet to show it.
    pub(super) fn new(input: &RunInput<'_>, pauses: &[Pause]) -> Self {
        let slo_us = input.latency.slo_us;
        let mut intervals = input.latency.late.clone();
        for pause in pauses.iter().filter(|pause| pause.us() > slo_us) {
            let late_us = pause.start_us.saturating_add_unsigned(slo_us);
            intervals.add(interval_of(late_us), interval_of(pause.end_us));
        }
        let last_served = input.latency.last_interval.unwrap_or(0);
        let left_over = input.undrained > 0 || pauses.iter().any(|pause| pause.censored);
        Late { intervals, last: last_served, left_over }
    }

    /// From an event to the end of the last late interval before the next event; if that one is still late when the
    /// next event comes, to the end of the late intervals in a row. 0 if there was none; `None` if service was late to
    /// the end of the run.
    pub(super) fn recovery_us(&self, at_us: i64, until_us: Option<i64>) -> Option<u64> {
        let until = until_us.map_or(i64::MAX, interval_of);
        let Some(mut last) = self.intervals.last_in(interval_of(at_us), until) else {
            return Some(0).filter(|_| until_us.is_some() || !self.left_over);
        };
        if last + 1 == until {
            last = self.intervals.end_of(last).unwrap_or(last);
        }
        let to_the_end = last >= self.last || (until_us.is_none() && self.left_over);
        (!to_the_end).then(|| u64::try_from((last + 1) * INTERVAL_US - at_us).unwrap_or(0))
    }
}
