//! Sticky placement: every stateful task stays where it is, except for the moves that balance needs.
//!
//! `eager` and `cooperative` share it. They know no learners, so a task that moves is restored by its new owner; who
//! has a copy of its state is preferred among equals.

use crate::actives::Homes;
use crate::answer::Seat;
use crate::group::{Claim, Group};
use crate::levelling::{GiftOrder, Levelling, Targets};
use crate::meter;
use crate::plan::Reason;
use crate::scales::{Copies, Scales, Tie};

/// What the other steps need to know.
pub(crate) struct Outcome {
    /// Stateful tasks of each member that receives.
    pub(crate) load: Vec<i64>,
    /// No move would improve the balance.
    pub(crate) even: bool,
}

/// Seats every stateful task.
pub(crate) fn place(group: &Group<'_>, seats: &mut [Seat]) -> Outcome {
    let mut scales = Scales::new(group, 1, Tie::BytesToLearn, &[]);
    let mut targets = Targets::new(group.tasks.len());
    for task in group.tasks_of_kind(true) {
        targets.owner[task] = group.owner(task);
        targets.target[task] = group.owner(task).filter(|&owner| group.receives(owner));
        if let Some(owner) = targets.target[task] {
            scales.add(owner, 1, 0);
        }
    }
    scales.open_receivers();
    let mut owned = vec![0; group.members.len()];
    targets.owner.iter().flatten().for_each(|&owner| owned[owner] += 1);
    let mut homes = Homes::new(group, |member| owned[member]);
    for task in group.tasks_of_kind(true).filter(|&task| group.claims[task] == Claim::Nobody) {
        let Some((home, why)) = homes.find(&scales, task) else { continue };
        scales.add(home, 1, 0);
        targets.owner[task] = Some(home);
        targets.target[task] = Some(home);
        targets.why[task] = why;
    }
    take_from_leavers(group, &mut scales, &mut targets);
    let mut walk = Levelling::new(group, scales, &targets, GiftOrder::GivenUpFirst, true, |_| None);
    let mut unlimited = usize::MAX;
    walk.over_instances(&mut targets, &mut unlimited);
    walk.inside_instances(&mut targets);
    for task in group.tasks_of_kind(true) {
        let to = targets.target[task].or(targets.owner[task]);
        seats[task] = Seat::hand_over(group, task, to, targets.why[task]);
    }
    let load = (0..group.members.len()).map(|member| walk.scales.load(member)).collect();
    Outcome { load, even: walk.scales.balanced() }
}

/// A leaver's tasks move on, smallest state first.
fn take_from_leavers(group: &Group<'_>, scales: &mut Scales, targets: &mut Targets) {
    let leaves = |owner: usize| group.members[owner].leaving;
    let mut tasks: Vec<usize> =
        group.tasks_of_kind(true).filter(|&task| group.owner(task).is_some_and(leaves)).collect();
    tasks.sort_by_key(|&task| (group.tasks[task].state_size, task));
    meter::count_sort(tasks.len());
    for task in tasks {
        let copies = Copies::of(group, task, group.owner(task));
        if let Some(receiver) = scales.receiver(group, &copies) {
            scales.add(receiver, 1, 0);
            targets.target[task] = Some(receiver);
            targets.why[task] = Reason::OwnerLeaves;
        }
    }
}
