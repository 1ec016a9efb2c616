//! What one member has: active tasks, tasks given up, learners, standbys; and how an answer changes that.

use std::collections::{BTreeMap, BTreeSet};

use assignor::{Assignment, Copy, Learner, Revocation, TaskId};

use crate::event::Stop;
use crate::group::message::{Claims, Inventory, MemberEffect};
use crate::position::Claim;

/// A learner, as its member sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Its lag has once been acceptable. It stays so: a task whose load is high would never change hands otherwise.
    ready: bool,
    /// The group has been told.
    told: bool,
}

/// Everything a member has.
#[derive(Clone, Debug, Default)]
pub(super) struct Holdings {
    /// The generation in which it was given its tasks.
    pub(super) claim: Claim,
    /// Running, or still restoring.
    active: BTreeSet<TaskId>,
    /// Given up since the last answer; the copies are at hand.
    given_up: BTreeSet<TaskId>,
    /// Those of `given_up` that may still be running.
    stopping: BTreeSet<TaskId>,
    /// What the last answer asked back.
    asked_back: BTreeSet<TaskId>,
    /// What others learn, as the last answer had it.
    being_learned: BTreeSet<TaskId>,
    learners: BTreeMap<TaskId, Progress>,
    standbys: BTreeSet<TaskId>,
    /// Those of `learners` and `standbys` that are followed as soon as their tasks have stopped running here.
    to_follow: BTreeSet<TaskId>,
}

impl Holdings {
    /// Whether it has nothing at all: nobody counts on it.
    pub(super) fn is_empty(&self) -> bool {
        let owned = self.active.len() + self.given_up.len();
        owned + self.learners.len() + self.standbys.len() == 0
    }

    /// Whether a task that was given up may still be running.
    pub(super) fn is_stopping(&self) -> bool {
        !self.stopping.is_empty()
    }

    /// Active tasks.
    pub(super) fn active(&self) -> impl Iterator<Item = &TaskId> {
        self.active.iter()
    }

    /// Gives up what the conduct says at a join, and always what the last answer asked back.
    pub(super) fn revoke(&mut self, rule: Revocation, ready: &[TaskId], out: &mut Vec<MemberEffect>) {
        let by_rule = |task: &TaskId| match rule {
            Revocation::Everything => true,
            Revocation::BeingLearned => self.being_learned.contains(task),
            Revocation::WhenReady => ready.contains(task),
            Revocation::OnRequest => false,
        };
        let goes = |task: &&TaskId| by_rule(task) || self.asked_back.contains(*task);
        let tasks: Vec<TaskId> = self.active.iter().filter(goes).cloned().collect();
        self.stop(tasks, Stop::GivenUp, out);
    }

    /// Stops everything that is active.
    pub(super) fn stop_all(&mut self, why: Stop, out: &mut Vec<MemberEffect>) {
        let tasks = self.active.iter().cloned().collect();
        self.stop(tasks, why, out);
    }

    fn stop(&mut self, tasks: Vec<TaskId>, why: Stop, out: &mut Vec<MemberEffect>) {
        if tasks.is_empty() {
            return;
        }
        for task in &tasks {
            self.active.remove(task);
            self.given_up.insert(task.clone());
            self.stopping.insert(task.clone());
        }
        out.push(MemberEffect::Stop { tasks, why });
    }

    /// The driver has stopped these.
    pub(super) fn stopped(&mut self, tasks: &[TaskId], out: &mut Vec<MemberEffect>) {
        for task in tasks {
            self.stopping.remove(task);
            self.follow(task, out);
        }
    }

    /// The worker has stopped a task that somebody else owns. False if the member did not have it anyway.
    pub(super) fn fenced(&mut self, task: &TaskId, out: &mut Vec<MemberEffect>) -> bool {
        self.stopping.remove(task);
        let had = self.active.remove(task);
        let had_given_up = self.given_up.remove(task);
        if !self.follow(task, out) && (had || had_given_up) {
            out.push(MemberEffect::Close { task: task.clone(), dropped_learner: false });
        }
        had
    }

    /// Has a copy followed that could not be while its task was still running here. False if it is not to be.
    fn follow(&mut self, task: &TaskId, out: &mut Vec<MemberEffect>) -> bool {
        if self.to_follow.remove(task) {
            let task = task.clone();
            let learns = self.learners.contains_key(&task);
            out.push(if learns { MemberEffect::Learn { task } } else { MemberEffect::StandBy { task } });
            return true;
        }
        self.learners.contains_key(task) || self.standbys.contains(task)
    }

    /// Closes every copy. Nothing may be running.
    pub(super) fn close_all(&mut self, out: &mut Vec<MemberEffect>) {
        let held = std::mem::take(self);
        for task in held.given_up.into_iter().chain(held.active).chain(held.standbys) {
            out.push(MemberEffect::Close { task, dropped_learner: false });
        }
        for task in held.learners.into_keys() {
            out.push(MemberEffect::Close { task, dropped_learner: true });
        }
    }

    /// Brings what it has in line with an answer: stops, closes, runs, learns, stands by.
    pub(super) fn settle(&mut self, claim: Claim, assignment: &Assignment, out: &mut Vec<MemberEffect>) {
        let active: BTreeSet<_> = assignment.active.iter().cloned().collect();
        let learning: BTreeSet<_> = assignment.learning.iter().cloned().collect();
        let standby: BTreeSet<_> = assignment.standby.iter().cloned().collect();
        let is_kept =
            |task: &TaskId| active.contains(task) || learning.contains(task) || standby.contains(task);
        self.claim = claim;

        let given_up = std::mem::take(&mut self.given_up);
        let learners = std::mem::take(&mut self.learners);
        let standbys = std::mem::take(&mut self.standbys);
        for task in given_up.iter().chain(&standbys).filter(|t| !is_kept(t)) {
            out.push(MemberEffect::Close { task: task.clone(), dropped_learner: false });
        }
        for task in learners.keys().filter(|t| !is_kept(t)) {
            out.push(MemberEffect::Close { task: task.clone(), dropped_learner: true });
        }
        // An answer may take back what was never given up (two members claimed it): stopped now, named as given up
        // at the next join, closed by the next answer.
        let taken: Vec<TaskId> = self.active.difference(&active).cloned().collect();
        self.stop(taken, Stop::GivenUp, out);

        for task in active {
            if self.active.insert(task.clone()) {
                out.push(MemberEffect::Run { task, claim });
            }
        }
        let followed = std::mem::take(&mut self.to_follow);
        for task in learning {
            let progress = learners.get(&task).copied();
            self.learners.insert(task.clone(), progress.unwrap_or_default());
            if progress.is_none() || followed.contains(&task) {
                self.to_follow.insert(task);
            }
        }
        for task in standby {
            if !standbys.contains(&task) || followed.contains(&task) {
                self.to_follow.insert(task.clone());
            }
            self.standbys.insert(task);
        }
        // A task that is still being stopped would take its copy out of the followers' hands again.
        let now: Vec<TaskId> = self.to_follow.difference(&self.stopping).cloned().collect();
        for task in now {
            self.follow(&task, out);
        }
        self.asked_back = assignment.give_up.iter().cloned().collect();
        self.being_learned = assignment.being_learned.iter().cloned().collect();
    }

    /// Notes which learners have caught up.
    pub(super) fn look(&mut self, acceptable: u64, inventory: &dyn Inventory, out: &mut Vec<MemberEffect>) {
        let (learners, to_follow) = (&mut self.learners, &self.to_follow);
        for (task, progress) in learners.iter_mut().filter(|(task, p)| !p.ready && !to_follow.contains(*task))
        {
            let Some(lag) = inventory.lag(task).filter(|lag| *lag <= acceptable) else { continue };
            progress.ready = true;
            out.push(MemberEffect::Ready { task: task.clone(), lag });
        }
    }

    /// Whether a learner has caught up of which the group does not know.
    pub(super) fn has_news(&self) -> bool {
        self.learners.values().any(|p| p.ready && !p.told)
    }

    /// Whether a learner has caught up and was told of, and still is a learner.
    pub(super) fn waits_for_promotion(&self) -> bool {
        self.learners.values().any(|p| p.ready && p.told)
    }

    /// What to say at a join. The group knows from then on which learners are ready.
    pub(super) fn claims(&mut self, inventory: &dyn Inventory) -> Claims {
        let lag = |task: &TaskId| inventory.lag(task).unwrap_or(u64::MAX);
        let owned = self.active.iter().chain(&self.given_up);
        let sized = owned.filter_map(|t| Some((t.clone(), inventory.state_bytes(t)?)));
        let state_bytes = sized.collect();
        // What was taken from it and is to be followed here is no more than that now.
        let follows = |task: &TaskId| self.learners.contains_key(task) || self.standbys.contains(task);
        let given_up: Vec<TaskId> = self.given_up.iter().filter(|task| !follows(task)).cloned().collect();
        let learners = self.learners.iter_mut().map(|(task, progress)| {
            progress.told = progress.ready;
            Learner { task: task.clone(), lag: lag(task), ready: progress.ready }
        });
        let learners = learners.collect();
        Claims {
            claim: self.claim,
            active: self.active.iter().cloned().collect(),
            revoked: given_up,
            learners,
            standbys: self.standbys.iter().map(|t| Copy { task: t.clone(), lag: lag(t) }).collect(),
            stored: inventory.stored(),
            state_bytes,
        }
    }
}
