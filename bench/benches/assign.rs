//! Planning: the table of what events cost, the growth of operations, and the time of one plan at several sizes.
//!
//! `cargo bench -p bench --bench assign` prints the table first; `assignor/README.md` shows one that was measured.

use std::hint::black_box;
use std::time::Duration;

use assignor::settle::{Cause, Event, settle};
use assignor::{GroupView, meter};
use bench::groups::Shape;
use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};

const STRATEGIES: [&str; 5] =
    ["learner", "eager", "eager(placement=round-robin)", "cooperative", "high-availability"];

fn shape(tasks: usize, instances: usize, workers: usize) -> Shape {
    Shape { tasks, instances, workers }
}

/// What 450 tasks cost when ten members become eleven, or nine.
fn print_moves() {
    let join = Event::Join { member: "S10".into(), instance: "I10".into(), capacity: 1 };
    let leave = Event::Leave { member: "S9".into() };
    println!("| 450 tasks | strategy | moves | fewest | rebalances | follow-ups among them |");
    println!("| --- | --- | --: | --: | --: | --: |");
    for (what, event) in [("10 → 11 members", join), ("10 → 9 members", leave)] {
        for name in STRATEGIES {
            let view = shape(450, 10, 1).at_rest();
            let strategy = assignor::parse(name).expect("a strategy");
            let forecast = settle(&view, std::slice::from_ref(&event), &*strategy).expect("a forecast");
            println!(
                "| {what} | {name} | {} | {} | {} | {} |",
                forecast.moves,
                forecast.minimum_moves,
                forecast.rebalances(),
                forecast.rebalances_by(Cause::FollowUp)
            );
        }
    }
}

/// Operations at 1,000 and at 100,000 tasks, ten a member.
fn print_growth() {
    println!("\n| operations | 1,000 tasks | 100,000 tasks | times |");
    println!("| --- | --: | --: | --: |");
    for name in STRATEGIES {
        for (what, view) in
            [("cold", Shape::cold as fn(Shape) -> GroupView), ("after one join", Shape::after_one_join)]
        {
            let count = |tasks: usize| {
                let strategy = assignor::parse(name).expect("a strategy");
                let view = view(shape(tasks, tasks / 10, 1));
                meter::counted(|| strategy.plan(&view)).1
            };
            let (small, large) = (count(1_000), count(100_000));
            println!("| {name}, {what} | {small} | {large} | {:.0} |", large as f64 / small as f64);
        }
    }
    println!();
}

fn plans(criterion: &mut Criterion) {
    print_moves();
    print_growth();
    let cases = [
        // A hundredth of the last case: what growth costs in time.
        ("1,000 × 100", shape(1_000, 100, 1), ""),
        ("1,000 tasks × 1,000", shape(1_000, 1_000, 1), ""),
        ("6,000 × 2", shape(6_000, 2, 1), ""),
        ("1,000 × 100, 50 standbys", shape(1_000, 100, 1), "standbys=50"),
        ("1,000 × 10 instances of 1,000", shape(1_000, 10, 1_000), ""),
        ("100,000 × 10,000", shape(100_000, 10_000, 1), ""),
    ];
    for (case, shape, options) in cases {
        let mut group = criterion.benchmark_group(case);
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(500))
            .measurement_time(Duration::from_secs(1));
        for name in STRATEGIES {
            let text = match name.strip_suffix(')') {
                _ if options.is_empty() => name.to_owned(),
                Some(open) => format!("{open},{options})"),
                None => format!("{name}({options})"),
            };
            let strategy = assignor::parse(&text).expect("a strategy");
            for (what, view) in [
                ("cold", shape.cold()),
                ("after one join", shape.after_one_join()),
                ("after one leave", shape.after_one_leave()),
            ] {
                group.bench_with_input(BenchmarkId::new(name, what), &view, |bencher, view| {
                    // One plan at a time, as a leader makes them; letting go of the last one is not timed.
                    bencher.iter_batched(|| (), |()| black_box(strategy.plan(view)), BatchSize::PerIteration);
                });
            }
        }
        group.finish();
    }
    print_peak_memory();
}

/// The most memory that this process, with all of its views and plans, has had at one time; where the system tells.
fn print_peak_memory() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
        println!("peak memory: {}", peak.trim());
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots();
    targets = plans
}
criterion_main!(benches);
