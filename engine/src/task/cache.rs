//! A task's recent updates in memory, over its store: read first, and brought into the store many turns at a time.
//!
//! A turn is safe once it is in the log, so that the store may stand behind: a crash makes the successor replay a few
//! thousand records more. In exchange a popular key is written once a commit instead of once a turn, in key order,
//! and read without a search in the store.

use crate::error::StoreError;
use crate::log::batch::Entries;
use crate::source::hash;
use crate::store::{Checkpoint, ReadState, Store};

/// When a task's updates reach its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitOptions {
    /// As soon as this many keys wait for it. It bounds how long giving the task up takes, and what a crash makes
    /// its successor replay. 0 commits every turn. Default 4,096.
    pub updates: usize,
    /// Memory for values, waiting or not. Default 32 MiB.
    pub cache_bytes: usize,
}

impl Default for CommitOptions {
    fn default() -> Self {
        Self { updates: 4_096, cache_bytes: 32 << 20 }
    }
}

/// Stands for the length of a value that was deleted.
const DELETED: u32 = u32::MAX;

/// One key.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u64,
    /// Where the key starts in the cache's bytes; the value follows, in a space that may be longer.
    at: usize,
    key_bytes: u32,
    value_bytes: u32,
    space: u32,
    waiting: bool,
}

/// The latest values of recently updated keys.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// Open addressing; a slot's number plus one, 0 for free. A power of two, at least twice as long as `slots`.
    table: Vec<u32>,
    slots: Vec<Slot>,
    bytes: Vec<u8>,
    /// The numbers of the slots that the store lacks.
    waiting: Vec<u32>,
}

impl Cache {
    /// Keys that wait for a commit.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Memory in use, roughly.
    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + self.slots.len() * (size_of::<Slot>() + 8)
    }

    /// Takes in a turn's updates.
    pub(crate) fn apply(&mut self, updates: Entries<'_>) {
        for (key, value) in updates {
            let number = self.slot(key);
            let slot = &mut self.slots[number as usize];
            if !slot.waiting {
                slot.waiting = true;
                self.waiting.push(number);
            }
            let Some(value) = value else {
                slot.value_bytes = DELETED;
                continue;
            };
            slot.value_bytes = value.len() as u32;
            let start = slot.at + slot.key_bytes as usize;
            if slot.space >= slot.value_bytes {
                self.bytes[start..start + value.len()].copy_from_slice(value);
                continue;
            }
            if start + slot.space as usize == self.bytes.len() {
                self.bytes.truncate(start);
            } else {
                // The old space is lost until the cache is emptied.
                slot.at = self.bytes.len();
                self.bytes.extend_from_slice(key);
            }
            slot.space = slot.value_bytes;
            self.bytes.extend_from_slice(value);
        }
    }

    /// The value of a key, `Some(None)` if it is known to have none, `None` if it is not known.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let at = self.find(key, hash(key))?;
        let slot = &self.slots[self.table[at].checked_sub(1)? as usize];
        Some(self.value(slot))
    }

    /// What waits for the store, in key order.
    pub(super) fn updates(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let mut sorted: Vec<_> = self.waiting.iter().map(|&number| &self.slots[number as usize]).collect();
        sorted.sort_unstable_by(|a, b| self.key(a).cmp(self.key(b)));
        sorted.into_iter().map(|slot| (self.key(slot), self.value(slot)))
    }

    /// Everything is in the store by now; if more memory than `limit` is in use, it is given up.
    pub(super) fn committed(&mut self, limit: usize) {
        if self.memory() > limit {
            self.table.fill(0);
            self.slots.clear();
            self.bytes.clear();
            self.waiting.clear();
        }
        for number in self.waiting.drain(..) {
            self.slots[number as usize].waiting = false;
        }
    }

    fn key(&self, slot: &Slot) -> &[u8] {
        &self.bytes[slot.at..slot.at + slot.key_bytes as usize]
    }

    fn value(&self, slot: &Slot) -> Option<&[u8]> {
        let start = slot.at + slot.key_bytes as usize;
        (slot.value_bytes != DELETED).then(|| &self.bytes[start..start + slot.value_bytes as usize])
    }

    /// Where the key is in the table, or could be; `None` for an empty table.
    fn find(&self, key: &[u8], hash: u64) -> Option<usize> {
        let mask = self.table.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let Some(number) = self.table[at].checked_sub(1) else { return Some(at) };
            let slot = &self.slots[number as usize];
            if slot.hash == hash && self.key(slot) == key {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// The number of the key's slot, made if need be.
    fn slot(&mut self, key: &[u8]) -> u32 {
        if self.table.len() < 2 * (self.slots.len() + 1) {
            self.grow();
        }
        let hash = hash(key);
        let at = self.find(key, hash).unwrap_or_default();
        if let Some(number) = self.table[at].checked_sub(1) {
            return number;
        }
        let (start, key_bytes) = (self.bytes.len(), key.len() as u32);
        self.bytes.extend_from_slice(key);
        self.slots.push(Slot { hash, at: start, key_bytes, value_bytes: DELETED, space: 0, waiting: false });
        self.table[at] = self.slots.len() as u32;
        self.slots.len() as u32 - 1
    }

    fn grow(&mut self) {
        let length = (self.table.len() * 2).max(1 << 10);
        self.table.clear();
        self.table.resize(length, 0);
        for (number, slot) in self.slots.iter().enumerate() {
            let mut at = slot.hash as usize & (length - 1);
            while self.table[at] != 0 {
                at = (at + 1) & (length - 1);
            }
            self.table[at] = number as u32 + 1;
        }
    }
}

/// The state as of the last turn: the cache, and the store below it.
#[derive(Debug)]
pub(super) struct Cached<'a> {
    pub(super) cache: &'a Cache,
    pub(super) store: &'a dyn Store,
}

impl ReadState for Cached<'_> {
    fn get_many(
        &self,
        keys: &[&[u8]],
        visit: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<(), StoreError> {
        let (mut missing, mut numbers) = (Vec::new(), Vec::new());
        for (number, &key) in keys.iter().enumerate() {
            match self.cache.get(key) {
                Some(value) => visit(number, value),
                None => {
                    missing.push(key);
                    numbers.push(number);
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        self.store.get_many(&missing, &mut |at, value| visit(numbers[at], value))
    }

    fn location(&self) -> std::path::PathBuf {
        self.store.location()
    }
}

/// Brings what waits into the store, which stands at `to` afterwards.
///
/// # Errors
///
/// What the store says; everything goes on waiting then.
pub(super) fn commit(
    cache: &mut Cache,
    store: &mut dyn Store,
    to: Checkpoint,
    options: CommitOptions,
) -> Result<(), StoreError> {
    if store.checkpoint() != to {
        store.write(&mut cache.updates(), to)?;
    }
    cache.committed(options.cache_bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assignor::TaskId;
    use proptest::prelude::*;

    use super::*;
    use crate::log::BatchBuilder;
    use crate::position::Offset;
    use crate::store::{MemStores, StoreDirectory};

    type Update = (String, Option<Vec<u8>>);

    fn turns() -> impl Strategy<Value = Vec<Vec<Update>>> {
        let value = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..12));
        proptest::collection::vec(proptest::collection::vec(("[a-e]{0,2}", value), 0..8), 1..40)
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written_last(
            turns in turns(),
            updates in 0_usize..20,
            cache_bytes in 0_usize..2_000,
        ) {
            let options = CommitOptions { updates, cache_bytes };
            let mut store = MemStores::default().open(&TaskId::from("T1")).unwrap();
            let (mut cache, mut batch, mut model) = (Cache::default(), BatchBuilder::default(), BTreeMap::new());
            for (nth, turn) in turns.into_iter().enumerate() {
                batch.clear();
                for (key, value) in turn {
                    match &value {
                        Some(value) => batch.put(key.as_bytes(), value),
                        None => batch.delete(key.as_bytes()),
                    }
                    model.insert(key, value);
                }
                cache.apply(batch.updates());
                if cache.waiting() >= options.updates {
                    let to = Checkpoint { offset: Offset(nth as u64 + 1), ..Checkpoint::default() };
                    commit(&mut cache, &mut *store, to, options).unwrap();
                    assert_eq!((cache.waiting(), store.checkpoint()), (0, to));
                    let mut seen = BTreeMap::new();
                    store.scan(&mut |key, value| drop(seen.insert(key.to_vec(), value.to_vec()))).unwrap();
                    let live = model.iter().filter_map(|(k, v)| Some((k.as_bytes().to_vec(), v.clone()?)));
                    assert_eq!(seen, live.collect());
                }
                let keys: Vec<_> = model.keys().map(String::as_bytes).chain([&b"unknown"[..]]).collect();
                let mut found = vec![None; keys.len()];
                let state = Cached { cache: &cache, store: &*store };
                state.get_many(&keys, &mut |at, value| found[at] = value.map(<[u8]>::to_vec)).unwrap();
                let expected: Vec<_> = model.values().cloned().chain([None]).collect();
                assert_eq!(found, expected);
            }
        }
    }
}
