//! A rebalance of 200 members in one process that moves nothing: what the protocol itself takes, on real threads.

use std::time::Duration;

use bench::cluster::{Bed, Shape};
use criterion::{Criterion, criterion_group, criterion_main};

/// Half as many tasks as members: whoever leaves had none.
const SHAPE: Shape = Shape { tasks: 100, instances: 20, workers: 10 };

fn rebalance(criterion: &mut Criterion) {
    let bed = Bed::start(SHAPE);
    let mut group = criterion.benchmark_group("rebalance-200-members");
    group.sample_size(10);
    // From the call that takes a member out until the coordinator has told everybody its part.
    group.bench_function("leave-that-moves-nothing", |bencher| {
        bencher.iter_custom(|times| (0..times).map(|_| one(&bed)).sum());
    });
    group.finish();
    bed.stop();
}

/// A member without tasks joins, which is waited for, and leaves again, which is timed.
fn one(bed: &Bed) -> Duration {
    let before = bed.watcher.polls();
    let member = bed.join_idle();
    let taken = bed.leave(&member);
    assert_eq!(bed.watcher.polls(), before, "a task has moved");
    taken
}

criterion_group!(benches, rebalance);
criterion_main!(benches);
