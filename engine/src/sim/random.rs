//! The one source of chance: everything that a run draws comes from its seed.

use std::time::Duration;

use crate::source::mix;

/// A splitmix64 generator (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x5eed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// True once in `times` draws; never if `times` is 0.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        times > 0 && self.below(times) == 0
    }

    /// A time of at least `from` and less than `to`.
    pub(super) fn between(&mut self, from: Duration, to: Duration) -> Duration {
        let (from, to) = (from.as_nanos() as u64, to.as_nanos() as u64);
        Duration::from_nanos(from + self.below(to.saturating_sub(from).max(1)))
    }

    /// One of them; `None` if there is none.
    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { items.get(self.below(items.len() as u64) as usize) }
    }
}
