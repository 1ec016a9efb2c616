//! Which run follows which: blocks of one trial each, every strategy in it once, in random order, and A/A twins among
//! them.
//!
//! Twins are two runs of one strategy in one block: whatever lies between them is noise, and the largest such gap is
//! the floor below which no difference between strategies is believed. They stand anywhere in the block, so that a
//! machine that drifts has its say in them.

use engine::source::mix;

/// From so many trials on a comparison can tell anything, and its noise floor is worth a run.
pub const TWINS_FROM: u32 = 5;

/// Which runs have an A/A twin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twins {
    /// None.
    None,
    /// One strategy of each block, by turns.
    Turns,
    /// Every strategy of every block.
    All,
}

impl Twins {
    /// What is done unasked: [`Twins::Turns`] from [`TWINS_FROM`] trials on.
    #[must_use]
    pub fn automatic(trials: u32) -> Self {
        if trials >= TWINS_FROM { Self::Turns } else { Self::None }
    }

    /// As it is called on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Turns => "turns",
            Self::All => "all",
        }
    }
}

/// One run's place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    /// From 1.
    pub(super) trial: u32,
    /// Index of its strategy.
    pub(super) strategy: usize,
    /// 1 for the second of a pair of twins.
    pub(super) replica: u32,
}

/// All runs in their order, which comes from the seed.
pub(super) fn order(strategies: usize, trials: u32, seed: u64, twins: Twins) -> Vec<Slot> {
    (1..=trials).flat_map(|trial| block(strategies, trial, seed, twins)).collect()
}

/// One trial's runs: a shuffle (Fisher and Yates) drawn from the seed.
fn block(strategies: usize, trial: u32, seed: u64, twins: Twins) -> Vec<Slot> {
    let turn = (trial as usize - 1) % strategies.max(1);
    let has_twin = |strategy| match twins {
        Twins::None => false,
        Twins::Turns => strategy == turn,
        Twins::All => true,
    };
    let mut block: Vec<Slot> = (0..strategies)
        .flat_map(|strategy| {
            (0..=u32::from(has_twin(strategy))).map(move |replica| Slot { trial, strategy, replica })
        })
        .collect();
    let mut random = mix(seed ^ mix(u64::from(trial)));
    for last in (1..block.len()).rev() {
        random = mix(random.wrapping_add(1));
        block.swap(last, (random % (last as u64 + 1)) as usize);
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_has_its_turn_and_no_order_is_fixed() {
        let mut first = [0; 3];
        for block in order(3, 300, 7, Twins::None).chunks(3) {
            first[block[0].strategy] += 1;
            let mut sorted: Vec<usize> = block.iter().map(|slot| slot.strategy).collect();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(first.iter().all(|&count| count > 60), "{first:?}");
        assert_eq!(order(3, 5, 7, Twins::Turns), order(3, 5, 7, Twins::Turns));
        assert_ne!(order(3, 5, 7, Twins::Turns), order(3, 5, 8, Twins::Turns));
    }

    #[test]
    fn twins_are_of_one_strategy_and_one_trial() {
        for (twins, more) in [(Twins::None, 0), (Twins::Turns, 6), (Twins::All, 12)] {
            let order = order(2, 6, 1, twins);
            assert_eq!(order.len(), 12 + more, "{twins:?}");
            let mut distinct = order.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), order.len());
            for strategy in 0..2 {
                let pairs =
                    order.iter().filter(|slot| slot.strategy == strategy && slot.replica == 1).count();
                assert_eq!(pairs, more / 2, "{twins:?}: by turns is fair");
            }
        }
        assert_eq!(Twins::automatic(4), Twins::None);
        assert_eq!(Twins::automatic(5), Twins::Turns);
    }
}
