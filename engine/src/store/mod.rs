//! One task copy's state.
//!
//! Contract of every [`Store`]: a write is all or nothing and carries its [`Checkpoint`], so that what a store holds
//! is always exactly the changelog up to its checkpoint. `ingest` keeps that for a whole chunk of sorted parts. A store that
//! is dropped without [`Store::close`] loses what was not flushed (as in a crash), never its consistency. Keys that
//! start with [`RESERVED`](crate::log::batch::RESERVED) are the store's own: no caller writes or sees them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use assignor::TaskId;

use crate::error::StoreError;
use crate::log::{Batch, Resume};
use crate::position::{Epoch, Offset};

pub mod faulty;
mod hash;
mod held;
mod mem;
mod page_cache;
mod rocks;

pub use hash::{HashStore, HashStores};
pub(crate) use held::hold;
pub use mem::{MemStore, MemStores};
pub(crate) use rocks::start_background_threads;
pub use rocks::{RocksOptions, RocksStore, RocksStores};

/// Where a store stands in its task's changelog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// Everything before this changelog offset is applied.
    pub offset: Offset,
    /// The epoch of the last batch applied (what the log's `epoch_at(offset)` must say).
    pub epoch: Epoch,
    /// Where the source resumes: the newest `__resume` applied.
    pub resume: Resume,
}

impl Checkpoint {
    /// Bytes of an encoded checkpoint.
    pub const BYTES: usize = 40;

    /// As bytes: offset, epoch, resume.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.offset.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.epoch.0.to_le_bytes());
        bytes[16..].copy_from_slice(&self.resume.encode());
        bytes
    }

    /// From bytes; `None` if there are not exactly as many.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (position, resume) = bytes.split_first_chunk::<16>()?;
        let (&[offset, epoch], []) = position.as_chunks::<8>() else { return None };
        let [offset, epoch] = [offset, epoch].map(u64::from_le_bytes);
        Some(Self { offset: Offset(offset), epoch: Epoch(epoch), resume: Resume::decode(resume)? })
    }

    /// Where a store stands after a batch has been applied at this checkpoint.
    #[must_use]
    pub fn after(self, batch: &Batch<'_>) -> Self {
        let resume = batch.resume().unwrap_or(self.resume);
        Self { offset: batch.end(), epoch: batch.epoch(), resume }
    }
}

/// (key, value) pairs; a `None` value deletes.
pub type Updates<'a> = dyn Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + 'a;

/// Sorted (key, value) pairs; a `None` value deletes. Keys strictly ascend.
pub type SortedEntries<'a> = dyn Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + 'a;

/// State as a processor sees it.
pub trait ReadState: fmt::Debug {
    /// Visits the values of `keys`, each once: index in `keys`, and value.
    ///
    /// # Errors
    ///
    /// What the database says.
    fn get_many(&self, keys: &[&[u8]], visit: &mut dyn FnMut(usize, Option<&[u8]>))
    -> Result<(), StoreError>;

    /// Where it lives, for messages.
    fn location(&self) -> PathBuf;
}

/// One task copy's state.
pub trait Store: ReadState + Send {
    /// Where it stands.
    fn checkpoint(&self) -> Checkpoint;

    /// Applies updates and moves the checkpoint, atomically. Later entries of one key win.
    ///
    /// # Errors
    ///
    /// What the database says; nothing was applied.
    fn write(&mut self, updates: &mut Updates<'_>, to: Checkpoint) -> Result<(), StoreError>;

    /// Whether a read or a write costs no more than in a table above it: nothing is gained then by sorting a replay and
    /// ingesting it, or by keeping what was written at hand.
    fn is_in_memory(&self) -> bool {
        false
    }

    /// What writes parts of a chunk for this store, on this thread or another.
    fn part_writer(&self) -> Arc<dyn PartWriter>;

    /// Applies a chunk and moves the checkpoint, atomically and without passing through the memtable. The parts'
    /// keys must not overlap.
    ///
    /// # Errors
    ///
    /// What the database says; nothing was applied.
    fn ingest(&mut self, parts: Vec<Part>, to: Checkpoint) -> Result<(), StoreError>;

    /// Visits every key in order (the audit does).
    ///
    /// # Errors
    ///
    /// What the database says.
    fn scan(&self, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError>;

    /// Bytes on disk and in memory, roughly.
    fn size_bytes(&self) -> u64;

    /// Waits until nothing is left to flush or compact; `whole` has everything compacted into one sorted run first.
    ///
    /// # Errors
    ///
    /// What the database says.
    fn settle(&self, whole: bool) -> Result<(), StoreError>;

    /// Flushes and closes: everything up to the checkpoint is on disk afterwards.
    ///
    /// # Errors
    ///
    /// What the database says.
    fn close(self: Box<Self>) -> Result<(), StoreError>;
}

/// Writes sorted entries aside, to be ingested later.
pub trait PartWriter: fmt::Debug + Send + Sync {
    /// Writes one part.
    ///
    /// # Errors
    ///
    /// What the database says.
    fn write(&self, entries: &mut SortedEntries<'_>) -> Result<Part, StoreError>;
}

/// A sorted part of a chunk, written aside by a store's [`PartWriter`] for that store.
#[derive(Debug)]
pub struct Part(Form);

#[derive(Debug)]
enum Form {
    File(PathBuf),
    Memory(Vec<(Vec<u8>, Option<Vec<u8>>)>),
}

/// How far a database's writing lags behind: what a burst of writes, a restore for example, leaves to be paid later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Copies whose writes are being stopped or slowed down.
    pub stalled: u32,
    /// Bytes that are yet to be compacted, as the databases estimate it.
    pub debt_bytes: u64,
}

impl std::ops::AddAssign for Pressure {
    fn add_assign(&mut self, other: Self) {
        self.stalled += other.stalled;
        self.debt_bytes += other.debt_bytes;
    }
}

/// The copies of one instance.
pub trait StoreDirectory: fmt::Debug + Send + Sync {
    /// Opens the task's copy, made empty if it does not exist. One copy is open at most once.
    ///
    /// # Errors
    ///
    /// What the database says, e.g. that another process holds it.
    fn open(&self, task: &TaskId) -> Result<Box<dyn Store>, StoreError>;

    /// Throws the task's closed copy away.
    ///
    /// # Errors
    ///
    /// What the file system says.
    fn discard(&self, task: &TaskId) -> Result<(), StoreError>;

    /// How far writing lags behind in the copies that are open. It costs their users nothing.
    fn pressure(&self) -> Pressure {
        Pressure::default()
    }

    /// The tasks that have a copy on disk, open ones included.
    ///
    /// # Errors
    ///
    /// What the file system says.
    fn tasks(&self) -> Result<Vec<TaskId>, StoreError>;
}
