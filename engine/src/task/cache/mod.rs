//! A task's recent updates in memory, over its store: read first, and brought into the store many turns at a time.
//!
//! A turn is safe once it is in the log, so that the store may stand behind: a crash makes the successor replay a few
//! thousand records more. In exchange a popular key is written once a commit instead of once a turn, in key order,
//! and read without a search in the store.

mod recent;

use crate::error::StoreError;
use crate::store::{Checkpoint, ReadState, Store};

pub(crate) use recent::Cache;

/// When a task's updates reach its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitOptions {
    /// As soon as this many keys wait for it, after a turn that took in all that was due. A commit holds up all tasks of
    /// its worker, by one or two milliseconds for 512 keys; it bounds what a crash makes the successor replay, too. 0
    /// commits every turn. Default 512.
    pub updates: usize,
    /// The same while there is a backlog, if it is more: a task that can't keep up writes its popular keys less often,
    /// and one that lags by a backlog loses little by a longer commit. Default 32,768.
    pub backlog_updates: usize,
    /// Memory for values, waiting or not. Default 32 MiB.
    pub cache_bytes: usize,
}

impl Default for CommitOptions {
    fn default() -> Self {
        Self { updates: 512, backlog_updates: 32_768, cache_bytes: 32 << 20 }
    }
}

impl CommitOptions {
    /// Whether the cache is to be brought into the store now.
    pub(super) fn is_due(&self, cache: &Cache, backlog: bool) -> bool {
        let most =
            if backlog && self.updates > 0 { self.backlog_updates.max(self.updates) } else { self.updates };
        cache.waiting() >= most || cache.memory() > self.cache_bytes
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
        self.cache.get_each(keys, |number, known| match known {
            Some(value) => visit(number, value),
            None => {
                missing.push(keys[number]);
                numbers.push(number);
            }
        });
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
    cache.committed(if store.is_in_memory() { 0 } else { options.cache_bytes });
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
            backlog_updates in 0_usize..20,
            cache_bytes in 0_usize..2_000,
        ) {
            let options = CommitOptions { updates, backlog_updates, cache_bytes };
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
                if options.is_due(&cache, nth % 3 == 0) {
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
