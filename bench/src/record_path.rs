//! A task on its own, source to log to store, as fast as it goes.

use std::path::Path;

use engine::clock::Time;
use engine::log::{FileLogs, LogDirectory, LogOptions};
use engine::position::Claim;
use engine::restore::{Replay, ReplayOptions};
use engine::source::{KeyDistribution, SyntheticLoad, SyntheticSources};
use engine::store::{RocksOptions, RocksStores, StoreDirectory};
use engine::task::processor::{Count, PerKey};
use engine::task::{ActiveTask, NeverBreaks, Parts, resume};

/// Distinct keys.
pub const KEYS: u64 = 200_000;
/// Bytes of a value.
pub const VALUE_BYTES: usize = 100;
/// Records of a turn.
pub const TURN: usize = 500;

/// A load without an end in which every record is due.
#[must_use]
pub fn sources(distribution: KeyDistribution) -> SyntheticSources {
    let sources = SyntheticSources::new(&SyntheticLoad {
        seed: 1,
        tasks: vec![("T1".into(), 1.0)],
        stateless: Vec::new(),
        rate: 1e9,
        keys: KEYS,
        distribution,
        record_bytes: 100,
        updates_per_key: 1,
    });
    sources.begin(Time::ZERO);
    sources
}

/// A task in `folder` whose state holds every key once, as after a preload.
///
/// # Panics
///
/// If the folder can't be written.
#[must_use]
pub fn task(folder: &Path, sources: &SyntheticSources) -> ActiveTask {
    let log = FileLogs::new(&folder.join("log"), LogOptions::default()).log(&"T1".into()).expect("a log");
    let stores = RocksStores::new(&folder.join("state"), &RocksOptions::default()).expect("a folder");
    let store = stores.open(&"T1".into()).expect("a store");
    let fenced = log.fence(Claim::default()).expect("a fence");
    let processor = Box::new(PerKey::new(Count::new(VALUE_BYTES)));
    let copy = Replay::new(log, store, ReplayOptions::default());
    let parts = Parts { task: "T1".into(), copy, processor };
    let mut task = resume(parts, fenced, sources).expect("a task");
    turns(&mut task, KEYS);
    task
}

/// Takes in `records` more, turn by turn.
///
/// # Panics
///
/// If a turn fails.
pub fn turns(task: &mut ActiveTask, records: u64) {
    let mut done = 0;
    while done < records {
        let most = TURN.min((records - done) as usize);
        done += task.turn(Time::NEVER, most, &NeverBreaks).expect("a turn").records as u64;
    }
}
