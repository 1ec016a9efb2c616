//! Who is waited for, and who is not: crashes at every stage of a round, and a group that loses everybody at once.

use engine::config::GroupConfig;
use engine::group::message::{Answer, Ask};

use crate::group::{Group, Message, millis, prompt, secs};

/// A short session and a long rebalance timeout: whoever is waited for in vain shows.
fn config(members: usize) -> GroupConfig {
    GroupConfig { rebalance_timeout: secs(30), initial_members: members, ..prompt() }
}

fn three(strategy: &str) -> Group {
    let mut group = Group::of(config(3), strategy, 6);
    for id in ["S1", "S2", "S3"] {
        group.start(id);
    }
    group.pass(secs(5));
    group.take_log();
    group
}

/// Sessions of all members end at once (a starved machine); one of them is dead. The others do not wait for the number
/// of members that the application started with.
#[test]
fn an_emptied_group_does_not_wait_for_its_initial_members() {
    for strategy in ["eager", "cooperative", "learner", "high-availability"] {
        let mut group = three(strategy);
        group.crash("S3");
        group.seat("S1").cut_off = true;
        group.seat("S2").cut_off = true;
        group.pass(millis(1_500));
        assert_eq!(group.coordinator.members().count(), 0);
        group.seat("S1").cut_off = false;
        group.seat("S2").cut_off = false;
        group.pass(secs(2));
        group.assert_each_task_runs_once();
    }
}

/// One of the members that a first generation waits for dies before it is formed.
#[test]
fn a_crash_before_the_first_generation() {
    let mut group = Group::of(config(3), "learner", 6);
    group.start("S1");
    group.start("S2");
    group.run();
    group.crash("S2");
    group.pass(secs(2));
    group.start("S3");
    group.pass(secs(1));
    group.assert_each_task_runs_once();
    group.expect(
        "0.000s 1 called in: join
         1.000s S2 gone: crash
         2.000s 1 completed: join crash, balanced",
    );
}

/// A coordinator that was started again waits for its members for a session, however many there once were.
#[test]
fn a_new_coordinator_does_not_wait_for_initial_members() {
    let mut group = three("learner");
    group.crash("S3");
    group.pass(secs(3));
    group.restart_coordinator(2);
    group.take_log();
    group.pass(secs(3));
    assert!(group.take_log().contains("1 completed: join"));
    group.assert_each_task_runs_once();
}

/// At what point of a round a member crashes: with its message of this kind on its way, or the answer to it.
#[derive(Clone, Copy, Debug)]
enum At {
    Notice,
    JoinLost,
    JoinHeard,
    Joined,
    SyncLost,
    Assigned,
}

fn is_it(at: At, message: &Message, id: &str) -> bool {
    match (at, message) {
        (At::Notice, Message::Down(to, reply)) => {
            to.as_str() == id && matches!(reply.body, Answer::Rejoin { .. })
        }
        (At::JoinLost | At::JoinHeard, Message::Up(request)) => {
            request.member.as_str() == id && matches!(request.body, Ask::Join(_))
        }
        (At::Joined, Message::Down(to, reply)) => {
            to.as_str() == id && matches!(reply.body, Answer::Joined { .. })
        }
        (At::SyncLost, Message::Up(request)) => {
            request.member.as_str() == id && matches!(request.body, Ask::Sync { .. })
        }
        (At::Assigned, Message::Down(to, reply)) => {
            to.as_str() == id && matches!(reply.body, Answer::Assigned { .. })
        }
        _ => false,
    }
}

/// A member dies in the middle of a round, whatever it was about to say or hear: every task runs again a session later
/// and a little more, not after the rebalance timeout. S1 leads the round, S2 follows, S4 is what it is about.
#[test]
fn a_crash_in_a_round_costs_a_session() {
    for strategy in ["eager", "cooperative", "learner", "high-availability"] {
        for who in ["S1", "S2", "S4"] {
            for at in [At::Notice, At::JoinLost, At::JoinHeard, At::Joined, At::SyncLost, At::Assigned] {
                if matches!((at, who), (At::Notice, "S4")) {
                    continue;
                }
                crash_in_a_round(strategy, who, at);
            }
        }
    }
}

fn crash_in_a_round(strategy: &str, who: &'static str, at: At) {
    let mut group = three(strategy);
    let hit = std::rc::Rc::new(std::cell::Cell::new(false));
    let seen = hit.clone();
    // From the message on, nothing reaches it or leaves it.
    group.rule = Some(Box::new(move |message| {
        let about = match message {
            Message::Up(request) => request.member.as_str() == who,
            Message::Down(to, _) => to.as_str() == who,
        };
        if seen.get() {
            return usize::from(!about);
        }
        if is_it(at, message, who) {
            seen.set(true);
            return usize::from(matches!(at, At::JoinHeard));
        }
        1
    }));
    group.start("S4");
    group.run();
    assert!(hit.get(), "{strategy}: {who} does not come to {at:?}");
    group.crash(who);
    // A session until it is out; another for a plan that counted on it.
    group.pass(millis(2_300));
    let log = group.take_log();
    let runs = group.seats.values().map(|seat| seat.running.len()).sum::<usize>();
    assert_eq!(runs, 6, "{strategy}, {who} at {at:?}: {}\n{log}", group.running());
    group.assert_each_task_runs_once();
}
