//! Stores against a model: what is written and ingested is what is read, and a store that was dropped without being
//! closed is exactly the changelog up to some earlier checkpoint.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::BTreeMap;

use assignor::TaskId;
use engine::clock::Time;
use engine::error::StoreError;
use engine::log::Resume;
use engine::position::{Epoch, Offset};
use engine::store::{
    Checkpoint, HashStores, MemStores, RocksOptions, RocksStores, SortedEntries, Store, StoreDirectory,
    Updates,
};
use proptest::prelude::*;

type State = BTreeMap<Vec<u8>, Vec<u8>>;
type Update = (Vec<u8>, Option<Vec<u8>>);

#[derive(Clone, Debug)]
enum Action {
    Write(Vec<Update>),
    Ingest(BTreeMap<Vec<u8>, Option<Vec<u8>>>),
    Get(Vec<Vec<u8>>),
    Drop,
    Close,
    Discard,
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    // The empty key and the highest that is not reserved are in.
    prop_oneof!["[a-c]{0,3}".prop_map(String::into_bytes), Just(vec![0xfe, 0xff]), Just(vec![0])]
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40))
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => proptest::collection::vec((key(), value()), 0..10).prop_map(Action::Write),
        3 => proptest::collection::btree_map(key(), value(), 0..10).prop_map(Action::Ingest),
        2 => proptest::collection::vec(key(), 0..6).prop_map(Action::Get),
        1 => Just(Action::Drop),
        1 => Just(Action::Close),
        1 => Just(Action::Discard),
    ]
}

fn checkpoint(nth: u64) -> Checkpoint {
    let resume = Resume { source_offset: 7 * nth, stream_time: Time(nth), epoch: Epoch(3) };
    Checkpoint { offset: Offset(nth), epoch: Epoch(nth / 5), resume }
}

fn scan(store: &dyn Store) -> State {
    let mut seen = Vec::new();
    store.scan(&mut |key, value| seen.push((key.to_vec(), value.to_vec()))).unwrap();
    assert!(seen.is_sorted_by(|a, b| a.0 < b.0), "keys ascend strictly");
    seen.into_iter().collect()
}

fn get(store: &dyn Store, keys: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
    let keys: Vec<_> = keys.iter().map(Vec::as_slice).collect();
    let mut found = Vec::new();
    let mut visit = |index: usize, value: Option<&[u8]>| {
        assert_eq!(index, found.len());
        found.push(value.map(<[u8]>::to_vec));
    };
    store.get_many(&keys, &mut visit).unwrap();
    found
}

fn apply(state: &mut State, key: &[u8], value: Option<&Vec<u8>>) {
    match value {
        Some(value) => state.insert(key.to_vec(), value.clone()),
        None => state.remove(key),
    };
}

/// The states at all checkpoints since the copy was made, the latest last.
struct History(Vec<State>);

impl History {
    fn latest(&self) -> &State {
        &self.0[self.0.len() - 1]
    }

    fn push(&mut self, change: impl FnOnce(&mut State)) -> Checkpoint {
        let mut next = self.latest().clone();
        change(&mut next);
        self.0.push(next);
        checkpoint(self.0.len() as u64 - 1)
    }
}

/// Plays the actions. `lasts`: what was ingested or closed outlives a drop.
fn run(stores: &dyn StoreDirectory, lasts: bool, actions: Vec<Action>) {
    let task = TaskId::from("0_1");
    let mut history = History(vec![State::new()]);
    let mut durable = 0;
    let mut store = stores.open(&task).unwrap();
    for action in actions {
        match action {
            Action::Write(updates) => {
                let to = history.push(|state| {
                    updates.iter().for_each(|(key, value)| apply(state, key, value.as_ref()));
                });
                let updates: &mut Updates<'_> =
                    &mut updates.iter().map(|(key, value)| (&key[..], value.as_deref()));
                store.write(updates, to).unwrap();
            }
            Action::Ingest(chunk) => {
                let to = history
                    .push(|state| chunk.iter().for_each(|(key, value)| apply(state, key, value.as_ref())));
                let writer = store.part_writer();
                // In two parts, as from two threads.
                let (low, high): (Vec<_>, Vec<_>) = chunk.iter().partition(|(key, _)| key.as_slice() < b"b");
                let parts = [low, high].into_iter().filter(|part| !part.is_empty()).map(|part| {
                    let entries: &mut SortedEntries<'_> =
                        &mut part.into_iter().map(|(key, value)| (&key[..], value.as_deref()));
                    writer.write(entries).unwrap()
                });
                store.ingest(parts.collect(), to).unwrap();
                durable = history.0.len() - 1;
            }
            Action::Get(keys) => {
                let expected: Vec<_> = keys.iter().map(|key| history.latest().get(key).cloned()).collect();
                assert_eq!(get(&*store, &keys), expected);
            }
            Action::Drop => {
                drop(store);
                store = stores.open(&task).unwrap();
                let at = store.checkpoint().offset.0 as usize;
                let least = if lasts { durable } else { 0 };
                assert!((least..history.0.len()).contains(&at), "what was made durable is there");
                history.0.truncate(at + 1);
            }
            Action::Close => {
                store.close().unwrap();
                store = stores.open(&task).unwrap();
                durable = history.0.len() - 1;
            }
            Action::Discard => {
                drop(store);
                stores.discard(&task).unwrap();
                store = stores.open(&task).unwrap();
                history.0.truncate(1);
                durable = 0;
            }
        }
        let nth = history.0.len() as u64 - 1;
        let expected = if nth == 0 { Checkpoint::default() } else { checkpoint(nth) };
        assert_eq!(store.checkpoint(), expected);
        assert_eq!(&scan(&*store), history.latest());
    }
    assert_eq!(stores.tasks().unwrap(), [task]);
}

fn rocks(folder: &tempfile::TempDir) -> RocksStores {
    RocksStores::new(folder.path(), &RocksOptions::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rocks_behaves_like_a_map(actions in proptest::collection::vec(action(), 1..25)) {
        let folder = tempfile::tempdir().unwrap();
        run(&rocks(&folder), true, actions);
    }

    #[test]
    fn memory_behaves_like_a_map(actions in proptest::collection::vec(action(), 1..25)) {
        run(&MemStores::default(), true, actions);
    }

    #[test]
    fn a_hash_table_behaves_like_a_map(actions in proptest::collection::vec(action(), 1..25)) {
        run(&HashStores::default(), false, actions);
    }
}

#[test]
fn what_was_not_flushed_is_lost_with_a_drop() {
    let folder = tempfile::tempdir().unwrap();
    let task = TaskId::from("T1");
    for stores in [&rocks(&folder) as &dyn StoreDirectory, &MemStores::default(), &HashStores::default()] {
        let mut store = stores.open(&task).unwrap();
        store.write(&mut [(&b"a"[..], Some(&b"1"[..]))].into_iter(), checkpoint(1)).unwrap();
        drop(store);
        let store = stores.open(&task).unwrap();
        assert_eq!((store.checkpoint(), scan(&*store).len()), (Checkpoint::default(), 0));
    }
}

#[test]
fn a_copy_is_open_at_most_once() {
    let folder = tempfile::tempdir().unwrap();
    let task = TaskId::from("T1");
    for stores in [&rocks(&folder) as &dyn StoreDirectory, &HashStores::default()] {
        let first = stores.open(&task).unwrap();
        assert!(matches!(stores.open(&task), Err(StoreError::Rocks { .. } | StoreError::Held { .. })));
        drop(first);
        stores.open(&task).unwrap();
    }
}

#[test]
fn memtables_that_are_flushed_on_the_way_leave_a_prefix() {
    let folder = tempfile::tempdir().unwrap();
    let task = TaskId::from("T1");
    let options = RocksOptions { write_buffer_bytes: 64 << 10, ..RocksOptions::default() };
    let stores = RocksStores::new(folder.path(), &options).unwrap();
    let mut store = stores.open(&task).unwrap();
    for nth in 1..=3_000_u64 {
        let key = (nth % 500).to_be_bytes();
        store.write(&mut [(&key[..], Some(&nth.to_le_bytes()[..]))].into_iter(), checkpoint(nth)).unwrap();
    }
    drop(store);
    let store = stores.open(&task).unwrap();
    let last = store.checkpoint().offset.0;
    assert!(last > 0, "some were flushed");
    let newest = scan(&*store).into_values().map(|value| u64::from_le_bytes(value.try_into().unwrap())).max();
    assert_eq!(newest, Some(last));
}
