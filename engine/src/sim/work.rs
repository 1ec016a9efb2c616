//! A worker in the simulator: stops, fences, resumes and turns, with the code that real workers run.

use assignor::{MemberId, Resume, TaskId};

use super::node::Role;
use super::planted::SeamFault;
use super::schedule::Happening;
use super::seat::Command;
use super::world::World;
use crate::clock::Time;
use crate::error::{Error, LogError};
use crate::group::message::MemberEvent;
use crate::position::Claim;
use crate::source::{Source, Sources, SyntheticSources};
use crate::task::processor::{Count, PerKey};
use crate::task::{Breaker, NeverBreaks, Parts, Step, TurnError, When, resume};

/// Records of one turn, at most: small, so that turns, fences and replays interleave.
const TURN_RECORDS: usize = 9;
const VALUE_BYTES: usize = 16;

impl World {
    /// The worker's next command, or a pass over its tasks.
    pub(super) fn work(&mut self, id: &MemberId, start: u64) -> Result<(), Error> {
        let now = self.now;
        let Some(seat) = self.seats.get_mut(id).filter(|s| s.start == start && s.work_at <= now) else {
            return Ok(());
        };
        let held_until = seat.stalled_until.max(seat.stuck_until);
        if now < held_until {
            seat.work_at = held_until;
            self.schedule.plan(held_until, Happening::Work(id.clone(), start));
            return Ok(());
        }
        seat.work_at = Time::NEVER;
        if self.crashes_before_member_step(id) {
            self.crash_member(id);
            return Ok(());
        }
        self.outcome.steps += 1;
        let command = self.seats.get_mut(id).and_then(|seat| seat.commands.pop_front());
        match command {
            Some(Command::Stop { tasks }) => self.stop(id, tasks)?,
            Some(Command::TakeOver { task, claim }) => self.take_over(id, &task, claim)?,
            Some(Command::Resume { task }) => self.resume(id, &task)?,
            None => self.pass(id)?,
        }
        let pause = match self.seats.get(id) {
            Some(seat) if !seat.commands.is_empty() => self.beat() / 50,
            _ => self.beat() / 2,
        };
        let pause = self.random.between(pause / 2, pause);
        self.nudge(id, now + pause);
        Ok(())
    }

    fn stop(&mut self, id: &MemberId, tasks: Vec<TaskId>) -> Result<(), Error> {
        let Some(seat) = self.seats.get_mut(id) else { return Ok(()) };
        let Some(node) = self.nodes.get_mut(&seat.instance) else { return Ok(()) };
        let actor = (id.clone(), seat.start);
        for task in &tasks {
            if let Some(active) = seat.active.remove(task) {
                node.park(id, task, active.into_store())?;
            } else if seat.pending.remove(task).is_some() {
                node.unwait(id, task);
            }
            seat.commands.retain(|c| !matches!(c, Command::TakeOver { task: t, .. } if t == task));
            self.check.stopped(task, &actor);
        }
        self.trail.note(self.now, || format!("{id}: has stopped {tasks:?}"));
        self.drive(id, MemberEvent::Stopped { tasks })
    }

    /// Fences; the restorer replays what is missing.
    fn take_over(&mut self, id: &MemberId, task: &TaskId, claim: Claim) -> Result<(), Error> {
        let Some(seat) = self.seats.get_mut(id) else { return Ok(()) };
        let instance = seat.instance.clone();
        self.logs.acts((id.clone(), seat.start));
        match self.logs.of(task).fence(claim) {
            Ok(fenced) => {
                self.trail.note(self.now, || format!("{id}: fences {task} with {claim:?}: {fenced:?}"));
                seat.pending.insert(task.clone(), fenced);
                if let Some(node) = self.nodes.get_mut(&instance) {
                    node.assign(id, task, claim, Role::Restoring(fenced));
                }
                self.wake_restorer(&instance, self.beat() / 50);
                Ok(())
            }
            Err(LogError::StaleClaim { .. }) => {
                self.trail.note(self.now, || format!("{id}: is refused {task} with {claim:?}"));
                self.check.stopped(task, &(id.clone(), seat.start));
                self.drive(id, MemberEvent::Fenced { task: task.clone() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The copy is at the fenced end: the task becomes active.
    fn resume(&mut self, id: &MemberId, task: &TaskId) -> Result<(), Error> {
        let forgets = self.seam_fault() == Some(SeamFault::ResumeForgotten);
        let Some(seat) = self.seats.get_mut(id) else { return Ok(()) };
        let Some(fenced) = seat.pending.get(task).copied() else { return Ok(()) };
        let Some(copy) = self.nodes.get_mut(&seat.instance).and_then(|node| node.take(id, task, fenced))
        else {
            return Ok(());
        };
        seat.pending.remove(task);
        let parts =
            Parts { task: task.clone(), copy, processor: Box::new(PerKey::new(Count::new(VALUE_BYTES))) };
        let forgetful = Forgetful(self.sources.clone());
        let sources: &dyn Sources = if forgets { &forgetful } else { &self.sources };
        let active = resume(parts, fenced, sources)?;
        self.trail.note(self.now, || format!("{id}: resumes {task} at {:?}", active.checkpoint()));
        seat.active.insert(task.clone(), active);
        Ok(())
    }

    /// One turn of each task.
    fn pass(&mut self, id: &MemberId) -> Result<(), Error> {
        let Some(seat) = self.seats.get(id) else { return Ok(()) };
        let waits = self.conduct.resume == Resume::AllTogether && !seat.pending.is_empty();
        let tasks: Vec<TaskId> = seat.active.keys().filter(|_| !waits).cloned().collect();
        for task in tasks {
            self.turn(id, &task)?;
        }
        // A worker without tasks polls too.
        self.drive(id, MemberEvent::Polled)
    }

    fn turn(&mut self, id: &MemberId, task: &TaskId) -> Result<(), Error> {
        let breaker = self.breaker();
        let Some(seat) = self.seats.get_mut(id) else { return Ok(()) };
        let Some(active) = seat.active.get_mut(task) else { return Ok(()) };
        self.logs.acts((id.clone(), seat.start));
        match active.turn(self.now, TURN_RECORDS, &*breaker) {
            Ok(turn) => {
                self.outcome.records += turn.records as u64;
                let epoch = active.epoch();
                if turn.records > 0 {
                    self.trail
                        .note(self.now, || format!("{id}: {task} turns {} to {}", turn.records, turn.end));
                }
                if epoch == self.logs.of(task).epoch() {
                    self.has_polled(task);
                }
                Ok(())
            }
            Err(TurnError::Broken { step, when, .. }) => {
                self.trail.note(self.now, || format!("{id}: breaks off {when:?} {step:?} of {task}"));
                let instance = seat.instance.clone();
                self.crash_instance(&instance);
                Ok(())
            }
            Err(TurnError::Fenced { .. }) => {
                self.trail.note(self.now, || format!("{id}: {task} is fenced"));
                let Some(active) = seat.active.remove(task) else { return Ok(()) };
                if let Some(node) = self.nodes.get_mut(&seat.instance) {
                    node.park(id, task, active.into_store())?;
                }
                self.check.stopped(task, &(id.clone(), seat.start));
                self.drive(id, MemberEvent::Fenced { task: task.clone() })
            }
            Err(TurnError::Failed(error)) => Err(error),
        }
    }

    /// Now and then a turn breaks off in the middle, and its whole instance with it.
    fn breaker(&mut self) -> Box<dyn Breaker> {
        if self.is_calm() || !self.random_crashes() || !self.random.once_in(2_000) {
            return Box::new(NeverBreaks);
        }
        let step = Step::ALL[self.random.below(Step::ALL.len() as u64) as usize];
        let when = When::ALL[self.random.below(When::ALL.len() as u64) as usize];
        Box::new(BreaksAt(step, when))
    }
}

#[derive(Debug)]
struct BreaksAt(Step, When);

impl Breaker for BreaksAt {
    fn breaks(&self, _: &TaskId, step: Step, when: When) -> bool {
        (step, when) == (self.0, self.1)
    }
}

/// Sources that open at their beginning, whatever the log says.
#[derive(Debug)]
struct Forgetful(SyntheticSources);

impl Sources for Forgetful {
    fn open(&self, task: &TaskId, _: u64) -> Result<Box<dyn Source>, crate::error::SourceError> {
        self.0.open(task, 0)
    }
    fn preloaded(&self, task: &TaskId) -> u64 {
        self.0.preloaded(task)
    }
    fn due(&self, task: &TaskId, now: Time) -> u64 {
        self.0.due(task, now)
    }
}
