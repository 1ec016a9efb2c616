//! What became of the learners: how long they took, how close they were, how many were for nothing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RunInput;
use crate::event::What;
use crate::histogram::ms;

/// Learners from time 0 on. Medians are nearest-rank; 0 where there is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Learners {
    /// Started.
    pub started: u64,
    /// Those that caught up.
    pub ready: u64,
    /// Those that took their task over.
    pub promoted: u64,
    /// Those that were dropped before.
    pub dropped: u64,
    /// Median time from start to ready, in milliseconds.
    pub time_to_ready_ms: f64,
    /// Median time from ready to the first poll as owner, in milliseconds.
    pub time_to_promote_ms: f64,
    /// Median lag, in records, at the fence that promoted them.
    pub lag_at_promotion: u64,
}

struct Learner {
    started_us: i64,
    ready_us: Option<i64>,
    lag: Option<u64>,
}

pub(super) fn learners(input: &RunInput<'_>) -> Learners {
    let mut open: BTreeMap<(&str, &str), Learner> = BTreeMap::new();
    let mut result = Learners::default();
    let (mut to_ready_us, mut to_promote_us, mut lags) = (Vec::new(), Vec::new(), Vec::new());
    for event in input.events.iter().filter(|event| event.at_us >= 0) {
        match &event.what {
            What::LearnerStarted { task, member, .. } => {
                result.started += 1;
                open.insert((task, member), Learner { started_us: event.at_us, ready_us: None, lag: None });
            }
            What::LearnerReady { task, member, .. } => {
                if let Some(learner) = open.get_mut(&(task.as_str(), member.as_str()))
                    && learner.ready_us.is_none()
                {
                    result.ready += 1;
                    learner.ready_us = Some(event.at_us);
                    to_ready_us.push(event.at_us.abs_diff(learner.started_us));
                }
            }
            What::LearnerDropped { task, member, .. } => {
                let dropped = open.remove(&(task.as_str(), member.as_str()));
                result.dropped += u64::from(dropped.is_some());
            }
            What::TaskFenced { task, member, lag, .. } => {
                if let Some(learner) = open.get_mut(&(task.as_str(), member.as_str())) {
                    learner.lag = Some(*lag);
                }
            }
            What::TaskPolled { task, member, .. } => {
                if let Some(learner) = open.remove(&(task.as_str(), member.as_str())) {
                    result.promoted += 1;
                    lags.extend(learner.lag);
                    to_promote_us.extend(learner.ready_us.map(|ready_us| event.at_us.abs_diff(ready_us)));
                }
            }
            _ => {}
        }
    }
    result.time_to_ready_ms = ms(median(to_ready_us));
    result.time_to_promote_ms = ms(median(to_promote_us));
    result.lag_at_promotion = median(lags);
    result
}

/// Nearest rank: of an even number the lower of the middle two. 0 of none.
fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len().div_ceil(2).saturating_sub(1)).copied().unwrap_or(0)
}
