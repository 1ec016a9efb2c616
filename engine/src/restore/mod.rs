//! From the log into the store: what learners, standbys and restoring actives do.
//!
//! Far from the end long chunks are sorted and ingested (`bulk`), near it batches are written as they come
//! (`tail`). Either way the store is a prefix of the log after each step, so that a replay may stop, or be killed,
//! anywhere.

use std::sync::Arc;

use crate::error::Error;
use crate::log::{LogReader, TaskLog};
use crate::position::Offset;
use crate::store::{Checkpoint, Store};

mod buckets;
mod bulk;
mod index;
mod limit;
mod tail;

pub use limit::Limit;

use bulk::Chunk;

/// How a replay works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Memory for keys and values in the bulk phase, which bounds how much is sorted and ingested at once. Default
    /// 256 MiB.
    pub chunk_bytes: usize,
    /// A lag of more bytes than this is replayed in bulk. Default 8 MiB.
    pub bulk_bytes: u64,
    /// Whether a second thread helps to write files in the bulk phase. Default yes.
    pub helper: bool,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self { chunk_bytes: 256 << 20, bulk_bytes: 8 << 20, helper: true }
    }
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Changelog records read.
    pub records: u64,
    /// Changelog bytes read.
    pub bytes: u64,
    /// Whether everything that was published when the step looked is in the store.
    pub at_end: bool,
}

/// A copy, and a reader of what its log holds beyond it.
pub struct Tail {
    /// The copy's store.
    pub store: Box<dyn Store>,
    /// Goes on where the store stands.
    pub reader: Box<dyn LogReader>,
}

/// One copy on its way to the end of its log.
pub struct Replay {
    log: Arc<dyn TaskLog>,
    store: Box<dyn Store>,
    options: ReplayOptions,
    reader: Option<Box<dyn LogReader>>,
    /// What has been read in bulk and not ingested yet.
    chunk: Option<Chunk>,
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("log", &self.log).field("store", &self.store).finish_non_exhaustive()
    }
}

impl Replay {
    /// Replays into `store`, which must be a prefix of the log (see [`open_copy`](crate::task::open_copy)).
    #[must_use]
    pub fn new(log: Arc<dyn TaskLog>, store: Box<dyn Store>, options: ReplayOptions) -> Self {
        Self { log, store, options, reader: None, chunk: None }
    }

    /// Does one piece of work: reads about `max_bytes` of the log (at least a batch, if there is one), or brings into
    /// the store what has been read in bulk, which takes about a second per 400 MB.
    ///
    /// # Errors
    ///
    /// What log or store say. The store is a prefix of the log nevertheless, unless it is damaged itself.
    pub fn step(&mut self, max_bytes: u64) -> Result<Progress, Error> {
        if let Some(full) = self.chunk.take_if(|chunk| chunk.is_full(&self.options)) {
            full.ingest(&*self.log, &mut *self.store, &self.options)?;
            return Ok(Progress::default());
        }
        let from = self.position();
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(self.log.read(from)?),
        };
        let far = || !self.store.is_in_memory() && self.log.bytes_from(from) > self.options.bulk_bytes;
        let bulk = self.chunk.is_some() || far();
        if !bulk {
            return tail::step(&mut **reader, &mut *self.store, max_bytes);
        }
        let chunk = self.chunk.get_or_insert_with(|| Chunk::new(self.store.checkpoint()));
        let mut progress = chunk.read(&mut **reader, max_bytes, &self.options)?;
        // Not when nothing is left to read: a busy owner appends all the time.
        let caught_up = progress.at_end;
        if let Some(last) = self.chunk.take_if(|_| caught_up) {
            last.ingest(&*self.log, &mut *self.store, &self.options)?;
        }
        progress.at_end &= self.chunk.is_none();
        Ok(progress)
    }

    /// Records between what is in the store and the log's end.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.log.end().since(self.store.checkpoint().offset)
    }

    /// How far the log has been read; what lies between this and the checkpoint is in memory.
    #[must_use]
    pub fn position(&self) -> Offset {
        self.chunk.as_ref().map_or(self.store.checkpoint().offset, Chunk::end)
    }

    /// Where the store stands.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        self.store.checkpoint()
    }

    /// The log that it follows.
    #[must_use]
    pub fn log(&self) -> &Arc<dyn TaskLog> {
        &self.log
    }

    /// What it takes to go on without writing to the store.
    ///
    /// # Errors
    ///
    /// What the log says.
    pub fn into_tail(self) -> Result<Tail, Error> {
        let at_hand = self.reader.filter(|_| self.chunk.is_none());
        let reader = match at_hand {
            Some(reader) => reader,
            None => self.log.read(self.store.checkpoint().offset)?,
        };
        Ok(Tail { store: self.store, reader })
    }

    /// The store, where it stands: what has been read but not brought into it is left out.
    #[must_use]
    pub fn into_store(self) -> Box<dyn Store> {
        self.store
    }
}
