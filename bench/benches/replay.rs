//! A changelog into an empty store until nothing is left to compact, against batches of puts and against a bulk load
//! of the same state sorted beforehand; and point reads afterwards.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bench::changelogs::Changelog;
use bench::memory::Peak;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::clock::{Clock, RealClock};
use engine::log::TaskLog;
use engine::position::Offset;
use engine::restore::{Replay, ReplayOptions};
use engine::source::{key_of, mix};
use engine::store::{Checkpoint, RocksOptions, RocksStores, Store, StoreDirectory};
use rocksdb::{
    DB, DBCompactionStyle, DBCompressionType, Options, WaitForCompactOptions, WriteBatch, WriteOptions,
};

const LOG: Changelog = Changelog::FOUR_MILLION;
/// Keys looked up after a replay.
const READS: u64 = 200_000;

/// The log, and a few keys with the numbers of their latest updates.
struct Input {
    log: Arc<dyn TaskLog>,
    spots: Vec<(u64, u64)>,
    clock: RealClock,
    _folder: tempfile::TempDir,
}

impl Input {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = LOG.write(folder.path()).expect("a log");
        let indices: Vec<u64> = (0..20).map(|nth| mix(nth) % LOG.keys).chain([0, LOG.keys - 1]).collect();
        let spots = indices.iter().copied().zip(LOG.latest(&indices)).collect();
        Self { log, spots, clock: RealClock::start(), _folder: folder }
    }

    /// Replays into an empty copy until nothing is left to compact.
    fn replay(&self, folder: &Path, options: ReplayOptions) -> (Box<dyn Store>, Duration) {
        let stores = RocksStores::new(folder, &RocksOptions::default()).expect("a folder");
        let start = self.clock.now();
        let store = stores.open(&"T1".into()).expect("a store");
        let mut replay = Replay::new(Arc::clone(&self.log), store, options);
        while !replay.step(8 << 20).expect("a step").at_end {}
        let store = replay.into_store();
        store.settle(false).expect("no debt");
        (store, self.clock.now().since(start))
    }

    fn check(&self, get: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) {
        let mut expected = vec![0; LOG.value_bytes];
        for &(index, nth) in &self.spots {
            LOG.value(nth, &mut expected);
            assert_eq!(get(&key_of(index)).as_ref(), Some(&expected), "key {index}");
        }
        assert_eq!(get(&key_of(LOG.keys)), None);
    }

    fn check_store(&self, store: &dyn Store) {
        self.check(&mut |key| get(store, key));
        let mut keys = 0;
        store.scan(&mut |_, _| keys += 1).expect("a scan");
        assert_eq!(keys, LOG.keys);
        assert_eq!(store.checkpoint().offset, self.log.end());
    }
}

fn get(store: &dyn Store, key: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    store.get_many(&[key], &mut |_, value| found = value.map(<[u8]>::to_vec)).expect("a get");
    found
}

/// What the bar names: batches of 1,000, no write-ahead log, a 16 MiB write buffer, universal compaction.
fn baseline_options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(DBCompressionType::None);
    options.set_write_buffer_size(16 << 20);
    options.set_compaction_style(DBCompactionStyle::Universal);
    options
}

fn settle(database: &DB) {
    let mut options = WaitForCompactOptions::default();
    options.set_flush(true);
    database.wait_for_compact(&options).expect("no debt");
}

fn baseline(input: &Input, folder: &Path) -> (DB, Duration) {
    let start = input.clock.now();
    let database = DB::open(&baseline_options(), folder).expect("a database");
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    let mut reader = input.log.read(Offset(0)).expect("a reader");
    let mut puts = WriteBatch::default();
    while let Some(batch) = reader.next().expect("a batch") {
        for (key, value) in batch.updates() {
            puts.put(key, value.unwrap_or_default());
        }
        if puts.len() >= 1_000 {
            database.write_opt(std::mem::take(&mut puts), &unlogged).expect("a write");
        }
    }
    database.write_opt(puts, &unlogged).expect("a write");
    settle(&database);
    (database, input.clock.now().since(start))
}

/// The state, sorted: what a ceiling is given for free.
fn sorted_state(input: &Input) -> Vec<(Vec<u8>, Vec<u8>)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, _) = input.replay(folder.path(), ReplayOptions::default());
    let mut state = Vec::with_capacity(LOG.keys as usize);
    store.scan(&mut |key, value| state.push((key.to_vec(), value.to_vec()))).expect("a scan");
    state
}

/// The same files as a replay writes, of the same distinct keys, but sorted beforehand.
fn ceiling(input: &Input, state: &[(Vec<u8>, Vec<u8>)], folder: &Path) -> Duration {
    let stores = RocksStores::new(folder, &RocksOptions::default()).expect("a folder");
    let start = input.clock.now();
    let mut store = stores.open(&"T1".into()).expect("a store");
    let writer = store.part_writer();
    let parts = state.chunks(500_000).map(|chunk| {
        let mut entries = chunk.iter().map(|(key, value)| (&key[..], Some(&value[..])));
        writer.write(&mut entries).expect("a file")
    });
    let end = Checkpoint { offset: input.log.end(), ..Checkpoint::default() };
    store.ingest(parts.collect(), end).expect("an ingest");
    store.settle(false).expect("no debt");
    let taken = input.clock.now().since(start);
    input.check_store(&*store);
    taken
}

/// Runs `once` in a fresh folder as often as criterion asks.
fn each(times: u64, mut once: impl FnMut(&Path) -> Duration) -> Duration {
    (0..times).map(|_| once(tempfile::tempdir().expect("a temporary folder").path())).sum()
}

fn replay(criterion: &mut Criterion, input: &Input) {
    let state = sorted_state(input);
    let mut group = criterion.benchmark_group("replay-4M-into-2M-keys");
    group.throughput(Throughput::Elements(LOG.updates())).sample_size(10);
    group.bench_function("baseline", |bencher| {
        bencher.iter_custom(|times| {
            each(times, |folder| {
                let (database, taken) = baseline(input, folder);
                input.check(&mut |key| database.get(key).expect("a get"));
                taken
            })
        });
    });
    group.bench_function("ceiling", |bencher| {
        bencher.iter_custom(|times| each(times, |folder| ceiling(input, &state, folder)));
    });
    for (name, helper) in [("bulk", true), ("bulk-one-thread", false)] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|times| {
                each(times, |folder| {
                    let options = ReplayOptions { helper, ..ReplayOptions::default() };
                    let (store, taken) = input.replay(folder, options);
                    input.check_store(&*store);
                    taken
                })
            });
        });
    }
    group.throughput(Throughput::Elements(2 * LOG.updates()));
    group.bench_function("two-tasks-at-once", |bencher| {
        let options = ReplayOptions { helper: false, ..ReplayOptions::default() };
        bencher.iter_custom(|times| {
            each(times, |folder| {
                let start = input.clock.now();
                thread::scope(|scope| {
                    for name in ["a", "b"] {
                        scope.spawn(move || input.replay(&folder.join(name), options));
                    }
                });
                input.clock.now().since(start)
            })
        });
    });
    group.finish();
}

/// What memory a replay takes beyond what the process has, for changelogs of which one is four times as long.
fn memory() {
    let bound = ReplayOptions::default().chunk_bytes >> 20;
    for keys in [LOG.keys, 4 * LOG.keys] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = Changelog { keys, ..LOG }.write(folder.path()).expect("a log");
        let input = Input { log, spots: Vec::new(), clock: RealClock::start(), _folder: folder };
        let Some(peak) = Peak::start() else {
            println!("replay-memory: this system does not tell");
            return;
        };
        let copy = tempfile::tempdir().expect("a temporary folder");
        let (store, _) = input.replay(copy.path(), ReplayOptions::default());
        assert_eq!(store.checkpoint().offset, input.log.end());
        let records = keys * LOG.rounds / 1_000_000;
        println!(
            "replay-memory: {} MiB for {records} M records, set to {bound} MiB",
            peak.beyond_start() >> 20
        );
    }
}

/// Point reads after a replay, and of a store filled by puts and compacted whole.
fn reads_after(criterion: &mut Criterion, input: &Input) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (replayed, _) = input.replay(&folder.path().join("replayed"), ReplayOptions::default());
    let stores = RocksStores::new(&folder.path().join("filled"), &RocksOptions::default()).expect("a folder");
    let mut filled = stores.open(&"T1".into()).expect("a store");
    let tail = ReplayOptions { bulk_bytes: u64::MAX, ..ReplayOptions::default() };
    let mut replay = Replay::new(Arc::clone(&input.log), filled, tail);
    while !replay.step(8 << 20).expect("a step").at_end {}
    filled = replay.into_store();
    filled.settle(true).expect("a compaction");
    let mut group = criterion.benchmark_group("point-reads-after");
    group.throughput(Throughput::Elements(READS)).sample_size(10);
    for (name, store) in [("puts-and-compaction", &filled), ("replay", &replayed)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for nth in 0..READS {
                    assert!(get(&**store, &key_of(mix(nth) % LOG.keys)).is_some());
                }
            });
        });
    }
    group.finish();
}

fn benches(criterion: &mut Criterion) {
    memory();
    let input = Input::new();
    replay(criterion, &input);
    reads_after(criterion, &input);
}

criterion_group!(all, benches);
criterion_main!(all);
