//! Standbys: the wanted number per stateful task, on instances with no other copy of it.
//!
//! Existing ones stay first (lowest lag), then the old owner, which has the state, then stored copies (lowest lag),
//! then the instances with the fewest copies per capacity. A standby that becomes active or a learner stops being one.

use crate::answer::Seat;
use crate::group::Group;
use crate::meter;
use crate::ratio::Ratio;
use crate::tournament::Tournament;

/// The members that stand by for each task, lowest first.
pub(crate) fn place(group: &Group<'_>, wanted: u32, seats: &[Seat]) -> Vec<Vec<usize>> {
    if wanted == 0 {
        return Vec::new();
    }
    let mut desk = Desk::new(group, seats);
    let mut placed = vec![Vec::new(); group.tasks.len()];
    let mut settled = Vec::new();
    for task in group.tasks_of_kind(true) {
        let chosen = desk.keep(task, wanted as usize, &seats[task]);
        desk.count(&chosen);
        placed[task] = chosen;
        settled.push(task);
    }
    for task in settled {
        desk.fill(task, wanted as usize, &seats[task], &mut placed[task]);
        placed[task].sort_unstable();
    }
    placed
}

struct Desk<'a, 'v> {
    group: &'a Group<'v>,
    /// Copies (active, learner, standby) per member and per instance; `None` capacity is closed.
    copies: Vec<i64>,
    copies_in: Vec<i64>,
    capacity_in: Vec<i64>,
    /// Instances that can receive, the one with the fewest copies first.
    emptiest: Tournament<Ratio>,
    /// The same for the members of each instance.
    emptiest_in: Vec<Tournament<Ratio>>,
    /// The task for which each instance was last found to have a copy.
    taken_for: Vec<usize>,
}

impl<'a, 'v> Desk<'a, 'v> {
    fn new(group: &'a Group<'v>, seats: &[Seat]) -> Self {
        let instances = group.instances.len();
        let mut desk = Self {
            group,
            copies: vec![0; group.members.len()],
            copies_in: vec![0; instances],
            capacity_in: vec![0; instances],
            emptiest: Tournament::new(Vec::new()),
            emptiest_in: Vec::new(),
            taken_for: vec![usize::MAX; instances],
        };
        for (member, view) in group.members.iter().enumerate().filter(|(_, view)| view.receives()) {
            desk.capacity_in[group.instance_of[member]] += i64::from(view.capacity);
        }
        for task in group.tasks_of_kind(true) {
            let seat = &seats[task];
            desk.count(&[seat.active, seat.learner].into_iter().flatten().collect::<Vec<_>>());
        }
        desk.emptiest = Tournament::new((0..instances).map(|i| desk.instance_key(i)).collect());
        desk.emptiest_in = group
            .workers
            .iter()
            .map(|workers| Tournament::new(workers.iter().map(|&m| desk.member_key(m)).collect()))
            .collect();
        desk
    }

    fn instance_key(&self, instance: usize) -> Option<Ratio> {
        let capacity = self.capacity_in[instance];
        (capacity > 0).then(|| Ratio::new(self.copies_in[instance], capacity))
    }

    fn member_key(&self, member: usize) -> Option<Ratio> {
        let view = self.group.members[member];
        view.receives().then(|| Ratio::new(self.copies[member], i64::from(view.capacity)))
    }

    /// Counts one copy more for each of these members.
    fn count(&mut self, hosts: &[usize]) {
        for &member in hosts {
            let instance = self.group.instance_of[member];
            self.copies[member] += 1;
            self.copies_in[instance] += 1;
            if let Some(tree) = self.emptiest_in.get_mut(instance)
                && let Ok(place) = self.group.workers[instance].binary_search(&member)
            {
                let view = self.group.members[member];
                let key = view.receives().then(|| Ratio::new(self.copies[member], i64::from(view.capacity)));
                tree.set(place, key);
                self.emptiest.set(instance, self.instance_key(instance));
            }
        }
    }

    /// Marks the instances that run or learn the task, or are about to.
    fn take(&mut self, task: usize, seat: &Seat, standbys: &[usize]) {
        let others = [seat.active, seat.learner, seat.asked_for].into_iter().flatten();
        for member in others.chain(standbys.iter().copied()) {
            self.taken_for[self.group.instance_of[member]] = task;
        }
    }

    /// The existing standbys that stay: not beside another copy, not on a leaver, lowest lag first.
    fn keep(&mut self, task: usize, wanted: usize, seat: &Seat) -> Vec<usize> {
        let group = self.group;
        let mut existing: Vec<_> =
            group.standbys[task].iter().filter(|copy| !group.members[copy.at].leaving).collect();
        existing.sort_by_key(|copy| (copy.lag, copy.at));
        meter::count_sort(existing.len());
        self.take(task, seat, &[]);
        let mut kept = Vec::with_capacity(wanted.min(existing.len()));
        for copy in existing {
            let instance = group.instance_of[copy.at];
            if kept.len() < wanted && self.taken_for[instance] != task {
                self.taken_for[instance] = task;
                kept.push(copy.at);
            }
        }
        kept
    }

    /// Adds standbys until there are enough or no instance is left.
    fn fill(&mut self, task: usize, wanted: usize, seat: &Seat, chosen: &mut Vec<usize>) {
        if chosen.len() >= wanted {
            return;
        }
        let group = self.group;
        self.take(task, seat, chosen);
        if let Some(owner) = group.owner(task).filter(|&owner| group.receives(owner)) {
            self.choose(task, owner, chosen);
        }
        let mut stored = group.stored[task].clone();
        stored.sort_by_key(|copy| (copy.lag, copy.at));
        for copy in stored {
            if chosen.len() < wanted
                && let Some(member) = self.emptiest_member(copy.at)
            {
                self.choose(task, member, chosen);
            }
        }
        // Instances that have a copy already leave the race until this task is done.
        let mut out = Vec::new();
        while chosen.len() < wanted {
            let Some(instance) = self.emptiest.best() else { break };
            if self.taken_for[instance] == task {
                self.emptiest.set(instance, None);
                out.push(instance);
            } else if let Some(member) = self.emptiest_member(instance) {
                self.choose(task, member, chosen);
            } else {
                break;
            }
        }
        for instance in out {
            self.emptiest.set(instance, self.instance_key(instance));
        }
    }

    fn choose(&mut self, task: usize, member: usize, chosen: &mut Vec<usize>) {
        let instance = self.group.instance_of[member];
        if self.taken_for[instance] != task {
            self.taken_for[instance] = task;
            self.count(&[member]);
            chosen.push(member);
        }
    }

    fn emptiest_member(&self, instance: usize) -> Option<usize> {
        self.emptiest_in[instance].best().map(|place| self.group.workers[instance][place])
    }
}
