//! One run: the machines, the storage, and everything that happens to them, on virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use assignor::{Conduct, FollowUp, InstanceId, MemberId, Move, Plan, Strategy, Task, TaskId};

use super::checkers::{Check, Checkers, Violation};
use super::network::Network;
use super::node::{Node, Piece};
use super::planted::{Planted, SeamFault};
use super::random::Random;
use super::schedule::{Happening, Schedule};
use super::seat::{Command, Seat};
use super::setup::{Setup, Upsets};
use super::trail::Trail;
use super::witness::Witness;
use crate::clock::Time;
use crate::config::GroupConfig;
use crate::error::Error;
use crate::event::GroupEvent;
use crate::group::message::{Answer, Ask, CoordinatorEffect, CoordinatorEvent, MemberEvent, Reply, Request};
use crate::group::{Coordinator, Fault};
use crate::position::Incarnation;
use crate::source::{KeyDistribution, Sources as _, SyntheticLoad, SyntheticSources};

/// What a run did, if nothing was violated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Completed generations.
    pub rebalances: u64,
    /// Steps of machines, workers and restorers.
    pub steps: u64,
    /// Of these, the coordinator's.
    pub coordinator_steps: u64,
    /// Of these, the members' and their workers': each is a moment at which one of them may crash.
    pub member_steps: u64,
    /// Tasks that changed owner.
    pub moves: u64,
    /// Processes that crashed.
    pub crashes: u64,
    /// Appends of fenced owners that were refused.
    pub refused: u64,
    /// Source records applied.
    pub records: u64,
    /// The longest time in which a task that had been polled was not, until it was again.
    pub longest_gap: Duration,
    /// Virtual time.
    pub lasted: Duration,
}

impl std::ops::AddAssign for Outcome {
    /// Adds everything up, but keeps the longer gap.
    fn add_assign(&mut self, other: Self) {
        self.rebalances += other.rebalances;
        self.steps += other.steps;
        self.coordinator_steps += other.coordinator_steps;
        self.member_steps += other.member_steps;
        self.moves += other.moves;
        self.crashes += other.crashes;
        self.refused += other.refused;
        self.records += other.records;
        self.longest_gap = self.longest_gap.max(other.longest_gap);
        self.lasted += other.lasted;
    }
}

pub(super) struct World {
    pub(super) setup: Setup,
    pub(super) now: Time,
    pub(super) random: Random,
    pub(super) schedule: Schedule,
    pub(super) network: Network,
    pub(super) config: GroupConfig,
    pub(super) strategy: Arc<dyn Strategy>,
    pub(super) conduct: Conduct,
    pub(super) tasks: Vec<Task>,
    pub(super) coordinator: Option<Coordinator>,
    incarnation: u64,
    coordinator_ahead: Duration,
    coordinator_tick_at: Time,
    pub(super) nodes: BTreeMap<InstanceId, Node>,
    pub(super) restoring_at: BTreeMap<InstanceId, Time>,
    pub(super) seats: BTreeMap<MemberId, Seat>,
    pub(super) members_started: u64,
    pub(super) starts: u64,
    pub(super) logs: Witness,
    pub(super) sources: SyntheticSources,
    pub(super) check: Checkers,
    pub(super) trail: Trail,
    pub(super) outcome: Outcome,
    /// Nothing goes wrong any more from here on.
    pub(super) calm_from: Time,
    /// When it was last seen to be balanced and quiet without a break, and at how many rebalances.
    pub(super) settled: Option<(Time, u64)>,
    /// When each task was last polled by its newest owner.
    pub(super) polled: BTreeMap<TaskId, Time>,
    /// No task may go unpolled for longer, if that is checked.
    pub(super) gap_limit: Option<Duration>,
    pub(super) done: bool,
}

impl World {
    pub(super) fn new(setup: Setup, strategy: Arc<dyn Strategy>) -> Self {
        let mut config = setup.profile.config();
        let mut random = Random::new(setup.seed);
        if random.once_in(2) {
            config.initial_members = setup.instances * setup.workers;
        }
        let beat = config.heartbeat_interval;
        let tasks = tasks(&setup);
        let stateless = tasks.iter().filter(|t| !t.stateful).map(|t| t.id.clone()).collect();
        let seam = match setup.planted {
            Some(Planted::Seam(fault)) => Some(fault),
            _ => None,
        };
        let load = SyntheticLoad {
            seed: setup.seed,
            tasks: tasks.iter().map(|t| (t.id.clone(), 1.0)).collect(),
            stateless: Vec::new(),
            rate: 2.0 * tasks.len() as f64 / beat.as_secs_f64(),
            keys: 12,
            distribution: KeyDistribution::Uniform,
            record_bytes: 10,
            updates_per_key: 8,
        };
        let sources = SyntheticSources::new(&load);
        sources.begin(Time::ZERO);
        let calm_from = Time::ZERO + setup.upset_for;
        sources.end(calm_from);
        let network = match setup.upsets {
            Upsets::Everything => Network {
                delay: beat / 10,
                lost: 20 + random.below(100),
                doubled: 10 + random.below(100),
                late: 20 + random.below(100),
                late_by: beat * 20,
            },
            Upsets::None | Upsets::OneCrash { .. } | Upsets::Starvation => Network::calm(beat / 10),
        };
        let conduct = strategy.conduct();
        Self {
            check: Checkers::new(conduct, stateless),
            trail: Trail::new(setup.trail),
            logs: Witness::new(seam),
            now: Time::ZERO,
            schedule: Schedule::default(),
            coordinator: None,
            incarnation: 0,
            coordinator_ahead: Duration::ZERO,
            coordinator_tick_at: Time::NEVER,
            nodes: BTreeMap::new(),
            restoring_at: BTreeMap::new(),
            seats: BTreeMap::new(),
            members_started: 0,
            starts: 0,
            outcome: Outcome::default(),
            settled: None,
            polled: BTreeMap::new(),
            gap_limit: None,
            done: false,
            setup,
            random,
            network,
            config,
            strategy,
            conduct,
            tasks,
            sources,
            calm_from,
        }
    }

    /// The heartbeat interval: the unit that times are scaled by.
    pub(super) fn beat(&self) -> Duration {
        self.config.heartbeat_interval
    }

    pub(super) fn machine_fault(&self) -> Option<Fault> {
        match self.setup.planted {
            Some(Planted::Machine(fault)) => Some(fault),
            _ => None,
        }
    }

    pub(super) fn seam_fault(&self) -> Option<SeamFault> {
        match self.setup.planted {
            Some(Planted::Seam(fault)) => Some(fault),
            _ => None,
        }
    }

    pub(super) fn is_calm(&self) -> bool {
        self.now >= self.calm_from
    }

    /// Runs until the group has settled, or a rule is violated.
    pub(super) fn run(&mut self) -> Result<(), Violation> {
        self.start_coordinator();
        for _ in 0..self.setup.instances {
            let after = self.random.between(Duration::ZERO, self.beat() * 3);
            self.now = Time::ZERO + after;
            self.start_instance();
        }
        self.now = Time::ZERO;
        if self.setup.upsets != Upsets::None {
            self.plan_upset();
        }
        self.schedule.plan(self.now + self.beat() * 5, Happening::Look);
        while !self.done {
            let Some((at, what)) = self.schedule.next() else { break };
            self.now = at;
            if let Err(error) = self.happen(what) {
                self.check.violate(Check::NothingLostOrDoubled, format!("an error: {error}"));
            }
            if let Some(violation) = self.logs.take_violation().or_else(|| self.check.take_violation()) {
                return Err(violation);
            }
        }
        self.outcome.refused = self.logs.refused();
        self.outcome.rebalances = self.check.rebalances;
        self.outcome.moves = self.check.moves;
        self.outcome.lasted = self.now.since(Time::ZERO);
        Ok(())
    }

    fn happen(&mut self, what: Happening) -> Result<(), Error> {
        match what {
            Happening::Request(request) => self.coordinate(CoordinatorEvent::Received(*request)),
            Happening::CoordinatorTick => {
                if self.coordinator_tick_at <= self.now {
                    self.coordinator_tick_at = Time::NEVER;
                    return self.coordinate(CoordinatorEvent::Tick);
                }
                Ok(())
            }
            Happening::CoordinatorStarts => {
                self.start_coordinator();
                Ok(())
            }
            Happening::Reply(to, reply) => self.reply(to, reply),
            Happening::MemberTick(member, start) => self.tick(&member, start),
            Happening::Work(member, start) => self.work(&member, start),
            Happening::Restore(instance) => self.restore(&instance),
            Happening::Upset => self.upset(),
            Happening::StrikeLeader(leader) => {
                self.strike_leader(&leader);
                Ok(())
            }
            Happening::Look => self.look(),
        }
    }

    fn reply(&mut self, to: MemberId, reply: Box<Reply>) -> Result<(), Error> {
        let Some(seat) = self.seats.get(&to) else { return Ok(()) };
        if self.now < seat.cut_until {
            return Ok(());
        }
        if self.now < seat.stalled_until {
            self.schedule.plan(seat.stalled_until, Happening::Reply(to, reply));
            return Ok(());
        }
        self.drive(&to, MemberEvent::Received(*reply))
    }

    fn tick(&mut self, member: &MemberId, start: u64) -> Result<(), Error> {
        let now = self.now;
        let Some(seat) = self.seats.get_mut(member).filter(|s| s.start == start && s.tick_at <= now) else {
            return Ok(());
        };
        if now < seat.stalled_until {
            seat.tick_at = seat.stalled_until;
            self.schedule.plan(seat.stalled_until, Happening::MemberTick(member.clone(), start));
            return Ok(());
        }
        seat.tick_at = Time::NEVER;
        self.drive(member, MemberEvent::Tick)
    }

    fn restore(&mut self, instance: &InstanceId) -> Result<(), Error> {
        if self.restoring_at.get(instance).is_none_or(|at| *at > self.now) {
            return Ok(());
        }
        self.restoring_at.remove(instance);
        let Some(node) = self.nodes.get_mut(instance) else { return Ok(()) };
        self.outcome.steps += 1;
        let piece = node.restore()?;
        let pause = if piece == Piece::Idle { self.beat() } else { self.beat() / 20 };
        self.wake_restorer(instance, pause);
        match piece {
            Piece::Idle | Piece::Restoring => Ok(()),
            Piece::Followed(member) => self.drive(&member, MemberEvent::Progress),
            Piece::Restored(member, task) => {
                self.command(&member, Command::Resume { task });
                Ok(())
            }
        }
    }

    /// The restorer looks again after `pause` at the latest.
    pub(super) fn wake_restorer(&mut self, instance: &InstanceId, pause: Duration) {
        let at = self.now + pause;
        let next = self.restoring_at.entry(instance.clone()).or_insert(Time::NEVER);
        if at < *next {
            *next = at;
            self.schedule.plan(at, Happening::Restore(instance.clone()));
        }
    }

    pub(super) fn start_coordinator(&mut self) {
        self.incarnation += 1;
        let incarnation = Incarnation(self.incarnation);
        let mut coordinator = Coordinator::new(self.config.clone(), self.tasks.clone(), incarnation);
        coordinator.plant(self.machine_fault());
        self.coordinator = Some(coordinator);
        self.coordinator_ahead = Duration::ZERO;
        self.coordinator_tick_at = Time::NEVER;
        self.check.new_coordinator();
        self.trail.note(self.now, || format!("coordinator {incarnation} starts"));
    }

    pub(super) fn crash_coordinator(&mut self) {
        if self.coordinator.take().is_some() {
            self.outcome.crashes += 1;
            self.trail.note(self.now, || "coordinator crashes");
            let away = self.random.between(self.beat() / 2, self.beat() * 5);
            self.schedule.plan(self.now + away, Happening::CoordinatorStarts);
        }
    }

    /// The coordinator's clock jumps ahead.
    pub(super) fn jump_coordinator(&mut self, by: Duration) -> Result<(), Error> {
        self.coordinator_ahead += by;
        self.trail.note(self.now, || format!("coordinator's clock jumps by {by:?}"));
        self.coordinate(CoordinatorEvent::Tick)
    }

    fn coordinate(&mut self, event: CoordinatorEvent) -> Result<(), Error> {
        if self.crashes_before_coordinator_step() {
            self.crash_coordinator();
            return Ok(());
        }
        let Some(coordinator) = &mut self.coordinator else { return Ok(()) };
        let plan = match &event {
            CoordinatorEvent::Received(Request {
                member, body: Ask::Sync { plan: Some(plan), .. }, ..
            }) => Some((member.clone(), plan.clone())),
            _ => None,
        };
        self.outcome.steps += 1;
        let mut effects = Vec::new();
        coordinator.step(self.now + self.coordinator_ahead, event, &mut effects);
        let deadline = coordinator.deadline();
        if deadline < Time::NEVER {
            let at = self.now + deadline.since(self.now + self.coordinator_ahead);
            if at < self.coordinator_tick_at {
                self.coordinator_tick_at = at;
                self.schedule.plan(at, Happening::CoordinatorTick);
            }
        }
        for effect in effects {
            match effect {
                CoordinatorEffect::Send { to, reply } => self.send_down(&to, &reply),
                CoordinatorEffect::Observed(event) => self.observe(&event, plan.as_ref()),
            }
        }
        Ok(())
    }

    fn observe(&mut self, event: &GroupEvent, plan: Option<&(MemberId, Box<Plan>)>) {
        self.trail.note(self.now, || format!("group: {event:?}"));
        self.check.group(event, plan.map(|(_, plan)| &**plan));
        let Some((leader, plan)) = plan.filter(|_| matches!(event, GroupEvent::Completed { .. })) else {
            return;
        };
        for change in &plan.moves {
            let Move { task, change, from, to, reason } = change;
            self.trail.note(self.now, || {
                format!("{leader} plans: {task} {change:?} {from:?} to {to:?}, {reason:?}")
            });
        }
        if plan.follow_up != FollowUp::None
            && self.random_crashes()
            && !self.is_calm()
            && self.random.once_in(8)
        {
            let after = self.random.between(Duration::ZERO, self.beat() / 2);
            self.schedule.plan(self.now + after, Happening::StrikeLeader(leader.clone()));
        }
    }

    fn send_down(&mut self, to: &MemberId, reply: &Reply) {
        if let Answer::Joined { view: Some(view), .. } = &reply.body {
            self.check.shown(view);
        }
        if self.is_cut(to) {
            return;
        }
        let network = self.network;
        for after in network.arrivals(&mut self.random) {
            self.schedule.plan(self.now + after, Happening::Reply(to.clone(), Box::new(reply.clone())));
        }
    }

    pub(super) fn send_up(&mut self, request: &Request) {
        if self.is_cut(&request.member) {
            return;
        }
        let network = self.network;
        for after in network.arrivals(&mut self.random) {
            self.schedule.plan(self.now + after, Happening::Request(Box::new(request.clone())));
        }
    }

    fn is_cut(&self, member: &MemberId) -> bool {
        self.seats.get(member).is_some_and(|seat| self.now < seat.cut_until)
    }

    /// Every task's source position that is reached when everything has been applied.
    pub(super) fn due(&self, task: &TaskId) -> u64 {
        self.sources.due(task, self.now)
    }
}

fn tasks(setup: &Setup) -> Vec<Task> {
    let stateful = (1..=setup.stateful).map(|n| (n, true));
    let all = stateful.chain((setup.stateful + 1..=setup.stateful + setup.stateless).map(|n| (n, false)));
    let task = |(n, stateful)| Task { id: format!("T{n}").into(), stateful, state_size: 1 };
    all.map(task).collect()
}
