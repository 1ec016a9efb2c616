//! An instance: the copies of tasks that its members share, its disk, and its restorer.

use std::collections::BTreeMap;
use std::sync::Arc;

use assignor::{Copy, MemberId, TaskId};

use super::planted::SeamFault;
use super::witness::Witness;
use crate::error::Error;
use crate::group::message::Inventory;
use crate::log::{Fenced, TaskLog};
use crate::position::Claim;
use crate::restore::{Replay, ReplayOptions};
use crate::store::{MemStores, Store, StoreDirectory};
use crate::task::open_copy;

/// What a copy is meant to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// At hand, but nobody replays or runs it.
    Parked,
    Learner,
    Standby,
    /// Replays to the fenced end.
    Restoring(Fenced),
    /// Has reached the fenced end.
    Restored(Fenced),
    /// Its worker has it.
    Running,
}

/// One task's copy that is open, or is going to be.
#[derive(Debug)]
struct Slot {
    /// What each member says it is to be, by its newest answer: the newest of all counts. Nobody says anything of a copy
    /// that is to be closed as soon as its worker gives it back.
    says: BTreeMap<MemberId, (Claim, Role)>,
    /// The copy, unless it has not been opened or is with a worker.
    replay: Option<Replay>,
    /// The worker that has it.
    out: Option<MemberId>,
}

impl Slot {
    /// What it is to be, and who says so.
    fn role(&self) -> Option<(&MemberId, Role)> {
        let newest = self.says.iter().max_by_key(|(_, (claim, _))| *claim);
        newest.map(|(member, (_, role))| (member, *role))
    }
}

/// An instance.
#[derive(Debug)]
pub(super) struct Node {
    disk: MemStores,
    logs: Witness,
    slots: BTreeMap<TaskId, Slot>,
    fault: Option<SeamFault>,
}

/// What a piece of replay came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// There was nothing to do.
    Idle,
    /// A learner or standby got on.
    Followed(MemberId),
    /// A task that is being taken over got on.
    Restoring,
    /// A task has reached its fenced end.
    Restored(MemberId, TaskId),
}

/// Small, so that a replay takes several pieces and is met in any state.
const PIECE_BYTES: u64 = 700;

impl Node {
    pub(super) fn new(logs: Witness, fault: Option<SeamFault>) -> Self {
        Self { disk: MemStores::default(), logs, slots: BTreeMap::new(), fault }
    }

    /// Gives a copy a role at a member; the restorer opens it if it is not open.
    pub(super) fn assign(&mut self, member: &MemberId, task: &TaskId, claim: Claim, role: Role) {
        let nothing = || Slot { says: BTreeMap::new(), replay: None, out: None };
        let slot = self.slots.entry(task.clone()).or_insert_with(nothing);
        slot.says.insert(member.clone(), (claim, role));
    }

    /// Closes a member's copy, flushed, unless others of its instance want it.
    pub(super) fn close(&mut self, member: &MemberId, task: &TaskId) -> Result<(), Error> {
        if let Some(slot) = self.slots.get_mut(task) {
            slot.says.remove(member);
        }
        self.close_unwanted(task)
    }

    fn close_unwanted(&mut self, task: &TaskId) -> Result<(), Error> {
        if self.slots.get(task).is_some_and(|slot| slot.says.is_empty() && slot.out.is_none())
            && let Some(replay) = self.slots.remove(task).and_then(|slot| slot.replay)
        {
            replay.into_store().close()?;
        }
        Ok(())
    }

    /// A worker takes a copy that has reached its fenced end.
    pub(super) fn take(&mut self, member: &MemberId, task: &TaskId, fenced: Fenced) -> Option<Replay> {
        let slot = self.slots.get_mut(task)?;
        let (_, role) = slot.says.get_mut(member).filter(|(_, role)| *role == Role::Restored(fenced))?;
        let replay = slot.replay.take()?;
        slot.out = Some(member.clone());
        *role = Role::Running;
        Some(replay)
    }

    /// A worker gives a copy back.
    pub(super) fn park(
        &mut self,
        member: &MemberId,
        task: &TaskId,
        store: Box<dyn Store>,
    ) -> Result<(), Error> {
        let log = self.logs.of(task);
        let Some(slot) = self.slots.get_mut(task) else { return Ok(()) };
        slot.out = None;
        slot.replay = Some(Replay::new(log, store, ReplayOptions::default()));
        if let Some((_, role)) = slot.says.get_mut(member).filter(|(_, role)| *role == Role::Running) {
            *role = Role::Parked;
        }
        self.close_unwanted(task)
    }

    /// A worker no longer waits for a copy.
    pub(super) fn unwait(&mut self, member: &MemberId, task: &TaskId) {
        if let Some((_, role)) = self.slots.get_mut(task).and_then(|slot| slot.says.get_mut(member)) {
            *role = Role::Parked;
        }
    }

    /// A member's thread is gone: what it had open is lost, unflushed.
    pub(super) fn lose(&mut self, member: &MemberId) {
        for slot in self.slots.values_mut() {
            slot.out.take_if(|out| out == member);
            slot.says.remove(member);
        }
        self.slots.retain(|_, slot| !slot.says.is_empty() || slot.out.is_some());
    }

    /// The process is gone: everything open is lost, the disk stays.
    pub(super) fn lose_all(&mut self) {
        self.slots.clear();
    }

    /// One piece of replay: tasks that are being taken over first, then learners, then standbys.
    pub(super) fn restore(&mut self) -> Result<Piece, Error> {
        let rank = |slot: &Slot| match slot.role() {
            Some((_, Role::Restoring(_))) => 0,
            Some((_, Role::Learner)) => 1,
            _ => 2,
        };
        let logs = &self.logs;
        let works = |(task, slot): &(&TaskId, &mut Slot)| {
            let behind = |replay: &Replay| replay.checkpoint().offset < logs.of(task).end();
            slot.out.is_none()
                && match slot.role() {
                    Some((_, Role::Restoring(_))) => true,
                    Some((_, Role::Learner | Role::Standby)) => slot.replay.as_ref().is_none_or(behind),
                    _ => false,
                }
        };
        let next = self.slots.iter_mut().filter(works).min_by_key(|(_, slot)| rank(slot));
        let Some((task, slot)) = next else { return Ok(Piece::Idle) };
        let Some((member, role)) = slot.role().map(|(member, role)| (member.clone(), role)) else {
            return Ok(Piece::Idle);
        };
        let mut replay = match slot.replay.take() {
            Some(replay) => replay,
            None => open(&self.disk, &logs.of(task), task, self.fault)?,
        };
        if let Role::Restoring(fenced) = role {
            if replay.checkpoint().offset < fenced.end {
                replay.step(PIECE_BYTES)?;
            }
            let done = replay.checkpoint().offset >= fenced.end;
            slot.replay = Some(replay);
            if let Some((_, role)) = slot.says.get_mut(&member).filter(|_| done) {
                *role = Role::Restored(fenced);
                return Ok(Piece::Restored(member, task.clone()));
            }
            return Ok(Piece::Restoring);
        }
        replay.step(PIECE_BYTES)?;
        slot.replay = Some(replay);
        Ok(Piece::Followed(member))
    }

    /// The copy of a task, for the final audit.
    pub(super) fn stored_copy(&self, task: &TaskId) -> Result<Box<dyn Store>, Error> {
        Ok(self.disk.open(task)?)
    }
}

/// Opens a copy for replay. (The planted fault trusts whatever lies on the disk.)
fn open(
    disk: &MemStores,
    log: &Arc<dyn TaskLog>,
    task: &TaskId,
    fault: Option<SeamFault>,
) -> Result<Replay, Error> {
    let store = if fault == Some(SeamFault::CopyAheadKept) {
        disk.open(task)?
    } else {
        open_copy(disk, &**log, task)?.store
    };
    Ok(Replay::new(log.clone(), store, ReplayOptions::default()))
}

impl Inventory for Node {
    fn lag(&self, task: &TaskId) -> Option<u64> {
        let slot = self.slots.get(task)?;
        let end = self.logs.of(task).end();
        match &slot.replay {
            Some(replay) => Some(end.since(replay.checkpoint().offset)),
            None if slot.out.is_some() => Some(0),
            None => Some(end.0),
        }
    }

    fn stored(&self) -> Vec<Copy> {
        let tasks = self.disk.tasks().unwrap_or_default();
        let closed = tasks.into_iter().filter(|task| !self.slots.contains_key(task));
        let copy = |task: TaskId| {
            let log = self.logs.of(&task);
            let at = self.disk.open(&task).ok()?.checkpoint();
            let is_prefix = log.epoch_at(at.offset) == Some(at.epoch);
            is_prefix.then(|| Copy { lag: log.end().since(at.offset), task })
        };
        closed.filter_map(copy).collect()
    }

    fn state_bytes(&self, task: &TaskId) -> Option<u64> {
        Some(self.logs.of(task).bytes_from(crate::position::Offset(0)))
    }

    fn instance_ready(&self, acceptable_lag: u64) -> bool {
        let learns = |slot: &Slot| slot.role().is_some_and(|(_, role)| role == Role::Learner);
        let learners = self.slots.iter().filter(|(_, slot)| learns(slot));
        learners.into_iter().all(|(task, _)| self.lag(task).is_some_and(|lag| lag <= acceptable_lag))
    }
}
