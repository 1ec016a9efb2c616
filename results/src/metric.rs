//! All metrics of one run as a pure function of its events and its latency histograms.
//!
//! `docs/metrics.md` defines each with a worked example, and a test computes exactly that example.

mod balance;
mod learner;
mod replay;
mod service;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use learner::Learners;
pub use replay::Restore;
pub use service::ForegroundCost;

use crate::event::{Action, Cause, Event, What};
use crate::histogram::{Percentiles, ms};
use crate::latency::LatencyRecord;
use crate::pause::{self, Anatomy, Pause};

/// All that the metrics of one run are computed from. Times are microseconds since the end of the warm-up.
#[derive(Clone, Debug)]
pub struct RunInput<'a> {
    /// The events in the order of their times, those of the warm-up included.
    pub events: &'a [Event],
    /// The latencies.
    pub latency: &'a LatencyRecord,
    /// Every task by name; task number n of `latency` is the n-th.
    pub tasks: &'a [String],
    /// The instance of every member that ever was in the group.
    pub instances: &'a BTreeMap<String, String>,
    /// When arrivals ended.
    pub duration_us: i64,
    /// When the run ended, its drain included: open pauses are censored here.
    pub end_us: i64,
    /// Moves that balance needed at least, from the assignor.
    pub minimum_moves: u64,
    /// What a bulk load into RocksDB reached in this run, if it was measured.
    pub restore_ceiling: Option<Ceiling>,
    /// Records that had arrived by `duration_us` and were not served when the run ended.
    pub undrained: u64,
}

/// Throughput of a RocksDB bulk load on the machine and in the run at hand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Records per second.
    pub records_per_s: f64,
    /// Megabytes (10⁶ bytes) per second.
    pub mb_per_s: f64,
}

/// The metrics of one run. Units are in the names; times are milliseconds with microseconds behind the point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunMetrics {
    /// The pauses of all tasks.
    pub task_pause_ms: TaskPauses,
    /// Longest of the scripted events' recoveries; `null` if one wasn't recovered from, or nothing was scripted.
    #[serde(default)]
    pub recovery_ms: Option<f64>,
    /// Time in which every task was paused.
    pub stop_the_world_ms: f64,
    /// Sum of all pauses.
    #[serde(default)]
    pub unavailable_task_seconds: f64,
    /// From intended arrival to state update.
    pub service_latency_ms: Percentiles,
    /// From poll to state update: what a closed-loop clock would show.
    #[serde(default)]
    pub service_time_ms: Percentiles,
    /// Records of the window that were served later than the SLO allows, or never.
    #[serde(default)]
    pub delayed_records: u64,
    /// Completed generations.
    pub rebalances: Rebalances,
    /// Replay of changelogs.
    pub restore: Restore,
    /// Changes of ownership.
    pub moves: Moves,
    /// Longest of the scripted events' times to balance; `null` if one wasn't balanced, or nothing was scripted.
    pub time_to_balance_ms: Option<f64>,
    /// Integral of (highest − lowest number of active tasks per member) over time.
    #[serde(default)]
    pub imbalance_task_seconds: f64,
    /// What the tasks that stayed where they were paid.
    #[serde(default)]
    pub foreground_cost: Option<ForegroundCost>,
    /// Learners started, promoted, dropped.
    #[serde(default)]
    pub learners: Learners,
    /// Task time between the group's knowing that a task has no owner and the answer that gives it one.
    #[serde(default)]
    pub no_owner_ms: f64,
    /// The same by scripted event.
    #[serde(default)]
    pub by_event: Vec<EventMetrics>,
}

/// The pauses of all tasks, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskPauses {
    /// How many.
    pub count: u64,
    /// Median (nearest rank).
    pub p50: f64,
    /// 99th percentile (nearest rank).
    pub p99: f64,
    /// Longest.
    pub max: f64,
    /// Sum.
    pub sum: f64,
    /// Arithmetic mean.
    #[serde(default)]
    pub mean: f64,
    /// Those in which a task was given up and handed straight back.
    #[serde(default)]
    pub given_back: u64,
    /// Those that the end of the run cut short.
    #[serde(default)]
    pub censored: u64,
    /// Sums of the pauses' parts; they add up to `sum`.
    #[serde(default)]
    pub anatomy: AnatomyMs,
}

/// Milliseconds by part of a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnatomyMs {
    /// Waiting for the group to notice.
    pub detect: f64,
    /// Waiting for the owner to give up and join.
    pub revoke: f64,
    /// Waiting for the other members.
    pub barrier: f64,
    /// Waiting for the plan and its delivery.
    pub assign: f64,
    /// Waiting for fence and replay.
    pub restore: f64,
    /// Waiting for the first poll.
    pub catch_up: f64,
}

impl AnatomyMs {
    /// Name and milliseconds of each part, in the order in which they are gone through.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        [
            ("detect", self.detect),
            ("revoke", self.revoke),
            ("barrier", self.barrier),
            ("assign", self.assign),
            ("restore", self.restore),
            ("catch-up", self.catch_up),
        ]
    }
}

/// Generations completed after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rebalances {
    /// How many.
    pub total: u64,
    /// How many by what started them; they add up to `total`. Causes that didn't occur are left out.
    pub by_cause: BTreeMap<Cause, u64>,
}

/// Changes of ownership.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moves {
    /// How many there were.
    pub actual: u64,
    /// How many balance needed at least.
    pub minimum: u64,
}

/// What followed one scripted event, up to the next one where pauses are concerned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventMetrics {
    /// When, in microseconds since the end of the warm-up.
    pub at_us: i64,
    /// What the script did.
    pub action: Action,
    /// To whom.
    pub members: Vec<String>,
    /// Pauses that began after it and before the next.
    pub task_pause_ms: TaskPauses,
    /// Until service latency was back under the SLO for good; `null` if it never was.
    pub recovery_ms: Option<f64>,
    /// Until the first generation that reflects the event, is balanced and quiet, and has every active running;
    /// `null` if there was none.
    pub time_to_balance_ms: Option<f64>,
}

/// Computes every metric, and hands back the pauses that they come from.
#[must_use]
pub fn metrics(input: &RunInput<'_>) -> (RunMetrics, Vec<Pause>) {
    let pauses = pause::pauses(input.events, input.end_us);
    let all: Vec<&Pause> = pauses.iter().collect();
    let by_event = by_event(input, &pauses);
    let measured = input.latency.measured();
    let task_pause_ms = TaskPauses::of(&all);
    let metrics = RunMetrics {
        task_pause_ms,
        recovery_ms: longest(by_event.iter().map(|event| event.recovery_ms)),
        stop_the_world_ms: ms(stop_the_world_us(&pauses, input.tasks.len())),
        unavailable_task_seconds: pauses.iter().map(Pause::us).sum::<u64>() as f64 / 1e6,
        service_latency_ms: Percentiles::of(&measured.latency),
        service_time_ms: Percentiles::of(&measured.service),
        delayed_records: service::delayed_records(input),
        rebalances: rebalances(input),
        restore: replay::restore(input),
        moves: Moves { actual: balance::moves(input).len() as u64, minimum: input.minimum_moves },
        time_to_balance_ms: longest(by_event.iter().map(|event| event.time_to_balance_ms)),
        imbalance_task_seconds: balance::imbalance_task_us(input) as f64 / 1e6,
        foreground_cost: service::foreground_cost(input),
        learners: learner::learners(input),
        no_owner_ms: ms(pauses.iter().map(|pause| pause.anatomy.barrier_us + pause.anatomy.assign_us).sum()),
        by_event,
    };
    (metrics, pauses)
}

/// The largest; none if there is none, or if one of them has no value because it is beyond the run.
fn longest(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Option<Vec<f64>> = values.collect();
    values?.into_iter().reduce(f64::max)
}

impl TaskPauses {
    /// Summarises pauses. Percentiles are nearest-rank: the ⌈q·n⌉-th of n in ascending order.
    #[must_use]
    pub fn of(pauses: &[&Pause]) -> Self {
        let mut us: Vec<u64> = pauses.iter().map(|pause| pause.us()).collect();
        us.sort_unstable();
        let Some(&max) = us.last() else { return TaskPauses::default() };
        // ⌈q·n⌉ in whole numbers, so that no rounding error picks the wrong rank.
        let rank = |percent: usize| ms(us[(us.len() * percent).div_ceil(100).max(1) - 1]);
        let sum: u64 = us.iter().sum();
        TaskPauses {
            count: us.len() as u64,
            p50: rank(50),
            p99: rank(99),
            max: ms(max),
            sum: ms(sum),
            mean: (sum as f64 / us.len() as f64).round() / 1_000.0,
            given_back: pauses.iter().filter(|pause| pause.given_back).count() as u64,
            censored: pauses.iter().filter(|pause| pause.censored).count() as u64,
            anatomy: AnatomyMs::of(pauses),
        }
    }
}

impl AnatomyMs {
    fn of(pauses: &[&Pause]) -> Self {
        let sum = |part: fn(&Anatomy) -> u64| ms(pauses.iter().map(|pause| part(&pause.anatomy)).sum());
        AnatomyMs {
            detect: sum(|a| a.detect_us),
            revoke: sum(|a| a.revoke_us),
            barrier: sum(|a| a.barrier_us),
            assign: sum(|a| a.assign_us),
            restore: sum(|a| a.restore_us),
            catch_up: sum(|a| a.catch_up_us),
        }
    }
}

/// Time in which `tasks` pauses are open at once. A task has at most one at a time, so that is all of them.
fn stop_the_world_us(pauses: &[Pause], tasks: usize) -> u64 {
    let mut edges: Vec<(i64, i32)> = Vec::with_capacity(pauses.len() * 2);
    for pause in pauses {
        edges.push((pause.start_us, 1));
        edges.push((pause.end_us, -1));
    }
    edges.sort_unstable();
    let (mut open, mut since_us, mut total_us) = (0, 0, 0);
    for (at_us, change) in edges {
        if open as usize == tasks && tasks > 0 {
            total_us += at_us.abs_diff(since_us);
        }
        open += change;
        since_us = at_us;
    }
    total_us
}

/// Generations completed from time 0 on, by what started them.
fn rebalances(input: &RunInput<'_>) -> Rebalances {
    let mut rebalances = Rebalances::default();
    for event in input.events.iter().filter(|event| event.at_us >= 0) {
        if let What::GenerationCompleted { causes, .. } = &event.what {
            rebalances.total += 1;
            // A generation without a cause is a member's first: it joined.
            let cause = causes.first().copied().unwrap_or(Cause::Join);
            *rebalances.by_cause.entry(cause).or_default() += 1;
        }
    }
    rebalances
}

fn by_event(input: &RunInput<'_>, pauses: &[Pause]) -> Vec<EventMetrics> {
    let scripted: Vec<(i64, Action, &[String])> = input
        .events
        .iter()
        .filter_map(|event| match &event.what {
            What::Scripted { action, members } => Some((event.at_us, *action, members.as_slice())),
            _ => None,
        })
        .collect();
    let late = service::Late::new(input, pauses);
    scripted
        .iter()
        .enumerate()
        .map(|(index, &(at_us, action, members))| {
            let until_us = scripted.get(index + 1).map(|next| next.0);
            let own: Vec<&Pause> = pauses.iter().filter(|pause| pause.event == Some(index)).collect();
            EventMetrics {
                at_us,
                action,
                members: members.to_vec(),
                task_pause_ms: TaskPauses::of(&own),
                recovery_ms: late.recovery_us(at_us, until_us).map(ms),
                time_to_balance_ms: balance::time_to_balance_us(input, pauses, at_us, action, members)
                    .map(ms),
            }
        })
        .collect()
}
