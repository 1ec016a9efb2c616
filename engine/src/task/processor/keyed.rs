//! Processors that keep one state a key and take records in one at a time, in the order of their offsets.
//!
//! What a key's state is after n records depends on those records alone, not on how they were cut into turns: that is
//! what makes a successor, which cuts them otherwise, arrive at the same state.

use std::fmt;

use super::Processor;
use super::count::Counted;
use super::distinct::Distinct;
use crate::clock::Time;
use crate::error::StoreError;
use crate::log::BatchBuilder;
use crate::source::Records;
use crate::store::ReadState;

/// What a processor keeps of a key, and how a record changes it.
pub trait Keyed: fmt::Debug + Send {
    /// The state of one key; its default is that of a key without records.
    type State: Clone + Default + fmt::Debug + Send;

    /// Takes in the record at a source offset with its intended time; returns how many output records that makes.
    fn add(&self, state: &mut Self::State, offset: u64, time: Time) -> u32;

    /// From a value; `None` if it is too short to be one.
    fn decode(&self, value: &[u8]) -> Option<Self::State>;

    /// Bytes of a value.
    fn value_bytes(&self) -> usize;

    /// Into a zeroed value of that length.
    fn encode(&self, state: &Self::State, value: &mut [u8]);

    /// Hands over two states part by part, for an audit; every record that was taken in is counted in exactly one.
    fn compare(&self, expected: &Self::State, applied: &Self::State, part: &mut dyn FnMut(Counted, Counted));
}

/// The [`Processor`] of a [`Keyed`]: each turn reads and writes each of its distinct keys once.
#[derive(Debug)]
pub struct PerKey<K: Keyed> {
    keyed: K,
    distinct: Distinct,
    states: Vec<K::State>,
    numbers: Vec<usize>,
}

impl<K: Keyed> PerKey<K> {
    /// Takes records in as `keyed` says.
    #[must_use]
    pub fn new(keyed: K) -> Self {
        Self { keyed, distinct: Distinct::default(), states: Vec::new(), numbers: Vec::new() }
    }
}

impl<K: Keyed> Processor for PerKey<K> {
    fn process(
        &mut self,
        records: &Records,
        state: &dyn ReadState,
        out: &mut BatchBuilder,
    ) -> Result<(), StoreError> {
        let Self { keyed, distinct, states, numbers } = self;
        distinct.reset(records.len());
        numbers.clear();
        numbers.extend((0..records.len()).map(|index| distinct.number(records, index)));
        let keys: Vec<_> = distinct.keys(records).collect();
        states.clear();
        states.resize(keys.len(), K::State::default());
        let mut short = None;
        state.get_many(&keys, &mut |number, value| match value.map(|value| keyed.decode(value)) {
            None => {}
            Some(Some(before)) => states[number] = before,
            Some(None) => short = Some(number),
        })?;
        if let Some(number) = short {
            let what = format!("the value of key {:?} is too short", keys[number]);
            return Err(StoreError::Damaged { path: state.location(), what });
        }
        let mut outputs = 0;
        for (index, &number) in numbers.iter().enumerate() {
            outputs += keyed.add(&mut states[number], records.offsets[index], records.times[index]);
        }
        for (key, now) in keys.into_iter().zip(states.iter()) {
            out.put_with(key, keyed.value_bytes(), |value| keyed.encode(now, value));
        }
        out.count_outputs(outputs);
        Ok(())
    }
}

/// Reads numbers off a value, one after another.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl Fields<'_> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    pub(super) fn counted(&mut self) -> Option<Counted> {
        Some(Counted { count: self.number()?, sum: self.number()? })
    }
}

/// Writes numbers into a value, one after another.
pub(super) fn fill(value: &mut [u8], numbers: impl IntoIterator<Item = u64>) {
    for (space, number) in value.chunks_exact_mut(8).zip(numbers) {
        space.copy_from_slice(&number.to_le_bytes());
    }
}
