//! What recording costs: a turn's records handed to the recorder, beside the same number of records through a task,
//! source to log to store. The last line says the one as a share of the other.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use assignor::{MemberId, TaskId};
use bench::record_path::{TURN, sources, task, turns};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::clock::{Clock, RealClock, Time};
use engine::event::{Observer, Served};
use engine::source::KeyDistribution;
use loadgen::record::{Part, Recorder};

/// Turns of one measurement.
const TURNS: u64 = 2_000;
/// Between two turns: 500,000 records a second, a worker at full speed, as the record path beside it.
const TURN_TIME: Duration = Duration::from_millis(1);
const MEASUREMENTS: usize = 7;

/// Hands `turns` turns over, some records late, some in the window, as a worker does.
fn record(turns: u64) -> Duration {
    let (task, member) = (TaskId::from("T1"), MemberId::from("S1"));
    let recorder = Recorder::new(std::slice::from_ref(&task), 50_000);
    recorder.set_origin(Time::ZERO + Duration::from_secs(1), Some((500_000, 1_500_000)));
    recorder.begin(Part::Measured);
    let clock = RealClock::start();
    let mut intended = vec![Time::ZERO; TURN];
    let mut took = Duration::ZERO;
    for turn in 0..turns {
        let at = Time::ZERO + Duration::from_secs(1) + TURN_TIME * u32::try_from(turn).unwrap_or(u32::MAX);
        for (nth, intended) in intended.iter_mut().enumerate() {
            // A backlog of 10 ms and more: latencies differ from record to record.
            *intended = at - Duration::from_micros(10_000 + nth as u64 * 20);
        }
        let served = Served {
            task: &task,
            member: &member,
            began: at - Duration::from_micros(400),
            at,
            intended: black_box(&intended),
        };
        let begun = clock.now();
        recorder.served(served);
        took += clock.now().since(begun);
    }
    black_box(recorder.finish());
    took
}

/// `count` turns of a task whose state holds every key.
fn process(count: u64) -> Duration {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sources = sources(KeyDistribution::Zipf(0.99));
    let mut task = task(folder.path(), &sources);
    let clock = Arc::new(RealClock::start());
    let begun = clock.now();
    turns(&mut task, count * TURN as u64);
    clock.now().since(begun)
}

fn recording(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("recording");
    group.throughput(Throughput::Elements(TURNS * TURN as u64)).sample_size(10);
    group.bench_function("recorder-alone", |bencher| {
        bencher.iter_custom(|times| (0..times).map(|_| record(TURNS)).sum());
    });
    group.bench_function("record-path", |bencher| {
        bencher.iter_custom(|times| (0..times).map(|_| process(TURNS)).sum());
    });
    group.finish();

    let median = |measure: fn(u64) -> Duration| {
        let mut all: Vec<f64> = (0..MEASUREMENTS).map(|_| measure(TURNS).as_secs_f64()).collect();
        all.sort_by(f64::total_cmp);
        all[MEASUREMENTS / 2] / (TURNS * TURN as u64) as f64 * 1e9
    };
    let (recorder, path) = (median(record), median(process));
    println!(
        "recording takes {recorder:.1} ns a record, the record path {path:.0} ns: {:.1} %",
        recorder / path * 100.0
    );
}

criterion_group!(benches, recording);
criterion_main!(benches);
