//! What the leader answers.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::ids::{MemberId, TaskId};

/// What one member is told. All lists are sorted and without repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// Tasks it runs from now on.
    pub active: Vec<TaskId>,
    /// Tasks it gave up at this join and does not get back.
    pub revoked: Vec<TaskId>,
    /// Tasks, all of them in `active`, that the leader asks back: it gives them up at the next join.
    pub give_up: Vec<TaskId>,
    /// Tasks it learns.
    pub learning: Vec<TaskId>,
    /// Tasks it stands by for.
    pub standby: Vec<TaskId>,
    /// Tasks, all of them in `active`, that have a learner elsewhere.
    pub being_learned: Vec<TaskId>,
}

/// When the group should rebalance again without being asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FollowUp {
    /// Only when something happens.
    #[default]
    None,
    /// As soon as this answer has reached everybody.
    Immediate,
    /// After this long (a probing rebalance).
    After(Duration),
}

/// What changes for one copy of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The task runs elsewhere from now on.
    Active,
    /// The task is asked back, to run elsewhere after the next round.
    GiveUp,
    /// A learner starts, moves on, or is dropped (`to` is empty).
    Learner,
    /// A standby starts or is dropped (`to` is empty).
    Standby,
}

/// Why a copy is where it is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// Its learner was ready.
    LearnerReady,
    /// Its owner is gone; the member that was learning it takes it as it is.
    LearnerOfLostOwner,
    /// Its owner is gone; a standby takes it.
    StandbyOfLostOwner,
    /// Its owner is gone; an instance has it on disk.
    StoredCopy,
    /// Nobody has a copy; the least loaded receiver takes it.
    LeastLoaded,
    /// Its owner is leaving.
    OwnerLeaves,
    /// Balance over instances or members.
    Balance,
    /// It moves between workers of one instance, which share its disk.
    SameInstance,
    /// Two members claimed it in the same generation: nobody has it for a round.
    ConflictingClaims,
    /// A learner that is not wanted any more: its host leaves, its task came to its instance, or balance no longer
    /// needs it.
    NotWanted,
    /// The wanted number of standbys.
    StandbyWanted,
    /// A strategy without memory deals the task here (eager round-robin, high-availability).
    Dealt,
    /// The dealt target has not caught up: the task stays with one that has.
    NotCaughtUp,
    /// A copy warms up on the dealt target.
    WarmUp,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LearnerReady => "its learner has caught up",
            Self::LearnerOfLostOwner => "its owner is gone, and this member was learning it",
            Self::StandbyOfLostOwner => "its owner is gone, and this member stands by for it",
            Self::StoredCopy => "its owner is gone, and this instance has it on disk",
            Self::LeastLoaded => "nobody has it, and this member has the most room",
            Self::OwnerLeaves => "its owner is leaving",
            Self::Balance => "balance",
            Self::SameInstance => "balance among workers that share a disk",
            Self::ConflictingClaims => "two members claim it in one generation",
            Self::NotWanted => "not wanted any more",
            Self::StandbyWanted => "a standby is wanted",
            Self::Dealt => "dealt anew",
            Self::NotCaughtUp => "the member it was dealt to has not caught up",
            Self::WarmUp => "it warms up where it was dealt to",
        })
    }
}

/// One change with its reason. Its text is one line: `T1 is learned: S4 (balance)`.
///
/// ```
/// use assignor::{Change, Move, Reason};
/// let (task, to) = ("T1".into(), Some("S4".into()));
/// let step = Move { task, change: Change::Learner, from: None, to, reason: Reason::Balance };
/// assert_eq!(step.to_string(), "T1 is learned: S4 (balance)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The task.
    pub task: TaskId,
    /// What changes.
    pub change: Change,
    /// Who had it.
    pub from: Option<MemberId>,
    /// Who has it from now on.
    pub to: Option<MemberId>,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.change {
            Change::Active => "runs",
            Change::GiveUp => "is asked back",
            Change::Learner => "is learned",
            Change::Standby => "is followed",
        };
        write!(f, "{} {what}: ", self.task)?;
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => write!(f, "{from} → {to}")?,
            (Some(from), None) => write!(f, "no longer {from}")?,
            (None, Some(to)) => write!(f, "{to}")?,
            (None, None) => f.write_str("nobody")?,
        }
        write!(f, " ({})", self.reason)
    }
}

/// The leader's answer to a [`GroupView`](crate::GroupView).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What each member, present or away, is told.
    pub members: BTreeMap<MemberId, Assignment>,
    /// Every change against the view, in task order, with its reason.
    pub moves: Vec<Move>,
    /// When to rebalance again.
    pub follow_up: FollowUp,
    /// Nothing is being learned or asked back and no move would improve the balance.
    pub balanced: bool,
}
