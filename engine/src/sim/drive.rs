//! A member's machine in the simulator: what it wants done is done, as an engine's threads would.

use std::collections::VecDeque;

use assignor::MemberId;

use super::checkers::Check;
use super::node::Role;
use super::schedule::Happening;
use super::seat::Command;
use super::world::World;
use crate::clock::Time;
use crate::error::Error;
use crate::group::message::{Inventory, MemberEffect, MemberEvent};

impl World {
    /// Takes a step of a member's machine, and whatever follows from it at once.
    pub(super) fn drive(&mut self, id: &MemberId, event: MemberEvent) -> Result<(), Error> {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            if self.crashes_before_member_step(id) {
                self.crash_member(id);
                return Ok(());
            }
            let Some(seat) = self.seats.get_mut(id) else { return Ok(()) };
            let Some(node) = self.nodes.get(&seat.instance) else { return Ok(()) };
            self.outcome.steps += 1;
            let mut effects = Vec::new();
            seat.machine.step(self.now + seat.ahead, event, node, &mut effects);
            for effect in effects {
                self.carry_out(id, effect, &mut events)?;
            }
        }
        self.plan_tick(id);
        Ok(())
    }

    fn plan_tick(&mut self, id: &MemberId) {
        let Some(seat) = self.seats.get_mut(id) else { return };
        let deadline = seat.machine.deadline();
        if deadline == Time::NEVER {
            return;
        }
        let at = self.now + deadline.since(self.now + seat.ahead);
        if at < seat.tick_at {
            seat.tick_at = at;
            self.schedule.plan(at, Happening::MemberTick(id.clone(), seat.start));
        }
    }

    fn carry_out(
        &mut self,
        id: &MemberId,
        effect: MemberEffect,
        events: &mut VecDeque<MemberEvent>,
    ) -> Result<(), Error> {
        let Some(seat) = self.seats.get(id) else { return Ok(()) };
        let (instance, actor) = (seat.instance.clone(), (id.clone(), seat.start));
        if !matches!(effect, MemberEffect::Send(_)) {
            self.trail.note(self.now, || format!("{id}: {effect:?}"));
        }
        match effect {
            MemberEffect::Send(request) => self.send_up(&request),
            MemberEffect::Stop { tasks, .. } => self.command(id, Command::Stop { tasks }),
            MemberEffect::Run { task, claim } => {
                self.check.runs(&task, actor);
                self.command(id, Command::TakeOver { task, claim });
            }
            MemberEffect::Learn { task } => {
                self.check.closed(id, &task);
                self.copy(id, &task, Role::Learner);
            }
            MemberEffect::StandBy { task } => self.copy(id, &task, Role::Standby),
            MemberEffect::Close { task, .. } => {
                self.check.closed(id, &task);
                if let Some(node) = self.nodes.get_mut(&instance) {
                    node.close(id, &task)?;
                }
            }
            MemberEffect::Ready { task, .. } => {
                let lag = self.nodes.get(&instance).and_then(|node| node.lag(&task));
                if lag.is_some_and(|lag| lag <= self.conduct.acceptable_lag) {
                    self.check.caught_up(id, &task);
                }
            }
            MemberEffect::Failed { error } => {
                self.check.violate(Check::PlansAreValid, format!("{id} cannot plan: {error}"));
            }
            MemberEffect::Exit { why } => {
                if let Some(task) = seat.active.keys().next() {
                    let what = format!("{id} ends ({why:?}) and still runs {task}");
                    self.check.violate(Check::OwnershipMovesSafely, what);
                }
                self.check.out(id);
                self.seats.remove(id);
                events.clear();
            }
        }
        Ok(())
    }

    fn copy(&mut self, id: &MemberId, task: &assignor::TaskId, role: Role) {
        let Some(seat) = self.seats.get(id) else { return };
        let (instance, claim) = (seat.instance.clone(), seat.machine.claim());
        if let Some(node) = self.nodes.get_mut(&instance) {
            node.assign(id, task, claim, role);
        }
        self.wake_restorer(&instance, self.beat() / 50);
    }

    /// Tells a worker something; it does it between two turns.
    pub(super) fn command(&mut self, id: &MemberId, command: Command) {
        let delay = self.random.between(std::time::Duration::ZERO, self.beat() / 10);
        let Some(seat) = self.seats.get_mut(id) else { return };
        seat.commands.push_back(command);
        self.nudge(id, self.now + delay);
    }

    /// A worker works at `at` at the latest.
    pub(super) fn nudge(&mut self, id: &MemberId, at: Time) {
        let Some(seat) = self.seats.get_mut(id) else { return };
        if at < seat.work_at {
            seat.work_at = at;
            self.schedule.plan(at, Happening::Work(id.clone(), seat.start));
        }
    }
}
