//! The proposal's four stories, end to end: the members' joins and the leader's answers that the machines come to by
//! themselves are, line for line, those of the trace files.

use std::sync::Arc;

use assignor::{Conduct, GroupView, Plan, Strategy, Task, ViewError};
use engine::config::GroupConfig;
use engine::event::Cause;
use engine::group::message::MemberEvent;

use crate::group::{Group, Round, millis, prompt};

/// A strategy whose first answer to a group that has nothing is given: the story's stable state.
#[derive(Debug)]
struct Seeded {
    stable: Plan,
    then: Arc<dyn Strategy>,
}

impl Strategy for Seeded {
    fn name(&self) -> String {
        self.then.name()
    }
    fn conduct(&self) -> Conduct {
        self.then.conduct()
    }
    fn plan(&self, view: &GroupView) -> Result<Plan, ViewError> {
        let is_new = view.members.iter().all(|m| m.active.is_empty() && m.revoked.is_empty());
        if is_new { Ok(self.stable.clone()) } else { self.then.plan(view) }
    }
}

/// A trace file, cut into what this test compares.
struct Story {
    options: String,
    tasks: Vec<Task>,
    stable: Vec<String>,
    rounds: Vec<(Vec<String>, Vec<String>)>,
}

impl Story {
    fn read(text: &str) -> Self {
        let mut story =
            Self { options: String::new(), tasks: Vec::new(), stable: Vec::new(), rounds: Vec::new() };
        let mut block = "";
        for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with("title")) {
            if let Some(option) = line.strip_prefix("option ") {
                story.options += &format!("{},", option.replace(' ', ""));
            } else if let Some(tasks) = line.strip_prefix("tasks: ") {
                story.tasks = tasks.split(' ').map(task).collect();
            } else if line.starts_with("rebalance:") {
                story.rounds.push((Vec::new(), Vec::new()));
            } else if line.starts_with("  ") {
                let into = match (block, story.rounds.last_mut()) {
                    ("join:", Some((join, _))) => join,
                    ("assign:", Some((_, assign))) => assign,
                    _ => &mut story.stable,
                };
                into.push(line.trim().to_owned());
            } else {
                block = line;
            }
        }
        story
    }

    /// The group in the story's stable state, nothing under way.
    fn group(&self, members: &[&str]) -> Group {
        let mut stable = Plan { balanced: true, ..Plan::default() };
        for line in &self.stable {
            let (member, rest) = line.split_once('(').unwrap();
            let assigned = rest.split_once('[').unwrap().1.split_once(']').unwrap().0;
            let entry = stable.members.entry(member.into()).or_default();
            entry.active = assigned.split(", ").map(Into::into).collect();
        }
        let then = assignor::parse(&format!("learner({})", self.options)).unwrap();
        let config = GroupConfig { initial_members: members.len(), ..prompt() };
        let mut group = Group::new(config, Arc::new(Seeded { stable, then }), self.tasks.clone());
        for member in members {
            group.start(member);
        }
        group.run();
        assert_eq!(group.rounds.len(), 1);
        group.rounds.clear();
        group.take_log();
        group
    }

    /// Every round of the group is the story's, and there was no other.
    #[track_caller]
    fn assert_told(&self, group: &mut Group) {
        group.pass(millis(5_000));
        for (n, (round, (join, assign))) in group.rounds.iter().zip(&self.rounds).enumerate() {
            assert_eq!(&joins(round), join, "joins of round {} under {}", n + 1, round.leader);
            assert_eq!(&answers(round), assign, "answers of round {}", n + 1);
        }
        assert_eq!(group.rounds.len(), self.rounds.len(), "rounds");
        assert!(group.rounds.last().unwrap().plan.balanced);
        group.assert_each_task_runs_once();
    }
}

fn task(text: &str) -> Task {
    let (id, size) = text.split_once('=').unwrap_or((text, "1"));
    Task { id: id.into(), stateful: true, state_size: size.parse().unwrap() }
}

/// The round's joins in the traces' notation.
fn joins(round: &Round) -> Vec<String> {
    let mut members: Vec<_> = round.view.members.iter().collect();
    members.sort_by(|a, b| a.id.cmp(&b.id));
    let line = |m: &&assignor::MemberView| {
        let learning: Vec<_> = m.learners.iter().map(|l| &l.task).collect();
        let ready: Vec<_> = m.learners.iter().filter(|l| l.ready).map(|l| &l.task).collect();
        let ready = if ready.is_empty() { String::new() } else { format!(" ready: {ready:?}") };
        let leaving = if m.leaving { " leaving" } else { "" };
        format!(
            "{}(assigned: {:?}, revoked: {:?}, learning: {learning:?}){ready}{leaving}",
            m.id, m.active, m.revoked
        )
    };
    members.iter().map(line).collect()
}

/// The leader's answers in the traces' notation.
fn answers(round: &Round) -> Vec<String> {
    let line = |(id, a): (&assignor::MemberId, &assignor::Assignment)| {
        format!("{id}(assigned: {:?}, revoked: {:?}, learning: {:?})", a.active, a.revoked, a.learning)
    };
    round.plan.members.iter().map(line).collect()
}

#[test]
fn scale_up() {
    let story = Story::read(include_str!("../../../assignor/traces/scale-up.trace"));
    let mut group = story.group(&["S1", "S2", "S3"]);
    group.start("S4");
    group.run();
    group.start("S5");
    group.run();
    group.lag("S4", "T1", 0);
    group.run();
    group.lag("S5", "T3", 0);
    story.assert_told(&mut group);
    assert_eq!(group.running(), "S1[T2] S2[T4] S3[T5] S4[T1] S5[T3]");
}

#[test]
fn scale_down() {
    let story = Story::read(include_str!("../../../assignor/traces/scale-down.trace"));
    let mut group = story.group(&["S1", "S2", "S3"]);
    group.event("S2", MemberEvent::Leave);
    group.run();
    group.lag("S3", "T4", 0);
    group.run();
    group.lag("S1", "T3", 0);
    story.assert_told(&mut group);
    assert_eq!(group.running(), "S1[T1, T2, T3] S3[T4, T5]", "S2 has ended by itself");
}

#[test]
fn leader_crash() {
    let story = Story::read(include_str!("../../../assignor/traces/leader-crash.trace"));
    let mut group = story.group(&["S1", "S2", "S3"]);
    group.start("S4");
    group.run();
    assert_eq!(group.rounds[0].leader.as_str(), "S1");
    group.crash("S1");
    group.pass(millis(2_000));
    assert_eq!(group.rounds[1].leader.as_str(), "S2", "the longest-standing member leads");
    story.assert_told(&mut group);
    assert!(group.take_log().contains("completed: crash"), "{:?}", Cause::Crash);
    assert_eq!(group.running(), "S2[T3, T4] S3[T2, T5] S4[T1]");
}

#[test]
fn host_swap() {
    let story = Story::read(include_str!("../../../assignor/traces/host-swap.trace"));
    let mut group = story.group(&["S1", "S2"]);
    group.start("S3");
    group.start("S4");
    group.run();
    group.event("S1", MemberEvent::Leave);
    group.event("S2", MemberEvent::Leave);
    group.run();
    // Promotion `all`: one learner that is ready waits for the others of its instance.
    group.lag("S3", "T2", 0);
    group.lag("S4", "T4", 0);
    group.run();
    assert_eq!(group.rounds.len(), 2);
    group.lag("S3", "T1", 0);
    group.lag("S4", "T3", 0);
    group.instance_ready("S3");
    group.instance_ready("S4");
    story.assert_told(&mut group);
    assert_eq!(group.running(), "S3[T1, T2] S4[T3, T4]", "S1 and S2 have ended by themselves");
}
