//! A replay leaves the store a prefix of the log after every step, and the whole of it at the end, in bulk and in
//! tailing, whatever the sizes of steps and memory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::BTreeMap;
use std::sync::Arc;

use assignor::TaskId;
use engine::log::{BatchBuilder, LogDirectory, MemLogs, Resume, TaskLog};
use engine::position::Claim;
use engine::restore::{Replay, ReplayOptions};
use engine::store::{Checkpoint, MemStores, RocksOptions, RocksStores, Store, StoreDirectory};
use proptest::prelude::*;

type State = BTreeMap<Vec<u8>, Vec<u8>>;
type Update = (Vec<u8>, Option<Vec<u8>>);

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[a-c]{0,3}".prop_map(String::into_bytes),
        // Around the length from which on keys are told apart by their bytes, zeros included.
        "aaaaaaaaaaaaaaa[ab]{0,3}".prop_map(String::into_bytes),
        (0_usize..20).prop_map(|zeros| vec![0; zeros]),
        any::<[u8; 2]>().prop_map(|end| [b"0123456789abcdef", &end[..]].concat()),
        any::<u16>().prop_map(|index| u64::from(index).to_be_bytes().to_vec()),
    ]
}

fn batches() -> impl Strategy<Value = Vec<Vec<Update>>> {
    let value = proptest::option::weighted(0.9, proptest::collection::vec(any::<u8>(), 0..30));
    proptest::collection::vec(proptest::collection::vec((key(), value), 0..30), 1..25)
}

/// Fills a log, with a fence here and there; returns the state at every batch boundary.
fn fill(log: &dyn TaskLog, batches: &[Vec<Update>]) -> BTreeMap<u64, (State, Checkpoint)> {
    let (mut state, mut at) = (State::new(), Checkpoint::default());
    let mut states = BTreeMap::from([(0, (state.clone(), at))]);
    let mut builder = BatchBuilder::default();
    for (nth, updates) in batches.iter().enumerate() {
        if nth % 7 == 0 {
            let fenced = log.fence(Claim::default()).unwrap();
            at = Checkpoint { offset: fenced.end, epoch: fenced.epoch, ..at };
            states.insert(at.offset.0, (state.clone(), at));
        }
        builder.clear();
        for (key, value) in updates {
            match value {
                Some(value) => builder.put(key, value),
                None => builder.delete(key),
            }
            match value {
                Some(value) => state.insert(key.clone(), value.clone()),
                None => state.remove(key),
            };
        }
        let resume = Resume { source_offset: nth as u64 + 1, epoch: at.epoch, ..Resume::default() };
        builder.finish(resume);
        at = Checkpoint { offset: log.append(at.epoch, &builder).unwrap(), resume, ..at };
        states.insert(at.offset.0, (state.clone(), at));
    }
    states
}

fn scan(store: &dyn Store) -> State {
    let mut state = State::new();
    store.scan(&mut |key, value| drop(state.insert(key.to_vec(), value.to_vec()))).unwrap();
    state
}

fn replay_all(stores: &dyn StoreDirectory, batches: &[Vec<Update>], step: u64, options: ReplayOptions) {
    let task = TaskId::from("T1");
    let log = MemLogs::default().log(&task).unwrap();
    let states = fill(&*log, batches);
    let mut replay = Replay::new(Arc::clone(&log), stores.open(&task).unwrap(), options);
    let (mut records, mut stops, mut give_ups) = (0, 0, 3);
    loop {
        let before = (replay.checkpoint(), replay.position());
        let progress = replay.step(step).unwrap();
        records += progress.records;
        assert_eq!(replay.lag(), log.end().since(replay.checkpoint().offset));
        if progress.at_end {
            break;
        }
        let moved = (replay.checkpoint(), replay.position()) != before;
        stops = if moved { 0 } else { stops + 1 };
        assert!(stops < 3, "a step does something");
        if records % 3 == 0 && give_ups > 0 {
            // Whoever gives up here leaves a prefix.
            let store = replay.into_store();
            let (state, checkpoint) = &states[&store.checkpoint().offset.0];
            assert_eq!((&scan(&*store), &store.checkpoint()), (state, checkpoint));
            give_ups -= 1;
            replay = Replay::new(Arc::clone(&log), store, options);
        }
    }
    let (state, checkpoint) = &states[&log.end().0];
    let store = replay.into_store();
    assert_eq!((&scan(&*store), &store.checkpoint()), (state, checkpoint));
}

fn options() -> impl Strategy<Value = ReplayOptions> {
    let memory = prop_oneof![Just(0_usize), 0_usize..20_000];
    (memory, prop_oneof![Just(0_u64), Just(500), Just(u64::MAX)], any::<bool>())
        .prop_map(|(chunk_bytes, bulk_bytes, helper)| ReplayOptions { chunk_bytes, bulk_bytes, helper })
}

#[test]
fn a_replay_catches_up_with_a_log_that_grows_all_the_time() {
    for bulk_bytes in [0, 2_000, u64::MAX] {
        let task = TaskId::from("T1");
        let log = MemLogs::default().log(&task).unwrap();
        let epoch = log.fence(Claim::default()).unwrap().epoch;
        let mut batch = BatchBuilder::default();
        let mut append = || {
            batch.clear();
            batch.put(b"key", &[7; 100]);
            batch.finish(Resume::default());
            log.append(epoch, &batch).unwrap();
        };
        (0..100).for_each(|_| append());
        let options = ReplayOptions { bulk_bytes, ..ReplayOptions::default() };
        let store = MemStores::default().open(&task).unwrap();
        let mut replay = Replay::new(Arc::clone(&log), store, options);
        for _ in 0..10 {
            append();
            replay.step(10_000).unwrap();
        }
        assert_eq!(replay.lag(), 0, "{bulk_bytes}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn into_memory(batches in batches(), step in 0_u64..3_000, options in options()) {
        replay_all(&MemStores::default(), &batches, step, options);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]

    #[test]
    fn into_rocksdb(batches in batches(), step in 0_u64..3_000, options in options()) {
        let folder = tempfile::tempdir().unwrap();
        replay_all(&RocksStores::new(folder.path(), &RocksOptions::default()).unwrap(), &batches, step, options);
    }
}
