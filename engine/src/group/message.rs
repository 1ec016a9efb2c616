//! What members and the coordinator say to each other, and what their drivers tell them and are told.
//!
//! Messages may be lost, doubled, delayed and overtaken. Three things keep that harmless:
//!
//! * every request carries a [`Stamp`]; a repeated call is the same message again, an older one is ignored, and a
//!   reply repeats the stamp of the call that it answers;
//! * every request names the coordinator's incarnation it is meant for, so that nothing said to a former coordinator
//!   is taken for news by its successor;
//! * every assignment carries its [`Claim`], which the logs check once more when a task is taken over.

use assignor::{Assignment, Copy, GroupView, InstanceId, Learner, MemberId, Plan, TaskId, ViewError};

use crate::event::{Cause, GroupEvent, Stop};
use crate::position::{Claim, Generation, Incarnation};

/// Which call of which start of a member a message belongs to. Later ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Which start of a member of this name: a restarted one has a greater number.
    pub start: u64,
    /// The member's calls (join, sync, leave), counted. A heartbeat carries the number of the last call.
    pub call: u64,
}

/// What a member has, as it says when it joins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The generation in which it was given its tasks.
    pub claim: Claim,
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
pub struct Request {
    /// Who.
    pub member: MemberId,
    /// Which call this is; the reply repeats it.
    pub stamp: Stamp,
    /// The coordinator it is meant for; `None` from a member that has not met one yet.
    pub incarnation: Option<Incarnation>,
    /// What it wants.
    pub body: Ask,
}

/// What a member wants of the coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// To join the group, or to join again.
    Join(Box<Join>),
    /// Its assignment; the leader's carries the plan.
    Sync {
        /// For which generation.
        claim: Claim,
        /// The leader's answer.
        plan: Option<Box<Plan>>,
    },
    /// Nothing: it says that it is alive.
    Heartbeat {
        /// The generation of its last assignment.
        claim: Claim,
    },
    /// To leave the group.
    Leave {
        /// Why.
        cause: Cause,
    },
}

/// A join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// Its instance.
    pub instance: InstanceId,
    /// Its stable id, if membership is static.
    pub static_id: Option<String>,
    /// Its share of the load.
    pub capacity: u32,
    /// It wants to go and keeps its tasks until they are taken over.
    pub leaving: bool,
    /// What it has.
    pub claims: Claims,
    /// Why the group should rebalance; `None` if it only follows a notice.
    pub cause: Option<Cause>,
}

impl Join {
    /// Whether its sender has been given anything since it started.
    pub(super) fn has_claims(&self) -> bool {
        self.claims.claim != Claim::default()
    }
}

/// Why the coordinator does not do what a member asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not in the group: its session expired, or it was too late. It stops everything and may join as a new
    /// member.
    UnknownMember,
    /// It is in the group but speaks of an old generation: it must join again.
    StaleGeneration,
    /// Somebody else joined with its static id: it must stop.
    FencedStaticId,
    /// The request was meant for another incarnation of the coordinator. The member keeps what it has and joins
    /// this one (whose number is in the reply).
    OtherIncarnation,
}

/// From the coordinator to a member.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The call that it answers; of a notice, the last call heard.
    pub stamp: Stamp,
    /// Who speaks.
    pub incarnation: Incarnation,
    /// What it says.
    pub body: Answer,
}

/// What the coordinator says.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
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
    /// The member is out, as it asked.
    Left,
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
    /// The group is taken down: nobody is answered any more.
    Shutdown,
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
    /// Its worker found that somebody else owns the task, and has stopped it.
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
    /// Follow the changelog, in order to take the task over. The copy may be open already (as a standby, or given
    /// up just now).
    Learn {
        /// The task.
        task: TaskId,
    },
    /// Follow the changelog for good. The copy may be open already.
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
    /// The leader was handed a view that its strategy cannot plan for: a fault of the protocol, never of a member.
    Failed {
        /// What is wrong with the view.
        error: ViewError,
    },
    /// The member is done: stop its worker. Everything it had has been stopped and closed before.
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
    /// Whether every learner of the *instance*, those of its other workers included, has a lag of at most
    /// `acceptable_lag` records. Asked under `Promotion::All`, which promotes an instance's learners together.
    fn instance_ready(&self, acceptable_lag: u64) -> bool;
}
