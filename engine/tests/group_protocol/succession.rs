//! What outlives its author: leadership, follow-ups, and the group when its coordinator starts again.

use std::sync::Arc;

use assignor::{
    Conduct, FollowUp, GroupView, Leave, Plan, Promotion, Resume, Revocation, Strategy, Task, ViewError,
};
use engine::config::GroupConfig;

use crate::group::{Group, millis, prompt, secs};

/// Keeps every task where it is (new ones go to the first member) and always asks for the same follow-up.
#[derive(Debug)]
struct Asks(FollowUp);

impl Strategy for Asks {
    fn name(&self) -> String {
        "asks".into()
    }
    fn conduct(&self) -> Conduct {
        Conduct {
            revocation: Revocation::OnRequest,
            promotion: Promotion::Probing,
            leave: Leave::AtOnce,
            resume: Resume::EachTask,
            acceptable_lag: 0,
        }
    }
    fn plan(&self, view: &GroupView) -> Result<Plan, ViewError> {
        let mut plan = Plan { follow_up: self.0, ..Plan::default() };
        for member in &view.members {
            plan.members.entry(member.id.clone()).or_default().active.clone_from(&member.active);
        }
        for task in &view.tasks {
            if !view.members.iter().any(|m| m.active.contains(&task.id)) {
                plan.members.values_mut().next().unwrap().active.push(task.id.clone());
            }
        }
        Ok(plan)
    }
}

fn asking(config: &GroupConfig, follow_up: FollowUp) -> Group {
    let tasks = vec![Task { id: "T1".into(), stateful: true, state_size: 1 }];
    let mut group =
        Group::new(GroupConfig { initial_members: 2, ..config.clone() }, Arc::new(Asks(follow_up)), tasks);
    group.start("S1");
    group.start("S2");
    group.run();
    group
}

/// High-availability's probing rebalances: the timer is the coordinator's, so that it survives the leader.
#[test]
fn a_timed_follow_up_survives_the_leader() {
    let mut group = asking(&GroupConfig::kafka(), FollowUp::After(secs(600)));
    group.pass(secs(610));
    group.expect(
        "0.000s 1 called in: join
         6.000s 1 completed: join
         606.000s 2 called in: probing
         606.000s 2 completed: probing",
    );
    assert_eq!(group.rounds.last().unwrap().leader.as_str(), "S1");
    group.pass(secs(590));
    group.crash("S1");
    group.pass(secs(60));
    // Called in on time; the barrier waits for the dead leader's session, and the next in standing plans.
    group.expect(
        "1206.000s 3 called in: probing
         1245.000s S1 gone: crash
         1245.000s 3 completed: probing crash",
    );
    assert_eq!(group.rounds.last().unwrap().leader.as_str(), "S2");
    group.assert_each_task_runs_once();
}

/// The leader asks for an immediate second round and is gone: the round takes place.
#[test]
fn an_immediate_follow_up_survives_the_leader() {
    let mut group =
        Group::of(GroupConfig { initial_members: 2, ..prompt() }, "learner(revocation=two-phase)", 4);
    for id in ["S1", "S2"] {
        group.start(id);
    }
    group.run();
    group.start("S3");
    group.run();
    let task = group.seat("S3").learning.first().unwrap().clone();
    group.take_log();
    group.lag("S3", task.as_str(), 0);
    group.run();
    group.expect(
        "0.000s 3 called in: learner-ready
         0.000s 3 completed: learner-ready
         0.000s 4 called in: follow-up
         0.000s 4 completed: follow-up, balanced",
    );
    assert!(group.seat("S3").running.contains(&task));
    group.assert_each_task_runs_once();
}

/// The coordinator starts again and remembers nothing: members keep what they run and find it again.
#[test]
fn a_new_coordinator_takes_the_group_as_it_is() {
    let config = GroupConfig { initial_members: 2, ..prompt() };
    let mut group = Group::of(config, "learner", 4);
    for id in ["S1", "S2"] {
        group.start(id);
    }
    group.pass(secs(2));
    let before = group.running();
    group.take_log();
    group.restart_coordinator(2);
    group.pass(millis(500));
    assert_eq!(group.running(), before, "nobody has stopped");
    group.pass(secs(2));
    // It waits for the length of a session, so that everybody can find it.
    group.expect(
        "2.100s 1 called in: join
         3.100s 1 completed: join, balanced",
    );
    assert_eq!(group.running(), before);
}

/// One that the new coordinator never hears of has lost its tasks to the others.
#[test]
fn a_member_dies_with_the_coordinator() {
    let config = GroupConfig { initial_members: 2, ..prompt() };
    let mut group = Group::of(config, "learner", 4);
    for id in ["S1", "S2"] {
        group.start(id);
    }
    group.pass(secs(2));
    group.take_log();
    group.crash("S1");
    group.restart_coordinator(2);
    group.pass(secs(8));
    assert_eq!(group.running(), "S2[T1, T2, T3, T4]");
}
