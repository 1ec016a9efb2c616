//! How a task gets to its first turn: open a copy that the log vouches for, replay to the fence, resume the source
//! where the log says.

use std::sync::Arc;

use assignor::TaskId;

use super::cache::{Cache, CommitOptions};
use super::processor::Processor;
use super::turn::ActiveTask;
use crate::error::Error;
use crate::log::{BatchBuilder, Fenced, TaskLog};
use crate::position::{Epoch, Offset};
use crate::restore::{Replay, Tail};
use crate::source::{Records, Sources};
use crate::store::{Checkpoint, Store, StoreDirectory};

/// A copy that is a prefix of its log.
#[derive(Debug)]
pub struct Opened {
    /// The copy.
    pub store: Box<dyn Store>,
    /// What was found and thrown away instead, in which case the copy is empty.
    pub discarded: Option<Discarded>,
}

/// A copy that was thrown away.
#[derive(Debug)]
pub struct Discarded {
    /// Where it stood, if it could be opened.
    pub checkpoint: Option<Checkpoint>,
    /// Its size.
    pub bytes: u64,
    /// What was wrong with it.
    pub why: Why,
}

/// What was wrong with a copy.
#[derive(Debug)]
#[non_exhaustive]
pub enum Why {
    /// It has applied what the log doesn't hold.
    BeyondEnd {
        /// The log's end.
        end: Offset,
    },
    /// What it has applied last was appended under another epoch than the log says.
    OtherEpoch {
        /// The log's epoch at the copy's offset.
        log: Epoch,
    },
    /// It couldn't be opened: RocksDB, or the checkpoint in it, is damaged.
    Unreadable(Error),
}

/// Opens the task's copy, or an empty one in place of a copy that is no prefix of the log.
///
/// # Errors
///
/// What the store says when an empty copy can't be opened either, or when the copy is in use elsewhere.
pub fn open_copy(stores: &dyn StoreDirectory, log: &dyn TaskLog, task: &TaskId) -> Result<Opened, Error> {
    let discarded = match stores.open(task) {
        Ok(store) => {
            let checkpoint = store.checkpoint();
            let why = match log.epoch_at(checkpoint.offset) {
                Some(epoch) if epoch == checkpoint.epoch => return Ok(Opened { store, discarded: None }),
                Some(epoch) => Why::OtherEpoch { log: epoch },
                None => Why::BeyondEnd { end: log.end() },
            };
            Discarded { checkpoint: Some(checkpoint), bytes: store.size_bytes(), why }
        }
        Err(error) if error.is_damage() => {
            Discarded { checkpoint: None, bytes: 0, why: Why::Unreadable(error.into()) }
        }
        Err(error) => return Err(error.into()),
    };
    stores.discard(task)?;
    Ok(Opened { store: stores.open(task)?, discarded: Some(discarded) })
}

/// What a task is made of.
#[derive(Debug)]
pub struct Parts {
    /// The task.
    pub task: TaskId,
    /// A valid copy, following the log that the caller has fenced; the closer to its end, the sooner the task runs.
    pub copy: Replay,
    /// What it does.
    pub processor: Box<dyn Processor>,
}

/// So many records at the log's end are not written to the copy but kept in memory above it, where the task's own recent
/// updates wait for a commit: to put one there takes a twentieth of the time.
const TAIL_RECORDS: u64 = 4_096;
/// Changelog bytes of one piece of the replay before that.
const PIECE_BYTES: u64 = 64 << 10;

/// Takes a task over that the caller has fenced: replays what its copy lacks up to the fence and opens its source
/// where the log's newest `__resume` says.
///
/// # Errors
///
/// What log, store or source say.
pub fn resume(parts: Parts, fenced: Fenced, sources: &dyn Sources) -> Result<ActiveTask, Error> {
    let Parts { task, mut copy, processor } = parts;
    while fenced.end.since(copy.checkpoint().offset) > TAIL_RECORDS {
        copy.step(PIECE_BYTES)?;
    }
    let log = Arc::clone(copy.log());
    let Tail { store, mut reader } = copy.into_tail()?;
    let (mut cache, mut checkpoint) = (Cache::default(), store.checkpoint());
    while checkpoint.offset < fenced.end {
        let Some(batch) = reader.next()? else { break };
        cache.apply(batch.updates());
        checkpoint = checkpoint.after(&batch);
    }
    let source = sources.open(&task, checkpoint.resume.source_offset)?;
    Ok(ActiveTask {
        task,
        epoch: fenced.epoch,
        log,
        store,
        source,
        processor,
        records: Records::default(),
        batch: BatchBuilder::default(),
        cache,
        checkpoint,
        commit: CommitOptions::default(),
    })
}
