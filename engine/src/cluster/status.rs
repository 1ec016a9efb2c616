//! A look at a running cluster, for progress displays and for scripts that wait.

use assignor::{MemberId, TaskId};

use crate::clock::{Clock as _, Time};
use crate::instance::{InstanceHandle, Shared};
use crate::position::Generation;
use crate::store::Pressure;

/// A copy that is catching up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayStatus {
    /// The task.
    pub task: TaskId,
    /// For whom.
    pub member: MemberId,
    /// Records it still has to replay.
    pub lag: u64,
    /// Records it had to replay when it began.
    pub initial_lag: u64,
    /// Its task stands still until it is done.
    pub active: bool,
}

/// What is going on in a cluster.
#[derive(Clone, Debug)]
pub struct Status {
    /// When.
    pub at: Time,
    /// The newest completed generation.
    pub generation: Generation,
    /// Its plan is balanced and quiet, and no rebalance is under way.
    pub balanced: bool,
    /// Tasks that are being polled.
    pub running: usize,
    /// Members whose instance runs.
    pub members: usize,
    /// Records served since the start.
    pub served: u64,
    /// Records that are due and have not been served.
    pub backlog: u64,
    /// Learners, standbys aside, and restoring actives.
    pub replays: Vec<ReplayStatus>,
    /// How far writing lags behind in all open copies.
    pub pressure: Pressure,
}

pub(super) fn take<'a>(shared: &Shared, instances: impl Iterator<Item = &'a InstanceHandle>) -> Status {
    let at = shared.clock.now();
    let group = shared.board.group();
    let mut status = Status {
        at,
        generation: group.generation,
        balanced: group.balanced,
        running: shared.board.running(),
        members: 0,
        served: shared.board.served_total(),
        backlog: shared
            .board
            .positions()
            .map(|(task, at_offset)| shared.sources.due(task, at).saturating_sub(at_offset))
            .sum(),
        replays: Vec::new(),
        pressure: Pressure::default(),
    };
    for instance in instances.filter(|instance| !instance.ended()) {
        status.members += instance.members.len();
        status.replays.extend(instance.replays());
        status.pressure += instance.pressure();
    }
    status
}
