//! The coordinator: membership, the barrier, generations, timers. A machine without I/O or clock.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `request` | what each kind of request does |
//! | `roster` | the members, with what each was last known to have |
//! | `round` | the group's state, and what a barrier waits for |
//! | `view` | what the leader is told |
//! | `wanted` | why another rebalance is wanted, and when it is due |
//!
//! The rules are those of Kafka's classic group coordinator (`GroupCoordinator.scala`, KIP-134 initial delay,
//! KIP-345 static membership) with five differences. A rebalance that somebody wants while one is being completed
//! waits until that one's answers are out, so that tasks which were given up are running again first. One for members
//! that come or mean to go waits a moment for others like them, as KIP-1263 batches assignments. Follow-up rebalances
//! are scheduled here, so that they survive the leader. Static members that are not heard of may be left out of the
//! barrier. And a request names the coordinator's incarnation, in the manner of KIP-394's member ids.

use std::collections::BTreeMap;
use std::time::Duration;

use assignor::{FollowUp, MemberId, Plan, Task, TaskId};

use crate::clock::Time;
use crate::config::{GroupConfig, Notices};
use crate::event::{Cause, GroupEvent};
use crate::group::Fault;
use crate::group::message::{Answer, CoordinatorEffect, CoordinatorEvent, Reply, Stamp};
use crate::position::{Claim, Generation, Incarnation};

use roster::{Record, Roster, Sync, after};
use round::{Beginning, Gathering, Phase};
use wanted::Wanted;

mod request;
mod roster;
mod round;
mod view;
mod wanted;

/// A static member that is silent for this many heartbeats is taken to be away.
const AWAY_AFTER_HEARTBEATS: u32 = 3;

/// Keeps the membership of one group.
#[derive(Clone, Debug)]
pub struct Coordinator {
    config: GroupConfig,
    incarnation: Incarnation,
    tasks: BTreeMap<TaskId, Task>,
    generation: Generation,
    roster: Roster,
    phase: Phase,
    /// Why the generation that is being formed is formed: first cause first, without repeats.
    causes: Vec<Cause>,
    /// Whether another one is wanted after it.
    wanted: Wanted,
    /// When the last step was taken.
    now: Time,
    fault: Option<Fault>,
    /// Nobody is left of a predecessor's group.
    alone: bool,
}

impl Coordinator {
    /// A coordinator of a group that has these tasks. Their state sizes are replaced by what members report.
    ///
    /// `incarnation` counts the coordinator's starts, the first being 1. One that was started again waits for the
    /// length of a session before it forms its first generation, so that the members of its predecessor find it and
    /// keep what they own.
    #[must_use]
    pub fn new(config: GroupConfig, tasks: Vec<Task>, incarnation: Incarnation) -> Self {
        Self {
            config,
            incarnation,
            tasks: tasks.into_iter().map(|t| (t.id.clone(), t)).collect(),
            generation: Generation(0),
            roster: Roster::default(),
            phase: Phase::Empty,
            causes: Vec::new(),
            wanted: Wanted::default(),
            now: Time::ZERO,
            fault: None,
            alone: false,
        }
    }

    /// No member of a predecessor is left, as where coordinator and members are one process: however often it has been
    /// started, its group begins as an application does.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Plants a fault, for the simulator to find.
    #[doc(hidden)]
    pub fn plant(&mut self, fault: Option<Fault>) {
        self.fault = fault;
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// The last generation whose joins were in.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Whether no rebalance is under way or waiting to begin, and everybody has been given its assignment.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let asked_for = |f: &Option<(Time, Cause)>| matches!(f, Some((_, Cause::FollowUp)));
        match &self.phase {
            Phase::Empty | Phase::Dead => true,
            Phase::Stable { follow_up, .. } => {
                self.wanted.is_empty() && !asked_for(follow_up) && self.roster.all_answered()
            }
            Phase::Preparing(_) | Phase::Completing { .. } => false,
        }
    }

    /// The members, in natural order.
    pub fn members(&self) -> impl Iterator<Item = &MemberId> {
        self.roster.iter().map(|r| &r.id)
    }

    /// Asks for a rebalance as if the last plan had asked for one: an operator's button. It begins with the next step.
    pub fn rebalance(&mut self, cause: Cause) {
        self.want_after(cause, Duration::ZERO);
    }

    /// Takes one step: `event` at `now`. What is to be done is appended to `out`.
    pub fn step(&mut self, now: Time, event: CoordinatorEvent, out: &mut Vec<CoordinatorEffect>) {
        if matches!(self.phase, Phase::Dead) {
            return;
        }
        let now = now.max(self.now);
        self.now = now;
        match event {
            CoordinatorEvent::Received(request) => self.receive(now, request, out),
            CoordinatorEvent::Tick => {}
            CoordinatorEvent::Shutdown => {
                self.phase = Phase::Dead;
                return;
            }
        }
        self.expire_sessions(now, out);
        while self.advance(now, out) {}
    }

    /// When it wants to be ticked, at the latest.
    #[must_use]
    pub fn deadline(&self) -> Time {
        let sessions = self.roster.iter().map(|r| r.heard + self.config.session_timeout);
        let away = self.roster.iter().filter(|r| !r.joined && r.static_id.is_some());
        let away = away.map(|r| r.heard + self.away_after());
        let phase = match &self.phase {
            Phase::Empty | Phase::Dead => return Time::NEVER,
            Phase::Preparing(gathering) => [gathering.not_before(), gathering.limit],
            Phase::Completing { until, .. } => [*until; 2],
            Phase::Stable { .. } if !self.roster.all_answered() => [self.roster.sync_by(); 2],
            Phase::Stable { follow_up, .. } => {
                [follow_up.map_or(Time::NEVER, |(at, _)| at), self.wanted.due()]
            }
        };
        // What is due by now has been done by the last step.
        let times = sessions.chain(away).chain(phase);
        times.filter(|t| *t > self.now).min().unwrap_or(Time::NEVER)
    }

    /// Moves on by one transition, if one is due.
    fn advance(&mut self, now: Time, out: &mut Vec<CoordinatorEffect>) -> bool {
        if self.roster.is_empty() {
            self.phase = Phase::Empty;
            self.causes.clear();
            self.wanted.clear();
            return false;
        }
        match &mut self.phase {
            Phase::Empty | Phase::Dead => false,
            Phase::Preparing(_) => self.close_barrier(now, out),
            Phase::Completing { leader, until, .. } => {
                let leads = |r: &Record| r.sync != Sync::Outside;
                if !self.roster.get(leader).is_some_and(leads) {
                    // Nobody will answer: the others join again, and the next in standing leads.
                    self.begin(now, out);
                    return true;
                }
                if now < *until {
                    return false;
                }
                let leader = leader.clone();
                self.remove(&leader, Cause::Timeout, out);
                true
            }
            Phase::Stable { follow_up, settled, .. } => {
                if !self.roster.all_answered() {
                    return self.drop_unsynced(now, out);
                }
                if !std::mem::replace(settled, true) {
                    let generation = self.generation;
                    out.push(CoordinatorEffect::Observed(GroupEvent::Stable { generation }));
                }
                if let Some((_, cause)) = follow_up.take_if(|(at, _)| *at <= now) {
                    self.want(cause);
                }
                let due = self.wanted.due() <= now;
                if due {
                    self.begin(now, out);
                }
                due
            }
        }
    }

    fn beginning(&self) -> Beginning {
        if self.generation > Generation(0) {
            Beginning::EmptiedGroup
        } else if self.incarnation > Incarnation(1) && !self.alone {
            Beginning::NewCoordinator
        } else {
            Beginning::Application
        }
    }

    /// Calls the joins in for the next generation.
    fn begin(&mut self, now: Time, out: &mut Vec<CoordinatorEffect>) {
        let gathering = if matches!(self.phase, Phase::Empty) {
            Gathering::first(&self.config, now, self.beginning())
        } else {
            Gathering::again(&self.config, now)
        };
        self.phase = Phase::Preparing(gathering);
        for cause in self.wanted.take() {
            self.want(cause);
        }
        for record in self.roster.iter_mut() {
            record.sync = Sync::Outside;
        }
        let generation = after(self.generation);
        let cause = self.causes.first().copied().unwrap_or(Cause::Timeout);
        out.push(CoordinatorEffect::Observed(GroupEvent::RebalanceStarted { generation, cause }));
        if self.config.notices == Notices::Pushed {
            let waited_for = self.roster.iter().filter(|r| !r.joined);
            let notices: Vec<_> = waited_for.map(|r| (r.id.clone(), r.stamp)).collect();
            let ready = self.roster.ready();
            for (to, stamp) in notices {
                let body = Answer::Rejoin { generation, ready: ready.clone() };
                self.send(to, stamp, body, out);
            }
        }
    }

    /// Forms the generation if every join is in that is waited for.
    fn close_barrier(&mut self, now: Time, out: &mut Vec<CoordinatorEffect>) -> bool {
        let away_after = self.away_after();
        let waits_for_away = self.config.barrier_waits_for_away;
        let Phase::Preparing(gathering) = &mut self.phase else { return false };
        let over = gathering.is_over(now, self.roster.seen());
        let late = now >= gathering.limit;
        if late {
            let is_late = |r: &&Record| !r.joined && r.static_id.is_none();
            let laggards: Vec<_> = self.roster.iter().filter(is_late).map(|r| r.id.clone()).collect();
            for id in &laggards {
                self.remove(id, Cause::Timeout, out);
            }
        }
        // Like Kafka's, the barrier goes without a static member in the end, but keeps it in the group.
        let is_away =
            |r: &Record| r.static_id.is_some() && (late || (!waits_for_away && now >= r.heard + away_after));
        // In this order, since it is asked at every join of a group that may be large.
        let complete = over && self.roster.iter().all(|r| r.joined || is_away(r));
        if complete && self.roster.iter().any(|r| r.joined) {
            self.form(now, out);
            return true;
        }
        false
    }

    /// The barrier is reached: a new generation, whose leader is asked to plan.
    fn form(&mut self, now: Time, out: &mut Vec<CoordinatorEffect>) {
        let Some(leader) = self.roster.leader() else { return };
        self.generation = after(self.generation);
        let claim = self.claim();
        let mut view = Box::new(view::view(&self.tasks, &self.roster));
        for away in view.members.iter_mut().filter(|m| m.away) {
            away.away = !self.has(Fault::AwayUnseen);
            if self.has(Fault::AwayForgotten) {
                away.active.clear();
            }
        }
        out.push(CoordinatorEffect::Observed(GroupEvent::BarrierReached { generation: self.generation }));
        let mut replies = Vec::with_capacity(self.roster.len());
        for record in self.roster.iter_mut() {
            record.planned_as = record.id.clone();
            record.sync = if record.joined { Sync::Due } else { Sync::Outside };
            if std::mem::take(&mut record.joined) {
                let view = (record.id == leader).then(|| view.clone());
                replies.push((record.id.clone(), record.stamp, Answer::Joined { claim, view }));
            }
        }
        self.phase = Phase::Completing { leader, view, until: now + self.config.sync_timeout };
        for (to, stamp, body) in replies {
            self.send(to, stamp, body, out);
        }
    }

    /// The leader's answer is in: everybody gets its part.
    fn complete(&mut self, now: Time, mut plan: Plan, out: &mut Vec<CoordinatorEffect>) {
        let claim = self.claim();
        let mut active = Vec::with_capacity(self.roster.len());
        let (mut standby, mut asked) = (Vec::new(), Vec::new());
        for record in self.roster.iter_mut() {
            let Some(assignment) = plan.members.remove(&record.planned_as) else { continue };
            active.push((record.id.clone(), assignment.active.clone()));
            if !assignment.standby.is_empty() {
                standby.push((record.id.clone(), assignment.standby.clone()));
            }
            if record.joined {
                // It has joined again since: what it said then stands, and is for the next generation.
                continue;
            }
            record.give(claim, assignment);
            record.sync_by = now + self.config.sync_timeout;
            if record.sync == Sync::Asked {
                asked.push(record.id.clone());
            }
        }
        let follow_up = match plan.follow_up {
            FollowUp::None => None,
            FollowUp::Immediate if self.has(Fault::FollowUpForgotten) => None,
            FollowUp::Immediate => Some((now, Cause::FollowUp)),
            FollowUp::After(delay) => Some((now + delay, Cause::Probing)),
        };
        let Phase::Completing { leader, .. } = std::mem::replace(&mut self.phase, Phase::Empty) else {
            return;
        };
        self.phase = Phase::Stable { follow_up, leader, settled: false };
        let (generation, causes) = (self.generation, std::mem::take(&mut self.causes));
        let balanced = plan.balanced;
        let completed = GroupEvent::Completed { generation, causes, balanced, active, standby };
        out.push(CoordinatorEffect::Observed(completed));
        for id in asked {
            self.assign(&id, out);
        }
    }

    /// Sends a member its part of the plan.
    fn assign(&mut self, id: &MemberId, out: &mut Vec<CoordinatorEffect>) {
        let claim = self.claim();
        let Some(record) = self.roster.get_mut(id) else { return };
        record.sync = Sync::Answered;
        record.returned = false;
        let assignment = record.assignment.clone();
        record.give(claim, assignment.clone());
        let stamp = record.stamp;
        self.send(id.clone(), stamp, Answer::Assigned { claim, assignment }, out);
    }

    /// Who has not asked for its assignment in time is out.
    fn drop_unsynced(&mut self, now: Time, out: &mut Vec<CoordinatorEffect>) -> bool {
        let due = self.roster.iter().filter(|r| r.sync == Sync::Due && now >= r.sync_by);
        let late: Vec<_> = due.map(|r| r.id.clone()).collect();
        for id in &late {
            self.remove(id, Cause::Timeout, out);
        }
        !late.is_empty()
    }

    fn expire_sessions(&mut self, now: Time, out: &mut Vec<CoordinatorEffect>) {
        if self.has(Fault::SessionsNeverEnd) {
            return;
        }
        let session = self.config.session_timeout;
        let over = self.roster.iter().filter(|r| now >= r.heard + session);
        let over: Vec<_> = over.map(|r| r.id.clone()).collect();
        for id in &over {
            self.remove(id, Cause::Crash, out);
        }
    }

    /// Takes a member out. The group rebalances, unless the member had nothing left and was leaving.
    fn remove(&mut self, id: &MemberId, cause: Cause, out: &mut Vec<CoordinatorEffect>) {
        let Some(record) = self.roster.remove(id, false) else { return };
        out.push(CoordinatorEffect::Observed(GroupEvent::MemberGone { member: id.clone(), cause }));
        self.follow_up_outlives(id);
        if !record.is_spent() {
            self.want(cause);
        }
    }

    /// A process is gone, and if it was the leader's the follow-up it asked for is not (but for a planted fault).
    fn follow_up_outlives(&mut self, gone: &MemberId) {
        if self.fault == Some(Fault::FollowUpLostWithLeader)
            && let Phase::Stable { follow_up, leader, .. } = &mut self.phase
            && leader == gone
        {
            *follow_up = None;
        }
    }

    /// Notes that the group should rebalance: part of the generation that is being formed, else the next one.
    fn want(&mut self, cause: Cause) {
        let delay = if wanted::can_wait(cause) { self.config.rebalance_delay } else { Duration::ZERO };
        self.want_after(cause, delay);
    }

    fn want_after(&mut self, cause: Cause, delay: Duration) {
        if !matches!(self.phase, Phase::Preparing(_)) {
            self.wanted.add(cause, self.now, delay);
        } else if !self.causes.contains(&cause) {
            self.causes.push(cause);
        }
    }

    fn claim(&self) -> Claim {
        Claim { incarnation: self.incarnation, generation: self.generation }
    }

    fn away_after(&self) -> Duration {
        self.config.heartbeat_interval * AWAY_AFTER_HEARTBEATS
    }

    fn send(&self, to: MemberId, stamp: Stamp, body: Answer, out: &mut Vec<CoordinatorEffect>) {
        let reply = Reply { stamp, incarnation: self.incarnation, body };
        out.push(CoordinatorEffect::Send { to, reply });
    }
}
