//! A worker: the thread that runs one member's active tasks, turn after turn.
//!
//! Between turns it does what its instance tells it. Taking a task over happens here too when little is left to
//! replay, so that a hand-over to a ready learner crosses as few threads as possible.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use assignor::{InstanceId, MemberId, Resume, TaskId};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::clock::{Clock as _, Time};
use crate::error::{Error, LogError};
use crate::event::{Event, Served, Stop, TaskEvent};
use crate::log::Fenced;
use crate::position::Claim;
use crate::restore::Replay;
use crate::slice;
use crate::task::{ActiveTask, Parts, Turn, TurnError, resume};

use super::copies::{Copies, Restoration, Role, Slot};
use super::pass::Pass;
use super::{Shared, ToInstance, WorkerReport, wake};

/// A worker replays this many records itself when it takes a task over; more are the restorer's.
const OWN_REPLAY_RECORDS: u64 = 20_000;
/// How long a worker waits for a copy that the restorer has in hand before it leaves the rest to it.
const COPY_PATIENCE: Duration = Duration::from_millis(2);
/// A worker that has served everything looks again after this long at the latest.
const IDLE: Duration = Duration::from_millis(20);

/// What an instance tells a worker.
#[derive(Debug)]
pub(crate) enum ToWorker {
    /// Stop running (or restoring) these, park their copies, and say so.
    Stop { tasks: Vec<TaskId>, why: Stop },
    /// Take the task over.
    TakeOver { task: TaskId, claim: Claim },
    /// The restorer has brought the task's copy to the end of its fence.
    Restored { task: TaskId },
    /// Do nothing at all until then.
    Stall { until: Time },
    /// Stop everything, park all copies, and end.
    Exit,
}

/// What a worker is made with.
pub(crate) struct WorkerParts {
    pub(crate) member: MemberId,
    pub(crate) instance: InstanceId,
    pub(crate) shared: Arc<Shared>,
    pub(crate) copies: Arc<Copies>,
    pub(crate) commands: Receiver<ToWorker>,
    /// Its own sending end, handed to the restorer with a restoration.
    pub(crate) own: Sender<ToWorker>,
    pub(crate) reports: Sender<ToInstance>,
    pub(crate) wake_restorer: Sender<()>,
    /// Set by a crash: from then on nothing is flushed or said.
    pub(crate) crashed: Arc<AtomicBool>,
    /// When it last polled, in nanoseconds of the run's clock; read by its instance.
    pub(crate) last_polled: Arc<AtomicU64>,
}

pub(crate) struct Worker {
    parts: WorkerParts,
    active: BTreeMap<TaskId, ActiveTask>,
    /// Taken over but still replaying, with what their fence returned.
    pending: BTreeMap<TaskId, Fenced>,
    /// Tasks whose first poll has not been seen yet.
    unpolled: Vec<TaskId>,
    pass: Pass,
    /// Not before this, or not long before: how `worker_rate` is kept.
    next_turn: Time,
}

impl Worker {
    pub(crate) fn new(parts: WorkerParts) -> Self {
        Self {
            parts,
            active: BTreeMap::new(),
            pending: BTreeMap::new(),
            unpolled: Vec::new(),
            pass: Pass::default(),
            next_turn: Time::ZERO,
        }
    }

    /// Runs until told to exit, crashed, or poisoned.
    ///
    /// # Errors
    ///
    /// A failed log, store or source; a core that it can't be pinned to.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        slice::ask(self.parts.shared.engine.short_slices, slice::Work::Serving);
        let pinned = self.parts.shared.pins.worker();
        let outcome = pinned.and_then(|()| self.work());
        // What a crash left with it can be opened again once it has let go of it.
        self.active.clear();
        self.parts.copies.iter().for_each(|slot| slot.abandoned_by(&self.parts.member));
        wake(&self.parts.wake_restorer);
        outcome
    }

    fn work(&mut self) -> Result<(), Error> {
        loop {
            while let Ok(command) = self.parts.commands.try_recv() {
                if !self.obey(command)? {
                    return Ok(());
                }
            }
            if self.ends_at_once() {
                return Ok(());
            }
            let began = self.now();
            self.parts.last_polled.store(began.0, Ordering::Relaxed);
            self.poll_all()?;
            let until = self.next_pass(began);
            match self.parts.commands.recv_deadline(self.parts.shared.clock.instant(until)) {
                Ok(command) => {
                    if !self.obey(command)? {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn now(&self) -> Time {
        self.parts.shared.clock.now()
    }

    fn ends_at_once(&self) -> bool {
        self.parts.crashed.load(Ordering::Acquire) || self.parts.shared.board.failed()
    }

    fn observe(&self, task: &TaskId, event: TaskEvent) {
        self.parts.shared.observer.event(self.now(), Event::Task(task.clone(), event));
    }

    /// Whether its tasks may be polled: under `Resume::AllTogether` only when the last replay is done.
    fn polls(&self) -> bool {
        self.parts.shared.conduct.resume == Resume::EachTask || self.pending.is_empty()
    }

    /// One turn of each task that has something to do, as far as its capacity goes; the next call goes on from there.
    fn poll_all(&mut self) -> Result<(), Error> {
        if !self.polls() {
            return Ok(());
        }
        self.pass.begin(self.now(), self.active.keys());
        while !self.ends_at_once() && self.has_capacity() {
            let Some(task) = self.pass.next() else { break };
            self.turn(&task)?;
        }
        Ok(())
    }

    /// Whether it may serve more by now. It may run ahead by a linger, so that turns of a few records each need no
    /// waits between them.
    fn has_capacity(&self) -> bool {
        self.now() + self.parts.shared.engine.linger >= self.next_turn
    }

    fn turn(&mut self, task: &TaskId) -> Result<(), Error> {
        let Some(active) = self.active.get_mut(task) else { return Ok(()) };
        let shared = &self.parts.shared;
        let began = shared.clock.now();
        let first = self.unpolled.contains(task);
        if !first && active.next_due().is_none_or(|due| due > began) {
            return Ok(());
        }
        match active.turn(began, shared.engine.turn_records, &*shared.breaker) {
            Ok(turn) => {
                if first {
                    self.first_poll(task, began);
                }
                self.served(task, began, &turn);
                Ok(())
            }
            Err(TurnError::Broken { .. }) => {
                // A planted crash: this thread is gone from here on, and so is its whole instance.
                self.parts.crashed.store(true, Ordering::Release);
                drop(self.parts.reports.send(ToInstance::Crashed));
                Ok(())
            }
            Err(TurnError::Fenced { .. }) => {
                self.fenced(task);
                Ok(())
            }
            Err(TurnError::Failed(error)) => Err(error),
        }
    }

    /// The pause of a task ends when its new owner's first turn began. Told only once that turn has succeeded: a
    /// fenced owner's poll ends nothing.
    fn first_poll(&mut self, task: &TaskId, began: Time) {
        self.unpolled.retain(|unpolled| unpolled != task);
        let Some(active) = self.active.get(task) else { return };
        let Shared { board, observer, .. } = &*self.parts.shared;
        let member = self.parts.member.clone();
        board.polled(
            task,
            active.epoch(),
            active.checkpoint().resume.source_offset,
            (member.clone(), self.parts.instance.clone()),
        );
        let polled = TaskEvent::Polled { member, epoch: active.epoch() };
        observer.event(began, Event::Task(task.clone(), polled));
    }

    fn served(&mut self, task: &TaskId, began: Time, turn: &Turn) {
        if turn.records == 0 {
            return;
        }
        let shared = &self.parts.shared;
        let at = shared.clock.now();
        if let Some(active) = self.active.get(task) {
            shared.board.served(task, turn.records as u64, active.checkpoint().resume.source_offset);
            let member = &self.parts.member;
            shared.observer.served(Served { task, member, began, at, intended: &active.records().times });
        }
        if let Some(rate) = shared.engine.worker_rate {
            let spent = Duration::from_nanos(turn.records as u64 * 1_000_000_000 / rate.max(1));
            // Time that was not used is not saved up: a worker's capacity is a rate, not a credit.
            self.next_turn = self.next_turn.max(began) + spent;
        }
    }

    /// Somebody else owns the task: this worker stops it, having changed nothing.
    fn fenced(&mut self, task: &TaskId) {
        if let Some(active) = self.active.remove(task) {
            let epoch = active.epoch();
            self.parts.shared.board.stopped(task, epoch);
            self.observe(task, TaskEvent::AppendRefused { member: self.parts.member.clone(), epoch });
            self.hand_back(vec![active], WorkerReport::Fenced { task: task.clone() });
        }
    }

    /// When to look again: when the next record is due, but not before a linger after the last pass, so that turns
    /// carry batches and not single records.
    fn next_pass(&self, began: Time) -> Time {
        let linger = self.pass.began() + self.parts.shared.engine.linger;
        let idle = began + IDLE;
        if !self.polls() {
            return idle;
        }
        if !self.pass.is_over() {
            return self.next_turn;
        }
        let due = self.active.values().filter_map(ActiveTask::next_due).min();
        due.map_or(idle, |due| due.max(linger).max(self.next_turn).min(idle.max(self.next_turn)))
    }

    /// Does what it is told; says whether to go on.
    fn obey(&mut self, command: ToWorker) -> Result<bool, Error> {
        if self.ends_at_once() {
            return Ok(false);
        }
        match command {
            ToWorker::Stop { tasks, why } => {
                let stopped = tasks.iter().filter_map(|task| self.stop(task, why)).collect();
                self.hand_back(stopped, WorkerReport::Stopped { tasks });
            }
            ToWorker::TakeOver { task, claim } => self.take_over(&task, claim)?,
            ToWorker::Restored { task } => self.restored(&task)?,
            ToWorker::Stall { until } => {
                self.stall(until);
                // A stalled thread wakes in the middle of its work: it appends before it hears anything.
                self.poll_all()?;
            }
            ToWorker::Exit => {
                let tasks: Vec<TaskId> = self.active.keys().chain(self.pending.keys()).cloned().collect();
                let stopped = tasks.iter().filter_map(|task| self.stop(task, Stop::Left)).collect();
                self.hand_back(stopped, WorkerReport::Ended);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn report(&self, report: WorkerReport) {
        // An instance that is gone has no use for reports.
        drop(self.parts.reports.send(ToInstance::Worker { from: self.parts.member.clone(), report }));
    }

    fn slot(&self, task: &TaskId) -> Option<&Arc<Slot>> {
        self.parts.copies.get(task)
    }

    /// Says that tasks are stopped, then parks their copies. What their last turns did is in their logs; a hand-over
    /// need not wait until it has reached their stores too.
    fn hand_back(&self, stopped: Vec<ActiveTask>, report: WorkerReport) {
        let slots: Vec<Option<Arc<Slot>>> =
            stopped.iter().map(|active| self.slot(active.task()).cloned()).collect();
        let places: Vec<_> = slots
            .iter()
            .zip(&stopped)
            .map(|(slot, active)| {
                let at = active.checkpoint().offset;
                Some((slot.as_ref()?, slot.as_ref()?.begin_parking(&self.parts.member, at)))
            })
            .collect();
        self.report(report);
        // The group waits for those who pass it on, and on a busy machine they may wait for this core.
        std::thread::yield_now();
        let options = self.parts.shared.engine.replay;
        for (place, active) in places.into_iter().zip(stopped) {
            if let Some((slot, mut place)) = place {
                slot.end_parking(&mut place, Replay::new(slot.log.clone(), active.into_store(), options));
            }
        }
    }

    /// Takes the task out of those that run or restore here; its `ActiveTask`, if it ran.
    fn stop(&mut self, task: &TaskId, why: Stop) -> Option<ActiveTask> {
        self.unpolled.retain(|unpolled| unpolled != task);
        if let Some(active) = self.active.remove(task) {
            if self.parts.shared.board.stopped(task, active.epoch()) {
                self.observe(task, TaskEvent::Stopped { member: self.parts.member.clone(), why });
            }
            return Some(active);
        }
        if self.pending.remove(task).is_some()
            && let Some(slot) = self.slot(task)
        {
            let waits = |role: &Role| matches!(role, Role::Restoring(_) | Role::Restored(_));
            slot.change(&self.parts.member, waits, Role::Parked);
        }
        None
    }

    /// Fence, then either replay the few records that are left and run, or leave the replay to the restorer.
    fn take_over(&mut self, task: &TaskId, claim: Claim) -> Result<(), Error> {
        let Some(slot) = self.slot(task).cloned() else { return Ok(()) };
        let member = self.parts.member.clone();
        let lag = slot.lag();
        let fenced = match slot.log.fence(claim) {
            Ok(fenced) => fenced,
            Err(LogError::StaleClaim { .. }) => {
                self.report(WorkerReport::Fenced { task: task.clone() });
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        self.observe(task, TaskEvent::Fenced { member: member.clone(), epoch: fenced.epoch, lag });
        slot.change(&member, |_| true, Role::Running);
        let at_hand = slot
            .copy
            .try_lock_for(COPY_PATIENCE)
            .and_then(|mut place| place.take_out(&member, |copy| copy.lag() <= OWN_REPLAY_RECORDS));
        match at_hand {
            Some(copy) => self.finish(task, copy, fenced, (0, 0)),
            None => {
                self.pending.insert(task.clone(), fenced);
                let worker = self.parts.own.clone();
                let restoring = Role::Restoring(Restoration { member: member.clone(), fenced, worker });
                slot.change(&member, |_| true, restoring);
                wake(&self.parts.wake_restorer);
                Ok(())
            }
        }
    }

    /// The restorer is done with a task. If the task is not wanted here any more, its copy stays where it is.
    fn restored(&mut self, task: &TaskId) -> Result<(), Error> {
        let Some(slot) = self.slot(task).cloned() else { return Ok(()) };
        let member = &self.parts.member;
        let Some(fenced) = self.pending.get(task).copied() else { return Ok(()) };
        let is_this =
            |role: &Role| matches!(role, Role::Restored(restoration) if restoration.fenced == fenced);
        if !slot.change(member, is_this, Role::Running) {
            return Ok(());
        }
        let copy = slot.copy.lock().take_out(member, |_| true);
        match copy {
            Some(copy) => {
                self.pending.remove(task);
                self.finish(task, copy, fenced, slot.replayed())
            }
            None => Ok(()),
        }
    }

    /// Replays what is left to the fenced end and makes the task active. `replayed` is what the restorer has
    /// replayed of it since the fence: records and bytes.
    fn finish(
        &mut self,
        task: &TaskId,
        copy: Replay,
        fenced: Fenced,
        replayed: (u64, u64),
    ) -> Result<(), Error> {
        let Some(slot) = self.slot(task) else { return Ok(()) };
        let shared = &self.parts.shared;
        let from = copy.checkpoint().offset;
        let records = replayed.0 + fenced.end.since(from);
        let bytes = replayed.1 + slot.log.bytes_from(from);
        let parts = Parts { task: task.clone(), copy, processor: shared.processor(task) };
        let mut active = resume(parts, fenced, &*shared.sources)?;
        active.set_commit(shared.engine.commit);
        self.observe(task, TaskEvent::Restored { member: self.parts.member.clone(), records, bytes });
        self.unpolled.push(task.clone());
        self.active.insert(task.clone(), active);
        // At once: it need not wait until those that come with it have been taken over too.
        if self.polls() && self.has_capacity() {
            return self.turn(task);
        }
        self.pass.prefer(task);
        Ok(())
    }

    /// A scripted stall: nothing is polled, nothing is heard. What happened meanwhile is found out afterwards.
    fn stall(&mut self, until: Time) {
        for (task, active) in &self.active {
            if self.parts.shared.board.stopped(task, active.epoch()) {
                self.observe(
                    task,
                    TaskEvent::Stopped { member: self.parts.member.clone(), why: Stop::Stalled },
                );
            }
        }
        // Waits on a channel on which nothing ever comes.
        let (_keep, nothing) = crossbeam_channel::bounded::<()>(0);
        while self.now() < until && !self.ends_at_once() {
            let slice = until.min(self.now() + IDLE);
            let _timeout = nothing.recv_deadline(self.parts.shared.clock.instant(slice));
        }
        self.unpolled = self.active.keys().cloned().collect();
        self.pass = Pass::default();
    }
}
