//! One task's changelog, and its fencing.
//!
//! Contract of every [`TaskLog`]:
//! * `append` is all or nothing and refuses an epoch that is not the newest;
//! * `fence` is one atomic, persisted operation: it refuses a claim older than the newest it has seen (an equal one
//!   is granted again, under a new epoch), truncates a torn tail, and returns the new epoch and the log's end;
//! * readers see whole batches up to the published end, in order, without gaps.

use std::fmt;
use std::sync::Arc;

use assignor::TaskId;

use crate::error::LogError;
use crate::position::{Claim, Epoch, Offset};

pub mod batch;
mod compact;
mod directory;
pub mod faulty;
pub mod io;
mod mem;
mod reader;
mod scan;
mod segment;

pub use batch::{Batch, BatchBuilder, Kind, Resume};
pub use compact::{Closed, Compacted};
pub use directory::FileLogs;
pub use mem::{MemLog, MemLogs};
pub use segment::{FileLog, LogOptions};

/// What a fence returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fenced {
    /// The epoch to append under.
    pub epoch: Epoch,
    /// The end: replay up to here, then nothing can be missing.
    pub end: Offset,
}

/// One task's changelog. Shared by its owner, its learners and whoever takes over.
pub trait TaskLog: fmt::Debug + Send + Sync {
    /// Makes every older epoch unable to append.
    ///
    /// # Errors
    ///
    /// [`LogError::StaleClaim`] if a later claim has been granted; I/O errors: nothing was granted.
    fn fence(&self, claim: Claim) -> Result<Fenced, LogError>;

    /// Appends one finished batch (one turn of the task), publishes it, and returns the new end.
    ///
    /// The builder's payload is written with base offset and epoch filled in; the builder is left as it was.
    ///
    /// # Errors
    ///
    /// [`LogError::Fenced`] if `epoch` is not the newest: nothing was appended. [`LogError::TooLarge`] for a batch
    /// that is [`unfit`](BatchBuilder::unfit), I/O errors: nothing was published, and the next append or fence is
    /// made as if this one hadn't been tried.
    fn append(&self, epoch: Epoch, batch: &BatchBuilder) -> Result<Offset, LogError>;

    /// Leaves what a crash in the middle of an append would: at most the first `bytes` of the batch, unpublished.
    /// A log whose appends cannot tear leaves nothing, as does an epoch that is fenced.
    ///
    /// # Errors
    ///
    /// I/O errors.
    fn append_torn(&self, epoch: Epoch, batch: &BatchBuilder, bytes: usize) -> Result<(), LogError>;

    /// The published end. Never waits for an append.
    fn end(&self) -> Offset;

    /// The newest epoch.
    fn epoch(&self) -> Epoch;

    /// The newest claim that has been granted, by an earlier process perhaps; `None` before the first.
    fn claim(&self) -> Option<Claim>;

    /// The epoch under which the record *before* `offset` was appended, `None` beyond the end. (`Offset(0)`: epoch 0.)
    /// A store copy at `offset` is valid only if it carries this epoch.
    fn epoch_at(&self, offset: Offset) -> Option<Epoch>;

    /// Reads from `from`, which is a batch boundary or lies inside a batch (whose earlier records are then repeated:
    /// updates are absolute, so that applying one again changes nothing).
    ///
    /// # Errors
    ///
    /// I/O errors; [`LogError::OutOfRange`] below the log's first offset or beyond its end.
    fn read(&self, from: Offset) -> Result<Box<dyn LogReader>, LogError>;

    /// Bytes of the log's batches from `from` to the end, roughly (for progress displays and state sizes).
    fn bytes_from(&self, from: Offset) -> u64;

    /// Leaves the latest update of each key alone in what is not written to any more, as far as `most_keys` keys fit
    /// into memory. Offsets stay as they are, and so does what a replay to the end makes of the log.
    ///
    /// # Errors
    ///
    /// I/O errors and [`LogError::Damaged`]; nothing is lost then.
    fn compact(&self, most_keys: usize) -> Result<Compacted, LogError> {
        let _ = most_keys;
        Ok(Compacted::default())
    }

    /// What there is to compact.
    fn closed(&self) -> Closed {
        Closed::default()
    }
}

/// A cursor over a log.
pub trait LogReader: Send {
    /// The next whole batch, or `None` at the published end (asking again later is fine).
    ///
    /// # Errors
    ///
    /// I/O errors and [`LogError::Damaged`].
    fn next(&mut self) -> Result<Option<Batch<'_>>, LogError>;
}

/// All logs of an application: what a broker is to a real one. Survives every instance.
pub trait LogDirectory: fmt::Debug + Send + Sync {
    /// The log of a task, made if it does not exist. The same log is returned to everybody.
    ///
    /// # Errors
    ///
    /// I/O errors; [`LogError::Damaged`] where opening finds a batch in the middle that does not check out.
    fn log(&self, task: &TaskId) -> Result<Arc<dyn TaskLog>, LogError>;
}

/// Whether `claim` may fence a log whose newest granted claim is `granted`.
fn granted(task: &TaskId, claim: Claim, granted: Option<Claim>) -> Result<(), LogError> {
    match granted {
        Some(granted) if claim < granted => Err(LogError::StaleClaim { task: task.clone(), claim, granted }),
        _ => Ok(()),
    }
}
