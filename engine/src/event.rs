//! Everything that happens in an engine, as typed events: what measurements are made of.

use std::time::Duration;

use assignor::{InstanceId, MemberId, TaskId};

use crate::clock::Time;
use crate::position::{Epoch, Generation};

/// Why a generation is formed, or a member is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A member joined.
    Join,
    /// A member left.
    Leave,
    /// A member's session expired.
    Crash,
    /// A learner caught up.
    LearnerReady,
    /// A member said that it is leaving.
    Leaving,
    /// The previous answer asked for an immediate second round.
    FollowUp,
    /// The previous answer asked for a timed one.
    Probing,
    /// A rebalance, sync, poll or scale-down timeout.
    Timeout,
}

/// Why a task stopped at its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Given up at a join.
    GivenUp,
    /// The owner left the group with it.
    Left,
    /// The owner crashed.
    Crashed,
    /// The owner stalled.
    Stalled,
    /// The owner found that somebody else owns it.
    Fenced,
}

/// What happens in the group, as the coordinator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupEvent {
    /// Joins are called in.
    RebalanceStarted {
        /// The generation being formed.
        generation: Generation,
        /// Its first cause.
        cause: Cause,
    },
    /// A member's join arrived.
    Joined {
        /// Who.
        member: MemberId,
        /// The generation being formed.
        generation: Generation,
    },
    /// Every join is in, or waited for long enough.
    BarrierReached {
        /// The generation.
        generation: Generation,
    },
    /// The leader's answer is on its way to everybody.
    Completed {
        /// The generation.
        generation: Generation,
        /// Its causes, first one first, without repeats.
        causes: Vec<Cause>,
        /// The plan's verdict.
        balanced: bool,
        /// Active tasks per member.
        active: Vec<(MemberId, Vec<TaskId>)>,
        /// The tasks that each member stands by for; members without any are left out.
        standby: Vec<(MemberId, Vec<TaskId>)>,
    },
    /// Everybody has been told its part of the answer.
    Stable {
        /// The generation.
        generation: Generation,
    },
    /// A member is out.
    MemberGone {
        /// Who.
        member: MemberId,
        /// Why.
        cause: Cause,
    },
}

/// What happens to a task's copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    /// No worker can poll it from now on.
    Stopped {
        /// Who had it.
        member: MemberId,
        /// Why.
        why: Stop,
    },
    /// A member received an answer that gives it the task.
    Assigned {
        /// Who.
        member: MemberId,
        /// In which generation.
        generation: Generation,
    },
    /// Older epochs cannot append from now on.
    Fenced {
        /// The new owner.
        member: MemberId,
        /// Its epoch.
        epoch: Epoch,
        /// Records between its copy and the log's end.
        lag: u64,
    },
    /// The replay between fencing and running is done.
    Restored {
        /// Who.
        member: MemberId,
        /// Records replayed since the fence.
        records: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// The first poll under a new epoch.
    Polled {
        /// Who.
        member: MemberId,
        /// The epoch.
        epoch: Epoch,
    },
    /// A learner started.
    LearnerStarted {
        /// Who.
        member: MemberId,
        /// Its lag.
        lag: u64,
    },
    /// A learner caught up.
    LearnerReady {
        /// Who.
        member: MemberId,
        /// Its lag.
        lag: u64,
    },
    /// A learner was dropped.
    LearnerDropped {
        /// Who.
        member: MemberId,
        /// Records it had replayed.
        records: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// A copy follows the changelog for good from now on.
    StandbyStarted {
        /// Who.
        member: MemberId,
    },
    /// A standby's copy is closed.
    StandbyEnded {
        /// Who.
        member: MemberId,
    },
    /// A piece of replay of any copy.
    Replayed {
        /// Where.
        instance: InstanceId,
        /// Records.
        records: u64,
        /// Their bytes.
        bytes: u64,
        /// Time it took, without waiting for a limit.
        work: Duration,
    },
    /// The task's changelog was compacted.
    Compacted {
        /// Bytes of the segments that were gone through, before.
        bytes_before: u64,
        /// And after.
        bytes_after: u64,
    },
    /// A copy did not match the log and was thrown away.
    Discarded {
        /// Where.
        instance: InstanceId,
        /// Bytes that had been replayed into it, as far as known.
        bytes: u64,
    },
    /// A fenced owner tried to append and was refused.
    AppendRefused {
        /// Who.
        member: MemberId,
        /// Under which epoch.
        epoch: Epoch,
    },
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// In the group.
    Group(GroupEvent),
    /// Of one task.
    Task(TaskId, TaskEvent),
}

/// Where a batch of records was served.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// The task.
    pub task: &'a TaskId,
    /// Its worker.
    pub member: &'a MemberId,
    /// When the turn that served them began.
    pub began: Time,
    /// When their state updates were in the store.
    pub at: Time,
    /// Their intended arrival times.
    pub intended: &'a [Time],
}

/// Watches an engine. Called from its threads, in the middle of the work: it must be quick and must not block.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn event(&self, at: Time, event: Event);

    /// Records were served.
    fn served(&self, served: Served<'_>);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn event(&self, _at: Time, _event: Event) {}
    fn served(&self, _served: Served<'_>) {}
}
