//! Evening out: while a move improves the balance, the fullest gives and the emptiest receives (learner rules 3, 4).
//!
//! Every kind of placement uses the same walk. What differs is what a donor has to give, and what a strategy makes of
//! a task whose target is not its owner: a learner, a direct move, a request to give it up.
//!
//! The walk ends: each step (a move, or a learner dropped in favour of its owner) lowers the fuller side of the two
//! without lifting the other to where it was, so the loads per capacity, sorted downwards, fall lexicographically. A
//! receiver never turns donor in one walk, nor a donor receiver, so nothing is moved twice.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::group::Group;
use crate::meter;
use crate::plan::Reason;
use crate::ratio::Ratio;
use crate::scales::{Copies, Scales};
use crate::tournament::Tournament;

/// Where every task of one kind is meant to run or be learned, and why.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    /// Who runs the task while nothing moves.
    pub(crate) owner: Vec<Option<usize>>,
    /// Where its load counts: its learner's host, or its owner if that one stays and is present.
    pub(crate) target: Vec<Option<usize>>,
    /// Why the target is not the owner.
    pub(crate) why: Vec<Reason>,
}

impl Targets {
    /// No target for any of `tasks` tasks.
    pub(crate) fn new(tasks: usize) -> Self {
        Self { owner: vec![None; tasks], target: vec![None; tasks], why: vec![Reason::LeastLoaded; tasks] }
    }
}

/// How a donor chooses what it gives first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GiftOrder {
    /// Its smallest state, ties by task.
    SmallestState,
    /// What it has given up already (it was asked back for this), then as above: an instance's inside, and
    /// strategies that ask tasks back. The second round then completes what the first one asked for.
    GivenUpFirst,
}

/// What can be given: smallest first.
type Gift = Reverse<(bool, u64, usize)>;
/// A learner that is not ready: largest lag first, ties by lower task.
type Unready = (u64, Reverse<usize>);

/// One walk over one kind of tasks.
#[derive(Debug)]
pub(crate) struct Levelling<'a, 'v> {
    group: &'a Group<'v>,
    pub(crate) scales: Scales,
    order: GiftOrder,
    /// Per member, the tasks that it owns and nobody learns.
    gifts: Vec<BinaryHeap<Gift>>,
    /// Per member, the learners under way that are not ready.
    unready: Vec<Vec<Unready>>,
    /// The same by (instance of the host, instance of the staying, present owner).
    droppable: BTreeMap<(usize, usize), Vec<Unready>>,
    /// Learners that this walk dropped or handed on.
    touched: Vec<bool>,
    /// Per instance, its workers with something to give, fullest first.
    givers: Vec<Tournament<Reverse<Ratio>>>,
}

impl<'a, 'v> Levelling<'a, 'v> {
    /// A walk over the tasks that `targets` has in `scales`; `lag` tells an unready learner's lag.
    pub(crate) fn new(
        group: &'a Group<'v>,
        scales: Scales,
        targets: &Targets,
        order: GiftOrder,
        kind: bool,
        lag: impl Fn(usize) -> Option<u64>,
    ) -> Self {
        let members = group.members.len();
        let mut scales = scales;
        scales.open_receivers();
        scales.open_donors();
        let mut gifts = vec![Vec::new(); members];
        let mut unready: Vec<Vec<Unready>> = vec![Vec::new(); members];
        let mut droppable: BTreeMap<(usize, usize), Vec<Unready>> = BTreeMap::new();
        for task in group.tasks_of_kind(kind) {
            let Some(target) = targets.target[task] else { continue };
            if targets.owner[task] == Some(target) {
                gifts[target].push(gift(group, order, task));
            } else if let Some(lag) = lag(task) {
                unready[target].push((lag, Reverse(task)));
                if let Some(owner) = targets.owner[task].filter(|&owner| group.receives(owner)) {
                    let pair = (group.instance_of[target], group.instance_of[owner]);
                    droppable.entry(pair).or_default().push((lag, Reverse(task)));
                }
            }
        }
        for learners in unready.iter_mut().chain(droppable.values_mut()) {
            learners.sort_unstable();
            meter::count_sort(learners.len());
        }
        let gifts: Vec<BinaryHeap<Gift>> = gifts.into_iter().map(BinaryHeap::from).collect();
        meter::count(group.tasks.len());
        let givers = group
            .workers
            .iter()
            .map(|workers| {
                Tournament::new(workers.iter().map(|&m| giver(&scales, m, gifts[m].is_empty())).collect())
            })
            .collect();
        let touched = vec![false; group.tasks.len()];
        Self { group, scales, order, gifts, unready, droppable, touched, givers }
    }

    /// Evens out over instances. `budget` is how many more learners may start; `usize::MAX` where none are needed.
    ///
    /// Returns whether a move had to wait for the budget.
    pub(crate) fn over_instances(&mut self, targets: &mut Targets, budget: &mut usize) -> bool {
        let mut waiting = false;
        while let Some((donor, _)) = self.scales.instances.improvement() {
            if let Some(task) = self.next_to_drop(donor) {
                self.drop_learner(targets, task);
                *budget = budget.saturating_add(1);
            } else if let Some(giver) = self.giver(donor) {
                if *budget == 0 {
                    waiting = true;
                    self.scales.instances.pass_over(donor);
                    continue;
                }
                let Some(task) = self.pop_gift(giver) else { continue };
                let copies = Copies::of(self.group, task, None);
                let Some(receiver) = self.scales.receiver(self.group, &copies) else { break };
                *budget = budget.saturating_sub(1);
                self.give(targets, task, receiver);
            } else if !self.hand_on(targets, donor) {
                self.scales.instances.pass_over(donor);
            }
        }
        waiting
    }

    /// Evens out among the workers of each instance. No move here needs a learner.
    pub(crate) fn inside_instances(&mut self, targets: &mut Targets) {
        for instance in 0..self.group.instances.len() {
            if self.group.workers[instance].len() < 2 {
                continue;
            }
            self.put_given_up_first(targets, instance);
            while let Some((donor, _)) = self.scales.workers[instance].improvement() {
                let donor_member = self.group.workers[instance][donor];
                let task = match self.pop_gift(donor_member) {
                    Some(task) => Some(task),
                    None => self.pop_unready(targets, donor_member),
                };
                let Some(task) = task else {
                    self.scales.workers[instance].pass_over(donor);
                    continue;
                };
                let copies = Copies::of(self.group, task, None);
                let Some(receiver) = self.scales.worker(self.group, instance, &copies) else { break };
                self.give(targets, task, receiver);
            }
        }
    }

    /// What was asked back from a worker goes before anything else.
    fn put_given_up_first(&mut self, targets: &Targets, instance: usize) {
        if self.order == GiftOrder::GivenUpFirst {
            return;
        }
        for &member in &self.group.workers[instance] {
            let gifts = std::mem::take(&mut self.gifts[member]).into_vec();
            meter::count(gifts.len());
            self.gifts[member] = gifts
                .into_iter()
                .filter(|&Reverse((_, _, task))| targets.target[task] == Some(member))
                .map(|Reverse((_, _, task))| gift(self.group, GiftOrder::GivenUpFirst, task))
                .collect();
        }
    }

    /// Moves the target of a task that counts at its present target to `receiver`.
    fn give(&mut self, targets: &mut Targets, task: usize, receiver: usize) {
        let size = self.group.size(task);
        if let Some(giver) = targets.target[task] {
            let learned = targets.owner[task] != Some(giver);
            self.add(giver, -1, if learned { -size } else { 0 });
        }
        let together = targets.owner[task].is_some_and(|owner| self.group.together(owner, receiver));
        self.add(receiver, 1, if together { 0 } else { size });
        targets.target[task] = Some(receiver);
        targets.why[task] = if together { Reason::SameInstance } else { Reason::Balance };
    }

    /// The unready learner that learner rule 4 drops before `donor` (an instance) gives: the one with the largest lag
    /// of those whose owner's instance, with the task back, would be less full than the donor is.
    fn next_to_drop(&mut self, donor: usize) -> Option<usize> {
        let beam = &self.scales.instances;
        let fullness = beam.fullness(donor);
        let mut best: Option<Unready> = None;
        for (&(_, owner), learners) in self.droppable.range_mut((donor, 0)..=(donor, usize::MAX)) {
            while learners.last().is_some_and(|&(_, Reverse(task))| self.touched[task]) {
                learners.pop();
            }
            meter::count(1);
            if beam.room(owner) < fullness {
                best = best.max(learners.last().copied());
            }
        }
        best.map(|(_, Reverse(task))| task)
    }

    fn drop_learner(&mut self, targets: &mut Targets, task: usize) {
        self.touched[task] = true;
        let size = self.group.size(task);
        if let Some(host) = targets.target[task] {
            self.add(host, -1, -size);
        }
        targets.target[task] = targets.owner[task];
        if let Some(owner) = targets.owner[task] {
            self.gifts[owner].push(gift(self.group, self.order, task));
            meter::count_heap(self.gifts[owner].len());
            self.add(owner, 1, 0);
        }
    }

    /// With nothing but learners to give, the fullest worker that has an unready one hands it on.
    fn hand_on(&mut self, targets: &mut Targets, donor: usize) -> bool {
        let mut workers = self.group.workers[donor].clone();
        workers.sort_by_key(|&worker| (Reverse(self.scales.fullness(worker)), worker));
        meter::count_sort(workers.len());
        for worker in workers {
            let Some(task) = self.pop_unready(targets, worker) else { continue };
            let copies = Copies::of(self.group, task, None);
            let Some(receiver) = self.scales.receiver(self.group, &copies) else { continue };
            let owner = targets.owner[task];
            // Only an away owner can sit in the emptiest instance without the learner having been dropped before:
            // its task cannot be asked back, so this learner stays where it is.
            if owner
                .is_some_and(|owner| self.group.members[owner].away && self.group.together(owner, receiver))
            {
                continue;
            }
            self.give(targets, task, receiver);
            return true;
        }
        false
    }

    fn pop_unready(&mut self, targets: &Targets, member: usize) -> Option<usize> {
        while let Some((_, Reverse(task))) = self.unready[member].pop() {
            meter::count(1);
            if !self.touched[task] && targets.target[task] == Some(member) {
                self.touched[task] = true;
                return Some(task);
            }
        }
        None
    }

    fn pop_gift(&mut self, member: usize) -> Option<usize> {
        meter::count_heap(self.gifts[member].len());
        let Reverse((_, _, task)) = self.gifts[member].pop()?;
        Some(task)
    }

    /// The fullest worker of an instance that has something to give.
    fn giver(&self, instance: usize) -> Option<usize> {
        self.givers[instance].best().map(|place| self.group.workers[instance][place])
    }

    fn add(&mut self, member: usize, load: i64, bytes: i64) {
        self.scales.add(member, load, bytes);
        let instance = self.group.instance_of[member];
        // Workers of an instance are in order, so a member's place in its instance can be searched.
        if let Ok(place) = self.group.workers[instance].binary_search(&member) {
            let key = giver(&self.scales, member, self.gifts[member].is_empty());
            self.givers[instance].set(place, key);
        }
    }
}

fn giver(scales: &Scales, member: usize, nothing_to_give: bool) -> Option<Reverse<Ratio>> {
    (!nothing_to_give && scales.room(member).is_some()).then(|| Reverse(scales.fullness(member)))
}

fn gift(group: &Group<'_>, order: GiftOrder, task: usize) -> Gift {
    let kept =
        order == GiftOrder::GivenUpFirst && !matches!(group.claims[task], crate::group::Claim::GivenUp(_));
    Reverse((kept, group.tasks[task].state_size, task))
}
