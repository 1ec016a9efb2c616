//! The protocol as a state machine that the checker walks: what members do, what messages are on their way.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use stateright::{Model, Property};

use super::faults::Fault;
use super::leader::{Answer, Claims, Leader};

/// Sets of tasks, one bit each.
pub(crate) type Tasks = u8;

/// How large the group is and what may happen to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) members: usize,
    pub(crate) tasks: usize,
    pub(crate) start: usize,
    pub(crate) joins: u8,
    pub(crate) leaves: u8,
    pub(crate) crashes: u8,
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} tasks, {} of {} members; {} joins, {} leaves, {} crashes",
            self.tasks, self.start, self.members, self.joins, self.leaves, self.crashes
        )
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Life {
    /// Not in the group.
    #[default]
    Out,
    In,
    /// It has stopped, and the coordinator has not noticed.
    Crashed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    pub(crate) life: Life,
    pub(crate) leaving: bool,
    /// What it runs.
    pub(crate) active: Tasks,
    /// What it has given up and has had no answer about.
    pub(crate) given_up: Tasks,
    pub(crate) learning: Tasks,
    pub(crate) ready: Tasks,
    /// What the last answer asked back.
    pub(crate) asked: Tasks,
    /// What the last answer marked as being learned.
    pub(crate) learned: Tasks,
    /// Rank of the generation in which it was given its tasks; [`NEWEST`] is the group's own.
    pub(crate) generation: u8,
    /// What it said when it joined the rebalance that is under way.
    pub(crate) said: Option<Claims>,
    /// An answer that is on its way to it.
    pub(crate) answer: Option<Answer>,
}

pub(crate) const NEWEST: u8 = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    Stable,
    /// Members are joining; when all have, the leader answers.
    Rebalancing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    pub(crate) members: [Member; 4],
    pub(crate) phase: Phase,
    /// Something has happened that needs a rebalance.
    pub(crate) due: bool,
    /// The last answer asked for an immediate follow-up.
    pub(crate) follow_up: bool,
    /// The last answer called the group balanced.
    pub(crate) balanced: bool,
    /// The last answer broke a rule, or gave a task two learners.
    pub(crate) invalid: bool,
    pub(crate) two_learners: bool,
    joins: u8,
    leaves: u8,
    crashes: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Start(usize),
    AskToLeave(usize),
    Crash(usize),
    /// The coordinator notices that a crashed member is gone.
    Expire(usize),
    Ready(usize, u8),
    StartRebalance,
    /// A member gives up what it has to, and its join arrives.
    Join(usize),
    LeaderAnswers,
    /// An answer arrives.
    Deliver(usize),
    /// An answer of an older generation arrives (only in a group with that fault).
    DeliverLate(usize),
}

/// The model: a strategy in a protocol, perhaps with a fault.
pub(crate) struct Protocol {
    pub(crate) limits: Limits,
    pub(crate) fault: Option<Fault>,
    pub(crate) leader: Leader,
    /// Fingerprints of states from which a walk has come to rest.
    at_rest_in_the_end: Mutex<HashMap<u64, ()>>,
}

fn fingerprint(group: &Group) -> u64 {
    let mut hasher = DefaultHasher::new();
    group.hash(&mut hasher);
    hasher.finish()
}

impl Protocol {
    pub(crate) fn new(strategy: &str, limits: Limits, fault: Option<Fault>) -> Self {
        let leader = Leader::new(strategy, limits.tasks, fault);
        Self { limits, fault, leader, at_rest_in_the_end: Mutex::default() }
    }

    fn all(&self) -> std::ops::Range<usize> {
        0..self.limits.members
    }

    /// Steps that happen by themselves, in a fixed order: what is left when nothing more happens to the group.
    fn next_by_itself(&self, group: &Group) -> Option<Step> {
        let mut steps = Vec::new();
        self.actions(group, &mut steps);
        let happens = |step: &Step| matches!(step, Step::Start(_) | Step::AskToLeave(_) | Step::Crash(_));
        steps.retain(|step| !happens(step));
        // Everything that is on its way arrives before another learner is ready.
        let later = |step: &Step| matches!(step, Step::Ready(..) | Step::DeliverLate(_));
        let place = steps.iter().position(|step| !later(step)).unwrap_or(0);
        steps.get(place).copied()
    }

    /// Whether the group comes to rest if nothing more happens to it. Where one walk has been, others need not go.
    fn comes_to_rest(&self, group: &Group) -> bool {
        let mut group = *group;
        let mut way = Vec::new();
        for _ in 0..150 {
            let print = fingerprint(&group);
            if group.is_quiet() || self.at_rest_in_the_end.lock().expect("no panic").contains_key(&print) {
                let mut known = self.at_rest_in_the_end.lock().expect("no panic");
                known.extend(way.into_iter().map(|print| (print, ())));
                return true;
            }
            way.push(print);
            let next = self.next_by_itself(&group).and_then(|step| self.next_state(&group, step));
            match next {
                Some(next) => group = next,
                None => return false,
            }
        }
        false
    }
}

impl Group {
    pub(crate) fn known(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.members.len()).filter(|&m| self.members[m].life != Life::Out)
    }

    fn actives(&self, task: usize) -> usize {
        self.members.iter().filter(|member| member.active & (1 << task) != 0).count()
    }

    fn is_quiet(&self) -> bool {
        self.known().next().is_none()
            || self.phase == Phase::Stable
                && self.balanced
                && !self.due
                && !self.follow_up
                && self.members.iter().all(|member| {
                    member.life != Life::Crashed
                        && member.answer.is_none()
                        && member.learning == 0
                        && member.given_up == 0
                        && !(member.leaving && member.life == Life::In)
                })
    }

    /// All that the coordinator knows have joined, and the leader, the lowest of them, is alive.
    fn can_be_answered(&self) -> bool {
        self.phase == Phase::Rebalancing
            && self.known().all(|m| self.members[m].said.is_some())
            && self.known().next().is_some_and(|leader| self.members[leader].life == Life::In)
    }

    fn all_answered(&self) -> bool {
        self.members.iter().all(|member| member.answer.is_none())
    }

    /// A rebalance under way begins again: everybody has to join.
    fn begin_again(&mut self) {
        self.members.iter_mut().for_each(|member| member.said = None);
    }
}

impl Model for Protocol {
    type State = Group;
    type Action = Step;

    fn init_states(&self) -> Vec<Group> {
        let mut group = Group {
            members: [Member::default(); 4],
            phase: Phase::Stable,
            due: true,
            follow_up: false,
            balanced: false,
            invalid: false,
            two_learners: false,
            joins: self.limits.joins,
            leaves: self.limits.leaves,
            crashes: self.limits.crashes,
        };
        group.members[..self.limits.start].iter_mut().for_each(|member| member.life = Life::In);
        // The story begins with a group that is at rest.
        while !group.is_quiet() {
            match self.next_by_itself(&group).and_then(|step| self.next_state(&group, step)) {
                Some(next) => group = next,
                None => break,
            }
        }
        vec![group]
    }

    fn actions(&self, group: &Group, steps: &mut Vec<Step>) {
        let follow_up_due = group.follow_up && group.all_answered();
        if group.phase == Phase::Stable && (group.due || follow_up_due) && group.known().next().is_some() {
            steps.push(Step::StartRebalance);
        }
        if group.can_be_answered() {
            steps.push(Step::LeaderAnswers);
        }
        for m in self.all() {
            let member = &group.members[m];
            match member.life {
                Life::Out if group.joins > 0 => steps.push(Step::Start(m)),
                Life::Out => {}
                Life::Crashed => steps.push(Step::Expire(m)),
                Life::In => {
                    if group.phase == Phase::Rebalancing && member.said.is_none() {
                        steps.push(Step::Join(m));
                    }
                    if member.answer.is_some() {
                        let late = group.phase == Phase::Rebalancing && member.said.is_some();
                        steps.push(if late { Step::DeliverLate(m) } else { Step::Deliver(m) });
                    }
                    for task in 0..self.limits.tasks as u8 {
                        if member.learning & !member.ready & (1 << task) != 0 {
                            steps.push(Step::Ready(m, task));
                        }
                    }
                    if group.leaves > 0 && !member.leaving {
                        steps.push(Step::AskToLeave(m));
                    }
                    if group.crashes > 0 {
                        steps.push(Step::Crash(m));
                    }
                }
            }
        }
    }

    fn next_state(&self, last: &Group, step: Step) -> Option<Group> {
        let mut group = *last;
        match step {
            Step::Start(m) => {
                group.joins -= 1;
                group.members[m] = Member { life: Life::In, ..Member::default() };
                // A join request opens a rebalance, or joins the one that is under way.
                group.due |= group.phase == Phase::Stable;
            }
            Step::AskToLeave(m) => {
                group.leaves -= 1;
                group.members[m].leaving = true;
                group.due = true;
            }
            Step::Crash(m) => {
                group.crashes -= 1;
                group.members[m].life = Life::Crashed;
                group.members[m].active = 0;
                group.members[m].learning = 0;
                group.members[m].answer = None;
            }
            Step::Expire(m) => {
                group.members[m] = Member::default();
                match group.phase {
                    Phase::Stable => group.due = true,
                    Phase::Rebalancing => group.begin_again(),
                }
            }
            Step::Ready(m, task) => {
                group.members[m].ready |= 1 << task;
                group.due = true;
            }
            Step::StartRebalance => {
                (group.phase, group.due, group.follow_up) = (Phase::Rebalancing, false, false);
                group.begin_again();
            }
            Step::Join(m) => self.leader.join(&mut group, m, self.fault),
            Step::LeaderAnswers => self.leader.answer(&mut group),
            Step::Deliver(m) | Step::DeliverLate(m) => {
                if let Some(answer) = group.members[m].answer.take() {
                    group.members[m].follow(&answer);
                }
            }
        }
        Some(group)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_ACTIVE, |model: &Self, group: &Group| {
                (0..model.limits.tasks).all(|task| group.actives(task) <= 1)
            }),
            Property::always(SERVED, |model: &Self, group: &Group| {
                let stays = group.members.iter().any(|member| member.life == Life::In);
                !group.is_quiet() || !stays || (0..model.limits.tasks).all(|task| group.actives(task) == 1)
            }),
            Property::always(ONE_LEARNER, |_, group: &Group| !group.two_learners),
            Property::always(VALID, |model: &Self, group: &Group| model.fault.is_some() || !group.invalid),
            Property::always(REST, |model: &Self, group: &Group| model.comes_to_rest(group)),
            Property::sometimes("a task is handed over", |_, group: &Group| {
                group.members.iter().any(|member| member.answer.is_some_and(|answer| answer.took_over))
            }),
        ]
    }
}

pub(crate) const ONE_ACTIVE: &str = "never two actives";
pub(crate) const SERVED: &str = "no task without an active while a member stays";
pub(crate) const ONE_LEARNER: &str = "at most one learner";
pub(crate) const VALID: &str = "every answer is valid";
pub(crate) const REST: &str = "quiet is reached";

impl Member {
    /// It does as it is told; a leaver that has nothing left is gone.
    fn follow(&mut self, answer: &Answer) {
        self.active = answer.active;
        self.given_up = 0;
        self.ready &= answer.learning & self.learning;
        self.learning = answer.learning;
        self.asked = answer.asked;
        self.learned = answer.learned;
        self.generation = NEWEST;
        if self.leaving && self.active == 0 && answer.leaving {
            *self = Self::default();
        }
    }
}
