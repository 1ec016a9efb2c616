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
    /// The open nodes, emptiest first when they were last in order. Each time they are put in order again, they are two
    /// ordered runs (those that were left, those that were taken), which a stable sort only has to merge.
    order: Vec<usize>,
}

impl Emptiest {
    /// Nodes with these copies and capacities.
    pub(crate) fn new(held: Vec<i64>, capacity: Vec<i64>) -> Self {
        Self { held, capacity, tree: None, order: Vec::new() }
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
    pub(crate) fn take(&mut self, wanted: usize, taken: impl Fn(usize) -> bool) -> Vec<usize> {
        // A walk down the tree and two updates for each of a few nodes, or one look at every node.
        if wanted.saturating_mul(8) < self.held.len() {
            self.take_few(wanted, taken)
        } else {
            self.take_many(wanted, taken)
        }
    }

    fn take_few(&mut self, wanted: usize, taken: impl Fn(usize) -> bool) -> Vec<usize> {
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

    fn take_many(&mut self, wanted: usize, taken: impl Fn(usize) -> bool) -> Vec<usize> {
        self.tree = None;
        let mut order = std::mem::take(&mut self.order);
        if order.is_empty() {
            order = (0..self.held.len()).filter(|&node| self.capacity[node] > 0).collect();
        }
        // One look at every node, and one merge.
        meter::count(2 * order.len());
        order.sort_by_key(|&node| (self.fullness(node), node));
        let mut chosen = Vec::with_capacity(wanted.min(order.len()));
        order.retain(|&node| {
            let takes = chosen.len() < wanted && !taken(node);
            if takes {
                chosen.push(node);
            }
            !takes
        });
        order.extend_from_slice(&chosen);
        self.order = order;
        chosen.iter().for_each(|&node| self.held[node] += 1);
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `take` promises, in the plainest words: all free nodes sorted, the first `wanted` of them.
    fn sorted(held: &[i64], capacity: &[i64], wanted: usize, taken: usize) -> Vec<usize> {
        let free = (0..held.len()).filter(|&node| capacity[node] > 0 && node % 5 != taken);
        let mut free: Vec<usize> = free.collect();
        free.sort_by_key(|&node| (Ratio::new(held[node], capacity[node]), node));
        free.truncate(wanted);
        free.sort_unstable();
        free
    }

    #[test]
    fn few_or_many_the_emptiest_are_taken_whatever_was_taken_before() {
        for nodes in [1, 2, 9, 40, 100] {
            let capacity: Vec<i64> = (0..nodes).map(|node| node as i64 * 7 % 4).collect();
            let mut held: Vec<i64> = (0..nodes).map(|node| node as i64 * 13 % 11).collect();
            let mut emptiest = Emptiest::new(held.clone(), capacity.clone());
            for step in 0..200 {
                let (wanted, taken) = (step * 31 % (nodes + 2), step % 6);
                let expected = sorted(&held, &capacity, wanted, taken);
                let mut chosen = emptiest.take(wanted, |node| node % 5 == taken);
                chosen.sort_unstable();
                assert_eq!(chosen, expected, "{nodes} nodes, step {step}");
                chosen.iter().for_each(|&node| held[node] += 1);
                // Copies come and go in other ways, too.
                let (node, copies) = (step * 17 % nodes, if step % 3 == 0 { -1 } else { 2 });
                emptiest.add(node, copies);
                held[node] += copies;
            }
        }
    }
}
