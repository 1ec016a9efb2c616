//! The node with the fewest copies per capacity, among those that have none of a given task yet.

use crate::ratio::Ratio;
use crate::tournament::Tournament;

/// Nodes (instances, or the workers of one) by how many copies they hold per capacity.
#[derive(Clone, Debug)]
pub(crate) struct Emptiest {
    held: Vec<i64>,
    /// 0 for a node that takes nothing.
    capacity: Vec<i64>,
    tree: Tournament<Ratio>,
}

impl Emptiest {
    /// Nodes with these copies and capacities.
    pub(crate) fn new(held: Vec<i64>, capacity: Vec<i64>) -> Self {
        let mut nodes = Self { tree: Tournament::new(Vec::new()), held, capacity };
        nodes.tree = Tournament::new((0..nodes.held.len()).map(|node| nodes.key(node)).collect());
        nodes
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
        self.tree.set(node, self.key(node));
    }

    /// The emptiest node; of equal ones the lowest.
    pub(crate) fn best(&self) -> Option<usize> {
        self.tree.best()
    }

    /// Up to `wanted` nodes that `taken` does not know, emptiest first, each with one copy more afterwards.
    pub(crate) fn take(&mut self, wanted: usize, mut taken: impl FnMut(usize) -> bool) -> Vec<usize> {
        let mut chosen = Vec::with_capacity(wanted.min(self.held.len()));
        // Whatever has been looked at leaves the race until this task is done, so that nothing is met twice.
        let mut out = Vec::new();
        while chosen.len() < wanted
            && let Some(node) = self.tree.best()
        {
            self.tree.set(node, None);
            out.push(node);
            if !taken(node) {
                self.held[node] += 1;
                chosen.push(node);
            }
        }
        for node in out {
            self.tree.set(node, self.key(node));
        }
        chosen
    }
}
