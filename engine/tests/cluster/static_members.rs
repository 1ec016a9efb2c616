//! Static members on real threads: back within their sessions, twice, away, and instances that come back on their
//! directories.

use std::time::Duration;

use assignor::{InstanceId, TaskId};
use engine::cluster::{Farewell, Membership};
use engine::error::Error;
use engine::event::{Cause, Event, GroupEvent, TaskEvent};

use crate::harness::{Bed, Setup};

fn two_workers_each(strategy: &'static str) -> Bed {
    let membership = Membership::Static;
    let bed = Setup { tasks: 8, workers: 2, membership, ..Setup::of(strategy) }.start();
    bed.settled(6);
    bed.begin();
    bed
}

fn second() -> InstanceId {
    "I2".into()
}

/// Back within the session, on its own copies: its tasks stand still meanwhile, and nobody rebalances.
#[test]
fn a_return_within_the_session_causes_no_rebalance() {
    for strategy in ["learner(standbys=1)", "eager"] {
        let bed = two_workers_each(strategy);
        let (tasks, before) = (bed.tasks_of(&second()), bed.recording.events().len());
        assert!(!tasks.is_empty());
        let names = bed.cluster.members();
        let started = bed.cluster.restart(&second(), Farewell::Silent, Duration::ZERO).unwrap();
        let down = bed.cluster.leave(&started.members[0]).unwrap_err();
        assert!(matches!(down, Error::Down { .. }), "{strategy}: {down}");
        bed.polled_since(&tasks, before);
        assert_eq!(bed.cluster.members(), names, "{strategy}: static members keep their names");
        let events = bed.recording.events();
        let started = |event: &Event| matches!(event, Event::Group(GroupEvent::RebalanceStarted { .. }));
        assert!(!events[before..].iter().any(|(_, event)| started(event)), "{strategy}: a rebalance");
        assert_eq!(bed.tasks_of(&second()), tasks, "{strategy}");
        bed.audit();
    }
}

/// Away during a rebalance it keeps its tasks: nobody else takes them over.
#[test]
fn who_is_away_keeps_its_tasks() {
    let bed = two_workers_each("learner");
    let (tasks, before) = (bed.tasks_of(&second()), bed.recording.events().len());
    bed.cluster.restart(&second(), Farewell::Silent, Duration::from_millis(1_500)).unwrap();
    bed.start_instance();
    bed.recording.wait("a rebalance without it", &bed.clock, |events| {
        let completed = |event: &Event| matches!(event, Event::Group(GroupEvent::Completed { .. }));
        events[before..].iter().any(|(_, event)| completed(event))
    });
    bed.polled_since(&tasks, before);
    for task in &tasks {
        let mut fenced =
            bed.recording.events().into_iter().skip(before).filter_map(|(_, event)| match event {
                Event::Task(of, TaskEvent::Fenced { member, .. }) if of == *task => Some(member),
                _ => None,
            });
        let first = fenced.next().unwrap();
        assert!(["S3", "S4"].contains(&first.as_str()), "{first} took {task} over while its owner was away");
    }
    bed.settled(8);
    bed.audit();
}

/// A second process with the stable ids of one that runs: the older one is fenced and stops.
#[test]
fn of_two_with_one_id_the_older_is_fenced() {
    let bed = two_workers_each("learner");
    let twin = bed.cluster.start_as(2, 1, Membership::StaticOf(second())).unwrap();
    assert_eq!(twin.instance.as_str(), "I4");
    bed.recording.wait("the newer to run tasks", &bed.clock, |events| {
        let runs = |event: &Event| match event {
            Event::Task(_, TaskEvent::Polled { member, .. }) => twin.members.contains(member),
            _ => false,
        };
        events.iter().any(|(_, event)| runs(event))
    });
    bed.settled(6);
    let gone = bed.recording.events().into_iter().any(|(_, event)| {
        matches!(event, Event::Group(GroupEvent::MemberGone { cause: Cause::Crash | Cause::Timeout, .. }))
    });
    assert!(!gone, "nobody's session has ended");
    assert!(bed.cluster.members().iter().all(|(_, of)| *of != second()), "the older one has stopped");
    bed.audit();
}

/// Members that leave and come back under new names find the copies that their instance had. (This strategy gives an
/// instance what it is dealt as soon as it has caught up, so that it is the same tasks.)
#[test]
fn who_leaves_and_comes_back_uses_its_copies() {
    let bed = Setup { tasks: 6, workers: 2, ..Setup::of("high-availability") }.start();
    bed.settled(6);
    bed.begin();
    let before = bed.recording.events().len();
    let had = bed.tasks_of(&second());
    let started = bed.cluster.restart(&second(), Farewell::Leave, Duration::ZERO).unwrap();
    assert_eq!(started.members, ["S7".into(), "S8".into()]);
    bed.recording.wait("the new members to run tasks", &bed.clock, |events| {
        let ran = |event: &Event| match event {
            Event::Task(_, TaskEvent::Polled { member, .. }) => started.members.contains(member),
            _ => false,
        };
        events[before..].iter().filter(|(_, event)| ran(event)).count() >= 2
    });
    bed.settled(6);
    let preloaded = 2 * 2_000;
    let taken: Vec<(TaskId, u64)> =
        bed.recording.events().split_off(before).into_iter().filter_map(took(&started.members)).collect();
    let again: Vec<_> = taken.iter().filter(|(task, _)| had.contains(task)).collect();
    assert!(!again.is_empty(), "it had {had:?} and took {taken:?}");
    for (task, lag) in again {
        let end = bed.cluster.logs().log(task).unwrap().end().0;
        assert!(lag + preloaded <= end, "{task} was replayed from the start: {lag} of {end} records");
    }
    bed.audit();
}

/// Tasks that one of these members took over, with what it had to replay.
fn took(members: &[assignor::MemberId]) -> impl Fn((engine::clock::Time, Event)) -> Option<(TaskId, u64)> {
    move |(_, event)| match event {
        Event::Task(task, TaskEvent::Fenced { member, lag, .. }) if members.contains(&member) => {
            Some((task, lag))
        }
        _ => None,
    }
}

/// Standbys, static members, two workers an instance; one instance is started again and one crashes.
fn restarts_and_crashes(strategy: &'static str) {
    let session = Duration::from_millis(1_000);
    let membership = Membership::Static;
    let bed = Setup { tasks: 8, workers: 2, session, membership, ..Setup::of(strategy) }.start();
    bed.settled(6);
    bed.begin();
    let (first, before) = (InstanceId::from("I1"), bed.recording.events().len());
    let tasks = bed.tasks_of(&first);
    bed.cluster.restart(&first, Farewell::Silent, Duration::ZERO).unwrap();
    bed.polled_since(&tasks, before);
    bed.settled(6);
    let before = bed.recording.events().len();
    bed.cluster.crash(&second()).unwrap();
    bed.recording.wait("both sessions to expire", &bed.clock, |events| {
        let crash =
            |event: &Event| matches!(event, Event::Group(GroupEvent::MemberGone { cause: Cause::Crash, .. }));
        events[before..].iter().filter(|(_, event)| crash(event)).count() >= 2
    });
    bed.settled(4);
    bed.audit();
}

#[test]
fn learner_restarts_and_crashes() {
    restarts_and_crashes("learner(standbys=1)");
}

#[test]
fn eager_restarts_and_crashes() {
    restarts_and_crashes("eager(standbys=1)");
}

#[test]
fn cooperative_restarts_and_crashes() {
    restarts_and_crashes("cooperative(standbys=1)");
}

#[test]
fn high_availability_restarts_and_crashes() {
    restarts_and_crashes("high-availability(standbys=1,probing_interval=300ms)");
}
