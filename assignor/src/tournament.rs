//! The least of many keys, kept up to date: a winner tree over fixed places.
//!
//! A planner asks again and again for the emptiest receiver or the fullest donor and then changes that one's key. A
//! tree of winners does both in ⌈log₂ n⌉ comparisons without allocating, and settles ties by the lower place, which
//! is natural order of names, so that the answer never depends on the history of the tree.

use std::cmp::Ordering;

use crate::meter;

const NOBODY: u32 = u32::MAX;

/// The places 0..n, each with a key or out of the race.
#[derive(Clone, Debug)]
pub(crate) struct Tournament<K> {
    keys: Vec<Option<K>>,
    /// Heap layout: `winners[1]` is the root, `winners[width + i]` is place `i` itself.
    winners: Vec<u32>,
    width: usize,
}

impl<K: Ord> Tournament<K> {
    /// A tree over `keys`; `None` is out of the race.
    pub(crate) fn new(keys: Vec<Option<K>>) -> Self {
        let width = keys.len().next_power_of_two();
        let mut winners = vec![NOBODY; 2 * width];
        for (place, key) in keys.iter().enumerate() {
            if key.is_some() {
                winners[width + place] = place as u32;
            }
        }
        let mut tree = Self { keys, winners, width };
        for node in (1..width).rev() {
            tree.play(node);
        }
        meter::count(tree.keys.len());
        tree
    }

    /// Gives `place` a new key, or takes it out of the race.
    pub(crate) fn set(&mut self, place: usize, key: Option<K>) {
        self.winners[self.width + place] = if key.is_some() { place as u32 } else { NOBODY };
        self.keys[place] = key;
        let mut node = (self.width + place) / 2;
        let mut played = 1;
        while node > 0 {
            self.play(node);
            node /= 2;
            played += 1;
        }
        meter::count(played);
    }

    /// The place with the least key; of equal keys the lower place.
    pub(crate) fn best(&self) -> Option<usize> {
        let root = self.winners[1];
        (root != NOBODY).then_some(root as usize)
    }

    fn play(&mut self, node: usize) {
        let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
        self.winners[node] = match (self.key(left), self.key(right)) {
            (Some(l), Some(r)) if r.cmp(l) == Ordering::Less => right,
            (None, _) => right,
            _ => left,
        };
    }

    fn key(&self, winner: u32) -> Option<&K> {
        if winner == NOBODY { None } else { self.keys[winner as usize].as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_key_wins_and_ties_go_to_the_lower_place() {
        let mut tree = Tournament::new(vec![Some(3), Some(1), None, Some(1), Some(2)]);
        assert_eq!(tree.best(), Some(1));
        tree.set(1, Some(5));
        assert_eq!(tree.best(), Some(3));
        tree.set(3, None);
        assert_eq!(tree.best(), Some(4));
        tree.set(2, Some(2));
        assert_eq!(tree.best(), Some(2));
        for place in 0..5 {
            tree.set(place, None);
        }
        assert_eq!(tree.best(), None);
    }

    #[test]
    fn a_tree_of_one_place_and_of_none() {
        let mut one = Tournament::new(vec![Some(7)]);
        assert_eq!(one.best(), Some(0));
        one.set(0, None);
        assert_eq!(one.best(), None);
        assert_eq!(Tournament::<u8>::new(Vec::new()).best(), None);
    }
}
