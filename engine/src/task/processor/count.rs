//! The processor `count`: per key, how many records there were, and a sum of their hashed source offsets, so that the
//! audit tells a loss from a doubling even where both happen.

use super::keyed::Keyed;
use crate::clock::Time;
use crate::source::mix;

/// What `count` keeps of a key: the first 16 bytes of its value, little-endian; the rest is padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Records.
    pub count: u64,
    /// Wrapping sum of `mix(source offset)`.
    pub sum: u64,
}

impl Counted {
    /// Bytes of it in a value.
    pub const BYTES: usize = 16;

    /// Takes in the record at a source offset.
    pub fn add(&mut self, offset: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(mix(offset));
    }

    /// Takes in all records of `other`.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// From a value; `None` if it is too short to be one.
    #[must_use]
    pub fn decode(value: &[u8]) -> Option<Self> {
        let ([count, sum], _) = value.first_chunk::<{ Self::BYTES }>()?.as_chunks::<8>() else { return None };
        Some(Self { count: u64::from_le_bytes(*count), sum: u64::from_le_bytes(*sum) })
    }

    /// Into the start of a value.
    fn encode(self, value: &mut [u8]) {
        value[..8].copy_from_slice(&self.count.to_le_bytes());
        value[8..Self::BYTES].copy_from_slice(&self.sum.to_le_bytes());
    }
}

/// Counts records per key.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    value_bytes: usize,
}

impl Count {
    /// Values are padded to `value_bytes`, which is at least [`Counted::BYTES`].
    #[must_use]
    pub fn new(value_bytes: usize) -> Self {
        Self { value_bytes: value_bytes.max(Counted::BYTES) }
    }
}

impl Keyed for Count {
    type State = Counted;

    fn add(&self, state: &mut Counted, offset: u64, _: Time) -> u32 {
        state.add(offset);
        1
    }

    fn decode(&self, value: &[u8]) -> Option<Counted> {
        Counted::decode(value)
    }

    fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    fn encode(&self, state: &Counted, value: &mut [u8]) {
        state.encode(value);
    }

    fn compare(&self, expected: &Counted, applied: &Counted, part: &mut dyn FnMut(Counted, Counted)) {
        part(*expected, *applied);
    }
}

#[cfg(test)]
mod tests {
    use assignor::TaskId;

    use super::super::{PerKey, Processor};
    use super::*;
    use crate::log::BatchBuilder;
    use crate::source::Records;
    use crate::store::{Checkpoint, MemStores, StoreDirectory};

    #[test]
    fn one_update_a_key_on_top_of_what_the_store_holds() {
        let mut store = MemStores::default().open(&TaskId::from("T1")).unwrap();
        let mut count = PerKey::new(Count::new(20));
        let mut batch = BatchBuilder::default();
        for turn in 0..2 {
            let mut records = Records::default();
            for (at, key) in ["a", "b", "a"].into_iter().enumerate() {
                records.push(turn * 3 + at as u64, Time::ZERO, key.as_bytes(), 0);
            }
            batch.clear();
            count.process(&records, &*store, &mut batch).unwrap();
            assert_eq!((batch.records(), batch.outputs()), (2, 3));
            store.write(&mut batch.updates(), Checkpoint::default()).unwrap();
        }
        let mut seen = Vec::new();
        store.scan(&mut |_, value| seen.push((value.len(), Counted::decode(value)))).unwrap();
        let sum = |offsets: [u64; 4]| offsets.into_iter().fold(0_u64, |sum, at| sum.wrapping_add(mix(at)));
        assert_eq!(seen[0], (20, Some(Counted { count: 4, sum: sum([0, 2, 3, 5]) })));
        assert_eq!(seen[1].1.unwrap().count, 2);
    }
}
