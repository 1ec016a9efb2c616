//! Logs that are watched: every fence and every append passes here, and so do the faults that are planted in logs.

use std::collections::BTreeMap;
use std::sync::Arc;

use assignor::{MemberId, TaskId};
use parking_lot::Mutex;

use super::checkers::{Check, Violation};
use super::planted::SeamFault;
use crate::error::LogError;
use crate::log::{BatchBuilder, Fenced, Kind, LogReader, MemLog, TaskLog};
use crate::position::{Claim, Epoch, Offset};

/// Who acts: a member, and which of its processes.
pub(super) type Actor = (MemberId, u64);

/// What is known of one log, independently of the log.
#[derive(Debug, Default)]
struct Page {
    granted: Claim,
    epoch: Epoch,
    /// Who fenced for the newest epoch.
    writer: Option<Actor>,
    /// The source offset that the next turn must start at.
    next_source: u64,
    /// The end before the last turn (for a fault).
    end_before: Offset,
}

/// The book that all watched logs are kept in.
#[derive(Debug, Default)]
pub(super) struct Book {
    pages: BTreeMap<TaskId, Page>,
    actor: Option<Actor>,
    violation: Option<Violation>,
    /// Appends that were refused.
    pub(super) refused: u64,
}

impl Book {
    fn violate(&mut self, check: Check, what: String) {
        self.violation.get_or_insert(Violation { check, what });
    }
}

/// Watched logs in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Witness {
    logs: Arc<Mutex<BTreeMap<TaskId, Arc<Watched>>>>,
    book: Arc<Mutex<Book>>,
    fault: Option<SeamFault>,
}

impl Witness {
    pub(super) fn new(fault: Option<SeamFault>) -> Self {
        Self { fault, ..Self::default() }
    }

    /// Says who is about to act.
    pub(super) fn acts(&self, actor: Actor) {
        self.book.lock().actor = Some(actor);
    }

    /// What was found since this was last asked.
    pub(super) fn take_violation(&self) -> Option<Violation> {
        self.book.lock().violation.take()
    }

    pub(super) fn refused(&self) -> u64 {
        self.book.lock().refused
    }

    /// The task's log.
    pub(super) fn of(&self, task: &TaskId) -> Arc<dyn TaskLog> {
        let mut logs = self.logs.lock();
        logs.entry(task.clone()).or_insert_with(|| Arc::new(self.watch(task, MemLog::new(task)))).clone()
    }

    fn watch(&self, task: &TaskId, inner: MemLog) -> Watched {
        Watched { inner, task: task.clone(), book: self.book.clone(), fault: self.fault }
    }

    /// The power goes: a log keeps everything up to its last fence (which is synced) and at most `turns` of the turns
    /// after it. Whatever else has the log open must be dead.
    pub(super) fn lose_power(&self, task: &TaskId, turns: usize) -> Result<(), LogError> {
        let mut logs = self.logs.lock();
        let Some(old) = logs.get(task) else { return Ok(()) };
        let kept = MemLog::new(task);
        let last_fence = {
            let (mut reader, mut last, mut at) = (old.inner.read(Offset(0))?, 0, 0);
            while let Some(batch) = reader.next()? {
                at += 1;
                last = if batch.kind() == Kind::Fence { at } else { last };
            }
            last
        };
        let mut book = self.book.lock();
        let page = book.pages.entry(task.clone()).or_default();
        page.next_source = 0;
        let mut reader = old.inner.read(Offset(0))?;
        for _ in 0..last_fence + turns {
            let Some(batch) = reader.next()? else { break };
            if let Some(claim) = batch.claim() {
                kept.fence(claim)?;
            } else if let Some(resume) = batch.resume() {
                let mut copy = BatchBuilder::default();
                for (key, value) in batch.updates() {
                    match value {
                        Some(value) => copy.put(key, value),
                        None => copy.delete(key),
                    }
                }
                copy.count_outputs(batch.outputs());
                copy.finish(resume);
                kept.append(batch.epoch(), &copy)?;
                page.next_source = resume.source_offset;
            }
        }
        page.end_before = kept.end();
        drop(book);
        logs.insert(task.clone(), Arc::new(self.watch(task, kept)));
        Ok(())
    }
}

#[derive(Debug)]
struct Watched {
    inner: MemLog,
    task: TaskId,
    book: Arc<Mutex<Book>>,
    fault: Option<SeamFault>,
}

impl Watched {
    /// The fence, with the faults that may be planted in it.
    fn fence_or_fault(&self, claim: Claim, end_before: Offset) -> Result<Fenced, LogError> {
        if self.fault == Some(SeamFault::FenceSkipped) && self.inner.epoch() > Epoch(0) {
            return Ok(Fenced { epoch: self.inner.epoch(), end: self.inner.end() });
        }
        match self.inner.fence(claim) {
            Err(LogError::StaleClaim { granted, .. }) if self.fault == Some(SeamFault::OlderFenceGranted) => {
                self.inner.fence(granted)
            }
            Ok(fenced) if self.fault == Some(SeamFault::EndReadBeforeFence) => {
                Ok(Fenced { end: end_before, ..fenced })
            }
            other => other,
        }
    }
}

impl TaskLog for Watched {
    fn fence(&self, claim: Claim) -> Result<Fenced, LogError> {
        let mut book = self.book.lock();
        let actor = book.actor.clone();
        let page = book.pages.entry(self.task.clone()).or_default();
        let fenced = self.fence_or_fault(claim, page.end_before)?;
        let (granted, epoch) = (page.granted, page.epoch);
        page.granted = page.granted.max(claim);
        page.epoch = page.epoch.max(fenced.epoch);
        page.writer = actor;
        let task = &self.task;
        if claim < granted {
            let what = format!("{task}: a fence of {claim:?} was granted after one of {granted:?}");
            book.violate(Check::FencesAscend, what);
        } else if fenced.epoch <= epoch {
            let what = format!("{task}: epoch {} was granted twice", fenced.epoch);
            book.violate(Check::OneWriterPerEpoch, what);
        }
        Ok(fenced)
    }

    fn append(&self, epoch: Epoch, batch: &BatchBuilder) -> Result<Offset, LogError> {
        let mut book = self.book.lock();
        let actor = book.actor.clone();
        let end_before = self.inner.end();
        let under = match self.fault {
            Some(SeamFault::OldEpochAccepted) => self.inner.epoch(),
            _ => epoch,
        };
        let end = match self.inner.append(under, batch) {
            Ok(end) => end,
            Err(error) => {
                book.refused += 1;
                return Err(error);
            }
        };
        let task = &self.task;
        let page = book.pages.entry(task.clone()).or_default();
        page.end_before = end_before;
        let resume = batch.resume().unwrap_or_default().source_offset;
        // A count task has one output for each record that it took.
        let from = resume - u64::from(batch.outputs());
        let expected = std::mem::replace(&mut page.next_source, resume);
        if epoch != page.epoch {
            let what = format!("{task}: an append under epoch {epoch} was taken after {}", page.epoch);
            book.violate(Check::NoOldEpoch, what);
        } else if actor != page.writer {
            let what = format!("{task}: {actor:?} appended under the epoch of {:?}", page.writer);
            book.violate(Check::OneWriterPerEpoch, what);
        } else if from != expected {
            let what = format!("{task}: a turn took records from {from} on, after others up to {expected}");
            book.violate(Check::NothingLostOrDoubled, what);
        }
        Ok(end)
    }

    fn append_torn(&self, epoch: Epoch, batch: &BatchBuilder, bytes: usize) -> Result<(), LogError> {
        self.inner.append_torn(epoch, batch, bytes)
    }

    fn end(&self) -> Offset {
        self.inner.end()
    }

    fn epoch(&self) -> Epoch {
        self.inner.epoch()
    }

    fn claim(&self) -> Option<Claim> {
        self.inner.claim()
    }

    fn epoch_at(&self, offset: Offset) -> Option<Epoch> {
        self.inner.epoch_at(offset)
    }

    fn read(&self, from: Offset) -> Result<Box<dyn LogReader>, LogError> {
        self.inner.read(from)
    }

    fn bytes_from(&self, from: Offset) -> u64 {
        self.inner.bytes_from(from)
    }
}
