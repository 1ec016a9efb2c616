//! What is learned where: the learner rules 1 to 5, over the effective load.
//!
//! A task's *target* is where its load counts: its learner's host, or else its owner if that one stays and is
//! present. The rules only move targets. What a target away from the owner means is decided at the end: a learner on
//! another instance, a direct move inside one.

use crate::actives::Homes;
use crate::answer::Seat;
use crate::group::{Claim, Group, LearnerAt};
use crate::learner::{Learner, actives, learners};
use crate::levelling::{GiftOrder, Levelling, Targets};
use crate::meter;
use crate::plan::Reason;
use crate::scales::{Copies, Scales, Tie};

/// What the other steps need to know.
pub(super) struct Outcome {
    /// Effective load of each member that receives.
    pub(super) load: Vec<i64>,
    /// Nobody waits for a learner to be allowed, and no move would improve the balance.
    pub(super) even: bool,
}

/// Seats every stateful task.
pub(super) fn decide(strategy: &Learner, group: &Group<'_>, seats: &mut [Seat]) -> Outcome {
    let mut learners = learners::under_way(group);
    actives::seat(group, &mut learners, seats);
    let mut desk = Desk::new(strategy, group, learners, seats);
    desk.find_homes(seats);
    let mut waiting = desk.learn_from_leavers();
    let Desk { scales, mut targets, learners, mut budget, .. } = desk;
    let lag = |task: usize| learners[task].filter(|learner| !learner.ready).map(|learner| learner.lag);
    let mut walk = Levelling::new(group, scales, &targets, GiftOrder::SmallestState, true, lag);
    waiting |= walk.over_instances(&mut targets, &mut budget);
    walk.inside_instances(&mut targets);
    for task in group.tasks_of_kind(true) {
        settle(group, task, &targets, &mut seats[task]);
    }
    let load = (0..group.members.len()).map(|member| walk.scales.load(member)).collect();
    Outcome { load, even: !waiting && walk.scales.balanced() }
}

struct Desk<'a, 'v> {
    group: &'a Group<'v>,
    scales: Scales,
    targets: Targets,
    learners: Vec<Option<LearnerAt>>,
    /// How many more learners may start (learner rule 5).
    budget: usize,
}

impl<'a, 'v> Desk<'a, 'v> {
    fn new(
        strategy: &Learner,
        group: &'a Group<'v>,
        learners: Vec<Option<LearnerAt>>,
        seats: &[Seat],
    ) -> Self {
        let mut scales = Scales::new(group, strategy.balance_factor, Tie::BytesToLearn, &[]);
        let mut targets = Targets::new(group.tasks.len());
        for task in group.tasks_of_kind(true) {
            let seat = &seats[task];
            targets.owner[task] = seat.active;
            targets.why[task] = seat.why;
            if let Some(learner) = learners[task] {
                targets.target[task] = Some(learner.host);
                scales.add(learner.host, 1, group.size(task));
            } else if let Some(active) = seat.active.filter(|&active| group.receives(active)) {
                targets.target[task] = Some(active);
                scales.add(active, 1, 0);
            }
        }
        scales.open_receivers();
        let under_way = learners.iter().flatten().count();
        let budget =
            strategy.max_learners.map_or(usize::MAX, |most| (most as usize).saturating_sub(under_way));
        Self { group, scales, targets, learners, budget }
    }

    /// Active rule 4: the tasks that have no living owner and no learner, in task order.
    fn find_homes(&mut self, seats: &mut [Seat]) {
        let group = self.group;
        let mut homes = None;
        let lost = |task: &usize| group.claims[*task] == Claim::Nobody && seats[*task].active.is_none();
        for task in group.tasks_of_kind(true).filter(lost).collect::<Vec<_>>() {
            let homes = homes.get_or_insert_with(|| {
                let mut owned = vec![0; group.members.len()];
                seats.iter().filter_map(|seat| seat.active).for_each(|active| owned[active] += 1);
                Homes::new(group, |member| owned[member])
            });
            let Some((home, why)) = homes.find(&self.scales, task) else { continue };
            seats[task] = Seat::hand_over(group, task, Some(home), why);
            self.targets.owner[task] = Some(home);
            self.targets.why[task] = why;
            // The learner of an away host stays; one beside the new owner has nothing to learn any more.
            let beside = self.learners[task].is_some_and(|learner| group.together(learner.host, home));
            if beside {
                self.learners[task] = None;
            }
            if self.learners[task].is_none() && group.receives(home) {
                self.targets.target[task] = Some(home);
                self.scales.add(home, 1, 0);
            } else if self.learners[task].is_none() {
                self.targets.target[task] = None;
            }
        }
    }

    /// Learner rule 2: what a leaver has and nobody learns gets a learner, smallest state first. Returns whether one
    /// has to wait.
    fn learn_from_leavers(&mut self) -> bool {
        let group = self.group;
        let of_leaver = |task: &usize| {
            let owner = self.targets.owner[*task];
            self.targets.target[*task].is_none() && owner.is_some_and(|owner| group.members[owner].leaving)
        };
        let mut tasks: Vec<usize> = group.tasks_of_kind(true).filter(of_leaver).collect();
        tasks.sort_by_key(|&task| (group.tasks[task].state_size, task));
        meter::count_sort(tasks.len());
        let mut waiting = false;
        for task in tasks {
            let owner = self.targets.owner[task];
            let copies = Copies::of(group, task, owner);
            let Some(receiver) = self.scales.receiver(group, &copies) else { return true };
            let inside = owner.is_some_and(|owner| group.together(owner, receiver));
            if !inside && self.budget == 0 {
                waiting = true;
                continue;
            }
            // A move inside the instance needs no learner.
            if !inside {
                self.budget -= 1;
            }
            self.scales.add(receiver, 1, if inside { 0 } else { group.size(task) });
            self.targets.target[task] = Some(receiver);
            self.targets.why[task] = Reason::OwnerLeaves;
        }
        waiting
    }
}

/// Turns a target into a learner, or into a direct move between workers of one instance.
fn settle(group: &Group<'_>, task: usize, targets: &Targets, seat: &mut Seat) {
    let (owner, Some(target)) = (targets.owner[task], targets.target[task]) else { return };
    if owner == Some(target) {
        return;
    }
    if owner.is_some_and(|owner| group.together(owner, target)) {
        *seat = Seat::hand_over(group, task, Some(target), targets.why[task]);
    } else {
        seat.learner = Some(target);
        seat.why_learned = targets.why[task];
        ask_for_what_is_ready(group, task, target, seat);
    }
}

/// A learner that is ready has said so; it will not say it again. So no answer leaves it with its task elsewhere and
/// unasked for, not even one that has just given the task to another: two members may both have caught up with it.
fn ask_for_what_is_ready(group: &Group<'_>, task: usize, host: usize, seat: &mut Seat) {
    let ready = group.learners[task].iter().any(|learner| learner.host == host && learner.ready);
    let owner_is_here = seat.active.is_some_and(|active| !group.members[active].away);
    if ready && owner_is_here && group.receives(host) {
        seat.asked_for = Some(host);
    }
}
