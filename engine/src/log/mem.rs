//! A task's log in memory, for simulation and tests. It keeps encoded batches, so that what is read back has gone
//! through the same format as in a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use assignor::TaskId;
use parking_lot::Mutex;

use super::batch::{Batch, BatchBuilder, Kind};
use super::{Fenced, LogDirectory, LogReader, TaskLog, granted};
use crate::error::LogError;
use crate::position::{Claim, Epoch, Offset};

/// A task's log in memory.
#[derive(Debug)]
pub struct MemLog {
    task: TaskId,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    batches: Vec<Stored>,
    end: Offset,
    epoch: Epoch,
    claim: Option<Claim>,
}

#[derive(Clone, Debug)]
struct Stored {
    end: Offset,
    epoch: Epoch,
    bytes: Arc<[u8]>,
}

impl MemLog {
    /// An empty log.
    #[must_use]
    pub fn new(task: &TaskId) -> Self {
        Self { task: task.clone(), state: Arc::default() }
    }
}

impl State {
    fn write(
        &mut self,
        task: &TaskId,
        kind: Kind,
        epoch: Epoch,
        batch: &BatchBuilder,
    ) -> Result<(), LogError> {
        if let Some(what) = batch.unfit() {
            return Err(LogError::TooLarge { task: task.clone(), what });
        }
        let header = batch.header(kind, self.end, epoch);
        self.end.0 += u64::from(batch.records());
        let bytes = [&header, batch.payload()].concat().into();
        self.batches.push(Stored { end: self.end, epoch, bytes });
        self.epoch = epoch;
        Ok(())
    }

    /// The first batch that ends after `offset`.
    fn after(&self, offset: Offset) -> usize {
        self.batches.partition_point(|batch| batch.end <= offset)
    }
}

impl TaskLog for MemLog {
    fn fence(&self, claim: Claim) -> Result<Fenced, LogError> {
        let mut state = self.state.lock();
        granted(&self.task, claim, state.claim)?;
        let epoch = Epoch(state.epoch.0 + 1);
        let mut batch = BatchBuilder::default();
        batch.fence(claim);
        state.write(&self.task, Kind::Fence, epoch, &batch)?;
        state.claim = Some(claim);
        Ok(Fenced { epoch, end: state.end })
    }

    fn append(&self, epoch: Epoch, batch: &BatchBuilder) -> Result<Offset, LogError> {
        let mut state = self.state.lock();
        if epoch != state.epoch {
            return Err(LogError::Fenced { task: self.task.clone(), epoch, newest: state.epoch });
        }
        debug_assert!(batch.resume().is_some(), "a turn says where to resume");
        state.write(&self.task, Kind::Turn, epoch, batch)?;
        Ok(state.end)
    }

    fn append_torn(&self, _: Epoch, _: &BatchBuilder, _: usize) -> Result<(), LogError> {
        Ok(())
    }

    fn end(&self) -> Offset {
        self.state.lock().end
    }

    fn epoch(&self) -> Epoch {
        self.state.lock().epoch
    }

    fn claim(&self) -> Option<Claim> {
        self.state.lock().claim
    }

    fn epoch_at(&self, offset: Offset) -> Option<Epoch> {
        let state = self.state.lock();
        if offset > state.end {
            return None;
        }
        let before = offset.0.checked_sub(1).map(|last| state.after(Offset(last)));
        Some(before.map_or(Epoch(0), |at| state.batches[at].epoch))
    }

    fn read(&self, from: Offset) -> Result<Box<dyn LogReader>, LogError> {
        let state = self.state.lock();
        if from > state.end {
            return Err(LogError::OutOfRange { task: self.task.clone(), offset: from });
        }
        Ok(Box::new(MemReader {
            state: Arc::clone(&self.state),
            next: state.after(from),
            bytes: Arc::default(),
        }))
    }

    fn bytes_from(&self, from: Offset) -> u64 {
        let state = self.state.lock();
        state.batches[state.after(from)..].iter().map(|batch| batch.bytes.len() as u64).sum()
    }
}

struct MemReader {
    state: Arc<Mutex<State>>,
    next: usize,
    bytes: Arc<[u8]>,
}

impl LogReader for MemReader {
    fn next(&mut self) -> Result<Option<Batch<'_>>, LogError> {
        let state = self.state.lock();
        let Some(stored) = state.batches.get(self.next) else { return Ok(None) };
        self.bytes = Arc::clone(&stored.bytes);
        drop(state);
        self.next += 1;
        Batch::decode(&self.bytes).map(Some).map_err(|_| LogError::Damaged {
            path: "(memory)".into(),
            position: 0,
            what: "memory does not hold what was put into it",
        })
    }
}

/// Logs in memory. Whoever clones them shares them.
#[derive(Clone, Debug, Default)]
pub struct MemLogs(Arc<Mutex<BTreeMap<TaskId, Arc<MemLog>>>>);

impl LogDirectory for MemLogs {
    fn log(&self, task: &TaskId) -> Result<Arc<dyn TaskLog>, LogError> {
        let mut logs = self.0.lock();
        let log = logs.entry(task.clone()).or_insert_with(|| Arc::new(MemLog::new(task)));
        Ok(Arc::clone(log) as Arc<dyn TaskLog>)
    }
}
