//! A changelog into an empty store until nothing is left to compact, against batches of puts and against a bulk load
//! of the same state sorted beforehand.

use std::path::Path;
use std::thread;
use std::time::Duration;

use bench::changelogs::Changelog;
use bench::replays::Input;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::clock::Clock;
use engine::position::Offset;
use engine::restore::ReplayOptions;
use engine::store::{Checkpoint, RocksOptions, RocksStores, StoreDirectory};
use rocksdb::{
    DB, DBCompactionStyle, DBCompressionType, Options, WaitForCompactOptions, WriteBatch, WriteOptions,
};

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
    let mut state = Vec::with_capacity(input.changelog.keys as usize);
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
    group.throughput(Throughput::Elements(input.changelog.updates())).sample_size(10);
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
    group.throughput(Throughput::Elements(2 * input.changelog.updates()));
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

fn benches(criterion: &mut Criterion) {
    replay(criterion, &Input::new(Changelog::FOUR_MILLION));
}

criterion_group!(all, benches);
criterion_main!(all);
