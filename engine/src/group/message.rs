//! What members and the coordinator say to each other, and what their drivers tell them and are told.

use assignor::{Assignment, Copy, GroupView, InstanceId, Learner, MemberId, Plan, TaskId};

use crate::event::{Cause, GroupEvent, Stop};
use crate::position::{Claim, Generation};

/// What a member has, as it says when it joins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The generation in which it was given its tasks.
    pub generation: Generation,
    /// Active tasks it keeps (running, or still restoring).
    pub active: Vec<TaskId>,
    /// Active tasks it gave up since its last answer.
    pub revoked: Vec<TaskId>,
    /// Its learners.
    pub learners: Vec<Learner>,
    /// Its standbys.
    pub standbys: Vec<Copy>,
    /// Copies on its instance's disk that nobody runs.
    pub stored: Vec<Copy>,
    /// State sizes in bytes of the tasks it knows.
    pub state_bytes: Vec<(TaskId, u64)>,
}

/// From a member to the coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Joins the group, or joins again.
    Join {
        /// Who.
        member: MemberId,
        /// Its instance.
        instance: InstanceId,
        /// Its stable id, if membership is static.
        static_id: Option<String>,
        /// Its share of the load.
        capacity: u32,
        /// It wants to go and keeps its tasks until they are taken over.
        leaving: bool,
        /// What it has.
        claims: Claims,
        /// Why it joins, if it is the one who starts the rebalance.
        cause: Cause,
    },
    /// Asks for its assignment; the leader's carries the plan.
    Sync {
        /// Who.
        member: MemberId,
        /// For which generation.
        claim: Claim,
        /// The leader's answer.
        plan: Option<Plan>,
    },
    /// Says that it is alive.
    Heartbeat {
        /// Who.
        member: MemberId,
        /// In which generation it thinks it is.
        claim: Claim,
    },
    /// Leaves the group.
    Leave {
        /// Who.
        member: MemberId,
        /// Why.
        cause: Cause,
    },
}

/// Why the coordinator does not know a member (any more).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not in the group: its session expired, it was too late, or the coordinator is new. It stops everything
    /// and may join as a new member.
    UnknownMember,
    /// It is in the group but speaks of an old generation: it must join again.
    StaleGeneration,
    /// Somebody else joined with its static id: it must stop.
    FencedStaticId,
}

/// From the coordinator to a member.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A rebalance has begun: give up what the strategy says, then join.
    Rejoin {
        /// The generation being formed.
        generation: Generation,
        /// Tasks whose learners are ready.
        ready: Vec<TaskId>,
    },
    /// Every join is in. The leader gets the view and plans; all others sync.
    Joined {
        /// The generation.
        claim: Claim,
        /// For the leader alone.
        view: Option<Box<GroupView>>,
    },
    /// The member's part of the plan.
    Assigned {
        /// The generation.
        claim: Claim,
        /// Its part.
        assignment: Assignment,
    },
    /// The heartbeat was heard.
    Alive,
    /// The request was not accepted.
    Refused(Refusal),
}

/// What happens to a coordinator.
#[derive(Clone, Debug, PartialEq)]
pub enum CoordinatorEvent {
    /// A request arrived.
    Received(Request),
    /// Its deadline has come (or any time: a tick is never wrong).
    Tick,
}

/// What a coordinator wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum CoordinatorEffect {
    /// Send this.
    Send {
        /// To whom.
        to: MemberId,
        /// What.
        reply: Reply,
    },
    /// Tell the observer.
    Observed(GroupEvent),
}

/// What happens to a member.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberEvent {
    /// It starts: it joins the group.
    Start,
    /// A reply arrived.
    Received(Reply),
    /// The driver has done a [`MemberEffect::Stop`]: nobody runs these tasks any more, and what they did is in their
    /// logs.
    Stopped {
        /// The tasks.
        tasks: Vec<TaskId>,
    },
    /// Lags of its copies have changed; ask the inventory.
    Progress,
    /// Its worker found that somebody else owns the task.
    Fenced {
        /// The task.
        task: TaskId,
    },
    /// Its worker has polled (or is idle and well).
    Polled,
    /// It is asked to go.
    Leave,
    /// Its deadline has come.
    Tick,
}

/// Why a member ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It was asked to leave and has nothing left (or its time was up).
    Left,
    /// Another member has its static id.
    Fenced,
}

/// What a member wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberEffect {
    /// Send this to the coordinator.
    Send(Request),
    /// Stop running (or restoring) these, keep their copies open and at hand, then say [`MemberEvent::Stopped`].
    Stop {
        /// The tasks.
        tasks: Vec<TaskId>,
        /// Why.
        why: Stop,
    },
    /// Take the task over: fence with this claim, read the end, replay to it, resume. Also for a task that was
    /// given up and comes back.
    Run {
        /// The task.
        task: TaskId,
        /// What to fence with.
        claim: Claim,
    },
    /// Follow the changelog, in order to take the task over.
    Learn {
        /// The task.
        task: TaskId,
    },
    /// Follow the changelog for good.
    StandBy {
        /// The task.
        task: TaskId,
    },
    /// Close the copy (given-up task that went elsewhere, dropped learner or standby): it stays on disk as stored.
    Close {
        /// The task.
        task: TaskId,
        /// It was a learner whose work is not wanted any more.
        dropped_learner: bool,
    },
    /// A learner has caught up (told once per learner; for the observer).
    Ready {
        /// The task.
        task: TaskId,
        /// Its lag.
        lag: u64,
    },
    /// The member is done: stop its worker.
    Exit {
        /// Why.
        why: Exit,
    },
}

/// What a member can look up about its instance when it joins.
pub trait Inventory {
    /// Lag in records of the instance's open copy of the task (learner, standby, active).
    fn lag(&self, task: &TaskId) -> Option<u64>;
    /// Copies on the instance's disk that nobody runs, with their lags.
    fn stored(&self) -> Vec<Copy>;
    /// Size of the task's state in bytes, if known here.
    fn state_bytes(&self, task: &TaskId) -> Option<u64>;
}
