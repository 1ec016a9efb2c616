//! The task copies of one instance: what each is meant to be, and the copy itself.
//!
//! The two are locked apart. A *role* is locked for a moment by whoever changes it; a *copy* is locked for as long
//! as a piece of replay takes. The restorer brings copies into line with their roles, a worker takes a copy out to
//! run its task; a copy is never in flight between threads, so that it is open at most once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use assignor::{Copy, MemberId, TaskId};
use crossbeam_channel::Sender;
use parking_lot::{Mutex, MutexGuard};

use crate::log::{Fenced, TaskLog};
use crate::position::Offset;
use crate::restore::Replay;

use super::worker::ToWorker;

/// A task that is being taken over and has too much to replay for its worker to do that between turns.
#[derive(Clone, Debug)]
pub(crate) struct Restoration {
    /// Who takes it over.
    pub(crate) member: MemberId,
    /// What its fence returned: the replay's end.
    pub(crate) fenced: Fenced,
    /// Where to say that the copy has reached the end.
    pub(crate) worker: Sender<ToWorker>,
}

/// What a copy is meant to be.
#[derive(Clone, Debug, Default)]
pub(crate) enum Role {
    /// Not open. It may lie on disk.
    #[default]
    Closed,
    /// Open and at hand, but nobody replays or runs it: given up, and perhaps coming straight back.
    Parked,
    /// Follows the changelog, to take over.
    Learner(MemberId),
    /// Follows the changelog for good.
    Standby,
    /// Replays to the fenced end.
    Restoring(Restoration),
    /// Has reached the fenced end; its worker has been told and will take it.
    Restored(Restoration),
    /// A worker has it, or is about to take it.
    Running,
}

/// One task's copy on this instance.
pub(crate) struct Slot {
    pub(crate) task: TaskId,
    pub(crate) log: Arc<dyn TaskLog>,
    role: Mutex<Role>,
    /// The copy, unless it is closed or with a worker.
    pub(crate) copy: Mutex<Option<Replay>>,
    /// Where the copy stands, readable while somebody works on it.
    restored: AtomicU64,
    /// How far it has read, which is further while a chunk is being gathered.
    read: AtomicU64,
    /// Whether there is a copy, open or on disk.
    exists: AtomicBool,
    /// Whether its instance has been told that this learner has caught up.
    ready_told: AtomicBool,
    /// Replayed into it since it got its role, for what a dropped learner has cost.
    replayed_records: AtomicU64,
    replayed_bytes: AtomicU64,
    /// Its lag when it got its role, for progress displays.
    initial_lag: AtomicU64,
}

impl Slot {
    fn new(task: TaskId, log: Arc<dyn TaskLog>) -> Self {
        Self {
            task,
            log,
            role: Mutex::default(),
            copy: Mutex::new(None),
            restored: AtomicU64::new(0),
            read: AtomicU64::new(0),
            exists: AtomicBool::new(false),
            ready_told: AtomicBool::new(false),
            replayed_records: AtomicU64::new(0),
            replayed_bytes: AtomicU64::new(0),
            initial_lag: AtomicU64::new(0),
        }
    }

    /// Changelog end minus restored offset, in records.
    pub(crate) fn lag(&self) -> u64 {
        self.log.end().since(Offset(self.restored.load(Ordering::Acquire)))
    }

    /// Records that it has not read yet, for progress displays.
    pub(crate) fn unread(&self) -> u64 {
        self.log.end().since(Offset(self.read.load(Ordering::Relaxed)))
    }

    /// Its lag when it got its role.
    pub(crate) fn initial_lag(&self) -> u64 {
        self.initial_lag.load(Ordering::Relaxed)
    }

    /// Records and bytes replayed since it got its role.
    pub(crate) fn replayed(&self) -> (u64, u64) {
        (self.replayed_records.load(Ordering::Relaxed), self.replayed_bytes.load(Ordering::Relaxed))
    }

    /// Notes a piece of replay.
    pub(crate) fn advanced(&self, to: Offset, read: Offset, records: u64, bytes: u64) {
        self.restored.store(to.0, Ordering::Release);
        self.read.store(read.0, Ordering::Relaxed);
        self.exists.store(true, Ordering::Release);
        self.replayed_records.fetch_add(records, Ordering::Relaxed);
        self.replayed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The copy is gone: discarded, or lost with its worker.
    pub(crate) fn lost(&self) {
        self.exists.store(false, Ordering::Release);
        self.restored.store(0, Ordering::Release);
    }

    /// Whether there is a copy, open or on disk.
    pub(crate) fn exists(&self) -> bool {
        self.exists.load(Ordering::Acquire)
    }

    /// Says once per role that the copy has caught up: true the first time.
    pub(crate) fn tell_ready(&self) -> bool {
        !self.ready_told.swap(true, Ordering::Relaxed)
    }

    /// What it is meant to be.
    pub(crate) fn role(&self) -> Role {
        self.role.lock().clone()
    }

    /// Gives it a new role.
    pub(crate) fn set_role(&self, role: Role) {
        let mut now = self.role.lock();
        if matches!(role, Role::Learner(_) | Role::Standby | Role::Restoring(_)) {
            self.replayed_records.store(0, Ordering::Relaxed);
            self.replayed_bytes.store(0, Ordering::Relaxed);
            self.initial_lag.store(self.lag(), Ordering::Relaxed);
            self.ready_told.store(false, Ordering::Relaxed);
        }
        *now = role;
    }

    /// Changes the role only if `expected` still holds; says whether it did.
    pub(crate) fn change_role(&self, expected: impl FnOnce(&Role) -> bool, role: Role) -> bool {
        let mut now = self.role.lock();
        let holds = expected(&now);
        if holds {
            *now = role;
        }
        holds
    }

    /// Parks a copy that its worker no longer runs but has not brought back yet. Until the worker puts it into the
    /// place that is returned, whoever wants it waits, and nobody opens it a second time.
    pub(crate) fn begin_parking(&self, at: Offset) -> MutexGuard<'_, Option<Replay>> {
        let place = self.copy.lock();
        self.restored.store(at.0, Ordering::Release);
        self.exists.store(true, Ordering::Release);
        *self.role.lock() = Role::Parked;
        place
    }

    /// Puts the copy into its place.
    pub(crate) fn end_parking(&self, place: &mut Option<Replay>, copy: Replay) {
        self.restored.store(copy.checkpoint().offset.0, Ordering::Release);
        *place = Some(copy);
    }
}

/// All copies of one instance: one slot per task of the application, for the instance's whole life.
pub(crate) struct Copies {
    slots: BTreeMap<TaskId, Arc<Slot>>,
}

impl Copies {
    /// Slots for all tasks, nothing open.
    pub(crate) fn new(logs: impl IntoIterator<Item = (TaskId, Arc<dyn TaskLog>)>) -> Self {
        Self {
            slots: logs
                .into_iter()
                .map(|(task, log)| (task.clone(), Arc::new(Slot::new(task, log))))
                .collect(),
        }
    }

    /// The task's slot.
    pub(crate) fn get(&self, task: &TaskId) -> Option<&Arc<Slot>> {
        self.slots.get(task)
    }

    /// Every slot, in task order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Slot>> {
        self.slots.values()
    }

    /// Drops what a crash has left open, unflushed, so that the directory can be opened again.
    pub(crate) fn drop_all(&self) {
        for slot in self.iter() {
            drop(slot.copy.lock().take());
        }
    }

    /// Copies that nobody runs or replays, with their lags.
    pub(crate) fn stored(&self) -> Vec<Copy> {
        self.iter()
            .filter(|slot| slot.exists.load(Ordering::Acquire))
            .filter(|slot| matches!(*slot.role.lock(), Role::Closed | Role::Parked))
            .map(|slot| Copy { task: slot.task.clone(), lag: slot.lag() })
            .collect()
    }
}
