//! A group on virtual time: one coordinator, any number of members, a wire, and a log of what happened.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use assignor::{Copy, GroupView, MemberId, Plan, Strategy, Task, TaskId};
use engine::clock::Time;
use engine::config::GroupConfig;
use engine::event::{Cause, GroupEvent};
use engine::group::message::{
    Answer, Ask, CoordinatorEffect, CoordinatorEvent, Exit, Inventory, MemberEffect, MemberEvent, Reply,
    Request,
};
use engine::group::{Coordinator, Member, MemberConfig};
use engine::position::Incarnation;

/// One member with the driver's side of it.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) member: Member,
    pub(crate) running: BTreeSet<TaskId>,
    pub(crate) learning: BTreeSet<TaskId>,
    pub(crate) exit: Option<Exit>,
    disk: Disk,
    /// Neither hears nor is heard.
    pub(crate) cut_off: bool,
    /// Its worker does not stop tasks until this is lifted.
    pub(crate) slow: bool,
    /// Its worker polls (else it is stuck).
    pub(crate) polls: bool,
    unsaid: Vec<TaskId>,
}

#[derive(Debug, Default)]
struct Disk {
    lags: BTreeMap<TaskId, u64>,
    stored: BTreeSet<TaskId>,
    instance_ready: bool,
}

impl Inventory for Disk {
    fn lag(&self, task: &TaskId) -> Option<u64> {
        self.lags.get(task).copied()
    }
    fn stored(&self) -> Vec<Copy> {
        self.stored.iter().map(|task| Copy { task: task.clone(), lag: 0 }).collect()
    }
    fn state_bytes(&self, _: &TaskId) -> Option<u64> {
        None
    }
    fn instance_ready(&self, _: u64) -> bool {
        self.instance_ready
    }
}

/// A message on its way.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Up(Request),
    Down(MemberId, Reply),
}

/// One generation, as its leader saw and planned it.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) leader: MemberId,
    pub(crate) view: GroupView,
    pub(crate) plan: Plan,
}

/// What the wire does with a message.
pub(crate) type Rule = Box<dyn FnMut(&Message) -> usize>;

pub(crate) struct Group {
    pub(crate) now: Time,
    pub(crate) config: GroupConfig,
    pub(crate) coordinator: Coordinator,
    pub(crate) seats: BTreeMap<MemberId, Seat>,
    pub(crate) rounds: Vec<Round>,
    /// How often each message is delivered: 1, unless a test says otherwise.
    pub(crate) rule: Option<Rule>,
    strategy: Arc<dyn Strategy>,
    tasks: Vec<Task>,
    wire: VecDeque<Message>,
    views: BTreeMap<MemberId, GroupView>,
    log: String,
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Profile `tight`, but that no rebalance waits for others who come or go: what most tests look at is one step.
pub(crate) fn prompt() -> GroupConfig {
    GroupConfig { rebalance_delay: Duration::ZERO, ..GroupConfig::tight() }
}

impl Group {
    pub(crate) fn new(config: GroupConfig, strategy: Arc<dyn Strategy>, tasks: Vec<Task>) -> Self {
        Self {
            now: Time::ZERO,
            coordinator: Coordinator::new(config.clone(), tasks.clone(), Incarnation(1)),
            config,
            seats: BTreeMap::new(),
            rounds: Vec::new(),
            rule: None,
            strategy,
            tasks,
            wire: VecDeque::new(),
            views: BTreeMap::new(),
            log: String::new(),
        }
    }

    /// A group under a built-in strategy with tasks T1 … Tn.
    pub(crate) fn of(config: GroupConfig, strategy: &str, tasks: usize) -> Self {
        let task = |n| Task { id: format!("T{n}").into(), stateful: true, state_size: 1 };
        Self::new(config, assignor::parse(strategy).unwrap(), (1..=tasks).map(task).collect())
    }

    pub(crate) fn start(&mut self, id: &str) {
        self.start_as(id, id, None, 0);
    }

    pub(crate) fn start_as(&mut self, id: &str, instance: &str, static_id: Option<&str>, start: u64) {
        let config = MemberConfig {
            id: id.into(),
            instance: instance.into(),
            static_id: static_id.map(str::to_owned),
            capacity: 1,
            start,
        };
        let seat = Seat {
            member: Member::new(config, self.strategy.clone(), &self.config),
            running: BTreeSet::new(),
            learning: BTreeSet::new(),
            exit: None,
            disk: Disk::default(),
            cut_off: false,
            slow: false,
            polls: true,
            unsaid: Vec::new(),
        };
        self.seats.insert(id.into(), seat);
        self.event(id, MemberEvent::Start);
    }

    pub(crate) fn seat(&mut self, id: &str) -> &mut Seat {
        self.seats.get_mut(&MemberId::from(id)).unwrap()
    }

    /// Its process is gone, without a word.
    pub(crate) fn crash(&mut self, id: &str) {
        self.seats.remove(&MemberId::from(id));
    }

    /// The coordinator starts again, remembering nothing.
    pub(crate) fn restart_coordinator(&mut self, incarnation: u64) {
        self.coordinator =
            Coordinator::new(self.config.clone(), self.tasks.clone(), Incarnation(incarnation));
    }

    /// A learner's lag. The member looks at once; what it says goes out with the next `run`.
    pub(crate) fn lag(&mut self, id: &str, task: &str, lag: u64) {
        self.seat(id).disk.lags.insert(task.into(), lag);
        self.event(id, MemberEvent::Progress);
    }

    pub(crate) fn instance_ready(&mut self, id: &str) {
        self.seat(id).disk.instance_ready = true;
        self.event(id, MemberEvent::Progress);
    }

    pub(crate) fn event(&mut self, id: &str, event: MemberEvent) {
        let id = MemberId::from(id);
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let Some(seat) = self.seats.get_mut(&id) else { return };
            let mut out = Vec::new();
            seat.member.step(self.now, event, &seat.disk, &mut out);
            for effect in out {
                if let Some(event) = self.carry_out(&id, effect) {
                    events.push_back(event);
                }
            }
        }
    }

    fn carry_out(&mut self, id: &MemberId, effect: MemberEffect) -> Option<MemberEvent> {
        let seat = self.seats.get_mut(id).unwrap();
        match effect {
            MemberEffect::Send(request) => {
                if let Ask::Sync { plan: Some(plan), .. } = &request.body
                    && let Some(view) = self.views.remove(id)
                {
                    self.rounds.push(Round { leader: id.clone(), view, plan: (**plan).clone() });
                }
                if !seat.cut_off {
                    self.wire.push_back(Message::Up(request));
                }
            }
            MemberEffect::Stop { tasks, .. } => {
                if seat.slow {
                    seat.unsaid.extend(tasks);
                } else {
                    for task in &tasks {
                        assert!(seat.running.remove(task), "{id} stops {task}, which it does not run");
                    }
                    return Some(MemberEvent::Stopped { tasks });
                }
            }
            MemberEffect::Run { task, .. } => {
                seat.learning.remove(&task);
                assert!(seat.running.insert(task), "{id} runs a task twice");
            }
            MemberEffect::Learn { task } => {
                seat.disk.stored.remove(&task);
                seat.learning.insert(task);
            }
            MemberEffect::Close { task, .. } => {
                assert!(!seat.running.contains(&task), "{id} closes {task}, which it runs");
                seat.learning.remove(&task);
                seat.disk.lags.remove(&task);
                seat.disk.stored.insert(task);
            }
            MemberEffect::StandBy { .. } | MemberEffect::Ready { .. } => {}
            MemberEffect::Failed { error } => panic!("{id}: {error}"),
            MemberEffect::Exit { why } => {
                assert!(seat.running.is_empty(), "{id} ends and still runs {:?}", seat.running);
                seat.exit = Some(why);
            }
        }
        None
    }

    /// A slow worker does at last what it was told.
    pub(crate) fn catch_up(&mut self, id: &str) {
        let seat = self.seat(id);
        seat.slow = false;
        let tasks = std::mem::take(&mut seat.unsaid);
        for task in &tasks {
            seat.running.remove(task);
        }
        self.event(id, MemberEvent::Stopped { tasks });
    }

    /// Delivers messages until none is left.
    pub(crate) fn run(&mut self) {
        while let Some(message) = self.wire.pop_front() {
            let times = self.rule.as_mut().map_or(1, |rule| rule(&message));
            for _ in 0..times {
                self.deliver(message.clone());
            }
        }
    }

    /// Delivers one message, whenever it was sent.
    pub(crate) fn deliver(&mut self, message: Message) {
        match message {
            Message::Up(request) => self.coordinate(CoordinatorEvent::Received(request)),
            Message::Down(to, reply) => {
                if self.seats.get(&to).is_none_or(|seat| seat.cut_off) {
                    return;
                }
                if let Answer::Joined { view: Some(view), .. } = &reply.body {
                    self.views.insert(to.clone(), (**view).clone());
                }
                self.event(to.as_str(), MemberEvent::Received(reply));
            }
        }
    }

    fn coordinate(&mut self, event: CoordinatorEvent) {
        let mut out = Vec::new();
        self.coordinator.step(self.now, event, &mut out);
        for effect in out {
            match effect {
                CoordinatorEffect::Send { to, reply } => self.wire.push_back(Message::Down(to, reply)),
                CoordinatorEffect::Observed(event) => self.note(&event),
            }
        }
    }

    fn note(&mut self, event: &GroupEvent) {
        let now = self.now;
        let line = match event {
            GroupEvent::RebalanceStarted { generation, cause } => {
                format!("{generation} called in: {}", name(*cause))
            }
            GroupEvent::Completed { generation, causes, balanced, .. } => {
                let causes: Vec<_> = causes.iter().map(|c| name(*c)).collect();
                let balanced = if *balanced { ", balanced" } else { "" };
                format!("{generation} completed: {}{balanced}", causes.join(" "))
            }
            GroupEvent::MemberGone { member, cause } => format!("{member} gone: {}", name(*cause)),
            GroupEvent::Joined { .. } | GroupEvent::BarrierReached { .. } | GroupEvent::Stable { .. } => {
                return;
            }
        };
        writeln!(self.log, "{now} {line}").unwrap();
    }

    /// Lets time pass: everybody is ticked when it is due, workers poll.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        self.run();
        loop {
            let seats = self.seats.values().map(|seat| seat.member.deadline());
            let next = seats.chain([self.coordinator.deadline()]).min().unwrap();
            if next > end {
                break;
            }
            assert!(next >= self.now, "a deadline that has passed is not due again");
            self.now = next;
            if self.coordinator.deadline() <= next {
                self.coordinate(CoordinatorEvent::Tick);
            }
            let ids: Vec<_> = self.seats.keys().cloned().collect();
            for id in ids {
                let seat = &self.seats[&id];
                if seat.polls {
                    self.event(id.as_str(), MemberEvent::Polled);
                }
                if self.seats[&id].member.deadline() <= next {
                    self.event(id.as_str(), MemberEvent::Tick);
                }
            }
            self.run();
        }
        self.now = end;
    }

    /// What happened in the group since this was last asked, a line each.
    pub(crate) fn take_log(&mut self) -> String {
        std::mem::take(&mut self.log)
    }

    /// Compares what happened since with a text table.
    #[track_caller]
    pub(crate) fn expect(&mut self, table: &str) {
        let log = self.take_log();
        let lines = |text: &str| {
            text.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(lines(&log), lines(table), "what happened:\n{log}");
    }

    /// Who runs what, e.g. `S1[T1, T3] S2[T2]`.
    pub(crate) fn running(&self) -> String {
        let seats = self.seats.iter().filter(|(_, seat)| seat.exit.is_none());
        seats.map(|(id, seat)| format!("{id}{:?}", list(&seat.running))).collect::<Vec<_>>().join(" ")
    }

    /// Every task is run by exactly one member.
    #[track_caller]
    pub(crate) fn assert_each_task_runs_once(&self) {
        for task in &self.tasks {
            let runners = self.seats.values().filter(|seat| seat.running.contains(&task.id)).count();
            assert_eq!(runners, 1, "{} runs {runners} times: {}", task.id, self.running());
        }
    }
}

pub(crate) fn list(tasks: &BTreeSet<TaskId>) -> Vec<&TaskId> {
    tasks.iter().collect()
}

/// A cause as reports spell it.
fn name(cause: Cause) -> &'static str {
    match cause {
        Cause::Join => "join",
        Cause::Leave => "leave",
        Cause::Crash => "crash",
        Cause::LearnerReady => "learner-ready",
        Cause::Leaving => "leaving",
        Cause::FollowUp => "follow-up",
        Cause::Probing => "probing",
        Cause::Timeout => "timeout",
    }
}
