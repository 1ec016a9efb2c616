//! Records through a task, source to log to store, against a get and a put per record.

use std::sync::Arc;
use std::time::Duration;

use bench::record_path::{KEYS, TURN, VALUE_BYTES, sources, task, turns};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::audit::audit;
use engine::clock::{Clock, RealClock, Time};
use engine::source::{KeyDistribution, Records, Sources, SyntheticSources};
use engine::store::RocksOptions;
use engine::task::processor::count::Counted;
use rocksdb::{DB, Options, WriteOptions};

const RECORDS: u64 = 1_000_000;

/// The same state, one record at a time.
fn get_and_put(database: &DB, records: &Records, unlogged: &WriteOptions) {
    let mut value = [0; VALUE_BYTES];
    for (at, &offset) in records.offsets.iter().enumerate() {
        let key = records.key(at);
        let held = database.get_pinned(key).expect("a get");
        let mut counted = held.and_then(|held| Counted::decode(&held)).unwrap_or_default();
        counted.add(offset);
        value[..8].copy_from_slice(&counted.count.to_le_bytes());
        value[8..16].copy_from_slice(&counted.sum.to_le_bytes());
        database.put_opt(key, value, unlogged).expect("a put");
    }
}

fn record_path(criterion: &mut Criterion) {
    let clock = Arc::new(RealClock::start());
    for (name, distribution) in [("zipf", KeyDistribution::Zipf(0.99)), ("uniform", KeyDistribution::Uniform)]
    {
        let sources = sources(distribution);
        let mut group = criterion.benchmark_group(format!("record-path-{name}"));
        group.throughput(Throughput::Elements(RECORDS)).sample_size(10);
        group.bench_function("get-and-put", |bencher| {
            bencher.iter_custom(|times| (0..times).map(|_| one_by_one(&sources, &clock)).sum());
        });
        group.bench_function("task", |bencher| {
            bencher.iter_custom(|times| (0..times).map(|_| by_turns(&sources, &clock)).sum());
        });
        group.finish();
    }
}

fn one_by_one(sources: &SyntheticSources, clock: &RealClock) -> Duration {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_write_buffer_size(RocksOptions::default().write_buffer_bytes);
    let database = DB::open(&options, folder.path()).expect("a database");
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    let mut source = sources.open(&"T1".into(), 0).expect("a source");
    let mut records = Records::default();
    let mut run = |upto: u64| {
        while source.position() < upto {
            records.clear();
            let most = TURN.min((upto - source.position()) as usize);
            source.poll(Time::NEVER, most, &mut records).expect("records");
            get_and_put(&database, &records, &unlogged);
        }
    };
    run(KEYS);
    let start = clock.now();
    run(KEYS + RECORDS);
    clock.now().since(start)
}

fn by_turns(sources: &SyntheticSources, clock: &RealClock) -> Duration {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut task = task(folder.path(), sources);
    let start = clock.now();
    turns(&mut task, RECORDS);
    let taken = clock.now().since(start);
    let audit = audit(&"T1".into(), sources, &*task.into_store()).expect("an audit");
    assert!(audit.passed() && audit.expected == KEYS + RECORDS, "{audit:?}");
    taken
}

criterion_group!(benches, record_path);
criterion_main!(benches);
