//! How planning grows with the group: operations are counted, so no clock and no machine can spoil the test.

mod common;

use assignor::{GroupView, meter};
use common::{dealt, member};

/// Ten tasks a member.
fn cold(tasks: usize) -> GroupView {
    let mut view = dealt(tasks, tasks / 10);
    view.members.iter_mut().for_each(|member| member.active.clear());
    view
}

fn after_one_join(tasks: usize) -> GroupView {
    let mut view = dealt(tasks, tasks / 10);
    view.members.push(member(tasks / 10 + 1));
    view
}

fn operations(strategy: &str, view: &GroupView) -> u64 {
    let strategy = assignor::parse(strategy).expect("a strategy");
    let (plan, operations) = meter::counted(|| strategy.plan(view));
    assert!(plan.is_ok());
    operations
}

/// From 1,000 tasks to 100,000 at ten a member. The bar for `learner` is 217 times; n·log² n, the bar for the others,
/// would be 278 times.
#[test]
fn a_hundred_times_the_tasks_takes_little_more_than_a_hundred_times_the_operations() {
    let bars = [
        ("learner", 217.0),
        ("learner(standbys=1)", 217.0),
        ("eager", 278.0),
        ("eager(placement=round-robin)", 278.0),
        ("cooperative", 278.0),
        ("high-availability", 278.0),
        ("high-availability(standbys=1)", 278.0),
    ];
    for (strategy, bar) in bars {
        for (what, view) in [("cold", cold as fn(usize) -> GroupView), ("after one join", after_one_join)] {
            let (small, large) = (operations(strategy, &view(1_000)), operations(strategy, &view(100_000)));
            let growth = large as f64 / small as f64;
            println!("{strategy}, {what}: {small} → {large} operations, {growth:.0} times");
            assert!(growth <= bar, "{strategy}, {what}: {small} → {large} operations, {growth:.0} times");
        }
    }
}
