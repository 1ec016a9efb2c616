//! What an engine is doing right now, in cells that its threads update and a progress display reads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use assignor::{InstanceId, MemberId, TaskId};
use parking_lot::Mutex;

use crate::error::Error;
use crate::event::GroupEvent;
use crate::position::{Epoch, Generation};

/// One task's live figures.
#[derive(Debug, Default)]
struct Cell {
    /// Source offset reached by the newest epoch.
    position: AtomicU64,
    /// The epoch that is being polled now; 0 while nobody polls.
    polled_epoch: AtomicU64,
    /// Who polled it last.
    owner: Mutex<Option<(MemberId, InstanceId)>>,
}

/// The group as the newest completed generation left it.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupState {
    /// The newest completed generation.
    pub(crate) generation: Generation,
    /// Its plan is balanced and quiet, and no rebalance has begun since.
    pub(crate) balanced: bool,
}

/// The live figures of one engine.
#[derive(Debug)]
pub(crate) struct Board {
    cells: BTreeMap<TaskId, Cell>,
    served: AtomicU64,
    group: Mutex<GroupState>,
    failure: Mutex<Option<Error>>,
    failed: AtomicBool,
}

impl Board {
    /// A board for these tasks, all of them idle.
    pub(crate) fn new(tasks: impl IntoIterator<Item = TaskId>) -> Self {
        Self {
            cells: tasks.into_iter().map(|task| (task, Cell::default())).collect(),
            served: AtomicU64::new(0),
            group: Mutex::default(),
            failure: Mutex::new(None),
            failed: AtomicBool::new(false),
        }
    }

    /// The task is polled from now on, from this source offset, under this epoch.
    pub(crate) fn polled(&self, task: &TaskId, epoch: Epoch, position: u64, owner: (MemberId, InstanceId)) {
        if let Some(cell) = self.cells.get(task) {
            *cell.owner.lock() = Some(owner);
            cell.position.store(position, Ordering::Relaxed);
            cell.polled_epoch.store(epoch.0, Ordering::Release);
        }
    }

    /// A turn of the task served records and reached a source offset.
    pub(crate) fn served(&self, task: &TaskId, records: u64, position: u64) {
        if let Some(cell) = self.cells.get(task) {
            cell.position.store(position, Ordering::Relaxed);
        }
        self.served.fetch_add(records, Ordering::Relaxed);
    }

    /// Nobody polls the task under this epoch any more. Says whether anybody did: a fenced owner that stops late
    /// changes nothing.
    pub(crate) fn stopped(&self, task: &TaskId, epoch: Epoch) -> bool {
        self.cells.get(task).is_some_and(|cell| {
            cell.polled_epoch.compare_exchange(epoch.0, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// Stops every task that this member polls, and names them: what a crash takes with it.
    pub(crate) fn lose(&self, member: &MemberId) -> Vec<TaskId> {
        let lost = |cell: &Cell| {
            cell.owner.lock().as_ref().is_some_and(|(owner, _)| owner == member)
                && cell.polled_epoch.swap(0, Ordering::AcqRel) != 0
        };
        self.cells.iter().filter(|(_, cell)| lost(cell)).map(|(task, _)| task.clone()).collect()
    }

    /// Who polled the task last.
    pub(crate) fn owner(&self, task: &TaskId) -> Option<(MemberId, InstanceId)> {
        self.cells.get(task).and_then(|cell| cell.owner.lock().clone())
    }

    /// Tasks that are being polled now.
    pub(crate) fn running(&self) -> usize {
        self.cells.values().filter(|cell| cell.polled_epoch.load(Ordering::Acquire) != 0).count()
    }

    /// Source offset that each task has reached.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (&TaskId, u64)> {
        self.cells.iter().map(|(task, cell)| (task, cell.position.load(Ordering::Relaxed)))
    }

    /// Records served in all.
    pub(crate) fn served_total(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// Follows the coordinator.
    pub(crate) fn group_event(&self, event: &GroupEvent) {
        let mut group = self.group.lock();
        match event {
            GroupEvent::RebalanceStarted { .. } => group.balanced = false,
            GroupEvent::Completed { generation, balanced, .. } => {
                *group = GroupState { generation: *generation, balanced: *balanced };
            }
            _ => {}
        }
    }

    /// The group as the coordinator last left it.
    pub(crate) fn group(&self) -> GroupState {
        self.group.lock().clone()
    }

    /// Poisons the run: the first failure is kept, and every thread stops.
    pub(crate) fn fail(&self, error: Error) {
        self.failure.lock().get_or_insert(error);
        self.failed.store(true, Ordering::Release);
    }

    /// Whether the run is poisoned.
    pub(crate) fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Takes the failure out, to be reported.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().take()
    }
}
