//! Members that come and mean to go in the same moment are part of one rebalance; nothing urgent waits with them.

use engine::config::GroupConfig;
use engine::group::message::{Exit, MemberEvent};

use crate::group::{Group, millis, secs};

/// Profile `tight` as it is: `rebalance_delay` is 50 ms.
fn stable(strategy: &str) -> Group {
    let mut group = Group::of(GroupConfig { initial_members: 3, ..GroupConfig::tight() }, strategy, 6);
    for id in ["S1", "S2", "S3"] {
        group.start(id);
    }
    group.pass(millis(50));
    group.take_log();
    group
}

/// A host is replaced, and the old one is heard of first. Alone, each would have the others learn its tasks.
#[test]
fn whoever_goes_and_whoever_comes() {
    let mut group = stable("learner");
    group.event("S1", MemberEvent::Leave);
    group.pass(millis(20));
    group.start("S4");
    group.pass(millis(40));
    group.expect(
        "0.100s 2 called in: leaving
         0.100s 2 completed: leaving join",
    );
    // The newcomer learns both tasks of the one that goes, and nobody else moves.
    for task in ["T1", "T4"] {
        group.lag("S4", task, 0);
    }
    group.pass(secs(1));
    assert_eq!(group.running(), "S2[T2, T5] S3[T3, T6] S4[T1, T4]");
    assert_eq!(group.seat("S1").exit, Some(Exit::Left));
}

/// All are asked to go, one after the other: nobody is given what another one leaves.
#[test]
fn when_all_go_nothing_is_learned() {
    let mut group = stable("learner");
    for id in ["S1", "S2", "S3"] {
        group.event(id, MemberEvent::Leave);
        group.pass(millis(10));
    }
    group.pass(secs(1));
    group.expect(
        "0.100s 2 called in: leaving
         0.100s 2 completed: leaving, balanced
         0.100s S1 gone: leave
         0.100s S2 gone: leave
         0.100s S3 gone: leave",
    );
}

/// The wait is counted from the first: a stream of newcomers puts nothing off.
#[test]
fn more_newcomers_do_not_extend_the_wait() {
    let mut group = stable("learner");
    for n in 4..=9 {
        group.start(&format!("S{n}"));
        group.pass(millis(20));
    }
    let log = group.take_log();
    assert!(log.starts_with("0.100s 2 called in: join\n0.100s 2 completed: join\n0.160s"), "{log}");
}

/// A task without an owner is not waited with, and takes along who has come meanwhile.
#[test]
fn what_leaves_a_task_without_an_owner_begins_at_once() {
    let mut group = stable("eager");
    group.start("S4");
    group.pass(millis(20));
    group.event("S2", MemberEvent::Leave);
    group.pass(secs(1));
    group.expect(
        "0.070s S2 gone: leave
         0.070s 2 called in: join
         0.070s 2 completed: join leave, balanced",
    );
    group.assert_each_task_runs_once();
}

/// Neither is a hand-over.
#[test]
fn a_ready_learner_begins_at_once() {
    let mut group = stable("learner");
    group.event("S2", MemberEvent::Leave);
    group.pass(millis(60));
    group.take_log();
    group.start("S4");
    group.lag("S1", "T2", 0);
    group.pass(millis(10));
    group.expect(
        "0.110s 3 called in: learner-ready
         0.110s 3 completed: learner-ready join",
    );
}
