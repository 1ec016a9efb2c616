//! Conflicting claims are settled, never fatal.

mod common;

use assignor::{Change, FollowUp, GroupView, Learner, Reason, Strategy, validate};
use common::{dealt, member, stateful};

/// Two members on instances of their own claim T1, in these generations.
fn claimed_twice(first: u64, second: u64) -> GroupView {
    let mut view = dealt(1, 1);
    view.members.push(member(2));
    view.members[1].active = vec!["T1".into()];
    (view.members[0].generation, view.members[1].generation) = (first, second);
    view
}

#[test]
fn the_higher_generation_wins_under_every_strategy() {
    for definition in assignor::strategies() {
        let strategy = definition.configure(&[]).unwrap();
        for (first, second, winner) in [(3, 2, "S1"), (2, 3, "S2")] {
            let view = claimed_twice(first, second);
            let plan = strategy.plan(&view).unwrap();
            assert_eq!(validate(&view, &plan), Ok(()));
            let active = &plan.members[&winner.into()].active;
            // High-availability deals anew, but may only ask for what the winner keeps.
            assert_eq!(active, &["T1".into()], "{}", definition.name);
        }
    }
}

#[test]
fn of_equal_generations_both_give_the_task_up_for_one_round() {
    for definition in assignor::strategies() {
        let strategy = definition.configure(&[]).unwrap();
        let mut view = claimed_twice(4, 4);
        let plan = strategy.plan(&view).unwrap();
        assert!(plan.members.values().all(|told| told.active.is_empty()), "{}", definition.name);
        assert_eq!(plan.follow_up, FollowUp::Immediate);
        assert!(!plan.balanced);
        assert_eq!(plan.moves[0].reason, Reason::ConflictingClaims);
        // Next round nobody claims it, and it finds an owner.
        view.members.iter_mut().for_each(|member| member.active.clear());
        let plan = strategy.plan(&view).unwrap();
        assert_eq!(plan.members.values().map(|told| told.active.len()).sum::<usize>(), 1);
    }
}

#[test]
fn of_two_learners_the_ready_one_stays_then_the_lower_lag_then_the_lower_id() {
    let learners = |first: (u64, bool), second: (u64, bool)| {
        let mut view = dealt(3, 1);
        for (number, (lag, ready)) in [(2, first), (3, second)] {
            let mut host = member(number);
            host.learners.push(Learner { task: "T1".into(), lag, ready });
            view.members.push(host);
        }
        view
    };
    let cases = [
        ((5, false), (900, true), "S3"),
        ((900, true), (5, false), "S2"),
        ((500, false), (400, false), "S3"),
        ((400, false), (400, false), "S2"),
    ];
    for (first, second, stays) in cases {
        let view = learners(first, second);
        let plan = assignor::learner::Learner::default().plan(&view).unwrap();
        let hosts: Vec<&str> = plan
            .members
            .iter()
            .filter(|(_, told)| told.learning.contains(&"T1".into()))
            .map(|(id, _)| id.as_str())
            .collect();
        assert_eq!(hosts, [stays], "{first:?}, {second:?}");
    }
}

#[test]
fn every_change_has_its_reason() {
    // S1 leaves; S3 has caught up with T1, which S1 gave up; T4 lost its owner and has a standby at S2.
    let mut view = GroupView {
        tasks: ["T1", "T2", "T3", "T4"].map(|name| stateful(name, 1)).to_vec(),
        members: vec![member(1), member(2), member(3)],
        stored: Vec::new(),
    };
    view.members[0].leaving = true;
    view.members[0].active = vec!["T2".into()];
    view.members[0].revoked = vec!["T1".into()];
    view.members[1].active = vec!["T3".into()];
    view.members[1].standbys.push(assignor::Copy { task: "T4".into(), lag: 1 });
    view.members[2].learners.push(Learner { task: "T1".into(), lag: 0, ready: true });
    let plan = assignor::learner::Learner::default().plan(&view).unwrap();
    let told: Vec<String> = plan
        .moves
        .iter()
        .map(|step| {
            let name = |member: &Option<assignor::MemberId>| match member {
                Some(member) => member.to_string(),
                None => "-".to_owned(),
            };
            let (from, to) = (name(&step.from), name(&step.to));
            format!("{} {:?} {from} {to} {:?}", step.task, step.change, step.reason)
        })
        .collect();
    assert_eq!(
        told,
        ["T1 Active S1 S3 LearnerReady", "T2 Learner - S3 OwnerLeaves", "T4 Active - S2 StandbyOfLostOwner",]
    );
    assert!(plan.moves.iter().all(|step| step.change != Change::GiveUp));
}
