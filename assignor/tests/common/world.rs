//! A group that plays by its answers, with everything that can happen to one: the tests' own model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assignor::{
    Assignment, Copy, FollowUp, GroupView, Learner, Leave, MemberId, MemberView, Plan, Revocation, Strategy,
    Task, TaskId, validate,
};

use super::Random;

/// The group, and what its members were told.
pub(crate) struct World {
    pub(crate) strategy: Arc<dyn Strategy>,
    pub(crate) view: GroupView,
    told: BTreeMap<MemberId, Assignment>,
    generation: u64,
    /// Who ran each task after the last round.
    owner: BTreeMap<TaskId, MemberId>,
    /// How often a task changed owner.
    pub(crate) moves: u64,
    next_member: usize,
    /// Who was in the group at the last round, whether leaving or away.
    membership: Vec<(MemberId, bool, bool)>,
}

impl World {
    pub(crate) fn new(strategy: Arc<dyn Strategy>, tasks: Vec<Task>) -> Self {
        let view = GroupView { tasks, ..GroupView::default() };
        let (told, owner) = (BTreeMap::new(), BTreeMap::new());
        Self { strategy, view, told, generation: 0, owner, moves: 0, next_member: 1, membership: Vec::new() }
    }

    /// A member starts, in an instance of its own (0) or in one of those that share their workers.
    pub(crate) fn join(&mut self, instance: usize, capacity: u32) {
        let name = format!("S{}", self.next_member);
        let home = if instance == 0 { format!("I-{name}") } else { format!("I{instance}") };
        self.next_member += 1;
        let mut member = MemberView::new(name, home);
        member.capacity = capacity;
        self.view.members.push(member);
    }

    pub(crate) fn leave(&mut self, place: usize) {
        match self.strategy.conduct().leave {
            Leave::AtOnce => self.crash(place),
            Leave::AfterHandOver { .. } => self.view.members[place].leaving = true,
        }
    }

    pub(crate) fn crash(&mut self, place: usize) {
        self.view.members.remove(place);
    }

    /// Each learner turns ready with this chance.
    pub(crate) fn catch_up(&mut self, random: &mut Random, percent: u64) {
        for member in self.view.members.iter_mut().filter(|member| !member.away) {
            for learner in &mut member.learners {
                if random.chance(percent) {
                    (learner.lag, learner.ready) = (0, true);
                } else if !learner.ready {
                    learner.lag = 1 + random.next() % 1_000_000;
                }
            }
            for copy in &mut member.standbys {
                copy.lag = if random.chance(percent) { 0 } else { random.next() % 1_000 };
            }
        }
    }

    /// Members join and give up what their conduct says.
    fn give_up(&mut self) {
        let conduct = self.strategy.conduct();
        let present = self.view.members.iter().filter(|member| !member.away);
        let ready: BTreeSet<TaskId> = present
            .flat_map(|member| &member.learners)
            .filter(|learner| learner.ready)
            .map(|learner| learner.task.clone())
            .collect();
        for member in self.view.members.iter_mut().filter(|member| !member.away) {
            let told = self.told.get(&member.id).cloned().unwrap_or_default();
            let gives = |task: &TaskId| {
                told.give_up.contains(task)
                    || match conduct.revocation {
                        Revocation::Everything => true,
                        Revocation::BeingLearned => told.being_learned.contains(task),
                        Revocation::WhenReady => ready.contains(task),
                        Revocation::OnRequest => false,
                    }
            };
            let (gone, kept): (Vec<TaskId>, Vec<TaskId>) =
                std::mem::take(&mut member.active).into_iter().partition(gives);
            member.active = kept;
            member.revoked.extend(gone);
        }
    }

    /// One rebalance, checked.
    pub(crate) fn round(&mut self, random: &mut Random, context: &str) -> Plan {
        self.give_up();
        let plan = self.strategy.plan(&self.view).expect("a view that a group can be in");
        assert_eq!(validate(&self.view, &plan), Ok(()), "{context}: {:#?}", self.view);
        self.same_in_any_order(&plan, random, context);
        self.nobody_restores_what_another_runs(&plan, context);
        self.learners_are_kept_while_wanted(&plan, context);
        self.generation += 1;
        for member in self.view.members.iter_mut().filter(|member| !member.away) {
            let told = plan.members[&member.id].clone();
            for task in &told.active {
                if self.owner.insert(task.clone(), member.id.clone()).as_ref() != Some(&member.id) {
                    self.moves += 1;
                }
            }
            let known = std::mem::take(&mut member.learners);
            let unready = |task: &TaskId| Learner { task: task.clone(), lag: u64::MAX, ready: false };
            let carry_on = |task: &TaskId| {
                known.iter().find(|learner| learner.task == *task).cloned().unwrap_or_else(|| unready(task))
            };
            member.learners = told.learning.iter().map(carry_on).collect();
            member.standbys = told.standby.iter().map(|task| Copy { task: task.clone(), lag: 500 }).collect();
            member.active.clone_from(&told.active);
            member.revoked.clear();
            member.generation = self.generation;
            self.told.insert(member.id.clone(), told);
        }
        self.view.members.retain(|member| !member.leaving || member.away || !member.active.is_empty());
        plan
    }

    /// The order of members, tasks and lists means nothing; nor does who leads, for a strategy keeps nothing.
    fn same_in_any_order(&self, plan: &Plan, random: &mut Random, context: &str) {
        let mut view = self.view.clone();
        random.shuffle(&mut view.tasks);
        random.shuffle(&mut view.members);
        random.shuffle(&mut view.stored);
        for member in &mut view.members {
            random.shuffle(&mut member.active);
            random.shuffle(&mut member.revoked);
            random.shuffle(&mut member.learners);
            random.shuffle(&mut member.standbys);
        }
        let fresh_leader = assignor::parse(&self.strategy.name()).expect("a name that can be read back");
        assert_eq!(fresh_leader.plan(&view).as_ref(), Ok(plan), "{context}: the order matters");
    }

    /// Under `learner`, while nobody comes or goes, what is being learned goes on being learned until it is handed
    /// over. (That learners are dropped when they are not wanted, a group at rest shows: it has none.)
    fn learners_are_kept_while_wanted(&mut self, plan: &Plan, context: &str) {
        let members = self.view.members.iter();
        let membership: Vec<_> =
            members.map(|member| (member.id.clone(), member.leaving, member.away)).collect();
        let unchanged = std::mem::replace(&mut self.membership, membership) == self.membership;
        if !unchanged || !self.strategy.name().starts_with("learner") {
            return;
        }
        for member in &self.view.members {
            for learner in &member.learners {
                let goes_on = plan.members[&member.id].learning.contains(&learner.task);
                let mut neighbours =
                    self.view.members.iter().filter(|other| other.instance == member.instance);
                let handed_over =
                    neighbours.any(|other| plan.members[&other.id].active.contains(&learner.task));
                assert!(goes_on || handed_over, "{context}: {} stops learning {}", member.id, learner.task);
            }
        }
    }

    /// Under `learner`, no task with a living owner goes to a member that would have to restore.
    fn nobody_restores_what_another_runs(&self, plan: &Plan, context: &str) {
        if !self.strategy.name().starts_with("learner") {
            return;
        }
        for owner in self.view.members.iter().filter(|member| !member.leaving) {
            for task in &owner.revoked {
                let stateful = self.view.tasks.iter().any(|known| known.id == *task && known.stateful);
                let runs =
                    self.view.members.iter().find(|member| plan.members[&member.id].active.contains(task));
                let Some(next) = runs.filter(|next| stateful && next.id != owner.id) else { continue };
                // A stale claim on a task that a later generation runs is no ownership.
                let stale = next.active.contains(task) || next.revoked.contains(task);
                // The workers of an instance share its disk.
                let neighbours = self.view.members.iter().filter(|member| member.instance == next.instance);
                let ready = neighbours
                    .flat_map(|member| &member.learners)
                    .any(|learner| learner.task == *task && learner.ready);
                assert!(
                    stale || ready || next.instance == owner.instance,
                    "{context}: {} would restore {task}, which {} could run",
                    next.id,
                    owner.id
                );
            }
        }
    }

    /// Rounds without further events until the group is at rest, all learners of a round turning ready together.
    pub(crate) fn settle(&mut self, random: &mut Random, context: &str) -> Plan {
        self.settle_at_pace(random, 100, context)
    }

    /// The same, each learner turning ready with this chance a round.
    pub(crate) fn settle_at_pace(&mut self, random: &mut Random, percent: u64, context: &str) -> Plan {
        let standbys = 2;
        let bound = 20 + 6 * (1 + standbys) * self.view.tasks.len();
        let mut answers = Vec::new();
        for _ in 0..bound {
            let plan = self.round(random, context);
            let learning = plan.members.values().any(|told| !told.learning.is_empty());
            if plan.follow_up == FollowUp::None && !learning {
                return plan;
            }
            if plan.follow_up != FollowUp::Immediate {
                self.catch_up(random, percent);
            }
            answers.push(plan);
        }
        panic!("{context}: not at rest after {bound} rounds: {:#?}", answers.last());
    }
}

/// Checks the balance that learner rule 3 defines, of the tasks that `counts`, over instances and inside each; in
/// words of its own, not the planner's.
pub(crate) fn assert_balanced(view: &GroupView, plan: &Plan, counts: &dyn Fn(&Task) -> bool, context: &str) {
    let counted: BTreeSet<&TaskId> =
        view.tasks.iter().filter(|task| counts(task)).map(|task| &task.id).collect();
    let mut instances: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
    for member in view.members.iter().filter(|member| member.receives()) {
        let active = &plan.members[&member.id].active;
        let load = active.iter().filter(|task| counted.contains(task)).count();
        let seat = (load as i64, i64::from(member.capacity));
        instances.entry(member.instance.as_str()).or_default().push(seat);
    }
    let sum = |workers: &Vec<(i64, i64)>| workers.iter().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let over_instances: Vec<(i64, i64)> = instances.values().map(sum).collect();
    for level in instances.values().chain([&over_instances]) {
        for (donor, &(load, capacity)) in level.iter().enumerate() {
            for (receiver, &(other, room)) in level.iter().enumerate() {
                let improves = donor != receiver && (other + 1) * capacity <= (load - 1) * room;
                assert!(!improves, "{context}: a move improves {level:?}");
            }
        }
    }
}
