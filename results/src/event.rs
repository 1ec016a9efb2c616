//! The typed events of one run, in the order of their times. Every metric is a function of these and of the latency
//! histograms; nothing is measured twice.
//!
//! Times are microseconds on the run's clock: 0 is the end of the warm-up, earlier times are negative.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Microseconds since the end of the warm-up (negative before).
    pub at_us: i64,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// Why a generation was formed. One generation can have several causes; the first is the one that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// A member joined.
    Join,
    /// A member left.
    Leave,
    /// A member's session expired.
    Crash,
    /// A learner caught up and asks for its task.
    LearnerReady,
    /// A member said that it is leaving.
    Leaving,
    /// The previous answer asked for an immediate second round.
    FollowUp,
    /// A timed follow-up.
    Probing,
    /// A timeout: rebalance, sync, poll interval or scale-down.
    Timeout,
}

impl Cause {
    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Cause::Join => "join",
            Cause::Leave => "leave",
            Cause::Crash => "crash",
            Cause::LearnerReady => "learner-ready",
            Cause::Leaving => "leaving",
            Cause::FollowUp => "follow-up",
            Cause::Probing => "probing",
            Cause::Timeout => "timeout",
        }
    }
}

/// Why a task stopped at its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// Given up at a join.
    GivenUp,
    /// The owner left the group with it.
    Left,
    /// The owner crashed.
    Crashed,
    /// The owner stalled.
    Stalled,
    /// The owner was fenced: somebody else runs the task.
    Fenced,
}

/// What a script did to the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Instances were started.
    Start,
    /// Members were asked to leave.
    Leave,
    /// Members or instances were crashed.
    Crash,
    /// An instance was restarted.
    Restart,
    /// A member was stalled.
    Stall,
}

impl Action {
    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Action::Start => "start",
            Action::Leave => "leave",
            Action::Crash => "crash",
            Action::Restart => "restart",
            Action::Stall => "stall",
        }
    }
}

/// What happened. Task, member and instance names are as in the scenario (`T1`, `S1`, `I1`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum What {
    /// The script acted on the group: what a recovery and a balance are timed from.
    Scripted {
        /// What it did.
        action: Action,
        /// The members it did it to (new ones under their new names).
        members: Vec<String>,
    },
    /// The coordinator began to form a generation: joins are called in.
    RebalanceStarted {
        /// The generation being formed.
        generation: u64,
        /// What started it.
        cause: Cause,
    },
    /// A member's join arrived.
    Joined {
        /// Who.
        member: String,
        /// The generation being formed.
        generation: u64,
    },
    /// Every join is in (or the rebalance timeout has passed): the leader can plan.
    BarrierReached {
        /// The generation.
        generation: u64,
    },
    /// The leader's plan is accepted and on its way to everybody.
    GenerationCompleted {
        /// The generation.
        generation: u64,
        /// What formed it, first cause first.
        causes: Vec<Cause>,
        /// The plan's own verdict: balanced, and nothing is being learned or asked back.
        balanced: bool,
        /// Active tasks per member after it.
        active: Vec<(String, Vec<String>)>,
        /// The tasks that each member stands by for after it; members without any are left out.
        standby: Vec<(String, Vec<String>)>,
    },
    /// A member is out of the group.
    MemberGone {
        /// Who.
        member: String,
        /// Why.
        cause: Cause,
    },
    /// No worker can poll the task from now on: a pause begins, if none is open. Only of a task that was being polled:
    /// a new owner that loses it before its first poll shows in the next assignment, or in its own loss.
    TaskStopped {
        /// The task.
        task: String,
        /// Who had it.
        member: String,
        /// Why.
        why: Stop,
    },
    /// A member received an answer that gives it the task (again, or newly).
    TaskAssigned {
        /// The task.
        task: String,
        /// Who has it now.
        member: String,
        /// In which generation.
        generation: u64,
    },
    /// The new owner fenced the task's log: nobody of an older epoch can append from now on.
    TaskFenced {
        /// The task.
        task: String,
        /// The new owner.
        member: String,
        /// The new epoch.
        epoch: u64,
        /// Records between the copy it starts from and the log's end.
        lag: u64,
    },
    /// The replay that stood between fencing and running is done.
    RestoreFinished {
        /// The task.
        task: String,
        /// Who.
        member: String,
        /// Changelog records replayed since the fence.
        records: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// The first poll of the task by a worker of this epoch, or by one that is back from a stall: its pause ends.
    TaskPolled {
        /// The task.
        task: String,
        /// Who.
        member: String,
        /// The epoch.
        epoch: u64,
    },
    /// A learner started.
    LearnerStarted {
        /// The task.
        task: String,
        /// Who learns.
        member: String,
        /// Its lag in records.
        lag: u64,
    },
    /// A learner caught up.
    LearnerReady {
        /// The task.
        task: String,
        /// Who learns.
        member: String,
        /// Its lag in records at that moment.
        lag: u64,
    },
    /// A learner was dropped; what it replayed was for nothing unless the copy is reused later.
    LearnerDropped {
        /// The task.
        task: String,
        /// Who learned.
        member: String,
        /// Changelog records it had replayed.
        records: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// A copy began to follow the changelog for good.
    StandbyStarted {
        /// The task.
        task: String,
        /// Who stands by.
        member: String,
    },
    /// A standby's copy was closed.
    StandbyEnded {
        /// The task.
        task: String,
        /// Who stood by.
        member: String,
    },
    /// A piece of replay work of any copy (learner, standby, restoring active) was done.
    Replayed {
        /// The task.
        task: String,
        /// The instance whose restorer did it.
        instance: String,
        /// Changelog records.
        records: u64,
        /// Their bytes.
        bytes: u64,
        /// Time the work took, in microseconds; waiting for a limit is not work.
        work_us: u64,
    },
    /// The task's changelog was compacted.
    LogCompacted {
        /// The task.
        task: String,
        /// Bytes of the segments that were gone through, before.
        bytes_before: u64,
        /// And after.
        bytes_after: u64,
    },
    /// A store copy was thrown away because it did not match the log.
    StoreDiscarded {
        /// The task.
        task: String,
        /// On which instance.
        instance: String,
        /// Changelog bytes that had been replayed into it by this run, if known.
        bytes: u64,
    },
    /// A worker that was fenced tried to append and was refused.
    AppendRefused {
        /// The task.
        task: String,
        /// Who tried.
        member: String,
        /// The epoch it tried under.
        epoch: u64,
    },
}
