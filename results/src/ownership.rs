//! Who ran, restored, learned and stood by which task when: the picture of a rebalance, walked out of the events.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Event, What};

/// What a copy of a task was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Its worker could poll it.
    Active,
    /// Its member owned it and wasn't polling yet: fence, replay, opening.
    Restoring,
    /// Catching up in order to take over.
    Learning,
    /// A learner that has caught up and waits for its turn.
    Ready,
    /// Following the changelog for good, in case its owner is lost.
    Standby,
}

/// A stretch of time in which one copy of a task had one role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The task.
    pub task: String,
    /// The member that had the copy.
    pub member: String,
    /// What it was doing.
    pub role: Role,
    /// From when, in microseconds since the end of the warm-up; may be negative.
    pub from_us: i64,
    /// Until when.
    pub to_us: i64,
}

/// The spans of a run, by start, task and member. What is open at `end_us` ends there.
#[must_use]
pub fn spans(events: &[Event], end_us: i64) -> Vec<Span> {
    let mut walk = Walk::default();
    for event in events.iter().take_while(|event| event.at_us <= end_us) {
        walk.step(event.at_us, &event.what);
    }
    let open: Vec<(String, String)> = walk.open.keys().cloned().collect();
    for (task, member) in open {
        walk.end(&task, &member, end_us);
    }
    walk.done.sort_by(|a, b| (a.from_us, &a.task, &a.member).cmp(&(b.from_us, &b.task, &b.member)));
    walk.done
}

#[derive(Default)]
struct Walk {
    open: BTreeMap<(String, String), (Role, i64)>,
    done: Vec<Span>,
}

impl Walk {
    fn step(&mut self, at_us: i64, what: &What) {
        match what {
            What::LearnerStarted { task, member, .. } => self.begin(task, member, Role::Learning, at_us),
            What::LearnerReady { task, member, .. } => self.begin(task, member, Role::Ready, at_us),
            What::TaskFenced { task, member, .. } => self.begin(task, member, Role::Restoring, at_us),
            What::TaskPolled { task, member, .. } => self.begin(task, member, Role::Active, at_us),
            What::StandbyStarted { task, member } => self.begin(task, member, Role::Standby, at_us),
            What::TaskStopped { task, member, .. }
            | What::LearnerDropped { task, member, .. }
            | What::StandbyEnded { task, member } => {
                self.end(task, member, at_us);
            }
            What::MemberGone { member, .. } => {
                let of_member: Vec<String> =
                    self.open.keys().filter(|(_, of)| of == member).map(|(task, _)| task.clone()).collect();
                for task in of_member {
                    self.end(&task, member, at_us);
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, task: &str, member: &str, role: Role, at_us: i64) {
        let key = (task.to_owned(), member.to_owned());
        if self.open.get(&key).is_some_and(|(open, _)| *open == role) {
            return;
        }
        self.end(task, member, at_us);
        self.open.insert(key, (role, at_us));
    }

    fn end(&mut self, task: &str, member: &str, at_us: i64) {
        if let Some((role, from_us)) = self.open.remove(&(task.to_owned(), member.to_owned()))
            && at_us > from_us
        {
            self.done.push(Span {
                task: task.to_owned(),
                member: member.to_owned(),
                role,
                from_us,
                to_us: at_us,
            });
        }
    }
}
