//! Static membership (KIP-345): a return without a rebalance, two processes with one id, and being away.

use assignor::TaskId;
use engine::config::GroupConfig;
use engine::event::Cause;
use engine::group::message::{Answer, Exit, MemberEvent};

use crate::group::{Group, Message, millis, prompt, secs};

fn stable(config: &GroupConfig, strategy: &str) -> Group {
    let mut group = Group::of(GroupConfig { initial_members: 3, ..config.clone() }, strategy, 6);
    for id in ["S1", "S2", "S3"] {
        group.start_as(id, id, Some(id), 1);
    }
    group.pass(secs(10));
    group.take_log();
    assert_eq!(group.running(), "S1[T1, T4] S2[T2, T5] S3[T3, T6]");
    group
}

#[test]
fn a_return_within_the_session_causes_no_rebalance() {
    for strategy in ["eager", "learner"] {
        let mut group = stable(&prompt(), strategy);
        group.crash("S2");
        group.pass(millis(700));
        group.start_as("S2", "S2", Some("S2"), 2);
        group.pass(secs(5));
        group.expect("");
        assert_eq!(group.running(), "S1[T1, T4] S2[T2, T5] S3[T3, T6]");
    }
}

#[test]
fn a_return_under_another_name_causes_no_rebalance() {
    let mut group = stable(&prompt(), "learner");
    group.crash("S2");
    group.pass(millis(700));
    group.start_as("S4", "S2", Some("S2"), 1);
    group.pass(secs(5));
    group.expect("");
    assert_eq!(group.running(), "S1[T1, T4] S3[T3, T6] S4[T2, T5]");
}

#[test]
fn of_two_with_one_id_the_older_is_fenced() {
    let mut group = stable(&prompt(), "learner");
    group.start_as("S4", "S2", Some("S2"), 1);
    group.pass(secs(5));
    group.expect("");
    assert_eq!(group.seat("S2").exit, Some(Exit::Fenced));
    group.assert_each_task_runs_once();
}

/// What it would be given back was planned for the instance that it was on (found by the simulator).
#[test]
fn a_return_on_another_instance_is_planned_for() {
    let mut group = stable(&prompt(), "learner");
    group.start_as("S4", "I4", Some("S2"), 1);
    group.pass(secs(5));
    assert!(group.take_log().contains("2 completed: join"));
    assert_eq!(group.seat("S2").exit, Some(Exit::Fenced));
    group.assert_each_task_runs_once();
}

#[test]
fn its_session_ends_while_it_is_away() {
    let mut group = stable(&prompt(), "eager");
    group.crash("S2");
    group.pass(secs(5));
    // Its last heartbeat was heard at 10.0 s.
    group.expect(
        "11.000s S2 gone: crash
         11.000s 2 called in: crash
         11.000s 2 completed: crash, balanced",
    );
    group.assert_each_task_runs_once();
}

/// Away during a rebalance it keeps its tasks: nobody else starts them.
#[test]
fn away_during_a_rebalance() {
    let mut group = stable(&prompt(), "eager");
    group.crash("S2");
    group.pass(millis(400));
    group.start("S4");
    group.pass(millis(100));
    group.expect(
        "10.400s 2 called in: join
         10.400s 2 completed: join, balanced",
    );
    let round = group.rounds.last().unwrap();
    let away = round.view.members.iter().find(|m| m.away).unwrap();
    assert_eq!((away.id.as_str(), away.active.clone()), ("S2", ids(&["T2", "T5"])));
    assert_eq!(round.plan.members[&"S2".into()].active, ids(&["T2", "T5"]));
    assert!(!group.running().contains("T2"), "{}", group.running());
    // It comes back in time and has them again at once; then it is planned for, which it was not.
    group.start_as("S2", "S2", Some("S2"), 2);
    group.run();
    group.expect(
        "10.500s 3 called in: join
         10.500s 3 completed: join, balanced",
    );
    let round = group.rounds.last().unwrap();
    assert!(round.view.members.iter().all(|m| !m.away));
    group.pass(secs(5));
    group.expect("");
    group.assert_each_task_runs_once();
}

/// A ready learner of an away owner's task takes over once the owner's session has ended, not before.
#[test]
fn a_ready_learner_waits_for_the_owners_session() {
    let mut group = stable(&prompt(), "learner");
    group.start("S4");
    group.pass(millis(10));
    let task = group.seat("S4").learning.first().unwrap().clone();
    let owner = ["S1", "S2", "S3"].into_iter().find(|s| group.seat(s).running.contains(&task)).unwrap();
    group.crash(owner);
    group.pass(millis(400));
    group.lag("S4", task.as_str(), 0);
    group.pass(millis(100));
    assert!(group.seat("S4").running.is_empty(), "{}", group.running());
    group.pass(secs(2));
    assert!(group.seat("S4").running.contains(&task), "{}", group.running());
    group.pass(secs(5));
    group.assert_each_task_runs_once();
}

/// Kafka's barrier waits for it until the rebalance timeout, or until its session ends.
#[test]
fn kafkas_barrier_waits_for_away_members() {
    let mut group = stable(&GroupConfig::kafka(), "eager");
    group.crash("S2");
    group.start("S4");
    group.pass(secs(60));
    let log = group.take_log();
    assert!(log.starts_with("10.000s 2 called in: join\n"), "{log}");
    assert!(log.contains("S2 gone: crash") && log.contains("2 completed: join crash"), "{log}");
    let config = GroupConfig { session_timeout: secs(1_000), ..GroupConfig::kafka() };
    let mut group = stable(&config, "eager");
    group.crash("S2");
    group.start("S4");
    group.pass(secs(400));
    group.expect(
        "10.000s 2 called in: join
         310.000s 2 completed: join, balanced",
    );
}

/// It returns while joins are called in: its join counts, its tasks count as given up by their owner.
#[test]
fn a_return_during_a_rebalance() {
    let mut group = stable(&prompt(), "learner");
    group.crash("S2");
    group.seat("S3").cut_off = true;
    group.start("S4");
    group.pass(millis(10));
    group.start_as("S2", "S2", Some("S2"), 2);
    group.pass(millis(10));
    group.seat("S3").cut_off = false;
    group.pass(secs(5));
    let round = &group.rounds[1];
    let back = round.view.members.iter().find(|m| m.id.as_str() == "S2").unwrap();
    assert_eq!((back.away, back.revoked.clone()), (false, ids(&["T2", "T5"])));
    group.assert_each_task_runs_once();
}

/// A new coordinator does not know which of two processes with one id is the newer. What each has been given tells,
/// whichever it hears of first (found by the simulator).
#[test]
fn a_new_coordinator_meets_both_of_two() {
    for [first, second] in [["S2", "S4"], ["S4", "S2"]] {
        let mut group = stable(&prompt(), "learner");
        group.seat("S2").cut_off = true;
        group.start_as("S4", "S2", Some("S2"), 1);
        group.pass(millis(200));
        group.start("S5");
        group.pass(millis(200));
        let had = group.seat("S4").running.clone();
        assert!(!had.is_empty());
        group.seat(second).cut_off = true;
        group.seat(first).cut_off = false;
        group.restart_coordinator(2);
        group.pass(millis(250));
        group.seat(second).cut_off = false;
        group.pass(secs(4));
        assert_eq!(group.seat("S2").exit, Some(Exit::Fenced), "{first} first");
        let view = &group.rounds.iter().rev().find(|r| r.view.members.len() == 4).unwrap().view;
        let newer = view.members.iter().find(|m| m.id.as_str() == "S4").unwrap();
        let kept: std::collections::BTreeSet<_> =
            newer.active.iter().chain(&newer.revoked).cloned().collect();
        assert_eq!(kept, had, "{first} first");
        group.assert_each_task_runs_once();
    }
}

/// A static member that was cut off, not gone, learns with its next heartbeat that the group went on without it.
#[test]
fn cut_off_and_back() {
    let mut group = stable(&prompt(), "learner");
    group.seat("S2").cut_off = true;
    group.pass(millis(400));
    group.start("S4");
    group.pass(millis(100));
    group.seat("S2").cut_off = false;
    group.pass(millis(200));
    let causes = group.take_log();
    assert!(causes.contains(&format!("{:?}", Cause::Timeout).to_lowercase()), "{causes}");
    group.event("S2", MemberEvent::Progress);
    group.pass(secs(2));
    group.assert_each_task_runs_once();
}

/// Its join was in, but the answer is lost, and the group goes on without it: its repeated join is heard (found by the
/// simulator).
#[test]
fn a_repeated_join_after_the_group_went_on() {
    let mut group = stable(&prompt(), "learner");
    group.start("S4");
    group.rule = Some(Box::new(|message| match message {
        Message::Down(to, reply) if to.as_str() == "S2" && matches!(reply.body, Answer::Joined { .. }) => 0,
        _ => 1,
    }));
    group.run();
    group.rule = None;
    group.seat("S2").cut_off = true;
    group.pass(millis(450));
    group.start("S5");
    group.pass(millis(300));
    group.seat("S2").cut_off = false;
    group.pass(secs(2));
    assert!(group.seat("S2").member.is_steady());
    group.assert_each_task_runs_once();
}

fn ids(names: &[&str]) -> Vec<TaskId> {
    names.iter().map(|name| TaskId::from(*name)).collect()
}
