//! Metrics of replay: how much, how fast, and how much of it for nothing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RunInput;
use crate::event::What;

/// Replay of changelogs into stores from time 0 on, whatever the copy became: learner, standby or active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Restore {
    /// Changelog records replayed.
    pub records: u64,
    /// Their bytes.
    #[serde(default)]
    pub bytes: u64,
    /// Time that replay took, summed over restorers; waiting for a limit is not work.
    #[serde(default)]
    pub work_s: f64,
    /// Records per second of replay work; 0 if there was none.
    pub records_per_s: f64,
    /// Megabytes (10⁶ bytes) per second of replay work; 0 if there was none.
    pub mb_per_s: f64,
    /// `records_per_s` over the bulk-load ceiling of the same run, where that was measured.
    #[serde(default)]
    pub share_of_ceiling: Option<f64>,
    /// Bytes replayed into copies that were thrown away.
    pub discarded_bytes: u64,
}

pub(super) fn restore(input: &RunInput<'_>) -> Restore {
    let (mut records, mut bytes, mut work_us) = (0, 0, 0);
    for event in input.events.iter().filter(|event| event.at_us >= 0) {
        if let What::Replayed { records: more_records, bytes: more_bytes, work_us: more_us, .. } = event.what
        {
            records += more_records;
            bytes += more_bytes;
            work_us += more_us;
        }
    }
    let work_s = work_us as f64 / 1e6;
    let per_s = |amount: f64| if work_us == 0 { 0.0 } else { amount / work_s };
    let records_per_s = per_s(records as f64);
    Restore {
        records,
        bytes,
        work_s,
        records_per_s,
        mb_per_s: per_s(bytes as f64 / 1e6),
        share_of_ceiling: input
            .restore_ceiling
            .filter(|ceiling| work_us > 0 && ceiling.records_per_s > 0.0)
            .map(|ceiling| records_per_s / ceiling.records_per_s),
        discarded_bytes: discarded_bytes(input),
    }
}

/// Bytes replayed into copies that were thrown away: into stores that were discarded, and by learners that were
/// dropped unless the copy served later (its instance learned or took over the task again).
fn discarded_bytes(input: &RunInput<'_>) -> u64 {
    let instance_of = |member: &str| input.instances.get(member).map_or(member, String::as_str).to_owned();
    let mut idle: BTreeMap<(&str, String), u64> = BTreeMap::new();
    let mut discarded = 0;
    for event in input.events.iter().filter(|event| event.at_us >= 0) {
        match &event.what {
            What::LearnerDropped { task, member, bytes, .. } => {
                *idle.entry((task, instance_of(member))).or_default() += bytes;
            }
            What::LearnerStarted { task, member, .. } | What::TaskAssigned { task, member, .. } => {
                idle.remove(&(task.as_str(), instance_of(member)));
            }
            What::StoreDiscarded { task, instance, bytes } => {
                idle.remove(&(task.as_str(), instance.clone()));
                discarded += bytes;
            }
            _ => {}
        }
    }
    discarded + idle.values().sum::<u64>()
}
