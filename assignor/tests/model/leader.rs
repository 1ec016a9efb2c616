//! The leader: from what members said to answers, through the real strategy.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use assignor::{
    FollowUp, GroupView, Learner, MemberId, MemberView, Plan, Revocation, Strategy, Task, TaskId, validate,
};

use super::faults::Fault;
use super::group::{Group, Life, NEWEST, Phase, Tasks};

/// What a member says when it joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Claims {
    pub(crate) generation: u8,
    pub(crate) leaving: bool,
    pub(crate) active: Tasks,
    pub(crate) revoked: Tasks,
    pub(crate) learning: Tasks,
    pub(crate) ready: Tasks,
}

/// What a member is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Answer {
    pub(crate) active: Tasks,
    pub(crate) learning: Tasks,
    pub(crate) asked: Tasks,
    pub(crate) learned: Tasks,
    /// It had said that it is leaving.
    pub(crate) leaving: bool,
    /// It runs a task that another gave up.
    pub(crate) took_over: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Answers {
    told: [Answer; 4],
    follow_up: bool,
    balanced: bool,
    invalid: bool,
    two_learners: bool,
}

type Said = [Option<Claims>; 4];

/// Plans, and remembers plans: the same joins come up again and again, and a strategy keeps nothing between calls.
pub(crate) struct Leader {
    strategy: Arc<dyn Strategy>,
    fault: Option<Fault>,
    tasks: Vec<Task>,
    names: Vec<(MemberId, String)>,
    known: Mutex<BTreeMap<Said, Answers>>,
}

impl Leader {
    pub(crate) fn new(strategy: &str, tasks: usize, fault: Option<Fault>) -> Self {
        let task = |n: usize| Task { id: format!("T{n}").into(), stateful: true, state_size: 1 };
        Self {
            strategy: assignor::parse(strategy).expect("a strategy"),
            fault,
            tasks: (0..tasks).map(task).collect(),
            names: (0..4).map(|n| (format!("S{n}").into(), format!("I{n}"))).collect(),
            known: Mutex::default(),
        }
    }

    /// A member hears of the rebalance, gives up what its conduct says, and its join arrives.
    pub(crate) fn join(&self, group: &mut Group, m: usize, fault: Option<Fault>) {
        let ready = group
            .members
            .iter()
            .filter(|member| member.life == Life::In)
            .fold(0, |ready, member| ready | member.learning & member.ready);
        let member = &mut group.members[m];
        let gives_up = member.asked
            | match self.strategy.conduct().revocation {
                Revocation::Everything => member.active,
                Revocation::BeingLearned => member.learned,
                Revocation::WhenReady => ready,
                Revocation::OnRequest => 0,
            };
        member.given_up |= member.active & gives_up;
        member.active &= !gives_up;
        // An answer that has not arrived is of an older generation now: the member will not listen to it.
        if fault != Some(Fault::ListensToOldAnswers) {
            member.answer = None;
        }
        member.said = Some(Claims {
            generation: member.generation,
            leaving: member.leaving,
            active: member.active,
            revoked: member.given_up,
            learning: member.learning & !member.given_up & !member.active,
            ready: member.ready,
        });
    }

    /// All have joined: the leader answers everybody, and a new generation begins.
    pub(crate) fn answer(&self, group: &mut Group) {
        let said: Said = std::array::from_fn(|m| group.members[m].said);
        let answers = self.answers(said);
        rank_generations(group);
        for (m, member) in group.members.iter_mut().enumerate() {
            member.said = None;
            if member.life == Life::In {
                member.answer = Some(answers.told[m]);
            }
        }
        group.phase = Phase::Stable;
        (group.follow_up, group.balanced) = (answers.follow_up, answers.balanced);
        group.invalid |= answers.invalid;
        group.two_learners |= answers.two_learners;
    }

    fn answers(&self, said: Said) -> Answers {
        if let Some(answers) = self.known.lock().expect("no panic").get(&said) {
            return *answers;
        }
        let mut view = self.view(&said);
        if let Some(fault) = self.fault {
            fault.blind(&mut view);
        }
        let mut plan = self.strategy.plan(&view).expect("a view that a group can be in");
        if let Some(fault) = self.fault {
            fault.spoil(&view, &mut plan);
        }
        let answers = self.read(&view, &plan, &said);
        self.known.lock().expect("no panic").insert(said, answers);
        answers
    }

    fn view(&self, said: &Said) -> GroupView {
        let mut members = Vec::new();
        for ((id, instance), claims) in self.names.iter().zip(said) {
            let Some(claims) = claims else { continue };
            let mut member = MemberView::new(id.clone(), instance.as_str());
            member.generation = claims.generation.into();
            member.leaving = claims.leaving;
            member.active = self.ids(claims.active);
            member.revoked = self.ids(claims.revoked);
            member.learners = (0..self.tasks.len())
                .filter(|task| claims.learning & (1 << task) != 0)
                .map(|task| {
                    let ready = claims.ready & (1 << task) != 0;
                    Learner { task: self.tasks[task].id.clone(), lag: u64::from(!ready), ready }
                })
                .collect();
            members.push(member);
        }
        GroupView { tasks: self.tasks.clone(), members, stored: Vec::new() }
    }

    fn ids(&self, tasks: Tasks) -> Vec<TaskId> {
        let chosen = (0..self.tasks.len()).filter(|task| tasks & (1 << task) != 0);
        chosen.map(|task| self.tasks[task].id.clone()).collect()
    }

    fn bits(&self, ids: &[TaskId]) -> Tasks {
        let place = |id: &TaskId| self.tasks.iter().position(|task| task.id == *id);
        ids.iter().filter_map(place).fold(0, |bits, task| bits | 1 << task)
    }

    fn read(&self, view: &GroupView, plan: &Plan, said: &Said) -> Answers {
        let mut answers = Answers {
            follow_up: plan.follow_up == FollowUp::Immediate,
            balanced: plan.balanced,
            invalid: validate(view, plan).is_err(),
            ..Answers::default()
        };
        let mut learned: Tasks = 0;
        for (m, (id, _)) in self.names.iter().enumerate() {
            let (Some(told), Some(claims)) = (plan.members.get(id), said[m]) else { continue };
            let learning = self.bits(&told.learning);
            answers.two_learners |= learned & learning != 0;
            learned |= learning;
            let active = self.bits(&told.active);
            answers.told[m] = Answer {
                active,
                learning,
                asked: self.bits(&told.give_up),
                learned: self.bits(&told.being_learned),
                leaving: claims.leaving,
                took_over: active & claims.learning != 0,
            };
        }
        answers
    }
}

/// Only the order of generations matters: they are ranked, so that the number of states stays finite.
fn rank_generations(group: &mut Group) {
    let mut ranks: Vec<u8> = group.members.iter().map(|member| member.generation).collect();
    ranks.sort_unstable();
    ranks.dedup();
    for member in &mut group.members {
        let rank = ranks.iter().position(|&generation| generation == member.generation);
        member.generation = rank.map_or(0, |rank| rank as u8);
        debug_assert!(member.generation < NEWEST);
    }
}
