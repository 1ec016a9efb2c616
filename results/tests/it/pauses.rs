//! Whatever the events, the parts of a pause add up to it, and a task has at most one pause at a time.

use proptest::prelude::*;
use results::event::{Cause, Event, Stop, What};
use results::pause::pauses;

fn task() -> impl Strategy<Value = String> {
    (1..4_u8).prop_map(|task| format!("T{task}"))
}

fn member() -> impl Strategy<Value = String> {
    (1..4_u8).prop_map(|member| format!("S{member}"))
}

fn stop() -> impl Strategy<Value = Stop> {
    prop_oneof![
        Just(Stop::GivenUp),
        Just(Stop::Left),
        Just(Stop::Crashed),
        Just(Stop::Stalled),
        Just(Stop::Fenced)
    ]
}

fn what() -> impl Strategy<Value = What> {
    let generation = 1..9_u64;
    prop_oneof![
        (task(), member(), stop()).prop_map(|(task, member, why)| What::TaskStopped { task, member, why }),
        (task(), member(), 1..5_u64).prop_map(|(task, member, epoch)| What::TaskPolled {
            task,
            member,
            epoch
        }),
        (task(), member(), 1..5_u64).prop_map(|(task, member, epoch)| What::TaskFenced {
            task,
            member,
            epoch,
            lag: 1
        }),
        (task(), member(), generation.clone()).prop_map(|(task, member, generation)| What::TaskAssigned {
            task,
            member,
            generation
        }),
        (task(), member()).prop_map(|(task, member)| What::RestoreFinished {
            task,
            member,
            records: 1,
            bytes: 9
        }),
        (member(), generation.clone()).prop_map(|(member, generation)| What::Joined { member, generation }),
        member().prop_map(|member| What::MemberGone { member, cause: Cause::Crash }),
        generation.clone().prop_map(|generation| What::RebalanceStarted { generation, cause: Cause::Join }),
        generation.clone().prop_map(|generation| What::BarrierReached { generation }),
        generation.prop_map(|generation| What::GenerationCompleted {
            generation,
            causes: vec![],
            balanced: false,
            active: vec![],
            standby: vec![]
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn parts_add_up_whatever_happens(steps in prop::collection::vec((0..500_i64, what()), 0..80)) {
        let mut at_us = -1_000;
        let events: Vec<Event> = steps.into_iter().map(|(after_us, what)| {
            at_us += after_us;
            Event { at_us, what }
        }).collect();
        let end_us = 15_000;
        let pauses = pauses(&events, end_us);
        for pause in &pauses {
            prop_assert_eq!(pause.anatomy.sum_us(), pause.us());
            prop_assert!(0 <= pause.start_us && pause.start_us <= pause.end_us && pause.end_us <= end_us);
            prop_assert_eq!(pause.censored, pause.to.is_none());
        }
        for task in ["T1", "T2", "T3"] {
            let own: Vec<_> = pauses.iter().filter(|pause| pause.task == task).collect();
            prop_assert!(own.windows(2).all(|pair| pair[0].end_us <= pair[1].start_us));
        }
    }
}
