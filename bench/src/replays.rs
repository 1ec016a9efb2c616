//! A replay of a seeded changelog, measured and checked.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::clock::{Clock, RealClock};
use engine::log::TaskLog;
use engine::restore::{Replay, ReplayOptions};
use engine::source::{key_of, mix};
use engine::store::{RocksOptions, RocksStores, Store, StoreDirectory};

use crate::changelogs::Changelog;

/// A changelog in a file, and a few keys with the numbers of their latest updates.
#[derive(Debug)]
pub struct Input {
    /// What it is made from.
    pub changelog: Changelog,
    /// The log.
    pub log: Arc<dyn TaskLog>,
    /// What measures.
    pub clock: RealClock,
    spots: Vec<(u64, u64)>,
    _folder: tempfile::TempDir,
}

impl Input {
    /// Writes the log.
    ///
    /// # Panics
    ///
    /// If it can't be written.
    #[must_use]
    pub fn new(changelog: Changelog) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = changelog.write(folder.path()).expect("a log");
        let keys = changelog.keys;
        let indices: Vec<u64> = (0..20).map(|nth| mix(nth) % keys).chain([0, keys - 1]).collect();
        let spots = indices.iter().copied().zip(changelog.latest(&indices)).collect();
        Self { changelog, log, clock: RealClock::start(), spots, _folder: folder }
    }

    /// Replays into an empty copy until nothing is left to compact.
    ///
    /// # Panics
    ///
    /// If it can't be done.
    #[must_use]
    pub fn replay(&self, folder: &Path, options: ReplayOptions) -> (Box<dyn Store>, Duration) {
        let stores = RocksStores::new(folder, &RocksOptions::default()).expect("a folder");
        let start = self.clock.now();
        let store = stores.open(&"T1".into()).expect("a store");
        let mut replay = Replay::new(Arc::clone(&self.log), store, options);
        while !replay.step(8 << 20).expect("a step").at_end {}
        let store = replay.into_store();
        store.settle(false).expect("no debt");
        (store, self.clock.now().since(start))
    }

    /// Looks a few keys up.
    ///
    /// # Panics
    ///
    /// If one has another value than the log says.
    pub fn check(&self, get: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) {
        let mut expected = vec![0; self.changelog.value_bytes];
        for &(index, nth) in &self.spots {
            self.changelog.value(nth, &mut expected);
            assert_eq!(get(&key_of(index)).as_ref(), Some(&expected), "key {index}");
        }
        assert_eq!(get(&key_of(self.changelog.keys)), None);
    }

    /// Checks a copy that is at the log's end.
    ///
    /// # Panics
    ///
    /// If it isn't, or holds too few keys or too many.
    pub fn check_store(&self, store: &dyn Store) {
        self.check(&mut |key| get(store, key));
        let mut keys = 0;
        store.scan(&mut |_, _| keys += 1).expect("a scan");
        assert_eq!(keys, self.changelog.keys);
        assert_eq!(store.checkpoint().offset, self.log.end());
    }
}

/// A key's value.
///
/// # Panics
///
/// If the store fails.
#[must_use]
pub fn get(store: &dyn Store, key: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    store.get_many(&[key], &mut |_, value| found = value.map(<[u8]>::to_vec)).expect("a get");
    found
}
