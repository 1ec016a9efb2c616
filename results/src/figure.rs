//! The catalogue of figures: every number of a run that can be shown, compared or gated, under its dotted name.
//!
//! Reports, comparisons and gates know metrics through this table alone, so a new metric is one line here.

use crate::event::Cause;
use crate::report::units;
use crate::schema::Run;

/// What a figure is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Seconds.
    Seconds,
    /// A number of things.
    Count,
    /// Records per second.
    RecordsPerSecond,
    /// Megabytes per second.
    MbPerSecond,
    /// Bytes.
    Bytes,
    /// A share or ratio.
    Ratio,
}

impl Unit {
    /// The number with its unit, for people.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::Ms => units::duration(value),
            Unit::Seconds => units::duration(value * 1_000.0),
            Unit::Count => units::count(value),
            Unit::RecordsPerSecond => format!("{} records/s", units::metric(value)),
            Unit::MbPerSecond => format!("{} MB/s", units::metric(value)),
            Unit::Bytes => units::bytes(value),
            Unit::Ratio => format!("{value:.2}"),
        }
    }
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// One figure of a run.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name: the path of its key under `metrics` in `result.json`.
    pub name: &'static str,
    /// What it is, in words.
    pub label: &'static str,
    /// What it is measured in.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Reads it off a run; `None` where the run has no such number (it was beyond the run's end, or there was nothing
    /// to measure).
    pub of: fn(&Run) -> Option<f64>,
}

/// Figures compare by name.
impl PartialEq for Figure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

macro_rules! figures {
    ($($name:literal, $label:literal, $unit:ident, $better:ident, $of:expr;)*) => {
        &[$(Figure { name: $name, label: $label, unit: Unit::$unit, better: Better::$better, of: $of }),*]
    };
}

/// Every figure, in the order in which reports show them.
pub const FIGURES: &[Figure] = figures![
    "task_pause_ms.max", "longest pause", Ms, Lower, |r| Some(r.metrics.task_pause_ms.max);
    "task_pause_ms.sum", "all pauses together", Ms, Lower, |r| Some(r.metrics.task_pause_ms.sum);
    "task_pause_ms.p50", "median pause", Ms, Lower, |r| Some(r.metrics.task_pause_ms.p50);
    "task_pause_ms.p99", "p99 pause", Ms, Lower, |r| Some(r.metrics.task_pause_ms.p99);
    "task_pause_ms.mean", "mean pause", Ms, Lower, |r| Some(r.metrics.task_pause_ms.mean);
    "task_pause_ms.count", "pauses", Count, Lower, |r| Some(r.metrics.task_pause_ms.count as f64);
    "task_pause_ms.given_back", "pauses given back", Count, Lower, |r| Some(r.metrics.task_pause_ms.given_back as f64);
    "task_pause_ms.anatomy.detect", "paused for detect", Ms, Lower, |r| Some(r.metrics.task_pause_ms.anatomy.detect);
    "task_pause_ms.anatomy.revoke", "paused for revoke", Ms, Lower, |r| Some(r.metrics.task_pause_ms.anatomy.revoke);
    "task_pause_ms.anatomy.barrier", "paused for barrier", Ms, Lower, |r| Some(r.metrics.task_pause_ms.anatomy.barrier);
    "task_pause_ms.anatomy.assign", "paused for assign", Ms, Lower, |r| Some(r.metrics.task_pause_ms.anatomy.assign);
    "task_pause_ms.anatomy.restore", "paused for restore", Ms, Lower, |r| Some(r.metrics.task_pause_ms.anatomy.restore);
    "task_pause_ms.anatomy.catch_up", "paused for catch-up", Ms, Lower, |r| Some(r.metrics.task_pause_ms.anatomy.catch_up);
    "stop_the_world_ms", "stop the world", Ms, Lower, |r| Some(r.metrics.stop_the_world_ms);
    "unavailable_task_seconds", "unavailable task time", Seconds, Lower, |r| Some(r.metrics.unavailable_task_seconds);
    "service_latency_ms.p50", "latency p50", Ms, Lower, |r| Some(r.metrics.service_latency_ms.p50);
    "service_latency_ms.p99", "latency p99", Ms, Lower, |r| Some(r.metrics.service_latency_ms.p99);
    "service_latency_ms.p999", "latency p99.9", Ms, Lower, |r| Some(r.metrics.service_latency_ms.p999);
    "service_latency_ms.max", "latency max", Ms, Lower, |r| Some(r.metrics.service_latency_ms.max);
    "service_latency_ms.mean", "latency mean", Ms, Lower, |r| Some(r.metrics.service_latency_ms.mean);
    "service_time_ms.p50", "service time p50", Ms, Lower, |r| Some(r.metrics.service_time_ms.p50);
    "service_time_ms.p99", "service time p99", Ms, Lower, |r| Some(r.metrics.service_time_ms.p99);
    "service_time_ms.max", "service time max", Ms, Lower, |r| Some(r.metrics.service_time_ms.max);
    "delayed_records", "delayed records", Count, Lower, |r| Some(r.metrics.delayed_records as f64);
    "recovery_ms", "recovery", Ms, Lower, |r| r.metrics.recovery_ms;
    "rebalances.total", "rebalances", Count, Lower, |r| Some(r.metrics.rebalances.total as f64);
    "rebalances.by_cause.join", "rebalances by join", Count, Lower, |r| by_cause(r, Cause::Join);
    "rebalances.by_cause.leave", "rebalances by leave", Count, Lower, |r| by_cause(r, Cause::Leave);
    "rebalances.by_cause.crash", "rebalances by crash", Count, Lower, |r| by_cause(r, Cause::Crash);
    "rebalances.by_cause.learner-ready", "rebalances by learner-ready", Count, Lower, |r| by_cause(r, Cause::LearnerReady);
    "rebalances.by_cause.leaving", "rebalances by leaving", Count, Lower, |r| by_cause(r, Cause::Leaving);
    "rebalances.by_cause.follow-up", "rebalances by follow-up", Count, Lower, |r| by_cause(r, Cause::FollowUp);
    "rebalances.by_cause.probing", "rebalances by probing", Count, Lower, |r| by_cause(r, Cause::Probing);
    "rebalances.by_cause.timeout", "rebalances by timeout", Count, Lower, |r| by_cause(r, Cause::Timeout);
    "restore.records", "records replayed", Count, Lower, |r| Some(r.metrics.restore.records as f64);
    "restore.bytes", "bytes replayed", Bytes, Lower, |r| Some(r.metrics.restore.bytes as f64);
    "restore.records_per_s", "restore rate", RecordsPerSecond, Higher, |r| replay(r, r.metrics.restore.records_per_s);
    "restore.mb_per_s", "restore throughput", MbPerSecond, Higher, |r| replay(r, r.metrics.restore.mb_per_s);
    "restore.share_of_ceiling", "restore over RocksDB ceiling", Ratio, Higher, |r| r.metrics.restore.share_of_ceiling;
    "restore.discarded_bytes", "bytes replayed for nothing", Bytes, Lower, |r| Some(r.metrics.restore.discarded_bytes as f64);
    "moves.actual", "moves", Count, Lower, |r| Some(r.metrics.moves.actual as f64);
    "time_to_balance_ms", "time to balance", Ms, Lower, |r| r.metrics.time_to_balance_ms;
    "imbalance_task_seconds", "imbalance", Seconds, Lower, |r| Some(r.metrics.imbalance_task_seconds);
    "foreground_cost.p99_ratio", "foreground p99 over rest", Ratio, Lower, |r| r.metrics.foreground_cost.map(|c| c.p99_ratio);
    "foreground_cost.excess_latency_s", "foreground excess latency", Seconds, Lower, |r| r.metrics.foreground_cost.map(|c| c.excess_latency_s);
    "learners.time_to_ready_ms", "learner: start to ready", Ms, Lower, |r| learned(r, r.metrics.learners.time_to_ready_ms);
    "learners.time_to_promote_ms", "learner: ready to running", Ms, Lower, |r| learned(r, r.metrics.learners.time_to_promote_ms);
    "learners.lag_at_promotion", "learner: lag at promotion", Count, Lower, |r| learned(r, r.metrics.learners.lag_at_promotion as f64);
    "no_owner_ms", "without an owner", Ms, Lower, |r| Some(r.metrics.no_owner_ms);
];

fn by_cause(run: &Run, cause: Cause) -> Option<f64> {
    Some(run.metrics.rebalances.by_cause.get(&cause).copied().unwrap_or(0) as f64)
}

/// A rate of work that was not done is no number.
fn replay(run: &Run, rate: f64) -> Option<f64> {
    (run.metrics.restore.records > 0).then_some(rate)
}

fn learned(run: &Run, value: f64) -> Option<f64> {
    (run.metrics.learners.promoted > 0).then_some(value)
}

/// The figure of that name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name)
}

impl Figure {
    /// The value, or a lower bound of it where the run ended first: `(value, whether it is a bound)`. `None` where
    /// the run has no such number.
    ///
    /// Only what is timed from a scripted event can outlast a run; the bound is what was left of it after the last one.
    #[must_use]
    pub fn at_least(&self, run: &Run) -> Option<(f64, bool)> {
        if let Some(value) = (self.of)(run) {
            return Some((value, false));
        }
        let outlasts = matches!(self.name, "time_to_balance_ms" | "recovery_ms");
        let last = run.membership.last().filter(|_| outlasts)?;
        Some((run.end_us.abs_diff(last.at_us) as f64 / 1_000.0, true))
    }
}

/// Median of the trials. A run without the number counts as beyond all others, for it is missing where something was
/// not reached; the median of those is `None`.
#[must_use]
pub fn median(figure: &Figure, runs: &[&Run]) -> Option<f64> {
    middle(runs.iter().map(|run| (figure.of)(run).unwrap_or(f64::INFINITY)).collect())
        .filter(|median| median.is_finite())
}

/// The middle value, or the mean of the middle two; `None` of none.
#[must_use]
pub fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        len if len.is_multiple_of(2) => Some(f64::midpoint(values[middle - 1], values[middle])),
        _ => Some(values[middle]),
    }
}
