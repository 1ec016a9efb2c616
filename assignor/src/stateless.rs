//! Tasks without state: to their previous owner, else to the least loaded; they balance among themselves.
//!
//! They are never learned: a move is a hand-over at once, or a request to give the task up. A leaver's go first. Equal
//! candidates are told apart by total load.

use crate::actives::Homes;
use crate::answer::Seat;
use crate::group::{Claim, Group};
use crate::levelling::{GiftOrder, Levelling, Targets};
use crate::plan::Reason;
use crate::scales::{Copies, Scales, Tie};

/// Places every stateless task, writes its seat, and says whether they are even.
///
/// `stateful` is each member's load of stateful tasks, which settles ties.
pub(crate) fn place(group: &Group<'_>, factor: u32, stateful: &[i64], seats: &mut [Seat]) -> bool {
    if group.tasks_of_kind(false).next().is_none() {
        return true;
    }
    let count = group.tasks.len();
    let mut scales = Scales::new(group, factor, Tie::TotalLoad, stateful);
    let mut targets = Targets::new(count);
    for task in group.tasks_of_kind(false) {
        targets.owner[task] = group.owner(task);
        targets.target[task] = group.owner(task).filter(|&owner| group.receives(owner));
        if let Some(owner) = targets.target[task] {
            scales.add(owner, 1, 0);
        }
    }
    scales.open_receivers();
    let mut homes = Homes::new(group, |member| scales.load(member));
    let leavers = |task: &usize| group.owner(*task).is_some_and(|owner| group.members[owner].leaving);
    let owned_by_leavers: Vec<usize> = group.tasks_of_kind(false).filter(leavers).collect();
    for task in owned_by_leavers {
        let copies = Copies::of(group, task, group.owner(task));
        if let Some(receiver) = scales.receiver(group, &copies) {
            scales.add(receiver, 1, 0);
            targets.target[task] = Some(receiver);
            targets.why[task] = Reason::OwnerLeaves;
        }
    }
    for task in group.tasks_of_kind(false).filter(|&task| group.claims[task] == Claim::Nobody) {
        if let Some(home) = homes.receiver(&scales, task) {
            scales.add(home, 1, 0);
            targets.owner[task] = Some(home);
            targets.target[task] = Some(home);
            targets.why[task] = Reason::LeastLoaded;
        }
    }
    let mut walk = Levelling::new(group, scales, &targets, GiftOrder::GivenUpFirst, false, |_| None);
    let mut unlimited = usize::MAX;
    walk.over_instances(&mut targets, &mut unlimited);
    walk.inside_instances(&mut targets);
    for task in group.tasks_of_kind(false) {
        let to = targets.target[task].or(targets.owner[task]);
        seats[task] = Seat::hand_over(group, task, to, targets.why[task]);
    }
    walk.scales.balanced()
}
