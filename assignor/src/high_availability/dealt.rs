//! Placement without memory: actives dealt and evened out, standbys on the least loaded.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::emptiest::Emptiest;
use crate::group::{Claim, Group};
use crate::meter;
use crate::scales::{Scales, Tie};

/// The copies of every task, by instance.
pub(super) struct Copies {
    /// The instance that is to run each task.
    pub(super) active: Vec<Option<usize>>,
    /// The instances that stand by for each.
    pub(super) standbys: Vec<Vec<usize>>,
    /// The instance that warms up in order to run each.
    pub(super) warmup: Vec<Option<usize>>,
    /// Copies and capacity of each instance.
    pub(super) held: Emptiest,
    capacity: Vec<i64>,
}

impl Copies {
    /// Deals stateful tasks round robin, evens them out, and places standbys.
    pub(super) fn deal(group: &Group<'_>, standbys: u32) -> Self {
        let capacity: Vec<i64> = group.workers.iter().map(|workers| open_capacity(group, workers)).collect();
        let mut active = vec![None; group.tasks.len()];
        let clients: Vec<usize> = (0..capacity.len()).filter(|&instance| capacity[instance] > 0).collect();
        if !clients.is_empty() {
            let mut scales = Scales::new(group, 1, Tie::NameOnly, &[]);
            let mut next = clients.iter().copied().cycle();
            for task in group.tasks_of_kind(true).filter(|&task| !is_kept_away(group, task)) {
                active[task] = next.next();
                if let Some(instance) = active[task] {
                    scales.instances.add(instance, 1, 0);
                }
            }
            even_out(&mut scales, &mut active);
        }
        let mut held = vec![0; capacity.len()];
        active.iter().flatten().for_each(|&instance: &usize| held[instance] += 1);
        let mut copies = Self {
            standbys: vec![Vec::new(); active.len()],
            warmup: vec![None; active.len()],
            active,
            held: Emptiest::new(held, capacity.clone()),
            capacity,
        };
        if standbys > 0 {
            for task in group.tasks_of_kind(true) {
                let runs = copies.active[task].or_else(|| group.owner(task).map(|m| group.instance_of[m]));
                copies.standbys[task] =
                    copies.held.take(standbys as usize, |instance| Some(instance) == runs);
            }
            copies.even_out_standbys(group);
        }
        copies
    }

    /// Where a copy could not go to the emptiest, that one having one already, loads may differ by more than they
    /// need: the fullest hands standbys, lowest first, to the emptiest that has no copy of them.
    fn even_out_standbys(&mut self, group: &Group<'_>) {
        let mut scales = Scales::new(group, 1, Tie::NameOnly, &[]);
        let mut by_instance = vec![BTreeSet::new(); self.capacity.len()];
        for task in 0..self.active.len() {
            for &instance in &self.standbys[task] {
                by_instance[instance].insert(task);
            }
            for instance in self.active[task].into_iter().chain(self.standbys[task].iter().copied()) {
                scales.instances.add(instance, 1, 0);
            }
        }
        open(&mut scales);
        let mut skipped = Vec::new();
        while let Some((donor, receiver)) = scales.instances.improvement() {
            meter::count(by_instance[donor].len());
            let movable = by_instance[donor].iter().copied().find(|&task| !self.has(task, receiver));
            if let Some(task) = movable {
                by_instance[donor].remove(&task);
                by_instance[receiver].insert(task);
                self.standbys[task].retain(|&at| at != donor);
                self.standbys[task].push(receiver);
                for (node, copies) in [(donor, -1), (receiver, 1)] {
                    self.held.add(node, copies);
                    scales.instances.add(node, copies, 0);
                }
            } else {
                scales.instances.skip_receiver(receiver);
                skipped.push(receiver);
                if scales.instances.improvement().is_some_and(|(next, _)| next == donor) {
                    continue;
                }
                scales.instances.pass_over(donor);
            }
            skipped.drain(..).for_each(|node| scales.instances.refresh_receiver(node));
        }
    }

    /// Deals stateless tasks to whoever runs the least per capacity.
    pub(super) fn deal_stateless(&mut self, group: &Group<'_>) {
        let mut running = vec![0; self.capacity.len()];
        self.active.iter().flatten().for_each(|&instance| running[instance] += 1);
        let mut emptiest = Emptiest::new(running, self.capacity.clone());
        for task in group.tasks_of_kind(false).filter(|&task| !is_kept_away(group, task)) {
            self.active[task] = emptiest.best();
            if let Some(instance) = self.active[task] {
                emptiest.add(instance, 1);
            }
        }
    }

    /// Whether the instance is to have any copy of the task.
    pub(super) fn has(&self, task: usize, instance: usize) -> bool {
        self.active[task] == Some(instance)
            || self.warmup[task] == Some(instance)
            || self.standbys[task].contains(&instance)
    }
}

fn open_capacity(group: &Group<'_>, workers: &[usize]) -> i64 {
    let open = workers.iter().filter(|&&member| group.receives(member));
    open.map(|&member| i64::from(group.members[member].capacity)).sum()
}

/// An away member keeps its tasks: nobody else starts them.
pub(super) fn is_kept_away(group: &Group<'_>, task: usize) -> bool {
    matches!(group.claims[task], Claim::Kept(owner) if group.members[owner].away)
}

/// Where capacities differ, dealing is uneven: the fullest gives its lowest task to the emptiest while that helps.
fn even_out(scales: &mut Scales, active: &mut [Option<usize>]) {
    open(scales);
    if scales.instances.improvement().is_none() {
        return;
    }
    let mut tasks: Vec<BinaryHeap<Reverse<usize>>> = Vec::new();
    for (task, instance) in active.iter().enumerate() {
        if let Some(instance) = *instance {
            tasks.resize_with(tasks.len().max(instance + 1), BinaryHeap::new);
            tasks[instance].push(Reverse(task));
        }
    }
    while let Some((donor, receiver)) = scales.instances.improvement() {
        let Some(Reverse(task)) = tasks.get_mut(donor).and_then(BinaryHeap::pop) else { break };
        meter::count_heap(tasks[donor].len());
        active[task] = Some(receiver);
        scales.instances.add(donor, -1, 0);
        scales.instances.add(receiver, 1, 0);
    }
}

/// Only instances even out here.
fn open(scales: &mut Scales) {
    scales.instances.open_receivers();
    scales.instances.open_donors();
}
