//! A story as data, and the views that its lists stand for.

use std::collections::BTreeMap;

use super::error::{TraceError, TraceFault};
use super::read::Seat;
use super::twice::{Kind, put_twice};
use crate::ids::{InstanceId, MemberId, TaskId};
use crate::learner::Learner as LearnerStrategy;
use crate::plan::FollowUp;
use crate::settle::Event;
use crate::view::{Copy, GroupView, Learner, MemberView, StoredView, Task};

/// A scaling story: a group, and what happens to it round by round.
#[derive(Clone, Debug)]
pub struct Story {
    /// The file it came from, as it was named.
    pub file: String,
    /// Its title.
    pub title: String,
    /// Every task, in the order of the file.
    pub tasks: Vec<Task>,
    /// Instance and capacity of the members that `members:` names.
    pub members: BTreeMap<MemberId, (InstanceId, u32)>,
    /// The `learner` strategy with the file's options.
    pub strategy: LearnerStrategy,
    /// The group before the story starts.
    pub stable: Vec<Line>,
    /// What happens.
    pub rounds: Vec<Round>,
}

/// One rebalance of a story.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// The line that opens it.
    pub line: usize,
    /// Why the group rebalances.
    pub why: String,
    /// What each member says.
    pub join: Vec<Line>,
    /// What the leader must answer.
    pub assign: Vec<Line>,
    /// When the group must rebalance again, if the story says so.
    pub follow_up: Option<FollowUp>,
    /// The members that must stop by themselves.
    pub shutdown: Vec<MemberId>,
    /// Whether the group must be balanced and at rest.
    pub balanced: bool,
}

/// One member's line. Lists are sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its place in the file.
    pub line: usize,
    /// The member.
    pub member: MemberId,
    /// Active tasks.
    pub assigned: Vec<TaskId>,
    /// Tasks given up at this join.
    pub revoked: Vec<TaskId>,
    /// Tasks it learns.
    pub learning: Vec<TaskId>,
    /// Tasks it stands by for.
    pub standby: Vec<TaskId>,
    /// Tasks that the leader asks back.
    pub give_up: Vec<TaskId>,
    /// Learners that have caught up.
    pub ready: Vec<TaskId>,
    /// Lag of its copies, in records.
    pub lag: BTreeMap<TaskId, u64>,
    /// Copies on disk, with their lag.
    pub stored: BTreeMap<TaskId, u64>,
    /// It says that it is leaving.
    pub leaving: bool,
    /// A static member that is not there just now.
    pub away: bool,
}

impl Line {
    pub(super) fn new(line: usize, member: MemberId) -> Self {
        Self {
            line,
            member,
            assigned: Vec::new(),
            revoked: Vec::new(),
            learning: Vec::new(),
            standby: Vec::new(),
            give_up: Vec::new(),
            ready: Vec::new(),
            lag: BTreeMap::new(),
            stored: BTreeMap::new(),
            leaving: false,
            away: false,
        }
    }
}

impl Story {
    /// The group before the story starts, for strategies to be asked what they would do with it.
    #[must_use]
    pub fn stable_view(&self) -> GroupView {
        self.view(&self.stable)
    }

    /// Checks that `stable:` is a group by itself, for a file of which nothing else is used.
    ///
    /// # Errors
    ///
    /// [`TraceError`] if it puts a task twice.
    pub fn check_stable(&self) -> Result<(), TraceError> {
        match put_twice(&self.stable, Kind::Joins, None) {
            Some((line, task)) => Err(self.error(line, TraceFault::TaskTwice(task))),
            None => Ok(()),
        }
    }

    /// The last line that the story before its rounds has.
    pub(super) fn last_line(&self) -> usize {
        self.stable.iter().map(|line| line.line).max().unwrap_or(1)
    }

    pub(super) fn error(&self, line: usize, fault: TraceFault) -> TraceError {
        TraceError { file: self.file.clone(), line, fault: Box::new(fault) }
    }

    /// The view that these joins stand for. A learner whose lag the file does not give lags 0 if it is ready and
    /// without bound if not; a standby without one lags 0.
    #[must_use]
    pub fn view(&self, joins: &[Line]) -> GroupView {
        let mut stored: BTreeMap<InstanceId, Vec<Copy>> = BTreeMap::new();
        let mut members = Vec::with_capacity(joins.len());
        for line in joins {
            let (instance, capacity) = self.seat(&line.member);
            if !line.stored.is_empty() {
                let copies = line.stored.iter().map(|(task, &lag)| Copy { task: task.clone(), lag });
                stored.entry(instance.clone()).or_default().extend(copies);
            }
            let mut member = MemberView::new(line.member.clone(), instance);
            member.capacity = capacity;
            member.leaving = line.leaving;
            member.away = line.away;
            member.active.clone_from(&line.assigned);
            member.revoked.clone_from(&line.revoked);
            member.learners = line.learning.iter().map(|task| line.learner(task)).collect();
            member.standbys = line
                .standby
                .iter()
                .map(|task| Copy { task: task.clone(), lag: line.lag.get(task).copied().unwrap_or(0) })
                .collect();
            members.push(member);
        }
        let stored = stored.into_iter().map(|(instance, copies)| StoredView { instance, copies }).collect();
        GroupView { tasks: self.tasks.clone(), members, stored }
    }

    /// A member that joins the story's group, from a text such as `S11`, `S11@I3` or `S11@I3*2`; `members:` tells what
    /// the text leaves out.
    ///
    /// # Errors
    ///
    /// [`TraceFault`] for a text that names no member, or a capacity that is no number of at least 1.
    ///
    /// ```
    /// use assignor::settle::Event;
    /// use assignor::trace::Story;
    /// let story = Story::read("one.trace", "tasks: T1\nmembers: S2@I7\nstable:\nS1(assigned: [T1], revoked: [], learning: [])")?;
    /// let join = |member: &str, instance: &str, capacity| Event::Join { member: member.into(), instance: instance.into(), capacity };
    /// assert_eq!(story.joining("S2"), Ok(join("S2", "I7", 1)));
    /// assert_eq!(story.joining("S3@I7*2"), Ok(join("S3", "I7", 2)));
    /// assert!(story.joining("S2,S3").is_err(), "that would be one member of an odd name");
    /// # Ok::<(), assignor::trace::TraceError>(())
    /// ```
    pub fn joining(&self, text: &str) -> Result<Event, TraceFault> {
        let told = Seat::read(text)?;
        let member = MemberId::from(told.member);
        let (instance, capacity) = self.seat(&member);
        let instance = told.instance.map_or(instance, InstanceId::from);
        Ok(Event::Join { member, instance, capacity: told.capacity.unwrap_or(capacity) })
    }

    /// Instance and capacity of a member: what `members:` says, or an instance of its own with capacity 1.
    #[must_use]
    pub fn seat(&self, member: &MemberId) -> (InstanceId, u32) {
        let alone = || (InstanceId::from(member.as_str()), 1);
        self.members.get(member).cloned().unwrap_or_else(alone)
    }
}

impl Line {
    fn learner(&self, task: &TaskId) -> Learner {
        let ready = self.ready.contains(task);
        let unknown = if ready { 0 } else { u64::MAX };
        Learner { task: task.clone(), lag: self.lag.get(task).copied().unwrap_or(unknown), ready }
    }
}
