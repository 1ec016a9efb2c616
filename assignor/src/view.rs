//! What the leader is told when a rebalance's joins are in.

use crate::ids::{InstanceId, MemberId, TaskId};

/// A task as the group knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub id: TaskId,
    /// Whether it has a store. Stateless tasks are never learned and have no standbys.
    pub stateful: bool,
    /// Size of its state, in any unit that is the same for all tasks (bytes in a running group).
    pub state_size: u64,
}

/// A copy of a task's state: a standby, or a stored copy that nobody runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The task it is a copy of.
    pub task: TaskId,
    /// Changelog end minus restored offset, in records.
    pub lag: u64,
}

/// A copy that catches up in order to take its task over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learner {
    /// The task that is being learned.
    pub task: TaskId,
    /// Changelog end minus restored offset, in records.
    pub lag: u64,
    /// The member's own verdict: its lag has reached `acceptable_lag`.
    pub ready: bool,
}

/// What one member says when it joins, or, if it is away, what it was last known to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberView {
    /// Its name.
    pub id: MemberId,
    /// The instance it runs in.
    pub instance: InstanceId,
    /// Its share of the load relative to others; at least 1.
    pub capacity: u32,
    /// It has asked to go and keeps its tasks until they have been taken over.
    pub leaving: bool,
    /// A static member that is not there just now but whose session has not ended.
    pub away: bool,
    /// The generation in which it was given what it claims. Of two claims on one task the higher wins.
    pub generation: u64,
    /// Active tasks that it keeps.
    pub active: Vec<TaskId>,
    /// Active tasks that it gave up at this join.
    pub revoked: Vec<TaskId>,
    /// Its learners.
    pub learners: Vec<Learner>,
    /// Its standbys.
    pub standbys: Vec<Copy>,
}

impl MemberView {
    /// A member that has just started: present, staying, capacity 1, with nothing.
    pub fn new(id: impl Into<MemberId>, instance: impl Into<InstanceId>) -> Self {
        Self {
            id: id.into(),
            instance: instance.into(),
            capacity: 1,
            leaving: false,
            away: false,
            generation: 0,
            active: Vec::new(),
            revoked: Vec::new(),
            learners: Vec::new(),
            standbys: Vec::new(),
        }
    }

    /// Whether it may be given anything new: it is here and has not asked to go.
    #[must_use]
    pub fn receives(&self) -> bool {
        !self.leaving && !self.away
    }
}

/// The copies on one instance's disk that nobody runs just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredView {
    /// The instance whose state directory holds them.
    pub instance: InstanceId,
    /// The copies, with their lag.
    pub copies: Vec<Copy>,
}

/// The group as its leader sees it. The order of tasks, members and lists means nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupView {
    /// Every task of the application.
    pub tasks: Vec<Task>,
    /// Every member, present or away.
    pub members: Vec<MemberView>,
    /// Per instance, what lies on its disk.
    pub stored: Vec<StoredView>,
}

/// A view that no group can be in. Conflicting claims are *not* among these: strategies settle them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The task list has the name twice.
    #[error("task {0} is named twice")]
    TaskTwice(TaskId),
    /// Two members have one id.
    #[error("member {0} is named twice")]
    MemberTwice(MemberId),
    /// A member names a task that the group does not have.
    #[error("member {member} names task {task}, which the group does not have")]
    UnknownTask {
        /// Who names it.
        member: MemberId,
        /// The name.
        task: TaskId,
    },
    /// One member names a task twice, in one list or in two that exclude each other.
    #[error("member {member} names task {task} twice")]
    TaskTwiceAtMember {
        /// Who names it.
        member: MemberId,
        /// The task.
        task: TaskId,
    },
    /// A capacity of 0 would make every load infinite.
    #[error("member {0} has capacity 0; the least is 1")]
    NoCapacity(MemberId),
}
