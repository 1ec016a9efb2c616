//! Task copies with faults: what a database does on a bad day, on demand.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use assignor::TaskId;
use parking_lot::Mutex;

use super::{Checkpoint, Part, PartWriter, ReadState, Store, StoreDirectory, Updates};
use crate::error::StoreError;

/// One thing that goes wrong, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// Opening finds the copy damaged.
    DamagedOpen,
    /// Opening finds that somebody else has the copy open.
    HeldOpen,
    /// A write or ingest finds the copy damaged.
    DamagedWrite,
    /// A write or ingest finds the disk full.
    DiskFull,
    /// A read finds the copy damaged.
    DamagedRead,
}

type Plan = Arc<Mutex<VecDeque<StoreFault>>>;

/// Wraps a directory; faults are consumed in the order in which they were planned, each by the first call that it
/// fits.
#[derive(Clone, Debug)]
pub struct FaultyStores {
    inner: Arc<dyn StoreDirectory>,
    plan: Plan,
}

impl FaultyStores {
    /// Copies that behave, until faults are planned.
    #[must_use]
    pub fn new(inner: Arc<dyn StoreDirectory>) -> Self {
        Self { inner, plan: Arc::default() }
    }

    /// Plans faults after those already planned.
    pub fn plan(&self, faults: impl IntoIterator<Item = StoreFault>) {
        self.plan.lock().extend(faults);
    }

    /// Faults that have not happened yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.plan.lock().len()
    }
}

/// Takes the next fault if it is one of these, as the error that it makes at `path`.
fn strike(plan: &Plan, fits: &[StoreFault], path: PathBuf) -> Result<(), StoreError> {
    let fault = plan.lock().pop_front_if(|fault| fits.contains(fault));
    match fault {
        None => Ok(()),
        Some(StoreFault::DiskFull) => Err(StoreError::Io { path, source: ErrorKind::StorageFull.into() }),
        Some(StoreFault::HeldOpen) => Err(StoreError::Held { path }),
        Some(StoreFault::DamagedOpen | StoreFault::DamagedWrite | StoreFault::DamagedRead) => {
            Err(StoreError::Damaged { path, what: "a planned fault".to_owned() })
        }
    }
}

impl StoreDirectory for FaultyStores {
    fn open(&self, task: &TaskId) -> Result<Box<dyn Store>, StoreError> {
        strike(&self.plan, &[StoreFault::DamagedOpen, StoreFault::HeldOpen], task.as_str().into())?;
        Ok(Box::new(FaultyStore { inner: self.inner.open(task)?, plan: Arc::clone(&self.plan) }))
    }

    fn discard(&self, task: &TaskId) -> Result<(), StoreError> {
        self.inner.discard(task)
    }

    fn tasks(&self) -> Result<Vec<TaskId>, StoreError> {
        self.inner.tasks()
    }
}

#[derive(Debug)]
struct FaultyStore {
    inner: Box<dyn Store>,
    plan: Plan,
}

const WRITES: [StoreFault; 2] = [StoreFault::DamagedWrite, StoreFault::DiskFull];

impl ReadState for FaultyStore {
    fn get_many(
        &self,
        keys: &[&[u8]],
        visit: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<(), StoreError> {
        strike(&self.plan, &[StoreFault::DamagedRead], self.location())?;
        self.inner.get_many(keys, visit)
    }

    fn location(&self) -> PathBuf {
        self.inner.location()
    }
}

impl Store for FaultyStore {
    fn checkpoint(&self) -> Checkpoint {
        self.inner.checkpoint()
    }

    fn write(&mut self, updates: &mut Updates<'_>, to: Checkpoint) -> Result<(), StoreError> {
        strike(&self.plan, &WRITES, self.location())?;
        self.inner.write(updates, to)
    }

    fn is_in_memory(&self) -> bool {
        self.inner.is_in_memory()
    }

    fn part_writer(&self) -> Arc<dyn PartWriter> {
        self.inner.part_writer()
    }

    fn ingest(&mut self, parts: Vec<Part>, to: Checkpoint) -> Result<(), StoreError> {
        strike(&self.plan, &WRITES, self.location())?;
        self.inner.ingest(parts, to)
    }

    fn scan(&self, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        strike(&self.plan, &[StoreFault::DamagedRead], self.location())?;
        self.inner.scan(visit)
    }

    fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }

    fn settle(&self, whole: bool) -> Result<(), StoreError> {
        self.inner.settle(whole)
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.close()
    }
}
