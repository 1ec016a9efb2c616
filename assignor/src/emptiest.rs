//! The node with the fewest copies per capacity, among those that have none of a given task yet.

use crate::meter;
use crate::ratio::Ratio;
use crate::tournament::Tournament;

/// Nodes (instances, or the workers of one) by how many copies they hold per capacity.
#[derive(Clone, Debug)]
pub(crate) struct Emptiest {
    held: Vec<i64>,
    /// 0 for a node that takes nothing.
    capacity: Vec<i64>,
    /// Grown when it is first needed, and again after tasks that took a large part of all nodes.
    tree: Option<Tournament<Ratio>>,
}

impl Emptiest {
    /// Nodes with these copies and capacities.
    pub(crate) fn new(held: Vec<i64>, capacity: Vec<i64>) -> Self {
        Self { held, capacity, tree: None }
    }

    fn key(&self, node: usize) -> Option<Ratio> {
        (self.capacity[node] > 0).then(|| self.fullness(node))
    }

    /// Copies per capacity.
    pub(crate) fn fullness(&self, node: usize) -> Ratio {
        Ratio::new(self.held[node], self.capacity[node])
    }

    /// Counts copies more (or fewer) at a node.
    pub(crate) fn add(&mut self, node: usize, copies: i64) {
        self.held[node] += copies;
        let key = self.key(node);
        if let Some(tree) = &mut self.tree {
            tree.set(node, key);
        }
    }

    /// The emptiest node; of equal ones the lowest.
    pub(crate) fn best(&mut self) -> Option<usize> {
        match self.held.len() {
            1 => self.key(0).map(|_| 0),
            _ => self.tree().best(),
        }
    }

    fn tree(&mut self) -> &mut Tournament<Ratio> {
        let tree = self
            .tree
            .take()
            .unwrap_or_else(|| Tournament::new((0..self.held.len()).map(|node| self.key(node)).collect()));
        self.tree.insert(tree)
    }

    /// The `wanted` emptiest nodes that `taken` does not know, or all of those if they are fewer, in no order that
    /// means anything; each has one copy more afterwards.
    pub(crate) fn take(&mut self, wanted: usize, taken: impl FnMut(usize) -> bool) -> Vec<usize> {
        // A walk down the tree and two updates for each of a few nodes, or one look at every node.
        if wanted.saturating_mul(8) < self.held.len() {
            self.take_few(wanted, taken)
        } else {
            self.take_many(wanted, taken)
        }
    }

    fn take_few(&mut self, wanted: usize, mut taken: impl FnMut(usize) -> bool) -> Vec<usize> {
        let mut chosen = Vec::with_capacity(wanted);
        // Whatever has been looked at leaves the race until this task is done, so that nothing is met twice.
        let mut out = Vec::new();
        let tree = self.tree();
        while chosen.len() < wanted
            && let Some(node) = tree.best()
        {
            tree.set(node, None);
            out.push(node);
            if !taken(node) {
                chosen.push(node);
            }
        }
        chosen.iter().for_each(|&node| self.held[node] += 1);
        out.into_iter().for_each(|node| self.add(node, 0));
        chosen
    }

    fn take_many(&mut self, wanted: usize, mut taken: impl FnMut(usize) -> bool) -> Vec<usize> {
        self.tree = None;
        meter::count(self.held.len());
        let free = (0..self.held.len()).filter(|&node| !taken(node));
        let mut free: Vec<(Ratio, usize)> = free.filter_map(|node| Some((self.key(node)?, node))).collect();
        if wanted < free.len() {
            free.select_nth_unstable(wanted);
            free.truncate(wanted);
        }
        free.iter().for_each(|&(_, node)| self.held[node] += 1);
        free.into_iter().map(|(_, node)| node).collect()
    }
}
