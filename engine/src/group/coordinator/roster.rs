//! Who is in the group: one record a member, with what it was last known to have.

use std::collections::BTreeMap;

use assignor::{Assignment, Copy, InstanceId, Learner, MemberId, TaskId};

use crate::clock::Time;
use crate::group::message::{Claims, Join, Stamp};
use crate::position::{Claim, Generation};

/// How far a member is with the current generation's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sync {
    /// It is not part of the current generation.
    Outside,
    /// It has not asked for its assignment.
    Due,
    /// It has asked; the leader's plan is not there yet.
    Asked,
    /// Its assignment was sent.
    Answered,
}

/// One member.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) id: MemberId,
    /// Its last call.
    pub(super) stamp: Stamp,
    pub(super) instance: InstanceId,
    pub(super) static_id: Option<String>,
    pub(super) capacity: u32,
    pub(super) leaving: bool,
    /// Place in the order of joining: the lowest leads.
    pub(super) standing: u64,
    /// When it was last heard of.
    pub(super) heard: Time,
    /// What it said at its last join, or what it was given since.
    pub(super) claims: Claims,
    /// Its join counts for the generation being formed (or, while one is completed, for the next).
    pub(super) joined: bool,
    pub(super) sync: Sync,
    /// It is out if it has not asked for its assignment by then.
    pub(super) sync_by: Time,
    /// Its part of the current generation's plan.
    pub(super) assignment: Assignment,
    /// Its name in the view of the current generation: a static member may return under another one.
    pub(super) planned_as: MemberId,
    /// It is a static member's new process that has not been given its tasks back yet.
    pub(super) returned: bool,
}

impl Record {
    pub(super) fn new(id: MemberId, stamp: Stamp, join: Join, standing: u64, now: Time) -> Self {
        Self {
            planned_as: id.clone(),
            id,
            stamp,
            instance: join.instance,
            static_id: join.static_id,
            capacity: join.capacity,
            leaving: join.leaving,
            standing,
            heard: now,
            claims: join.claims,
            joined: true,
            sync: Sync::Outside,
            sync_by: Time::NEVER,
            assignment: Assignment::default(),
            returned: false,
        }
    }

    /// Another join of the same member: what it says now replaces what was known, except that a process that is
    /// still to be given its predecessor's tasks does not know of them.
    pub(super) fn rejoin(&mut self, stamp: Stamp, mut join: Join) {
        if self.returned {
            join.claims.claim = self.claims.claim;
            join.claims.revoked = std::mem::take(&mut self.claims.revoked);
        }
        self.stamp = stamp;
        self.instance = join.instance;
        self.capacity = join.capacity;
        self.leaving = join.leaving;
        self.claims = join.claims;
        self.joined = true;
        self.sync = Sync::Outside;
    }

    /// A static member is back as a new process: it takes this record over. Nobody runs its tasks, so they count as
    /// given up by their owner; what the old process was learning is a stored copy now. But one that has been given
    /// tasks already, by a former coordinator that knew it as the newer of the two, speaks for itself.
    pub(super) fn take_over(&mut self, id: MemberId, stamp: Stamp, join: Join) {
        self.returned = !join.has_claims();
        if self.returned {
            let held = &mut self.claims;
            held.revoked.append(&mut held.active);
            held.learners.clear();
            held.standbys.clear();
            held.stored = join.claims.stored;
            held.state_bytes = join.claims.state_bytes;
        } else {
            self.claims = join.claims;
        }
        self.id = id;
        self.stamp = stamp;
        self.instance = join.instance;
        self.capacity = join.capacity;
        self.leaving = join.leaving;
    }

    /// Notes what the current generation's plan gives the member, in case it cannot say so itself next time. What an
    /// answer takes from it that it had not given up stays its own until it has joined again: it may not have heard.
    pub(super) fn give(&mut self, claim: Claim, assignment: Assignment) {
        self.claims.claim = claim;
        self.claims.active.retain(|task| !assignment.active.contains(task));
        self.claims.active.extend_from_slice(&assignment.active);
        self.claims.revoked.clear();
        let follows = |task: &&TaskId| !self.claims.active.contains(task);
        let learners = assignment.learning.iter().filter(follows).map(|task| self.learner(task)).collect();
        let standbys = assignment.standby.iter().filter(follows).map(|task| self.standby(task)).collect();
        self.claims.learners = learners;
        self.claims.standbys = standbys;
        self.assignment = assignment;
    }

    fn learner(&self, task: &TaskId) -> Learner {
        let known = self.claims.learners.iter().find(|l| l.task == *task);
        known.cloned().unwrap_or_else(|| Learner { task: task.clone(), lag: u64::MAX, ready: false })
    }

    fn standby(&self, task: &TaskId) -> Copy {
        let known = self.claims.standbys.iter().find(|c| c.task == *task);
        known.cloned().unwrap_or_else(|| Copy { task: task.clone(), lag: u64::MAX })
    }

    /// Whether the group loses nothing with it: it said that it was leaving, and its answer left it nothing.
    pub(super) fn is_spent(&self) -> bool {
        let a = &self.assignment;
        self.leaving
            && self.sync == Sync::Answered
            && a.active.is_empty()
            && a.learning.is_empty()
            && a.standby.is_empty()
    }
}

/// What is remembered of a member that is out, so that messages on their way from it do no harm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departed {
    pub(super) stamp: Stamp,
    /// Another member has taken its static id.
    pub(super) fenced: bool,
}

/// All members, and those that were.
#[derive(Clone, Debug, Default)]
pub(super) struct Roster {
    records: BTreeMap<MemberId, Record>,
    departed: BTreeMap<MemberId, Departed>,
    joins: u64,
}

impl Roster {
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// How many members there are and were.
    pub(super) fn seen(&self) -> usize {
        self.records.len() + self.departed.len()
    }

    pub(super) fn get(&self, id: &MemberId) -> Option<&Record> {
        self.records.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &MemberId) -> Option<&mut Record> {
        self.records.get_mut(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Record> {
        self.records.values_mut()
    }

    /// The next place in the order of joining.
    pub(super) fn next_standing(&mut self) -> u64 {
        self.joins += 1;
        self.joins
    }

    pub(super) fn insert(&mut self, record: Record) {
        self.departed.remove(&record.id);
        self.records.insert(record.id.clone(), record);
    }

    /// Takes a member out, remembering its stamp.
    pub(super) fn remove(&mut self, id: &MemberId, fenced: bool) -> Option<Record> {
        let record = self.records.remove(id)?;
        self.departed.insert(id.clone(), Departed { stamp: record.stamp, fenced });
        Some(record)
    }

    /// Remembers a member that left without being here.
    pub(super) fn note_departed(&mut self, id: &MemberId, stamp: Stamp) {
        let departed = self.departed.entry(id.clone()).or_insert(Departed { stamp, fenced: false });
        departed.stamp = departed.stamp.max(stamp);
    }

    pub(super) fn departed(&self, id: &MemberId) -> Option<Departed> {
        self.departed.get(id).copied()
    }

    /// The member that has this static id.
    pub(super) fn holder(&self, static_id: &str) -> Option<MemberId> {
        self.iter().find(|r| r.static_id.as_deref() == Some(static_id)).map(|r| r.id.clone())
    }

    /// The longest-standing of the members whose joins are in.
    pub(super) fn leader(&self) -> Option<MemberId> {
        self.iter().filter(|r| r.joined).min_by_key(|r| r.standing).map(|r| r.id.clone())
    }

    /// Tasks whose learners are ready, as far as the group has been told.
    pub(super) fn ready(&self) -> Vec<TaskId> {
        let learners = self.iter().flat_map(|r| &r.claims.learners);
        let mut ready: Vec<TaskId> = learners.filter(|l| l.ready).map(|l| l.task.clone()).collect();
        ready.sort();
        ready.dedup();
        ready
    }

    /// By when the next member that has not asked for its assignment is out.
    pub(super) fn sync_by(&self) -> Time {
        let due = self.iter().filter(|r| r.sync == Sync::Due);
        due.map(|r| r.sync_by).min().unwrap_or(Time::NEVER)
    }

    /// Whether everybody of the current generation has been given its assignment.
    pub(super) fn all_answered(&self) -> bool {
        self.iter().all(|r| matches!(r.sync, Sync::Answered | Sync::Outside))
    }

    /// A generation as one number that grows over restarts of the coordinator.
    pub(super) fn rank(claim: Claim) -> u64 {
        (claim.incarnation.0 << 32) | (claim.generation.0 & u64::from(u32::MAX))
    }
}

/// The next generation.
pub(super) fn after(generation: Generation) -> Generation {
    Generation(generation.0 + 1)
}
