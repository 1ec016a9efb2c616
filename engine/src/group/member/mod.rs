//! The member: what one worker owns, learns and gives up. A machine without I/O or clock.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `holdings` | the tasks and copies, and how an answer changes them |
//! | `reply` | what each of the coordinator's answers does |
//!
//! One call (join, sync, leave) is under way at most. It is repeated as it is at every heartbeat until it is
//! answered, and serves as the heartbeat meanwhile, so that a lost message costs one heartbeat interval.

use std::sync::Arc;
use std::time::Duration;

use assignor::{Conduct, InstanceId, Leave, MemberId, Promotion, Strategy, TaskId};

use crate::clock::Time;
use crate::config::GroupConfig;
use crate::event::{Cause, Stop};
use crate::group::Fault;
use crate::group::message::{Ask, Exit, Inventory, Join, MemberEffect, MemberEvent, Request, Stamp};
use crate::position::{Claim, Incarnation};

use holdings::Holdings;

mod holdings;
mod reply;

/// Who a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberConfig {
    /// Its name.
    pub id: MemberId,
    /// Its instance.
    pub instance: InstanceId,
    /// Its stable id, if membership is static.
    pub static_id: Option<String>,
    /// Its share of the load; at least 1.
    pub capacity: u32,
    /// Which start of a member of this name this is: greater for a later one. (Names that are never reused may
    /// leave it 0.)
    pub start: u64,
}

/// What a member does once nothing that it gave up is running any more.
#[derive(Clone, Debug)]
enum Then {
    /// Joins (again).
    Join { cause: Option<Cause> },
    /// Leaves the group.
    Leave { cause: Cause },
    /// Joins as a new member: it was put out.
    Afresh,
    /// Ends without a word.
    Exit { why: Exit },
}

/// Where a member stands.
#[derive(Clone, Debug)]
enum Phase {
    /// Not started.
    Idle,
    /// Waits for its worker to stop tasks.
    Stopping(Then),
    /// Has joined, or asked for its assignment, and waits for the answer.
    Calling(Request),
    /// Has its assignment.
    Steady,
    /// Its worker does not poll: it has left and waits for the worker to wake up.
    Barred,
    /// Has left, and waits for the coordinator to hear of it, until a time.
    Farewell(Request, Time),
    /// Ended.
    Done,
}

/// Keeps what one worker owns.
#[derive(Clone, Debug)]
pub struct Member {
    config: MemberConfig,
    strategy: Arc<dyn Strategy>,
    conduct: Conduct,
    heartbeat_interval: Duration,
    session_timeout: Duration,
    max_poll_interval: Duration,
    phase: Phase,
    held: Holdings,
    incarnation: Option<Incarnation>,
    /// Calls made.
    call: u64,
    /// The call with which it last joined as a new member: what is said to earlier ones is no news.
    fresh: u64,
    next_beat: Time,
    last_poll: Time,
    /// It is to go, by this time at the latest.
    leave_by: Option<Time>,
    /// The group has been told that it is to go.
    leaving_told: bool,
    /// When the first learner caught up that is waiting for the others of the instance.
    first_ready: Option<Time>,
    /// When to tell once more of learners that are ready and were not promoted.
    tell_again: Time,
    fault: Option<Fault>,
}

impl Member {
    /// A member that has not started.
    #[must_use]
    pub fn new(config: MemberConfig, strategy: Arc<dyn Strategy>, group: &GroupConfig) -> Self {
        Self {
            conduct: strategy.conduct(),
            config,
            strategy,
            heartbeat_interval: group.heartbeat_interval,
            session_timeout: group.session_timeout,
            max_poll_interval: group.max_poll_interval,
            phase: Phase::Idle,
            held: Holdings::default(),
            incarnation: None,
            call: 0,
            fresh: 0,
            next_beat: Time::NEVER,
            last_poll: Time::ZERO,
            leave_by: None,
            leaving_told: false,
            first_ready: None,
            tell_again: Time::NEVER,
            fault: None,
        }
    }

    /// Plants a fault, for the simulator to find.
    #[doc(hidden)]
    pub fn plant(&mut self, fault: Option<Fault>) {
        self.fault = fault;
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &MemberId {
        &self.config.id
    }

    /// The generation of its last assignment.
    #[must_use]
    pub fn claim(&self) -> Claim {
        self.held.claim
    }

    /// Tasks that it owns: running, or still restoring.
    pub fn active(&self) -> impl Iterator<Item = &TaskId> {
        self.held.active()
    }

    /// Whether it has its assignment and wants nothing.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        matches!(self.phase, Phase::Steady)
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    /// Takes one step: `event` at `now`. What is to be done is appended to `out`, in the order to do it in.
    pub fn step(
        &mut self,
        now: Time,
        event: MemberEvent,
        inventory: &dyn Inventory,
        out: &mut Vec<MemberEffect>,
    ) {
        match event {
            MemberEvent::Start => self.start(now, inventory, out),
            MemberEvent::Received(reply) => self.receive(now, reply, inventory, out),
            MemberEvent::Stopped { tasks } => {
                self.held.stopped(&tasks, out);
                self.go_on(now, inventory, out);
            }
            MemberEvent::Progress => {}
            MemberEvent::Fenced { task } => self.fenced(now, &task, inventory, out),
            MemberEvent::Polled => self.polled(now, inventory, out),
            MemberEvent::Leave => self.leave(now, inventory, out),
            MemberEvent::Tick => self.tick(now, inventory, out),
        }
        self.promote(now, inventory, out);
    }

    /// When it wants to be ticked, at the latest.
    #[must_use]
    pub fn deadline(&self) -> Time {
        let beat = match self.phase {
            Phase::Idle | Phase::Barred | Phase::Done => return Time::NEVER,
            Phase::Farewell(_, until) => return self.next_beat.min(until),
            Phase::Stopping(_) | Phase::Calling(_) | Phase::Steady => self.next_beat,
        };
        let poll = self.last_poll + self.max_poll_interval;
        let leave = self.leave_by.unwrap_or(Time::NEVER);
        let promotion = match (&self.phase, self.conduct.promotion, self.first_ready) {
            (Phase::Steady, Promotion::All { timeout }, Some(first)) => first + timeout,
            _ => Time::NEVER,
        };
        let again = if self.waits_for_promotion() { self.tell_again } else { Time::NEVER };
        beat.min(poll).min(leave).min(promotion).min(again)
    }

    fn start(&mut self, now: Time, inventory: &dyn Inventory, out: &mut Vec<MemberEffect>) {
        if matches!(self.phase, Phase::Idle) {
            self.last_poll = now;
            self.fresh = self.call + 1;
            self.join(now, Some(Cause::Join), inventory, out);
        }
    }

    fn tick(&mut self, now: Time, inventory: &dyn Inventory, out: &mut Vec<MemberEffect>) {
        let is_working = matches!(self.phase, Phase::Stopping(_) | Phase::Calling(_) | Phase::Steady);
        if is_working && self.leave_by.is_some_and(|at| now >= at) {
            self.leave_by = Some(Time::NEVER);
            return self.leave_now(now, Cause::Timeout, inventory, out);
        }
        if is_working && now >= self.last_poll + self.max_poll_interval {
            return self.bar(out);
        }
        if let Phase::Farewell(_, until) = self.phase
            && now >= until
        {
            return self.end(Exit::Left, out);
        }
        if now >= self.next_beat {
            self.beat(now, out);
        }
    }

    /// Says that it is alive: with the call that is under way, if there is one.
    fn beat(&mut self, now: Time, out: &mut Vec<MemberEffect>) {
        let request = match &self.phase {
            Phase::Idle | Phase::Barred | Phase::Done => return,
            Phase::Calling(request) | Phase::Farewell(request, _) => request.clone(),
            Phase::Stopping(_) | Phase::Steady => self.request(Ask::Heartbeat { claim: self.held.claim }),
        };
        self.next_beat = now + self.heartbeat_interval;
        out.push(MemberEffect::Send(request));
    }

    fn request(&self, body: Ask) -> Request {
        let stamp = Stamp { start: self.config.start, call: self.call };
        Request { member: self.config.id.clone(), stamp, incarnation: self.incarnation, body }
    }

    /// Makes a new call.
    fn call(&mut self, now: Time, body: Ask, out: &mut Vec<MemberEffect>) {
        self.call += 1;
        self.phase = Phase::Calling(self.request(body));
        self.beat(now, out);
    }

    /// Gives up what has to be given up, then joins.
    fn rejoin(
        &mut self,
        now: Time,
        ready: &[TaskId],
        cause: Option<Cause>,
        inventory: &dyn Inventory,
        out: &mut Vec<MemberEffect>,
    ) {
        self.held.revoke(self.conduct.revocation, ready, out);
        self.when_stopped(now, Then::Join { cause }, inventory, out);
    }

    /// Does `then` as soon as nothing that was given up is running any more.
    fn when_stopped(
        &mut self,
        now: Time,
        then: Then,
        inventory: &dyn Inventory,
        out: &mut Vec<MemberEffect>,
    ) {
        self.phase = Phase::Stopping(then);
        self.go_on(now, inventory, out);
    }

    fn go_on(&mut self, now: Time, inventory: &dyn Inventory, out: &mut Vec<MemberEffect>) {
        let Phase::Stopping(then) = &self.phase else { return };
        if self.held.is_stopping()
            && !(self.has(Fault::JoinBeforeStopped) && matches!(then, Then::Join { .. }))
        {
            return;
        }
        match then.clone() {
            Then::Join { cause } => self.join(now, cause, inventory, out),
            Then::Leave { cause } => {
                self.held.close_all(out);
                self.call(now, Ask::Leave { cause }, out);
                if let Phase::Calling(request) = &self.phase {
                    self.phase = Phase::Farewell(request.clone(), now + self.session_timeout);
                }
            }
            Then::Afresh if self.leave_by.is_some() => self.end(Exit::Left, out),
            Then::Afresh => {
                if self.has(Fault::KeepsWhatItLost) {
                    self.held.claim = Claim::default();
                } else {
                    self.held.close_all(out);
                }
                self.fresh = self.call + 1;
                self.join(now, Some(Cause::Join), inventory, out);
            }
            Then::Exit { why } => self.end(why, out),
        }
    }

    fn join(
        &mut self,
        now: Time,
        cause: Option<Cause>,
        inventory: &dyn Inventory,
        out: &mut Vec<MemberEffect>,
    ) {
        let leaving = self.leave_by.is_some();
        let cause = if leaving && !self.leaving_told { Some(Cause::Leaving) } else { cause };
        self.leaving_told = leaving;
        self.first_ready = None;
        let join = Join {
            instance: self.config.instance.clone(),
            static_id: self.config.static_id.clone(),
            capacity: self.config.capacity.max(1),
            leaving,
            claims: self.held.claims(inventory),
            cause,
        };
        self.call(now, Ask::Join(Box::new(join)), out);
    }

    /// Learners that have caught up, and whether it is time to say so.
    fn promote(&mut self, now: Time, inventory: &dyn Inventory, out: &mut Vec<MemberEffect>) {
        let acceptable = if self.has(Fault::ReadyTooSoon) { u64::MAX } else { self.conduct.acceptable_lag };
        self.held.look(acceptable, inventory, out);
        if !matches!(self.phase, Phase::Steady) {
            return;
        }
        if self.waits_for_promotion() && now >= self.tell_again {
            return self.rejoin(now, &[], Some(Cause::LearnerReady), inventory, out);
        }
        if !self.held.has_news() {
            self.first_ready = None;
            return;
        }
        let is_time = match self.conduct.promotion {
            Promotion::Each => true,
            Promotion::All { timeout } => {
                let first = *self.first_ready.get_or_insert(now);
                now >= first + timeout || inventory.instance_ready(acceptable)
            }
            Promotion::Probing => false,
        };
        if is_time {
            self.rejoin(now, &[], Some(Cause::LearnerReady), inventory, out);
        }
    }

    /// Whether a learner of which the group was told that it is ready still is one. As a rule the leader asks for the
    /// task and a follow-up hands it over. But the owner may have been away and be back without a rebalance, or two
    /// members may have learned the task; so the group is told again, once in a session at most.
    fn waits_for_promotion(&self) -> bool {
        matches!(self.phase, Phase::Steady)
            && self.conduct.promotion != Promotion::Probing
            && self.held.waits_for_promotion()
    }

    /// It is asked to go.
    fn leave(&mut self, now: Time, inventory: &dyn Inventory, out: &mut Vec<MemberEffect>) {
        let timeout = match self.conduct.leave {
            _ if self.leave_by.is_some() => return,
            Leave::AtOnce => None,
            Leave::AfterHandOver { timeout } => Some(timeout),
        };
        self.leave_by = Some(timeout.map_or(Time::NEVER, |t| now + t));
        let has_nothing = self.held.is_empty();
        match (&mut self.phase, timeout) {
            (Phase::Idle, _) => self.end(Exit::Left, out),
            (Phase::Farewell(..) | Phase::Done, _) => {}
            (Phase::Stopping(Then::Leave { .. } | Then::Exit { .. }), _) => {}
            (Phase::Barred | Phase::Stopping(Then::Afresh), _) => {
                self.when_stopped(now, Then::Exit { why: Exit::Left }, inventory, out);
            }
            (_, None) => self.leave_now(now, Cause::Leave, inventory, out),
            // Its assignment is on its way: it says so when it has it.
            (Phase::Calling(Request { body: Ask::Sync { .. }, .. }), _) => {}
            (Phase::Stopping(Then::Join { .. }), _) => {}
            (Phase::Calling(_), _) if has_nothing => self.leave_now(now, Cause::Leave, inventory, out),
            (Phase::Calling(_) | Phase::Steady, _) => {
                self.rejoin(now, &[], Some(Cause::Leaving), inventory, out);
            }
        }
    }

    fn leave_now(&mut self, now: Time, cause: Cause, inventory: &dyn Inventory, out: &mut Vec<MemberEffect>) {
        self.held.stop_all(Stop::Left, out);
        self.when_stopped(now, Then::Leave { cause }, inventory, out);
    }

    /// Its worker does not poll: the group should not wait for it (Kafka's `max.poll.interval.ms`). What the worker
    /// still does is refused by the logs once the tasks have new owners.
    fn bar(&mut self, out: &mut Vec<MemberEffect>) {
        self.call += 1;
        out.push(MemberEffect::Send(self.request(Ask::Leave { cause: Cause::Timeout })));
        self.held.stop_all(Stop::Left, out);
        self.phase = Phase::Barred;
    }

    fn polled(&mut self, now: Time, inventory: &dyn Inventory, out: &mut Vec<MemberEffect>) {
        self.last_poll = now;
        if matches!(self.phase, Phase::Barred) {
            self.when_stopped(now, Then::Afresh, inventory, out);
        }
    }

    /// Somebody else owns a task that it took for its own.
    fn fenced(&mut self, now: Time, task: &TaskId, inventory: &dyn Inventory, out: &mut Vec<MemberEffect>) {
        let had = self.held.fenced(task, out);
        match &self.phase {
            // The group has to know, or nobody might run the task. If it has been put out, it will be told so.
            Phase::Steady | Phase::Calling(Request { body: Ask::Join(_), .. }) if had => {
                self.rejoin(now, &[], Some(Cause::Timeout), inventory, out);
            }
            _ => self.go_on(now, inventory, out),
        }
    }

    fn end(&mut self, why: Exit, out: &mut Vec<MemberEffect>) {
        self.held.close_all(out);
        self.phase = Phase::Done;
        out.push(MemberEffect::Exit { why });
    }
}
