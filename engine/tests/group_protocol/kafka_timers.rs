//! The timers of the `kafka` profile, held on virtual time: each test says at which second what happens.

use engine::config::GroupConfig;
use engine::group::message::{Ask, MemberEvent};

use crate::group::{Group, Message, secs};

/// Three members, stable since 0:06: two joined after the first, so that the initial delay was extended once.
fn stable(strategy: &str) -> Group {
    let mut group = Group::of(GroupConfig::kafka(), strategy, 6);
    for id in ["S1", "S2", "S3"] {
        group.start(id);
    }
    group.pass(secs(10));
    group.expect(
        "0.000s 1 called in: join
         6.000s 1 completed: join, balanced",
    );
    group
}

/// `group.initial.rebalance.delay.ms`: 3 s, again after every 3 s in which somebody joined.
#[test]
fn initial_delay_is_extended_by_late_joiners() {
    let mut group = Group::of(GroupConfig::kafka(), "eager", 6);
    group.start("S1");
    group.pass(secs(2));
    group.start("S2");
    group.pass(secs(2));
    group.start("S3");
    group.pass(secs(60));
    group.expect(
        "0.000s 1 called in: join
         9.000s 1 completed: join, balanced",
    );
    assert_eq!(group.running(), "S1[T1, T4] S2[T2, T5] S3[T3, T6]");
}

/// The delay is extended up to the rebalance timeout and not beyond.
#[test]
fn initial_delay_ends_at_the_rebalance_timeout() {
    let mut group = Group::of(GroupConfig::kafka(), "eager", 6);
    for n in 1..=170 {
        group.start(&format!("S{n}"));
        group.pass(secs(2));
    }
    assert!(group.take_log().contains("300.000s 1 completed: join"));
}

/// `session.timeout.ms`: 45 s after the last heartbeat.
#[test]
fn a_silent_member_is_out_after_its_session() {
    let mut group = stable("eager");
    group.crash("S3");
    group.pass(secs(60));
    // Last heard at 9 s. The others learn of the rebalance with their next heartbeats.
    group.expect(
        "54.000s S3 gone: crash
         54.000s 2 called in: crash
         54.000s 2 completed: crash, balanced",
    );
    group.assert_each_task_runs_once();
}

/// `heartbeat.interval.ms`: 3 s. Nobody is told before it asks.
#[test]
fn a_notice_waits_for_the_heartbeat() {
    let mut group = stable("eager");
    group.start("S4");
    group.pass(secs(10));
    group.expect(
        "10.000s 2 called in: join
         12.000s 2 completed: join, balanced",
    );
}

/// The rebalance timeout (`max.poll.interval.ms` of a consumer): 5 min. Who is alive but has not joined is out.
#[test]
fn a_laggard_is_dropped_at_the_rebalance_timeout() {
    let mut group = stable("eager");
    group.seat("S2").slow = true;
    group.start("S4");
    group.pass(secs(600));
    group.expect(
        "10.000s 2 called in: join
         310.000s S2 gone: timeout
         310.000s 2 completed: join timeout, balanced",
    );
    // It finds out, stops, and comes back as a new member.
    group.catch_up("S2");
    group.pass(secs(10));
    group.expect(
        "610.000s 3 called in: join
         613.000s 3 completed: join, balanced",
    );
    group.assert_each_task_runs_once();
}

/// A member that never asks for its assignment is out (Kafka's pending-sync expiration).
#[test]
fn a_missing_sync_evicts() {
    let config = GroupConfig { sync_timeout: secs(20), ..GroupConfig::kafka() };
    let mut group = Group::of(config, "eager", 6);
    group.rule = Some(Box::new(|message| match message {
        Message::Up(r) if r.member.as_str() == "S2" && matches!(r.body, Ask::Sync { .. }) => 0,
        _ => 1,
    }));
    group.start("S1");
    group.start("S2");
    group.pass(secs(26));
    group.expect(
        "0.000s 1 called in: join
         6.000s 1 completed: join, balanced
         26.000s S2 gone: timeout
         26.000s 2 called in: timeout",
    );
}

/// `max.poll.interval.ms`: 5 min without a poll, and the member says that it leaves; it is back when it wakes up.
#[test]
fn a_worker_that_does_not_poll_leaves() {
    let mut group = stable("eager");
    group.seat("S2").polls = false;
    group.seat("S2").slow = true;
    group.pass(secs(400));
    // Its last poll was at 9 s. The others hear of it with their next heartbeats.
    group.expect(
        "309.000s S2 gone: timeout
         309.000s 2 called in: timeout
         312.000s 2 completed: timeout, balanced",
    );
    group.catch_up("S2");
    group.event("S2", MemberEvent::Polled);
    group.seat("S2").polls = true;
    group.pass(secs(10));
    assert!(group.take_log().contains("3 completed: join"));
    group.assert_each_task_runs_once();
}

/// A leader that never answers is evicted, and the next in standing leads.
#[test]
fn a_leader_that_does_not_answer_is_evicted() {
    let config = GroupConfig { sync_timeout: secs(20), ..GroupConfig::kafka() };
    let mut group = Group::of(config, "eager", 6);
    group.rule = Some(Box::new(|message| match message {
        Message::Up(r) if r.member.as_str() == "S1" && matches!(r.body, Ask::Sync { .. }) => 0,
        _ => 1,
    }));
    group.start("S1");
    group.start("S2");
    group.pass(secs(30));
    group.expect(
        "0.000s 1 called in: join
         26.000s S1 gone: timeout
         26.000s 2 called in: join
         27.000s 2 completed: join timeout, balanced",
    );
    assert_eq!(group.rounds.last().unwrap().leader.as_str(), "S2");
}
