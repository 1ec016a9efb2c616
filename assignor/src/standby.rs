//! Standbys: the wanted number per stateful task, on instances with no other copy of it.
//!
//! Existing ones stay first (lowest lag), then the old owner, which has the state, then stored copies (lowest lag),
//! then the instances with the fewest copies per capacity. A standby that becomes active or a learner stops being one.

use crate::answer::Seat;
use crate::emptiest::Emptiest;
use crate::group::Group;
use crate::meter;

/// The members that stand by for each task, lowest first.
pub(crate) fn place(group: &Group<'_>, wanted: u32, seats: &[Seat]) -> Vec<Vec<usize>> {
    if wanted == 0 {
        return Vec::new();
    }
    let wanted = wanted as usize;
    let mut taken = Taken { group, by: vec![usize::MAX; group.instances.len()] };
    let mut placed = vec![Vec::new(); group.tasks.len()];
    // All that exists is counted before anything new is placed.
    let mut copies: Vec<i64> = vec![0; group.members.len()];
    for task in group.tasks_of_kind(true) {
        placed[task] = keep(&mut taken, task, wanted, &seats[task]);
        for member in placed[task].iter().copied().chain(running(&seats[task])) {
            copies[member] += 1;
        }
    }
    let mut desk = Desk { taken, emptiest: Hosts::new(group, &copies) };
    for task in group.tasks_of_kind(true).filter(|&task| placed[task].len() < wanted).collect::<Vec<_>>() {
        desk.fill(task, wanted, &seats[task], &mut placed[task]);
        placed[task].sort_unstable();
    }
    placed
}

/// Who runs or learns a task.
fn running(seat: &Seat) -> impl Iterator<Item = usize> {
    [seat.active, seat.learner].into_iter().flatten()
}

/// The existing standbys that stay: not beside another copy, not on a leaver, lowest lag first.
fn keep(taken: &mut Taken<'_, '_>, task: usize, wanted: usize, seat: &Seat) -> Vec<usize> {
    let group = taken.group;
    let stays = |copy: &&crate::group::CopyAt| !group.members[copy.at].leaving;
    let mut existing: Vec<_> = group.standbys[task].iter().filter(stays).collect();
    existing.sort_by_key(|copy| (copy.lag, copy.at));
    meter::count_sort(existing.len());
    taken.mark(task, seat, &[]);
    let mut kept = Vec::with_capacity(wanted.min(existing.len()));
    for copy in existing {
        if kept.len() < wanted && taken.take(task, group.instance_of[copy.at]) {
            kept.push(copy.at);
        }
    }
    kept.sort_unstable();
    kept
}

/// The instances that have a copy of the task that is being placed.
struct Taken<'a, 'v> {
    group: &'a Group<'v>,
    /// The task for which each instance was last found to have one.
    by: Vec<usize>,
}

impl Taken<'_, '_> {
    /// Marks the instances that run or learn the task, or are about to, or stand by for it.
    fn mark(&mut self, task: usize, seat: &Seat, standbys: &[usize]) {
        for member in running(seat).chain(seat.asked_for).chain(standbys.iter().copied()) {
            self.by[self.group.instance_of[member]] = task;
        }
    }

    /// Takes the instance for the task, unless it was taken.
    fn take(&mut self, task: usize, instance: usize) -> bool {
        std::mem::replace(&mut self.by[instance], task) != task
    }
}

/// Instances, and the workers inside each, by how many copies they hold.
pub(crate) struct Hosts<'a, 'v> {
    group: &'a Group<'v>,
    pub(crate) instances: Emptiest,
    workers: Vec<Emptiest>,
}

impl<'a, 'v> Hosts<'a, 'v> {
    /// Hosts with these copies per member; only members that receive are open.
    pub(crate) fn new(group: &'a Group<'v>, copies: &[i64]) -> Self {
        let capacity = |member: usize| {
            if group.receives(member) { i64::from(group.members[member].capacity) } else { 0 }
        };
        let mut held = Vec::with_capacity(group.instances.len());
        let mut room = Vec::with_capacity(group.instances.len());
        let mut workers = Vec::with_capacity(group.instances.len());
        for members in &group.workers {
            held.push(members.iter().map(|&member| copies[member]).sum());
            room.push(members.iter().map(|&member| capacity(member)).sum());
            workers.push(Emptiest::new(
                members.iter().map(|&member| copies[member]).collect(),
                members.iter().map(|&member| capacity(member)).collect(),
            ));
        }
        Self { group, instances: Emptiest::new(held, room), workers }
    }

    /// The emptiest worker of an instance, if one is open.
    pub(crate) fn worker(&mut self, instance: usize) -> Option<usize> {
        self.workers[instance].best().map(|place| self.group.workers[instance][place])
    }

    /// Counts a copy more at a worker, but not at its instance.
    pub(crate) fn add_to_worker(&mut self, member: usize) {
        let instance = self.group.instance_of[member];
        if let Ok(place) = self.group.workers[instance].binary_search(&member) {
            self.workers[instance].add(place, 1);
        }
    }
}

struct Desk<'a, 'v> {
    taken: Taken<'a, 'v>,
    emptiest: Hosts<'a, 'v>,
}

impl Desk<'_, '_> {
    /// Adds standbys until there are enough or no instance is left.
    fn fill(&mut self, task: usize, wanted: usize, seat: &Seat, chosen: &mut Vec<usize>) {
        let group = self.taken.group;
        self.taken.mark(task, seat, chosen);
        if let Some(owner) = group.owner(task).filter(|&owner| group.receives(owner)) {
            self.choose(task, owner, chosen);
        }
        let mut stored = group.stored[task].clone();
        stored.sort_by_key(|copy| (copy.lag, copy.at));
        meter::count_sort(stored.len());
        for copy in stored {
            if chosen.len() < wanted
                && let Some(member) = self.emptiest.worker(copy.at)
            {
                self.choose(task, member, chosen);
            }
        }
        let Self { taken, emptiest } = self;
        let missing = wanted.saturating_sub(chosen.len());
        chosen.reserve(missing.min(group.instances.len()));
        for instance in emptiest.instances.take(missing, |instance| taken.by[instance] == task) {
            if let Some(member) = emptiest.worker(instance) {
                emptiest.add_to_worker(member);
                chosen.push(member);
            }
        }
    }

    fn choose(&mut self, task: usize, member: usize, chosen: &mut Vec<usize>) {
        let instance = self.taken.group.instance_of[member];
        if self.taken.take(task, instance) {
            self.emptiest.instances.add(instance, 1);
            self.emptiest.add_to_worker(member);
            chosen.push(member);
        }
    }
}
