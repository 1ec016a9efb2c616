//! What goes wrong, and who comes and goes.

use std::time::Duration;

use assignor::{InstanceId, MemberId};

use super::node::Node;
use super::schedule::Happening;
use super::seat::Seat;
use super::setup::Upsets;
use super::world::World;
use crate::error::Error;
use crate::group::message::MemberEvent;
use crate::group::{Member, MemberConfig};

/// What is scripted happens at multiples of so many heartbeats.
const SCENE: u32 = 30;
/// Members at once, at most.
const MOST_MEMBERS: usize = 7;

impl World {
    /// Whether processes crash by chance.
    pub(super) fn random_crashes(&self) -> bool {
        self.setup.upsets == Upsets::Everything
    }

    pub(super) fn crashes_before_coordinator_step(&mut self) -> bool {
        self.outcome.coordinator_steps += 1;
        match self.setup.upsets {
            Upsets::None | Upsets::Starvation => false,
            Upsets::Everything => !self.is_calm() && self.random.once_in(5_000),
            Upsets::OneCrash { before_step, coordinator } => {
                coordinator && before_step == self.outcome.coordinator_steps && self.outcome.crashes == 0
            }
        }
    }

    pub(super) fn crashes_before_member_step(&mut self, id: &MemberId) -> bool {
        if !self.seats.contains_key(id) {
            return false;
        }
        self.outcome.member_steps += 1;
        match self.setup.upsets {
            Upsets::None | Upsets::Starvation => false,
            Upsets::Everything => !self.is_calm() && self.random.once_in(4_000),
            Upsets::OneCrash { before_step, coordinator } => {
                !coordinator && before_step == self.outcome.member_steps && self.outcome.crashes == 0
            }
        }
    }

    pub(super) fn plan_upset(&mut self) {
        let after = match self.setup.upsets {
            Upsets::OneCrash { .. } | Upsets::Starvation => self.beat() * SCENE,
            _ => self.random.between(self.beat() / 2, self.beat() * 20),
        };
        self.schedule.plan(self.now + after, Happening::Upset);
    }

    /// Something happens to the group.
    pub(super) fn upset(&mut self) -> Result<(), Error> {
        if self.is_calm() {
            return Ok(());
        }
        self.plan_upset();
        match self.setup.upsets {
            Upsets::OneCrash { .. } => return self.join_then_leave(),
            Upsets::Starvation => return self.starve_then_crash(),
            Upsets::None | Upsets::Everything => {}
        }
        match self.random.below(100) {
            0..20 => self.start_somewhere(),
            20..35 => self.ask_to_leave()?,
            35..45 => self.crash_somebody(),
            45..50 => self.crash_an_instance(),
            50..62 => self.stall_somebody(),
            62..70 => self.cut_somebody_off(),
            70..80 => self.restart_static(),
            80..86 => self.jump_a_clock()?,
            86..92 => self.crash_coordinator(),
            92..96 => self.lose_power()?,
            96..98 => self.starve(),
            _ => {}
        }
        if self.seats.is_empty() {
            self.start_somewhere();
        }
        Ok(())
    }

    /// How many heartbeats times [`SCENE`] have passed.
    fn scene(&self) -> u128 {
        self.now.since(crate::clock::Time::ZERO).as_nanos() / (self.beat() * SCENE).as_nanos()
    }

    /// Under one crash: one joins, then one leaves.
    fn join_then_leave(&mut self) -> Result<(), Error> {
        match self.scene() {
            1 => self.start_instance(),
            3 => self.ask_to_leave()?,
            _ => {}
        }
        Ok(())
    }

    /// The machine has no time for anybody for longer than a session, and one member does not survive it.
    fn starve_then_crash(&mut self) -> Result<(), Error> {
        if self.scene() == 1 {
            self.starve();
            self.crash_somebody();
        }
        Ok(())
    }

    /// Nobody does or hears anything for longer than a session: the group loses all of its members at once.
    fn starve(&mut self) {
        let lasting = self.starvation();
        let until = self.now + lasting;
        self.trail.note(self.now, || format!("everybody stalls for {lasting:?}"));
        for seat in self.seats.values_mut() {
            seat.stalled_until = seat.stalled_until.max(until);
        }
    }

    /// How long everybody stalls: somewhat longer than a session.
    pub(super) fn starvation(&self) -> Duration {
        self.config.session_timeout + self.beat() * 2
    }

    /// Starts an instance with the setup's number of workers.
    pub(super) fn start_instance(&mut self) {
        let instance = InstanceId::from(format!("I{}", self.nodes.len() + 1));
        let node = Node::new(self.logs.clone(), self.seam_fault());
        self.nodes.insert(instance.clone(), node);
        for _ in 0..self.setup.workers {
            self.start_member(&instance, None, None);
        }
    }

    /// Starts a process of a member, under a new name or one that was there before.
    pub(super) fn start_member(&mut self, instance: &InstanceId, name: Option<MemberId>, id: Option<String>) {
        self.starts += 1;
        let name = name.unwrap_or_else(|| {
            self.members_started += 1;
            MemberId::from(format!("S{}", self.members_started))
        });
        let static_id =
            if self.setup.is_static { Some(id.unwrap_or_else(|| name.to_string())) } else { None };
        let config = MemberConfig {
            id: name.clone(),
            instance: instance.clone(),
            static_id: static_id.clone(),
            capacity: 1,
            start: self.starts,
        };
        let mut machine = Member::new(config, self.strategy.clone(), &self.config);
        machine.plant(self.machine_fault());
        // Whoever had the name, or the static id, is out from now on.
        let same_id = |seat: &Seat| static_id.is_some() && seat.static_id == static_id;
        let older: Vec<_> = self.seats.iter().filter(|(_, s)| same_id(s)).map(|(id, _)| id.clone()).collect();
        for id in older.iter().chain([&name]) {
            self.check.replaced(id);
        }
        self.trail.note(self.now, || format!("{name} starts on {instance}"));
        let seat = Seat::new(machine, self.starts, instance.clone(), static_id);
        self.seats.insert(name.clone(), seat);
        // The machine's first step, at once; what it wants done is on the schedule then.
        if let Err(error) = self.drive(&name, MemberEvent::Start) {
            self.check.violate(super::checkers::Check::NothingLostOrDoubled, error.to_string());
        }
        self.nudge(&name, self.now + self.beat() / 2);
    }

    fn somebody(&mut self) -> Option<MemberId> {
        let ids: Vec<_> = self.seats.keys().cloned().collect();
        self.random.pick(&ids).cloned()
    }

    fn start_somewhere(&mut self) {
        if self.seats.len() >= MOST_MEMBERS {
            return;
        }
        let instances: Vec<_> = self.nodes.keys().cloned().collect();
        let old = self.random.once_in(3);
        match self.random.pick(&instances).cloned().filter(|_| old) {
            Some(instance) => self.start_member(&instance, None, None),
            None => self.start_instance(),
        }
    }

    fn ask_to_leave(&mut self) -> Result<(), Error> {
        let Some(id) = self.somebody() else { return Ok(()) };
        self.trail.note(self.now, || format!("{id} is asked to leave"));
        if let Some(seat) = self.seats.get_mut(&id) {
            seat.leaving = true;
        }
        self.drive(&id, MemberEvent::Leave)
    }

    fn crash_somebody(&mut self) {
        if let Some(id) = self.somebody() {
            self.crash_member(&id);
        }
    }

    /// A member's thread is gone.
    pub(super) fn crash_member(&mut self, id: &MemberId) {
        let Some(seat) = self.seats.remove(id) else { return };
        self.outcome.crashes += 1;
        self.trail.note(self.now, || format!("{id} crashes"));
        if let Some(node) = self.nodes.get_mut(&seat.instance) {
            drop(seat.active);
            node.lose(id);
        }
    }

    fn crash_an_instance(&mut self) {
        let instances: Vec<_> = self.nodes.keys().cloned().collect();
        if let Some(instance) = self.random.pick(&instances).cloned() {
            self.crash_instance(&instance);
        }
    }

    /// An instance's process is gone with all its members; its disk stays.
    pub(super) fn crash_instance(&mut self, instance: &InstanceId) {
        let members: Vec<_> =
            self.seats.iter().filter(|(_, s)| s.instance == *instance).map(|(id, _)| id.clone()).collect();
        for id in members {
            self.crash_member(&id);
        }
        if let Some(node) = self.nodes.get_mut(instance) {
            node.lose_all();
        }
    }

    /// Nothing is done or heard for a while, shorter or longer than a session; or only the worker hangs.
    fn stall_somebody(&mut self) {
        let Some(id) = self.somebody() else { return };
        let long = self.random.once_in(2);
        let most = if long { self.config.session_timeout * 2 } else { self.config.session_timeout / 2 };
        let lasting = self.random.between(self.beat(), most);
        let only_worker = self.random.once_in(3);
        let poll = self.config.max_poll_interval;
        let now = self.now;
        let Some(seat) = self.seats.get_mut(&id) else { return };
        if only_worker {
            let lasting = if long { poll + lasting } else { lasting };
            seat.stuck_until = now + lasting;
            self.trail.note(now, || format!("{id}'s worker hangs for {lasting:?}"));
        } else {
            seat.stalled_until = now + lasting;
            self.trail.note(now, || format!("{id} stalls for {lasting:?}"));
        }
    }

    fn cut_somebody_off(&mut self) {
        let Some(id) = self.somebody() else { return };
        let lasting = self.random.between(self.beat(), self.config.session_timeout * 2);
        let now = self.now;
        self.trail.note(now, || format!("{id} is cut off for {lasting:?}"));
        if let Some(seat) = self.seats.get_mut(&id) {
            seat.cut_until = now + lasting;
        }
    }

    /// A static member is started again: its old process crashed just now, or is still there (a mistake).
    fn restart_static(&mut self) {
        let Some(id) = self.somebody() else { return };
        let Some(seat) = self.seats.get(&id).filter(|seat| seat.static_id.is_some() && !seat.leaving) else {
            return;
        };
        let (instance, static_id) = (seat.instance.clone(), seat.static_id.clone());
        if self.random.once_in(4) {
            let elsewhere: Vec<_> = self.nodes.keys().cloned().collect();
            let instance = self.random.pick(&elsewhere).cloned().unwrap_or(instance);
            self.start_member(&instance, None, static_id);
            return;
        }
        self.crash_member(&id);
        let name = self.random.once_in(2).then_some(id);
        self.start_member(&instance, name, static_id);
    }

    /// The leader crashes; a static one is back at once, so that nothing calls for a rebalance.
    pub(super) fn strike_leader(&mut self, leader: &MemberId) {
        let Some(seat) = self.seats.get(leader) else { return };
        let (instance, static_id) = (seat.instance.clone(), seat.static_id.clone());
        self.crash_member(leader);
        if static_id.is_some() {
            self.start_member(&instance, Some(leader.clone()), static_id);
        }
    }

    fn jump_a_clock(&mut self) -> Result<(), Error> {
        let by = self.random.between(Duration::ZERO, self.config.session_timeout * 2);
        if self.random.once_in(3) {
            return self.jump_coordinator(by);
        }
        let Some(id) = self.somebody() else { return Ok(()) };
        self.trail.note(self.now, || format!("{id}'s clock jumps by {by:?}"));
        if let Some(seat) = self.seats.get_mut(&id) {
            seat.ahead += by;
        }
        self.drive(&id, MemberEvent::Tick)
    }

    /// Everything is gone at once, and logs lose what was not synced.
    fn lose_power(&mut self) -> Result<(), Error> {
        self.trail.note(self.now, || "the power goes");
        let instances: Vec<_> = self.nodes.keys().cloned().collect();
        for instance in &instances {
            self.crash_instance(instance);
        }
        self.crash_coordinator();
        for task in self.tasks.clone() {
            let turns = self.random.below(30) as usize;
            self.logs.lose_power(&task.id, turns)?;
        }
        for instance in instances.iter().take(3) {
            self.start_member(instance, None, None);
        }
        Ok(())
    }
}
