//! What must hold after every step, and what must hold in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use assignor::{Conduct, GroupView, InstanceId, MemberId, Plan, Promotion, TaskId};

use super::witness::Actor;
use crate::event::GroupEvent;

/// A rule of the design that the simulator checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// Each epoch of a log has one writer.
    OneWriterPerEpoch,
    /// No append under an old epoch is accepted.
    NoOldEpoch,
    /// A fence with an older claim than one granted before is refused.
    FencesAscend,
    /// Every turn goes on where the one before it ended, and in the end every record is in the state exactly once.
    NothingLostOrDoubled,
    /// A task changes owner only if its owner has stopped it, or is not in the group.
    OwnershipMovesSafely,
    /// A task with a living owner goes only to a member that has caught up with it (`learner`).
    ReadyBeforeHandOver,
    /// A member that is away is given nothing.
    AwayTakesNothing,
    /// Every plan is one that the assignor's rules allow for its view.
    PlansAreValid,
    /// A task is without an owner for no longer than a session, a rebalance and a replay.
    AlwaysOwned,
    /// Once nothing goes wrong any more, the group balances, every task runs once, and nothing happens any more.
    BalancedAndQuiet,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneWriterPerEpoch => "one writer per epoch",
            Self::NoOldEpoch => "no append under an old epoch",
            Self::FencesAscend => "fences ascend",
            Self::NothingLostOrDoubled => "nothing lost or doubled",
            Self::OwnershipMovesSafely => "ownership moves safely",
            Self::ReadyBeforeHandOver => "ready before hand-over",
            Self::AwayTakesNothing => "who is away is given nothing",
            Self::PlansAreValid => "plans are valid",
            Self::AlwaysOwned => "no task without an owner for too long",
            Self::BalancedAndQuiet => "balanced and quiet in the end",
        })
    }
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub check: Check,
    /// How.
    pub what: String,
}

/// What the checkers know of the group, independently of its machines.
#[derive(Debug)]
pub(super) struct Checkers {
    conduct: Conduct,
    stateless: BTreeSet<TaskId>,
    /// Who was told to run a task and has not said that it has stopped.
    owners: BTreeMap<TaskId, Actor>,
    /// Learners whose lag was once acceptable.
    caught_up: BTreeSet<(MemberId, TaskId)>,
    /// The same when the last barrier was reached: what the leader can know.
    caught_up_then: BTreeSet<(MemberId, TaskId)>,
    /// Whose joins were in when the last barrier was reached, and who has joined since.
    formed: BTreeSet<MemberId>,
    joined: BTreeSet<MemberId>,
    /// What the leader was last shown.
    view: GroupView,
    violation: Option<Violation>,
    /// Completed generations.
    pub(super) rebalances: u64,
    /// The last plan's verdict.
    pub(super) balanced: bool,
    /// Whom the last plan could not count on.
    pub(super) planned_without: Vec<MemberId>,
    /// Tasks that a plan gave to another member than the last that ran them.
    pub(super) moves: u64,
}

impl Checkers {
    pub(super) fn new(conduct: Conduct, stateless: BTreeSet<TaskId>) -> Self {
        Self {
            conduct,
            stateless,
            owners: BTreeMap::new(),
            caught_up: BTreeSet::new(),
            caught_up_then: BTreeSet::new(),
            formed: BTreeSet::new(),
            joined: BTreeSet::new(),
            view: GroupView::default(),
            violation: None,
            rebalances: 0,
            balanced: false,
            planned_without: Vec::new(),
            moves: 0,
        }
    }

    pub(super) fn violate(&mut self, check: Check, what: impl Into<String>) {
        let what = what.into();
        self.violation.get_or_insert(Violation { check, what });
    }

    pub(super) fn take_violation(&mut self) -> Option<Violation> {
        self.violation.take()
    }

    /// A member was told to run a task.
    pub(super) fn runs(&mut self, task: &TaskId, actor: Actor) {
        self.owners.insert(task.clone(), actor);
    }

    /// A worker has stopped a task.
    pub(super) fn stopped(&mut self, task: &TaskId, actor: &Actor) {
        if self.owners.get(task) == Some(actor) {
            self.owners.remove(task);
        }
        self.caught_up.remove(&(actor.0.clone(), task.clone()));
    }

    /// Another process has a member's place. Until it has joined, the group goes by what the older one said.
    pub(super) fn replaced(&mut self, member: &MemberId) {
        self.owners.retain(|_, (owner, _)| owner != member);
    }

    /// A process has ended.
    pub(super) fn out(&mut self, member: &MemberId) {
        self.replaced(member);
        self.caught_up.retain(|(host, _)| host != member);
    }

    /// A learner's lag was acceptable.
    pub(super) fn caught_up(&mut self, member: &MemberId, task: &TaskId) {
        self.caught_up.insert((member.clone(), task.clone()));
    }

    /// A copy was closed.
    pub(super) fn closed(&mut self, member: &MemberId, task: &TaskId) {
        self.caught_up.remove(&(member.clone(), task.clone()));
    }

    /// The leader was shown a view.
    pub(super) fn shown(&mut self, view: &GroupView) {
        self.view.clone_from(view);
    }

    /// The coordinator is a new one.
    pub(super) fn new_coordinator(&mut self) {
        self.joined.clear();
        self.formed.clear();
        self.balanced = false;
    }

    /// Something happened in the group. With a completed generation comes the plan.
    pub(super) fn group(&mut self, event: &GroupEvent, plan: Option<&Plan>) {
        match event {
            GroupEvent::Joined { member, .. } => {
                self.joined.insert(member.clone());
            }
            GroupEvent::BarrierReached { .. } => {
                self.formed = std::mem::take(&mut self.joined);
                self.caught_up_then.clone_from(&self.caught_up);
            }
            // It may not have heard, and a new coordinator takes it for what it says it is.
            GroupEvent::MemberGone { member, .. } => self.replaced(member),
            GroupEvent::Completed { balanced, .. } => {
                self.rebalances += 1;
                self.balanced = *balanced;
                if let Some(plan) = plan {
                    self.plan(plan);
                }
            }
            GroupEvent::RebalanceStarted { .. } | GroupEvent::Stable { .. } => {}
        }
    }

    fn plan(&mut self, plan: &Plan) {
        let view = std::mem::take(&mut self.view);
        if let Err(fault) = assignor::validate(&view, plan) {
            self.violate(Check::PlansAreValid, fault.to_string());
        }
        let away = view.members.iter().filter(|m| m.away);
        self.planned_without = away.map(|m| m.id.clone()).collect();
        let instances: BTreeMap<_, _> = view.members.iter().map(|m| (&m.id, &m.instance)).collect();
        for (member, assignment) in &plan.members {
            let held = view.members.iter().find(|m| m.id == *member);
            let had =
                |task: &TaskId| held.is_some_and(|m| m.active.contains(task) || m.revoked.contains(task));
            for task in assignment.active.iter().filter(|t| !had(t)) {
                self.moves += 1;
                self.moved(task, member, &view, &instances);
            }
        }
        self.view = view;
    }

    /// A plan gives a task to a member that did not have it.
    fn moved(
        &mut self,
        task: &TaskId,
        to: &MemberId,
        view: &GroupView,
        instances: &BTreeMap<&MemberId, &InstanceId>,
    ) {
        if let Some((owner, _)) = self.owners.get(task)
            && owner != to
            && instances.contains_key(owner)
        {
            let what = format!("{task} goes to {to}, and {owner} has not stopped it");
            self.violate(Check::OwnershipMovesSafely, what);
        }
        if !self.formed.contains(to) {
            self.violate(Check::AwayTakesNothing, format!("{task} goes to {to}, which is away"));
        }
        // One that was called in again before it had its answer still names what it gave up then.
        let givers = view.members.iter().filter(|m| m.revoked.contains(task) && m.id != *to && !m.away);
        let giver = givers.max_by_key(|m| m.generation);
        let promotes = !matches!(self.conduct.promotion, Promotion::Probing);
        let learner_rules = promotes && self.conduct.revocation != assignor::Revocation::Everything;
        if let Some(giver) = giver.filter(|_| learner_rules && self.learns()) {
            let home = instances.get(to);
            let at_home = instances.get(&giver.id) == home;
            // Workers of one instance share its copies: it may be another one's learner.
            let is_ready =
                |(host, learned): &(MemberId, TaskId)| learned == task && instances.get(host) == home;
            let ready = self.caught_up_then.iter().any(is_ready);
            if !at_home && !ready && !self.stateless.contains(task) {
                let what = format!("{task} goes from {} to {to}, which has not caught up", giver.id);
                self.violate(Check::ReadyBeforeHandOver, what);
            }
        }
    }

    /// Whether the strategy hands over only to learners that are ready: those whose members leave after hand-over.
    fn learns(&self) -> bool {
        matches!(self.conduct.leave, assignor::Leave::AfterHandOver { .. })
    }
}
