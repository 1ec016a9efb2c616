//! Whatever a view says, a strategy answers or tells what is wrong with it: it never panics, and what it answers is
//! valid. Views that no group could be in are included on purpose.

mod common;

use assignor::{
    Copy, GroupView, Learner, MemberView, StoredView, Task, TaskId, ViewError, strategies, validate,
};
use common::{dealt, member, stateful};
use proptest::collection::vec;
use proptest::prelude::*;

/// Few names, so that they collide; one that is never a task.
fn task_name() -> impl Strategy<Value = TaskId> {
    prop_oneof![40 => (0..6_u32).prop_map(|n| TaskId::from(format!("T{n}"))), 1 => Just(TaskId::from("X"))]
}

fn lag() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0..2_000_u64]
}

fn task() -> impl Strategy<Value = Task> {
    (task_name(), any::<bool>(), prop_oneof![0..9_u64, Just(u64::MAX)])
        .prop_map(|(id, stateful, state_size)| Task { id, stateful, state_size })
}

fn copy() -> impl Strategy<Value = Copy> {
    (task_name(), lag()).prop_map(|(task, lag)| Copy { task, lag })
}

fn learner() -> impl Strategy<Value = Learner> {
    (task_name(), lag(), any::<bool>()).prop_map(|(task, lag, ready)| Learner { task, lag, ready })
}

prop_compose! {
    fn any_member()(
        id in 0..5_u32,
        instance in 0..4_u32,
        capacity in prop_oneof![20 => 1..4_u32, 1 => Just(0), 1 => Just(u32::MAX)],
        (leaving, away) in (any::<bool>(), any::<bool>()),
        generation in 0..3_u64,
        active in vec(task_name(), 0..3),
        revoked in vec(task_name(), 0..2),
        learners in vec(learner(), 0..3),
        standbys in vec(copy(), 0..3),
    ) -> MemberView {
        let mut member = MemberView::new(format!("S{id}"), format!("I{instance}"));
        (member.capacity, member.leaving, member.away) = (capacity, leaving, away);
        (member.generation, member.active, member.revoked) = (generation, active, revoked);
        (member.learners, member.standbys) = (learners, standbys);
        member
    }
}

prop_compose! {
    fn any_view()(
        mut tasks in vec(task(), 0..8),
        mut members in vec(any_member(), 0..6),
        stored in vec((0..5_u32, vec(copy(), 0..4)), 0..3),
        tidy in prop_oneof![5 => Just(true), 1 => Just(false)],
    ) -> GroupView {
        if tidy {
            make_sense(&mut tasks, &mut members);
        }
        let stored = stored
            .into_iter()
            .map(|(at, copies)| StoredView { instance: format!("I{at}").into(), copies })
            .collect();
        GroupView { tasks, members, stored }
    }
}

/// Leaves out what is a typed error, so that most views get an answer; claims still conflict.
fn make_sense(tasks: &mut Vec<Task>, members: &mut Vec<MemberView>) {
    tasks.sort_by(|a, b| a.id.cmp(&b.id));
    tasks.dedup_by(|a, b| a.id == b.id);
    members.sort_by(|a, b| a.id.cmp(&b.id));
    members.dedup_by(|a, b| a.id == b.id);
    for member in members {
        let mut named: Vec<TaskId> = Vec::new();
        let mut first = |task: &TaskId| {
            let fine = !named.contains(task) && tasks.iter().any(|known| known.id == *task);
            named.push(task.clone());
            fine
        };
        member.active.retain(&mut first);
        member.revoked.retain(&mut first);
        member.learners.retain(|learner| first(&learner.task));
        member.standbys.retain(|copy| first(&copy.task));
        member.capacity = member.capacity.max(1);
    }
}

const VARIANTS: [&str; 8] = [
    "learner(standbys=2,max_learners=1)",
    "learner(balance_factor=3,revocation=two-phase)",
    "learner(max_learners=2,promotion=all)",
    "eager(standbys=4294967295)",
    "eager(placement=round-robin,standbys=1)",
    "cooperative(standbys=1)",
    "high-availability(standbys=2,max_warmups=1)",
    "high-availability(acceptable_lag=18446744073709551615)",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_view_makes_a_strategy_panic(view in any_view()) {
        let named = strategies().iter().map(|definition| definition.name);
        for name in named.chain(VARIANTS) {
            let strategy = assignor::parse(name).unwrap();
            if let Ok(plan) = strategy.plan(&view) {
                prop_assert_eq!(validate(&view, &plan), Ok(()), "{}: {:#?}", name, plan);
            }
        }
    }
}

#[test]
fn bad_views_are_typed_errors_and_odd_ones_have_their_answer() {
    let t1 = || stateful("T1", 1);
    let with = |change: &dyn Fn(&mut GroupView)| {
        let mut view = dealt(2, 2);
        change(&mut view);
        view
    };
    let errors = [
        (with(&|view| view.tasks.push(t1())), ViewError::TaskTwice("T1".into())),
        (with(&|view| view.members.push(member(1))), ViewError::MemberTwice("S1".into())),
        (with(&|view| view.members[0].capacity = 0), ViewError::NoCapacity("S1".into())),
        (
            with(&|view| view.members[1].active.push("T9".into())),
            ViewError::UnknownTask { member: "S2".into(), task: "T9".into() },
        ),
        (
            with(&|view| view.members[0].revoked.push("T1".into())),
            ViewError::TaskTwiceAtMember { member: "S1".into(), task: "T1".into() },
        ),
    ];
    for definition in strategies() {
        let strategy = definition.configure(&[]).unwrap();
        for (view, error) in &errors {
            assert_eq!(strategy.plan(view).as_ref(), Err(error), "{}", definition.name);
        }
        let nobody = with(&|view| view.members.clear());
        assert!(strategy.plan(&nobody).unwrap().members.is_empty());
        let all_leave = with(&|view| view.members.iter_mut().for_each(|member| member.leaving = true));
        let plan = strategy.plan(&all_leave).unwrap();
        assert!(plan.members.values().all(|told| told.active.is_empty()) && plan.balanced);
        let no_tasks = GroupView { members: vec![member(1)], ..GroupView::default() };
        assert!(strategy.plan(&no_tasks).unwrap().balanced);
    }
    // Beyond the end of a changelog there is nothing: such a lag is only the worst.
    let lost = with(&|view| {
        view.members[0].active.clear();
        view.members[1].standbys.push(Copy { task: "T1".into(), lag: u64::MAX });
    });
    let plan = assignor::parse("learner").unwrap().plan(&lost).unwrap();
    assert_eq!(plan.members[&"S2".into()].active.len(), 2);
    let standbys = assignor::parse("learner(standbys=7)").unwrap().plan(&dealt(2, 2)).unwrap();
    assert!(standbys.members.values().all(|told| told.standby.len() == 1), "one other instance, one standby");
}
