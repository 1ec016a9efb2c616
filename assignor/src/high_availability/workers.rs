//! From instances to their workers, and to what is safe this round.

use super::dealt::Copies;
use crate::answer::Seat;
use crate::group::Group;
use crate::levelling::{GiftOrder, Levelling, Targets};
use crate::plan::Reason;
use crate::scales::{Scales, Tie};
use crate::standby::Hosts;

/// Seats every task and returns the members that stand by for each.
pub(super) fn seat(group: &Group<'_>, copies: &Copies, seats: &mut [Seat]) -> Vec<Vec<usize>> {
    for stateful in [true, false] {
        let targets = actives(group, copies, stateful);
        for task in group.tasks_of_kind(stateful) {
            let to = targets.target[task].or(group.owner(task));
            let why = if copies.warmup[task].is_some() { Reason::NotCaughtUp } else { Reason::Dealt };
            seats[task] = Seat::hand_over(group, task, to, why);
        }
    }
    let mut held = vec![0; group.members.len()];
    seats.iter().filter_map(|seat| seat.active).for_each(|active| held[active] += 1);
    let mut hosts = Hosts::new(group, &held);
    let mut standbys = vec![Vec::new(); seats.len()];
    for task in group.tasks_of_kind(true) {
        let seat = &mut seats[task];
        followers(group, &mut hosts, copies, task, seat, &mut standbys[task]);
    }
    standbys
}

/// Who warms up and who stands by for one task.
fn followers(
    group: &Group<'_>,
    hosts: &mut Hosts<'_, '_>,
    copies: &Copies,
    task: usize,
    seat: &mut Seat,
    standbys: &mut Vec<usize>,
) {
    let learns_at = |instance: usize| {
        let known = group.learners[task].iter().map(|learner| learner.host);
        known.filter(|&host| group.receives(host)).find(|&host| group.instance_of[host] == instance)
    };
    let runs = seat.active.map(|active| group.instance_of[active]);
    // Its owner still has the task: the copy that is to take it over goes on following.
    let next = seat.asked_for.map(|next| group.instance_of[next]).filter(|&next| Some(next) != runs);
    let waiting_learner = next.and_then(learns_at);
    let warmup = copies.warmup[task].filter(|&at| Some(at) != runs);
    seat.learner =
        waiting_learner.or_else(|| warmup.and_then(|at| learns_at(at).or_else(|| choose(hosts, at))));
    seat.why_learned = Reason::WarmUp;
    let had_standby = |at: &usize| group.standbys[task].iter().any(|copy| group.instance_of[copy.at] == *at);
    let learns = seat.learner.map(|host| group.instance_of[host]);
    for at in copies.standbys[task].iter().copied().chain(next.filter(had_standby)) {
        if Some(at) == runs || Some(at) == learns {
            continue;
        }
        let stays = group.standbys[task].iter().map(|copy| copy.at);
        let stays = stays.filter(|&host| group.receives(host)).find(|&host| group.instance_of[host] == at);
        standbys.extend(stays.or_else(|| choose(hosts, at)));
    }
    standbys.sort_unstable();
}

fn choose(hosts: &mut Hosts<'_, '_>, instance: usize) -> Option<usize> {
    let member = hosts.worker(instance)?;
    hosts.add_to_worker(member);
    Some(member)
}

/// The worker that is to run each task of one kind: the one that had it, if it is in the right instance; evened out
/// inside each instance.
fn actives(group: &Group<'_>, copies: &Copies, stateful: bool) -> Targets {
    let mut targets = Targets::new(group.tasks.len());
    let mut scales = Scales::new(group, 1, Tie::NameOnly, &[]);
    let mut homeless = Vec::new();
    for task in group.tasks_of_kind(stateful) {
        let Some(instance) = copies.active[task] else { continue };
        let here = |owner: &usize| group.instance_of[*owner] == instance && group.receives(*owner);
        match group.owner(task).filter(here) {
            Some(owner) => {
                targets.owner[task] = Some(owner);
                targets.target[task] = Some(owner);
                scales.add(owner, 1, 0);
            }
            None => homeless.push((task, instance)),
        }
    }
    scales.open_receivers();
    for (task, instance) in homeless {
        let worker = scales.worker(group, instance, &crate::scales::Copies::default());
        if let Some(worker) = worker {
            targets.owner[task] = Some(worker);
            targets.target[task] = Some(worker);
            scales.add(worker, 1, 0);
        }
    }
    let mut walk = Levelling::new(group, scales, &targets, GiftOrder::GivenUpFirst, stateful, |_| None);
    walk.inside_instances(&mut targets);
    targets
}
