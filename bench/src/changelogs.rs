//! Seeded changelogs: the input of the benches of logs and restores.

use std::path::Path;
use std::sync::Arc;

use engine::error::LogError;
use engine::log::{BatchBuilder, FileLogs, LogDirectory, LogOptions, Resume, TaskLog};
use engine::position::Claim;
use engine::source::{key_of, mix};

/// A changelog in which every key is updated equally often, each round in an order of its own.
#[derive(Clone, Copy, Debug)]
pub struct Changelog {
    /// One seed gives one changelog.
    pub seed: u64,
    /// Distinct keys, of 16 bytes.
    pub keys: u64,
    /// Updates of each.
    pub rounds: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Updates of a batch.
    pub batch: u64,
}

impl Changelog {
    /// The one that restores are measured with: 4 M records of 16 + 100 bytes over 2 M keys.
    pub const FOUR_MILLION: Self = Self { seed: 1, keys: 2_000_000, rounds: 2, value_bytes: 100, batch: 500 };

    /// Updates in it.
    #[must_use]
    pub fn updates(&self) -> u64 {
        self.keys * self.rounds
    }

    /// The key index of the `nth` update. Within a round all are different.
    #[must_use]
    pub fn index(&self, nth: u64) -> u64 {
        let (round, nth) = (nth / self.keys, nth % self.keys);
        // A bijection of the next power of two, applied until it lands below `keys`.
        let mask = self.keys.next_power_of_two() - 1;
        let salt = mix(self.seed ^ mix(round));
        // A shift by nothing would map everything to 0.
        let shift = (mask.count_ones() / 2).max(1);
        let mut index = nth;
        loop {
            index = (index ^ salt) & mask;
            index = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
            index ^= index >> shift;
            index = index.wrapping_mul(0xd6e8_feb8_6659_fd93) & mask;
            index ^= index >> shift;
            if index < self.keys {
                return index;
            }
        }
    }

    /// Writes the value of the `nth` update: it starts with `nth`, so that a reader can tell whether it is the latest.
    pub fn value(&self, nth: u64, value: &mut [u8]) {
        for (at, word) in value.chunks_mut(8).enumerate() {
            word.copy_from_slice(&mix(nth + at as u64).to_le_bytes()[..word.len()]);
        }
        value[..8].copy_from_slice(&nth.to_le_bytes());
    }

    /// The updates `from..to` into `batch`, finished.
    pub fn build(&self, from: u64, to: u64, batch: &mut BatchBuilder) {
        batch.clear();
        for nth in from..to {
            batch.put_with(&key_of(self.index(nth)), self.value_bytes, |value| self.value(nth, value));
        }
        batch.finish(Resume { source_offset: to, ..Resume::default() });
    }

    /// Writes it into a log of its own in `folder`.
    ///
    /// # Errors
    ///
    /// What the log says.
    pub fn write(&self, folder: &Path) -> Result<Arc<dyn TaskLog>, LogError> {
        let log = FileLogs::new(folder, LogOptions::default()).log(&"T1".into())?;
        let epoch = log.fence(Claim::default())?.epoch;
        let mut batch = BatchBuilder::default();
        for from in (0..self.updates()).step_by(self.batch as usize) {
            self.build(from, (from + self.batch).min(self.updates()), &mut batch);
            log.append(epoch, &batch)?;
        }
        Ok(log)
    }

    /// The number of the latest update of the key at `index`, found by trying a whole round: for spot checks.
    #[must_use]
    pub fn latest(&self, indices: &[u64]) -> Vec<u64> {
        let mut latest = vec![0; indices.len()];
        for nth in self.keys * (self.rounds - 1)..self.updates() {
            let index = self.index(nth);
            // An index may be asked for twice.
            for (at, _) in indices.iter().enumerate().filter(|(_, wanted)| **wanted == index) {
                latest[at] = nth;
            }
        }
        latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_each_key_once_in_another_order() {
        for keys in [1, 2, 7, 1_000] {
            let log = Changelog { keys, rounds: 3, ..Changelog::FOUR_MILLION };
            let rounds: Vec<Vec<u64>> =
                (0..3).map(|round| (0..keys).map(|nth| log.index(round * keys + nth)).collect()).collect();
            for round in &rounds {
                let mut sorted = round.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..keys));
            }
            assert!(log.latest(&[0, 0]).iter().all(|&nth| nth >= 2 * keys && log.index(nth) == 0));
            assert!(keys < 100 || (rounds[0] != rounds[1] && !rounds[0].is_sorted()));
        }
    }
}
