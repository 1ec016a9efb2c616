//! A task log against plain files: appending batches of 500, and reading them back.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use bench::changelogs::Changelog;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::clock::{Clock, RealClock};
use engine::log::{BatchBuilder, FileLogs, LogDirectory, LogOptions};
use engine::position::{Claim, Offset};

/// 500,000 updates of 16 + 100 bytes.
const LOG: Changelog = Changelog { keys: 500_000, rounds: 1, ..Changelog::FOUR_MILLION };
/// What a reader that knows nothing of batches reads at a time.
const PLAIN_READ: usize = 1 << 20;

fn batches() -> Vec<BatchBuilder> {
    let starts = (0..LOG.updates()).step_by(LOG.batch as usize);
    starts
        .map(|from| {
            let mut batch = BatchBuilder::default();
            LOG.build(from, from + LOG.batch, &mut batch);
            batch
        })
        .collect()
}

/// Runs `work` in a fresh folder `times` times; only `work` is timed.
fn timed(times: u64, mut work: impl FnMut(&Path, &mut dyn FnMut(&mut dyn FnMut()))) -> Duration {
    let clock = RealClock::start();
    let mut total = Duration::ZERO;
    for _ in 0..times {
        let folder = tempfile::tempdir().expect("a temporary folder");
        work(folder.path(), &mut |part| {
            let start = clock.now();
            part();
            total += clock.now().since(start);
        });
    }
    total
}

fn append(criterion: &mut Criterion) {
    let batches = batches();
    let bytes: usize = batches.iter().map(BatchBuilder::bytes).sum();
    let mut group = criterion.benchmark_group("log-append-500");
    group.throughput(Throughput::Bytes(bytes as u64)).sample_size(20);
    let plain: Vec<Vec<u8>> = batches.iter().map(|batch| vec![7; batch.bytes()]).collect();
    group.bench_function("plain-write", |bencher| {
        bencher.iter_custom(|times| {
            timed(times, |folder, timed| {
                let mut file = File::create(folder.join("plain")).expect("a file");
                timed(&mut || plain.iter().for_each(|batch| file.write_all(batch).expect("a write")));
            })
        });
    });
    group.bench_function("task-log", |bencher| {
        bencher.iter_custom(|times| {
            timed(times, |folder, timed| {
                let log = FileLogs::new(folder, LogOptions::default()).log(&"T1".into()).expect("a log");
                let epoch = log.fence(Claim::default()).expect("a fence").epoch;
                timed(&mut || {
                    for batch in &batches {
                        log.append(epoch, batch).expect("an append");
                    }
                });
                assert_eq!(log.end(), Offset(1 + LOG.updates() + batches.len() as u64));
            })
        });
    });
    group.finish();
}

fn read(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = LOG.write(folder.path()).expect("a log");
    let mut group = criterion.benchmark_group("log-read-500");
    group.throughput(Throughput::Bytes(log.bytes_from(Offset(0)))).sample_size(20);
    let mut paths: Vec<_> = std::fs::read_dir(folder.path().join("T1"))
        .expect("the log's folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    group.bench_function("plain-read-with-crc", |bencher| {
        let mut buffer = vec![0; PLAIN_READ];
        bencher.iter(|| {
            let mut crc = 0;
            for path in &paths {
                let mut file = File::open(path).expect("a file");
                loop {
                    let bytes = file.read(&mut buffer).expect("a read");
                    if bytes == 0 {
                        break;
                    }
                    crc = crc32c::crc32c_append(crc, &buffer[..bytes]);
                }
            }
            black_box(crc)
        });
    });
    group.bench_function("task-log", |bencher| {
        bencher.iter(|| {
            let mut reader = log.read(Offset(0)).expect("a reader");
            let mut records = 0;
            while let Some(batch) = reader.next().expect("a batch") {
                for update in batch.updates() {
                    black_box(update);
                    records += 1;
                }
            }
            assert_eq!(records, LOG.updates());
        });
    });
    group.finish();
}

criterion_group!(benches, append, read);
criterion_main!(benches);
