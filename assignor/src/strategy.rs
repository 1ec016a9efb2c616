//! The seam: what a strategy is, and how members conduct themselves under it.

use std::fmt;
use std::time::Duration;

use crate::plan::Plan;
use crate::view::{GroupView, ViewError};

/// What an owner gives up when a rebalance starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// Every active task (`eager`).
    Everything,
    /// Every task that is being learned: the proposal's text.
    BeingLearned,
    /// Every task whose learner is ready; the rebalance notice names them.
    WhenReady,
    /// Only what the previous answer asked back with `give_up`. (All other values honour `give_up` too.)
    OnRequest,
}

/// When a member whose learners have caught up joins again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promotion {
    /// As soon as one is ready.
    Each,
    /// Once all learners of its instance are, or this long after the first.
    All {
        /// How long the first waits for the others.
        timeout: Duration,
    },
    /// Never by itself: a follow-up finds out (`high-availability`).
    Probing,
}

/// How a member that is asked to leave goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It commits and leaves at once.
    AtOnce,
    /// It says that it is leaving and keeps its tasks until they have been taken over, for this long at most.
    AfterHandOver {
        /// Past it the member leaves the group whatever it still owns.
        timeout: Duration,
    },
}

/// When a task that was given to a worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// Each as soon as its own replay is done.
    EachTask,
    /// All of a worker's tasks when the last of its replays is done (`eager`).
    AllTogether,
}

/// How members conduct themselves under a strategy: plain data for the group protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conduct {
    /// What is given up when a rebalance starts.
    pub revocation: Revocation,
    /// When a caught-up learner asks for its task.
    pub promotion: Promotion,
    /// How a member goes.
    pub leave: Leave,
    /// When a task that has moved runs.
    pub resume: Resume,
    /// A copy is ready, or caught up, at this lag in records or below.
    pub acceptable_lag: u64,
}

/// A strategy: a pure function from views to plans, and the conduct of its members.
///
/// Contract: `plan` is deterministic, does not depend on the order of anything in the view, keeps nothing between
/// calls, and moves ownership safely: a task changes owner only if its owner gave it up at this join, or nobody in
/// the group, present or away, owns it.
pub trait Strategy: fmt::Debug + Send + Sync {
    /// Its name with the options that differ from the default, e.g. `learner(max_learners=4)`.
    fn name(&self) -> String;

    /// How members conduct themselves.
    fn conduct(&self) -> Conduct;

    /// The leader's answer.
    ///
    /// # Errors
    ///
    /// [`ViewError`] for a view that no group can be in. Conflicting claims are settled, never an error.
    fn plan(&self, view: &GroupView) -> Result<Plan, ViewError>;
}
