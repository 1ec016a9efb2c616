//! The phases of a run, by which every latency is tagged, and the rule that tells them apart.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::What;

/// What the run was doing when a record was served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// State is being filled; no clock runs.
    Preload,
    /// Load runs, nothing is counted yet.
    #[default]
    WarmUp,
    /// Nobody is moving anything.
    Steady,
    /// A generation is being formed, or a task has stopped and not been polled again.
    Rebalance,
    /// A copy is catching up with its changelog while every task runs.
    Restore,
    /// Arrivals have ended, the backlog is being served.
    Drain,
}

impl Phase {
    /// All phases in the order of a run.
    pub const ALL: [Phase; 6] =
        [Phase::Preload, Phase::WarmUp, Phase::Steady, Phase::Rebalance, Phase::Restore, Phase::Drain];

    /// Its name in files and interval-log tags.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::Preload => "preload",
            Phase::WarmUp => "warm-up",
            Phase::Steady => "steady",
            Phase::Rebalance => "rebalance",
            Phase::Restore => "restore",
            Phase::Drain => "drain",
        }
    }

    /// Whether latencies of this phase count as the run's: all but what comes before the warm-up's end.
    #[must_use]
    pub fn is_measured(self) -> bool {
        !matches!(self, Phase::Preload | Phase::WarmUp)
    }

    /// Its place in [`Phase::ALL`], for an atomic.
    pub(crate) fn index(self) -> u8 {
        self as u8
    }

    /// The phase at a place of [`Phase::ALL`].
    pub(crate) fn at(index: u8) -> Phase {
        Phase::ALL[usize::from(index).min(Phase::ALL.len() - 1)]
    }
}

/// Follows the events of a run and tells its phase between the end of the warm-up and the end of the arrivals:
/// rebalance while a generation forms or a task stands still, else restore while a learner is behind, else steady.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    forming: bool,
    stopped: BTreeSet<String>,
    behind: BTreeSet<(String, String)>,
}

impl Tracker {
    /// Takes in one event and returns the phase from then on.
    pub fn observe(&mut self, what: &What) -> Phase {
        match what {
            What::RebalanceStarted { .. } => self.forming = true,
            What::GenerationCompleted { .. } => self.forming = false,
            What::TaskStopped { task, .. } => {
                self.stopped.insert(task.clone());
            }
            What::TaskPolled { task, .. } => {
                self.stopped.remove(task);
            }
            What::LearnerStarted { task, member, .. } => {
                self.behind.insert((task.clone(), member.clone()));
            }
            What::LearnerReady { task, member, .. } | What::LearnerDropped { task, member, .. } => {
                self.behind.remove(&(task.clone(), member.clone()));
            }
            What::MemberGone { member, .. } => self.behind.retain(|(_, learner)| learner != member),
            _ => {}
        }
        self.phase()
    }

    /// The phase now.
    #[must_use]
    pub fn phase(&self) -> Phase {
        if self.forming || !self.stopped.is_empty() {
            Phase::Rebalance
        } else if self.behind.is_empty() {
            Phase::Steady
        } else {
            Phase::Restore
        }
    }
}
