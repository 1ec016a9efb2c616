//! An instance: a process-like container of workers that share a state directory and a restorer.
//!
//! Its own thread drives the members' protocol machines: replies, reports and ticks go in, effects are carried out
//! by its workers and its restorer. It never replays, opens or polls anything itself, so that heartbeats go out
//! whatever the workers do.

mod copies;
mod pass;
mod restorer;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use assignor::{Conduct, Copy, InstanceId, MemberId, Strategy, TaskId};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};

use crate::board::Board;
use crate::clock::{Clock as _, RealClock, Time};
use crate::cluster::ReplayStatus;
use crate::config::{EngineConfig, GroupConfig, ProcessorKind};
use crate::error::Error;
use crate::event::{Event, Observer, Stop, TaskEvent};
use crate::group::member::{Member, MemberConfig};
use crate::group::message::{Inventory, MemberEffect, MemberEvent, Reply, Request};
use crate::log::TaskLog;
use crate::pin::Pins;
use crate::slice;
use crate::source::Sources;
use crate::store::{Pressure, StoreDirectory};
use crate::task::Breaker;
use crate::task::processor::Processor;

pub(crate) use copies::Copies;
use copies::{Role, Slot};
use restorer::{Restorer, RestorerParts};
use worker::{ToWorker, Worker, WorkerParts};

/// What every thread of an engine shares.
pub(crate) struct Shared {
    pub(crate) clock: Arc<RealClock>,
    pub(crate) sources: Arc<dyn Sources>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) breaker: Arc<dyn Breaker>,
    pub(crate) board: Board,
    pub(crate) pins: Pins,
    pub(crate) engine: EngineConfig,
    pub(crate) group: GroupConfig,
    pub(crate) strategy: Arc<dyn Strategy>,
    pub(crate) conduct: Conduct,
    /// Nominal state sizes in bytes.
    pub(crate) state_bytes: BTreeMap<TaskId, u64>,
    /// Tasks without state.
    pub(crate) stateless: BTreeSet<TaskId>,
}

impl Shared {
    /// What a task does with its records.
    pub(crate) fn processor(&self, task: &TaskId) -> Box<dyn Processor> {
        if self.stateless.contains(task) { ProcessorKind::Map.make() } else { self.engine.processor.make() }
    }
}

/// What a worker tells its instance.
#[derive(Debug)]
pub(crate) enum WorkerReport {
    /// These are stopped and parked.
    Stopped { tasks: Vec<TaskId> },
    /// Somebody else owns the task; it is stopped and parked.
    Fenced { task: TaskId },
    /// It has stopped everything and is gone.
    Ended,
}

/// What reaches an instance's thread.
#[derive(Debug)]
pub(crate) enum ToInstance {
    /// From the coordinator.
    Reply { to: MemberId, reply: Reply },
    /// From a worker.
    Worker { from: MemberId, report: WorkerReport },
    /// From the restorer: a learner has caught up.
    Progress,
    /// A member is asked to go.
    Leave { member: MemberId },
    /// A member's thread stops at once; nothing is said.
    CrashMember { member: MemberId },
    /// A member does nothing and says nothing until then.
    Stall { member: MemberId, until: Time },
    /// The instance was crashed (by a script, or by a planted fault in a worker): stop at once.
    Crashed,
    /// Stop cleanly: run nothing more, flush and close all copies. Nobody is told.
    Shutdown,
}

/// A member with its machine and its worker.
struct Seat {
    machine: Member,
    worker: Sender<ToWorker>,
    crashed: Arc<AtomicBool>,
    last_polled: Arc<AtomicU64>,
    told_polled: u64,
    /// Neither heard nor heard of until then; what arrives meanwhile waits here.
    stalled_until: Time,
    waiting: Vec<MemberEvent>,
    /// It has been told to exit; its worker has not ended yet.
    exiting: bool,
}

/// The handle that the cluster keeps, for as long as it runs: also of an instance that is gone. What an instance has,
/// its block cache above all, belongs to its threads and goes with them; the handle can only look at it.
pub(crate) struct InstanceHandle {
    pub(crate) members: Vec<MemberId>,
    pub(crate) sender: Sender<ToInstance>,
    pub(crate) crashed: Arc<AtomicBool>,
    /// Nothing ever comes; disconnected when all its threads have ended and its directory is free.
    pub(crate) done: Receiver<()>,
    copies: Weak<Copies>,
    stores: Weak<dyn StoreDirectory>,
    thread: Option<JoinHandle<()>>,
}

impl InstanceHandle {
    /// Waits for its threads to end.
    pub(crate) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic inside was caught and has poisoned the board already.
            drop(thread.join());
        }
    }

    /// Learners and restoring actives, in task order.
    pub(crate) fn replays(&self) -> Vec<ReplayStatus> {
        let replay = |slot: &Arc<Slot>| {
            let (member, active) = match slot.role() {
                Role::Learner(member) => (member, false),
                Role::Restoring(restoration) => (restoration.member, true),
                _ => return None,
            };
            let (lag, initial_lag) = (slot.unread(), slot.initial_lag());
            Some(ReplayStatus { task: slot.task.clone(), member, lag, initial_lag, active })
        };
        self.copies.upgrade().map(|copies| copies.iter().filter_map(replay).collect()).unwrap_or_default()
    }

    /// How far writing lags behind in its open copies.
    pub(crate) fn pressure(&self) -> Pressure {
        self.stores.upgrade().map(|stores| stores.pressure()).unwrap_or_default()
    }

    /// Whether its threads have ended.
    pub(crate) fn ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Whether its threads have ended and nobody has waited for them: their stacks are still there.
    pub(crate) fn is_to_be_joined(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

/// What an instance is started with.
pub(crate) struct InstanceParts {
    pub(crate) id: InstanceId,
    /// Its members' names, each with its stable id if it has one.
    pub(crate) members: Vec<(MemberId, Option<String>)>,
    /// Which start of members of these names this is.
    pub(crate) start: u64,
    pub(crate) capacity: u32,
    pub(crate) shared: Arc<Shared>,
    pub(crate) logs: Vec<(TaskId, Arc<dyn TaskLog>)>,
    pub(crate) stores: Arc<dyn StoreDirectory>,
    pub(crate) coordinator: Sender<Request>,
    /// The channel that the router knows its members by.
    pub(crate) channel: (Sender<ToInstance>, Receiver<ToInstance>),
}

/// An instance's own thread.
struct Instance {
    shared: Arc<Shared>,
    copies: Arc<Copies>,
    coordinator: Sender<Request>,
    inbox: Receiver<ToInstance>,
    seats: BTreeMap<MemberId, Seat>,
    wake_restorer: Sender<()>,
    /// Disconnected when it is known what copies lie on the disk.
    looked: Receiver<()>,
    crashed: Arc<AtomicBool>,
    /// Tells the restorer to close all copies and end.
    ending: Arc<AtomicBool>,
}

/// Starts an instance's threads: its own, one per worker, and its restorer.
pub(crate) fn start(parts: InstanceParts) -> InstanceHandle {
    let InstanceParts { id, members, start, capacity, shared, logs, stores, coordinator, channel } = parts;
    let copies = Arc::new(Copies::new(logs));
    let crashed = Arc::new(AtomicBool::new(false));
    let ending = Arc::new(AtomicBool::new(false));
    let (wake_restorer, wake) = bounded(1);
    let (looking, looked) = bounded(0);
    let (ends, done) = bounded(0);
    let (sender, inbox) = channel;
    let (seen_copies, seen_stores) = (Arc::downgrade(&copies), Arc::downgrade(&stores));
    let restorer = Restorer::new(RestorerParts {
        instance: id.clone(),
        shared: shared.clone(),
        copies: copies.clone(),
        stores,
        wake,
        reports: sender.clone(),
        crashed: crashed.clone(),
        ending: ending.clone(),
        looked: Some(looking),
        kept_for: members.iter().find(|(_, id)| id.is_some()).map(|(member, _)| member.clone()),
    });
    let mut threads = vec![spawn(format!("{id} restorer"), &shared, move || restorer.run())];
    let mut seats = BTreeMap::new();
    for (member, static_id) in &members {
        let (to_worker, commands) = unbounded();
        let last_polled = Arc::new(AtomicU64::new(0));
        // A member of a crashed instance is crashed too; a crashed member's instance need not be.
        let member_crashed = if members.len() == 1 { crashed.clone() } else { Arc::default() };
        let worker = Worker::new(WorkerParts {
            member: member.clone(),
            instance: id.clone(),
            shared: shared.clone(),
            copies: copies.clone(),
            commands,
            own: to_worker.clone(),
            reports: sender.clone(),
            wake_restorer: wake_restorer.clone(),
            crashed: member_crashed.clone(),
            last_polled: last_polled.clone(),
        });
        threads.push(spawn(format!("{member}"), &shared, move || worker.run()));
        let config = MemberConfig {
            id: member.clone(),
            instance: id.clone(),
            static_id: static_id.clone(),
            capacity,
            start,
        };
        let machine = Member::new(config, shared.strategy.clone(), &shared.group);
        seats.insert(member.clone(), Seat::new(machine, to_worker, member_crashed, last_polled));
    }
    let instance = Instance {
        shared: shared.clone(),
        copies: copies.clone(),
        coordinator,
        inbox,
        seats,
        wake_restorer,
        looked,
        crashed: crashed.clone(),
        ending,
    };
    let leftovers = copies;
    let thread = spawn(format!("{id}"), &shared, move || {
        let outcome = instance.run();
        for thread in threads {
            drop(thread.join());
        }
        leftovers.drop_all();
        drop((leftovers, ends));
        outcome
    });
    let members = members.into_iter().map(|(member, _)| member).collect();
    InstanceHandle {
        members,
        sender,
        crashed,
        done,
        copies: seen_copies,
        stores: seen_stores,
        thread: Some(thread),
    }
}

/// Wakes a restorer. One that has been woken already looks at everything anyway.
fn wake(restorer: &Sender<()>) {
    let _full = restorer.try_send(());
}

/// Spawns a thread whose failure or panic poisons the run.
pub(crate) fn spawn(
    name: String,
    shared: &Arc<Shared>,
    body: impl FnOnce() -> Result<(), Error> + Send + 'static,
) -> JoinHandle<()> {
    let shared = shared.clone();
    let thread = name.clone();
    let guarded = move || match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => shared.board.fail(error),
        Err(panic) => {
            let message = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
                .unwrap_or_default();
            shared.board.fail(Error::Panic { thread, message });
        }
    };
    #[expect(clippy::expect_used, reason = "a machine that cannot start a thread cannot run an engine")]
    std::thread::Builder::new().name(name).spawn(guarded).expect("the system starts a thread")
}

impl Seat {
    fn new(
        machine: Member,
        worker: Sender<ToWorker>,
        crashed: Arc<AtomicBool>,
        last_polled: Arc<AtomicU64>,
    ) -> Self {
        Self {
            machine,
            worker,
            crashed,
            last_polled,
            told_polled: 0,
            stalled_until: Time::ZERO,
            waiting: Vec::new(),
            exiting: false,
        }
    }
}

/// What a member can look up about its instance.
struct Lookup<'a> {
    copies: &'a Copies,
    state_bytes: &'a BTreeMap<TaskId, u64>,
}

impl Inventory for Lookup<'_> {
    fn lag(&self, task: &TaskId) -> Option<u64> {
        let slot = self.copies.get(task)?;
        match slot.role() {
            Role::Running => Some(0),
            Role::Closed => None,
            _ if slot.exists() => Some(slot.lag()),
            _ => None,
        }
    }

    fn stored(&self) -> Vec<Copy> {
        self.copies.stored()
    }

    fn state_bytes(&self, task: &TaskId) -> Option<u64> {
        self.state_bytes.get(task).copied()
    }

    fn instance_ready(&self, acceptable_lag: u64) -> bool {
        let behind = |slot: &&Arc<Slot>| {
            matches!(slot.role(), Role::Learner(_)) && !(slot.exists() && slot.lag() <= acceptable_lag)
        };
        !self.copies.iter().any(|slot| behind(&slot))
    }
}

impl Instance {
    fn run(mut self) -> Result<(), Error> {
        slice::ask(self.shared.engine.short_slices, slice::Work::Telling);
        let _disconnected = self.looked.recv();
        let members: Vec<MemberId> = self.seats.keys().cloned().collect();
        for member in &members {
            self.step(member, MemberEvent::Start);
        }
        while !self.seats.is_empty() && !self.shared.board.failed() {
            match self.inbox.recv_deadline(self.shared.clock.instant(self.deadline())) {
                Ok(ToInstance::Crashed) => {
                    self.crash();
                    return Ok(());
                }
                Ok(ToInstance::Shutdown) => break,
                Ok(message) => self.receive(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.tick();
        }
        self.shut_down();
        Ok(())
    }

    fn now(&self) -> Time {
        self.shared.clock.now()
    }

    fn deadline(&self) -> Time {
        let due = |seat: &Seat| {
            if seat.exiting { Time::NEVER } else { seat.machine.deadline().max(seat.stalled_until) }
        };
        self.seats.values().map(due).min().unwrap_or(Time::NEVER)
    }

    fn receive(&mut self, message: ToInstance) {
        match message {
            ToInstance::Reply { to, reply } => self.step(&to, MemberEvent::Received(reply)),
            ToInstance::Worker { from, report } => match report {
                WorkerReport::Stopped { tasks } => self.step(&from, MemberEvent::Stopped { tasks }),
                WorkerReport::Fenced { task } => self.step(&from, MemberEvent::Fenced { task }),
                WorkerReport::Ended => drop(self.seats.remove(&from)),
            },
            ToInstance::Progress => {
                let members: Vec<MemberId> = self.seats.keys().cloned().collect();
                for member in &members {
                    self.step(member, MemberEvent::Progress);
                }
            }
            ToInstance::Leave { member } => self.step(&member, MemberEvent::Leave),
            ToInstance::CrashMember { member } => self.crash_member(&member),
            ToInstance::Stall { member, until } => {
                if let Some(seat) = self.seats.get_mut(&member) {
                    seat.stalled_until = until;
                    drop(seat.worker.send(ToWorker::Stall { until }));
                }
            }
            ToInstance::Crashed | ToInstance::Shutdown => {}
        }
    }

    /// Ticks what is due, tells machines that their workers polled, and hands over what waited for a stall to end.
    fn tick(&mut self) {
        let now = self.now();
        let members: Vec<MemberId> = self.seats.keys().cloned().collect();
        for member in &members {
            let Some(seat) = self.seats.get_mut(member) else { continue };
            if now < seat.stalled_until {
                continue;
            }
            let waited = std::mem::take(&mut seat.waiting);
            let polled = seat.last_polled.load(Ordering::Relaxed);
            let has_polled = polled > std::mem::replace(&mut seat.told_polled, polled);
            for event in waited {
                self.step(member, event);
            }
            if has_polled {
                self.step(member, MemberEvent::Polled);
            }
            if self.seats.get(member).is_some_and(|seat| seat.machine.deadline() <= now) {
                self.step(member, MemberEvent::Tick);
            }
        }
    }

    fn step(&mut self, member: &MemberId, event: MemberEvent) {
        let now = self.now();
        let Some(seat) = self.seats.get_mut(member) else { return };
        if seat.exiting {
            return;
        }
        if now < seat.stalled_until {
            seat.waiting.push(event);
            return;
        }
        let lookup = Lookup { copies: &self.copies, state_bytes: &self.shared.state_bytes };
        let mut effects = Vec::new();
        seat.machine.step(now, event, &lookup, &mut effects);
        for effect in effects {
            self.carry_out(member, effect);
        }
    }

    fn carry_out(&mut self, member: &MemberId, effect: MemberEffect) {
        match effect {
            // A coordinator that is gone does not answer; the machine's own timers notice.
            MemberEffect::Send(request) => drop(self.coordinator.send(request)),
            MemberEffect::Stop { tasks, why } => self.tell(member, ToWorker::Stop { tasks, why }),
            MemberEffect::Run { task, claim } => {
                let assigned = TaskEvent::Assigned { member: member.clone(), generation: claim.generation };
                self.observe(&task, assigned);
                if let Some(slot) = self.copies.get(&task) {
                    slot.reserve(member, claim);
                }
                self.tell(member, ToWorker::TakeOver { task, claim });
            }
            MemberEffect::Learn { task } => {
                self.give_role(member, &task, Role::Learner(member.clone()));
                let lag = self.copies.get(&task).map_or(0, |slot| slot.lag());
                self.observe(&task, TaskEvent::LearnerStarted { member: member.clone(), lag });
            }
            MemberEffect::StandBy { task } => {
                self.give_role(member, &task, Role::Standby);
                self.observe(&task, TaskEvent::StandbyStarted { member: member.clone() });
            }
            MemberEffect::Close { task, dropped_learner } => self.close(member, &task, dropped_learner),
            MemberEffect::Ready { task, lag } => {
                self.observe(&task, TaskEvent::LearnerReady { member: member.clone(), lag });
            }
            MemberEffect::Failed { error } => self.shared.board.fail(error.into()),
            MemberEffect::Exit { .. } => {
                self.tell(member, ToWorker::Exit);
                if let Some(seat) = self.seats.get_mut(member) {
                    seat.exiting = true;
                }
            }
        }
    }

    fn tell(&self, member: &MemberId, command: ToWorker) {
        if let Some(seat) = self.seats.get(member) {
            drop(seat.worker.send(command));
        }
    }

    fn observe(&self, task: &TaskId, event: TaskEvent) {
        self.shared.observer.event(self.now(), Event::Task(task.clone(), event));
    }

    fn give_role(&mut self, member: &MemberId, task: &TaskId, role: Role) {
        let Some(claim) = self.seats.get(member).map(|seat| seat.machine.claim()) else { return };
        if let Some(slot) = self.copies.get(task) {
            slot.assign(member, claim, role);
        }
        wake(&self.wake_restorer);
    }

    fn close(&mut self, member: &MemberId, task: &TaskId, dropped_learner: bool) {
        let Some(slot) = self.copies.get(task) else { return };
        if dropped_learner {
            let (records, bytes) = slot.replayed();
            self.observe(task, TaskEvent::LearnerDropped { member: member.clone(), records, bytes });
        }
        let stood_by = slot.stands_by(member);
        if slot.release(member) {
            if stood_by {
                self.observe(task, TaskEvent::StandbyEnded { member: member.clone() });
            }
            wake(&self.wake_restorer);
        }
    }

    /// One member's thread stops at once; the instance and its other members go on.
    fn crash_member(&mut self, member: &MemberId) {
        let Some(seat) = self.seats.remove(member) else { return };
        seat.crashed.store(true, Ordering::Release);
        self.observe_losses(member);
        for slot in self.copies.iter() {
            slot.release(member);
        }
        wake(&self.wake_restorer);
    }

    fn observe_losses(&self, member: &MemberId) {
        for task in self.shared.board.lose(member) {
            self.observe(&task, TaskEvent::Stopped { member: member.clone(), why: Stop::Crashed });
        }
    }

    /// Everything stops at once. The copies are dropped as they are: what was not flushed is lost.
    fn crash(&mut self) {
        self.crashed.store(true, Ordering::Release);
        for (member, seat) in &self.seats {
            seat.crashed.store(true, Ordering::Release);
            self.observe_losses(member);
        }
    }

    /// Lets the workers stop and park their copies, then lets the restorer flush and close all of them.
    fn shut_down(&mut self) {
        for seat in self.seats.values().filter(|seat| !seat.exiting) {
            drop(seat.worker.send(ToWorker::Exit));
        }
        while !self.seats.is_empty() && !self.shared.board.failed() {
            match self.inbox.recv_timeout(std::time::Duration::from_millis(100)) {
                Ok(ToInstance::Worker { from, report: WorkerReport::Ended }) => {
                    self.seats.remove(&from);
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.ending.store(true, Ordering::Release);
        wake(&self.wake_restorer);
    }
}
