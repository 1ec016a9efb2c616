//! Members that go: at once, after their tasks have been taken over, or when their time is up.

use engine::config::GroupConfig;
use engine::group::message::{Exit, MemberEvent};

use crate::group::{Group, millis, prompt, secs};

fn stable(strategy: &str) -> Group {
    let config = GroupConfig { initial_members: 3, ..prompt() };
    let mut group = Group::of(config, strategy, 6);
    for id in ["S1", "S2", "S3"] {
        group.start(id);
    }
    group.pass(millis(50));
    group.take_log();
    assert_eq!(group.running(), "S1[T1, T4] S2[T2, T5] S3[T3, T6]");
    group
}

#[test]
fn at_once_under_eager() {
    let mut group = stable("eager");
    group.event("S2", MemberEvent::Leave);
    group.pass(secs(1));
    group.expect(
        "0.050s S2 gone: leave
         0.050s 2 called in: leave
         0.050s 2 completed: leave, balanced",
    );
    assert_eq!(group.seat("S2").exit, Some(Exit::Left));
    group.assert_each_task_runs_once();
}

#[test]
fn with_nothing_left_it_goes_without_a_rebalance() {
    let mut group = stable("learner");
    group.event("S2", MemberEvent::Leave);
    group.pass(millis(10));
    for (member, task) in [("S1", "T2"), ("S3", "T5")] {
        group.lag(member, task, 0);
        group.pass(millis(10));
    }
    group.pass(secs(5));
    group.expect(
        "0.050s 2 called in: leaving
         0.050s 2 completed: leaving
         0.060s 3 called in: learner-ready
         0.060s 3 completed: learner-ready
         0.070s 4 called in: learner-ready
         0.070s 4 completed: learner-ready, balanced
         0.070s S2 gone: leave",
    );
    assert_eq!(group.seat("S2").exit, Some(Exit::Left));
    group.assert_each_task_runs_once();
}

#[test]
fn its_time_is_up() {
    let mut group = stable("learner(scale_down_timeout=10s)");
    group.event("S2", MemberEvent::Leave);
    group.pass(secs(11));
    // Whoever is learning a task takes it as it is (rule 3).
    group.expect(
        "0.050s 2 called in: leaving
         0.050s 2 completed: leaving
         10.050s S2 gone: timeout
         10.050s 3 called in: timeout
         10.050s 3 completed: timeout, balanced",
    );
    assert_eq!(group.seat("S2").exit, Some(Exit::Left));
    group.assert_each_task_runs_once();
}

#[test]
fn when_nobody_stays_all_stop() {
    let mut group = stable("learner");
    for id in ["S1", "S2", "S3"] {
        group.event(id, MemberEvent::Leave);
    }
    group.pass(secs(3));
    for id in ["S1", "S2", "S3"] {
        assert_eq!(group.seat(id).exit, Some(Exit::Left), "{id}");
    }
    assert_eq!(group.coordinator.members().count(), 0);
    // The group is empty, not broken.
    group.start("S4");
    group.pass(secs(6));
    group.assert_each_task_runs_once();
}

#[test]
fn asked_before_it_has_an_assignment() {
    let config = GroupConfig { initial_members: 2, ..prompt() };
    let mut group = Group::of(config, "learner", 4);
    group.start("S1");
    group.pass(secs(1));
    group.event("S1", MemberEvent::Leave);
    group.pass(secs(1));
    assert_eq!(group.seat("S1").exit, Some(Exit::Left));
    group.start("S2");
    group.pass(secs(8));
    assert_eq!(group.running(), "S2[T1, T2, T3, T4]");
}
