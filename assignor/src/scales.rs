//! Loads per capacity, over instances and over the workers of each, and who should receive or give next.
//!
//! This is the arithmetic of learner rule 3. With L a node's load, C its capacity and f the balance factor, the
//! *receiver* is the open node with the least (L+1)/C, the *donor* the one with the most (L−f)/C, and a move improves
//! the balance while the receiver's (L+1)/C is at most the donor's (L−f)/C. Closed nodes (members that leave or are
//! away, instances without any other) neither give nor receive, and their load does not count.

use std::cmp::Reverse;

use crate::group::{CopyAt, Group};
use crate::meter;
use crate::ratio::Ratio;
use crate::tournament::Tournament;

/// What decides between equal candidates before their names do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// Receivers: the fewest bytes to learn. Donors: nothing.
    BytesToLearn,
    /// Receivers: the least total load per capacity. Donors: the most.
    TotalLoad,
    /// Nothing: round-robin order.
    NameOnly,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    load: i64,
    /// 0 for a closed node.
    capacity: i64,
    /// Load of the other kind of tasks, which only settles ties.
    other: i64,
    bytes: i64,
    passed_over: bool,
}

/// One level: nodes that even out among themselves.
#[derive(Clone, Debug)]
pub(crate) struct Beam {
    nodes: Vec<Node>,
    factor: i64,
    tie: Tie,
    /// The trees are grown when they are first needed, over loads that are counted by then. Without a tree, as for a
    /// single node, the nodes are looked through.
    receivers: Option<Tournament<(Ratio, Ratio)>>,
    donors: Option<Tournament<Reverse<(Ratio, Ratio)>>>,
}

impl Beam {
    fn new(nodes: Vec<Node>, factor: i64, tie: Tie) -> Self {
        Self { nodes, factor, tie, receivers: None, donors: None }
    }

    /// From here on the receiver is found in logarithmic time.
    pub(crate) fn open_receivers(&mut self) {
        if self.nodes.len() > 1 && self.receivers.is_none() {
            let keys = (0..self.nodes.len()).map(|node| self.receiver_key(node)).collect();
            self.receivers = Some(Tournament::new(keys));
        }
    }

    /// From here on the donor is, too.
    pub(crate) fn open_donors(&mut self) {
        if self.nodes.len() > 1 && self.donors.is_none() {
            let keys = (0..self.nodes.len()).map(|node| self.donor_key(node)).collect();
            self.donors = Some(Tournament::new(keys));
        }
    }

    pub(crate) fn add(&mut self, node: usize, load: i64, bytes: i64) {
        let it = &mut self.nodes[node];
        it.load += load;
        it.bytes = it.bytes.saturating_add(bytes);
        it.passed_over = false;
        self.refresh(node);
    }

    fn refresh(&mut self, node: usize) {
        self.set_receiver(node, self.receiver_key(node));
        self.set_donor(node, self.donor_key(node));
    }

    fn set_receiver(&mut self, node: usize, key: Option<(Ratio, Ratio)>) {
        if let Some(tree) = &mut self.receivers {
            tree.set(node, key);
        }
    }

    fn set_donor(&mut self, node: usize, key: Option<Reverse<(Ratio, Ratio)>>) {
        if let Some(tree) = &mut self.donors {
            tree.set(node, key);
        }
    }

    fn best_receiver(&self) -> Option<usize> {
        match &self.receivers {
            Some(tree) => tree.best(),
            None => least(self.nodes.len(), |node| self.receiver_key(node)),
        }
    }

    fn best_donor(&self) -> Option<usize> {
        match &self.donors {
            Some(tree) => tree.best(),
            None => least(self.nodes.len(), |node| self.donor_key(node)),
        }
    }

    /// Takes a node out of the donors until its load changes.
    pub(crate) fn pass_over(&mut self, node: usize) {
        self.nodes[node].passed_over = true;
        self.set_donor(node, None);
    }

    /// Takes a node out of the receivers until its load changes or it is refreshed.
    pub(crate) fn skip_receiver(&mut self, node: usize) {
        self.set_receiver(node, None);
    }

    /// Takes a skipped receiver back in.
    pub(crate) fn refresh_receiver(&mut self, node: usize) {
        self.set_receiver(node, self.receiver_key(node));
    }

    /// Takes the passed-over donors back in.
    pub(crate) fn recall(&mut self) {
        for node in 0..self.nodes.len() {
            if std::mem::take(&mut self.nodes[node].passed_over) {
                self.refresh(node);
            }
        }
    }

    fn receiver_key(&self, node: usize) -> Option<(Ratio, Ratio)> {
        let it = &self.nodes[node];
        (it.capacity > 0).then(|| (self.room(node), self.preference(node)))
    }

    fn donor_key(&self, node: usize) -> Option<Reverse<(Ratio, Ratio)>> {
        let it = &self.nodes[node];
        let second = if self.tie == Tie::TotalLoad { self.preference(node) } else { Ratio::new(0, 1) };
        (it.capacity > 0 && !it.passed_over).then(|| Reverse((self.surplus(node), second)))
    }

    fn preference(&self, node: usize) -> Ratio {
        let it = &self.nodes[node];
        match self.tie {
            Tie::BytesToLearn => Ratio::new(it.bytes, 1),
            Tie::TotalLoad => Ratio::new(it.load + it.other, it.capacity),
            Tie::NameOnly => Ratio::new(0, 1),
        }
    }

    /// (L+1)/C.
    pub(crate) fn room(&self, node: usize) -> Ratio {
        Ratio::new(self.nodes[node].load + 1, self.nodes[node].capacity)
    }

    /// (L−f)/C.
    fn surplus(&self, node: usize) -> Ratio {
        Ratio::new(self.nodes[node].load - self.factor, self.nodes[node].capacity)
    }

    /// L/C.
    pub(crate) fn fullness(&self, node: usize) -> Ratio {
        Ratio::new(self.nodes[node].load, self.nodes[node].capacity)
    }

    pub(crate) fn is_open(&self, node: usize) -> bool {
        self.nodes[node].capacity > 0
    }

    /// The receiver that holds a copy, of those that are as good as the best; else the best.
    fn receiver(&self, holders: impl Iterator<Item = usize>) -> Option<usize> {
        let best = self.best_receiver()?;
        let room = self.room(best);
        let mut looked_at = 0;
        let holder = holders
            .inspect(|_| looked_at += 1)
            .filter(|&node| self.is_open(node) && self.room(node) == room)
            .min_by_key(|&node| (self.preference(node), node));
        meter::count(1 + looked_at);
        Some(holder.unwrap_or(best))
    }

    /// The donor and the receiver between which a move would improve the balance.
    pub(crate) fn improvement(&self) -> Option<(usize, usize)> {
        let (donor, receiver) = (self.best_donor()?, self.best_receiver()?);
        (self.room(receiver) <= self.surplus(donor)).then_some((donor, receiver))
    }
}

/// The node with the least key; of equal ones the lowest.
fn least<K: Ord>(nodes: usize, key: impl Fn(usize) -> Option<K>) -> Option<usize> {
    meter::count(nodes);
    (0..nodes).filter_map(|node| Some((key(node)?, node))).min().map(|(_, node)| node)
}

/// Both levels of one kind of load, kept in step.
#[derive(Clone, Debug)]
pub(crate) struct Scales {
    /// Instance and place within it, of every member.
    seats: Vec<(usize, usize)>,
    pub(crate) instances: Beam,
    pub(crate) workers: Vec<Beam>,
}

impl Scales {
    /// Empty scales; `other` is each member's load of the other kind of tasks.
    pub(crate) fn new(group: &Group<'_>, factor: u32, tie: Tie, other: &[i64]) -> Self {
        let factor = i64::from(factor);
        let mut seats = vec![(0, 0); group.members.len()];
        let mut instances = Vec::with_capacity(group.instances.len());
        let mut workers = Vec::with_capacity(group.instances.len());
        for (instance, members) in group.workers.iter().enumerate() {
            let mut sum = Node::default();
            let mut nodes = Vec::with_capacity(members.len());
            for (place, &member) in members.iter().enumerate() {
                seats[member] = (instance, place);
                let mut node = Node::default();
                if group.receives(member) {
                    node.capacity = i64::from(group.members[member].capacity);
                    node.other = other.get(member).copied().unwrap_or(0);
                }
                sum.capacity += node.capacity;
                sum.other += node.other;
                nodes.push(node);
            }
            instances.push(sum);
            workers.push(Beam::new(nodes, factor, tie));
        }
        Self { seats, instances: Beam::new(instances, factor, tie), workers }
    }

    /// Ready to find receivers, once what is there has been counted.
    pub(crate) fn open_receivers(&mut self) {
        self.beams().for_each(Beam::open_receivers);
    }

    /// Ready to find donors as well, once everything has been placed.
    pub(crate) fn open_donors(&mut self) {
        self.beams().for_each(Beam::open_donors);
    }

    fn beams(&mut self) -> impl Iterator<Item = &mut Beam> {
        std::iter::once(&mut self.instances).chain(&mut self.workers)
    }

    /// Changes a member's load; without effect for one that is closed.
    pub(crate) fn add(&mut self, member: usize, load: i64, bytes: i64) {
        let (instance, place) = self.seats[member];
        if self.workers[instance].is_open(place) {
            self.workers[instance].add(place, load, bytes);
            self.instances.add(instance, load, bytes);
        }
    }

    /// The receiver of learner rule 3 for a task with these copies: over instances, then among the workers of one.
    pub(crate) fn receiver(&self, group: &Group<'_>, copies: &Copies<'_>) -> Option<usize> {
        let in_instances = copies
            .standbys
            .iter()
            .map(|copy| group.instance_of[copy.at])
            .chain(copies.stored.iter().map(|copy| copy.at))
            .chain(copies.home);
        let instance = self.instances.receiver(in_instances)?;
        self.worker(group, instance, copies)
    }

    /// The receiver among the workers of one instance.
    pub(crate) fn worker(&self, group: &Group<'_>, instance: usize, copies: &Copies<'_>) -> Option<usize> {
        let here = copies.standbys.iter().map(|copy| self.seats[copy.at]);
        let place = self.workers[instance]
            .receiver(here.filter(|&(at, _)| at == instance).map(|(_, place)| place))?;
        Some(group.workers[instance][place])
    }

    /// (L+1)/C of a member, if it is open.
    pub(crate) fn room(&self, member: usize) -> Option<Ratio> {
        let (instance, place) = self.seats[member];
        let beam = &self.workers[instance];
        beam.is_open(place).then(|| beam.room(place))
    }

    /// L/C of a member.
    pub(crate) fn fullness(&self, member: usize) -> Ratio {
        let (instance, place) = self.seats[member];
        self.workers[instance].fullness(place)
    }

    /// The load of a member as far as it counts.
    pub(crate) fn load(&self, member: usize) -> i64 {
        let (instance, place) = self.seats[member];
        self.workers[instance].nodes[place].load
    }

    /// Whether no move would improve the balance anywhere.
    pub(crate) fn balanced(&mut self) -> bool {
        self.instances.recall();
        self.instances.improvement().is_none()
            && self.workers.iter_mut().all(|beam| {
                beam.recall();
                beam.improvement().is_none()
            })
    }
}

/// Who has a copy of a task, to settle equal receivers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copies<'g> {
    standbys: &'g [CopyAt],
    stored: &'g [CopyAt],
    /// The instance that runs the task and so has its state.
    home: Option<usize>,
}

impl<'g> Copies<'g> {
    /// The copies of a task that `owner` runs.
    pub(crate) fn of(group: &'g Group<'_>, task: usize, owner: Option<usize>) -> Self {
        Self {
            standbys: &group.standbys[task],
            stored: &group.stored[task],
            home: owner.map(|owner| group.instance_of[owner]),
        }
    }
}
