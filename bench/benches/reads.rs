//! Point reads of a copy that was replayed, against those of a store filled by puts and compacted whole.

use std::sync::Arc;
use std::time::Duration;

use bench::changelogs::Changelog;
use bench::replays::{Input, get};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::clock::Clock;
use engine::restore::{Replay, ReplayOptions};
use engine::source::{key_of, mix};
use engine::store::{RocksOptions, RocksStores, Store, StoreDirectory};

/// Keys looked up.
const READS: u64 = 200_000;

/// A store filled batch by batch, and compacted into one sorted run.
fn filled(input: &Input, folder: &std::path::Path) -> Box<dyn Store> {
    let stores = RocksStores::new(folder, &RocksOptions::default()).expect("a folder");
    let store = stores.open(&"T1".into()).expect("a store");
    let tail = ReplayOptions { bulk_bytes: u64::MAX, ..ReplayOptions::default() };
    let mut replay = Replay::new(Arc::clone(&input.log), store, tail);
    while !replay.step(8 << 20).expect("a step").at_end {}
    let store = replay.into_store();
    store.settle(true).expect("a compaction");
    store
}

fn read(input: &Input, store: &dyn Store) -> Duration {
    let start = input.clock.now();
    for nth in 0..READS {
        assert!(get(store, &key_of(mix(nth) % input.changelog.keys)).is_some());
    }
    input.clock.now().since(start)
}

fn reads(criterion: &mut Criterion) {
    let input = Input::new(Changelog::FOUR_MILLION);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (replayed, _) = input.replay(&folder.path().join("replayed"), ReplayOptions::default());
    let filled = filled(&input, &folder.path().join("filled"));
    let mut group = criterion.benchmark_group("point-reads-after");
    group.throughput(Throughput::Elements(READS)).sample_size(10);
    for (name, store) in [("puts-and-compaction", &filled), ("replay", &replayed)] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|times| (0..times).map(|_| read(&input, &**store)).sum());
        });
    }
    group.finish();
}

criterion_group!(benches, reads);
criterion_main!(benches);
