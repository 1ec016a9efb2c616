//! What can go wrong, with the task, offset or path it went wrong at.

use std::io;
use std::path::PathBuf;

use assignor::TaskId;

use crate::position::{Claim, Epoch, Offset};

/// Errors of a task's log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// Somebody else owns the task: the caller must stop, having changed nothing.
    #[error("task {task}: epoch {epoch} is fenced, the newest is {newest}")]
    Fenced {
        /// The task.
        task: TaskId,
        /// The epoch that tried.
        epoch: Epoch,
        /// The newest epoch.
        newest: Epoch,
    },
    /// A fence came with an older claim than one already granted.
    #[error("task {task}: claim {claim:?} is older than the granted {granted:?}")]
    StaleClaim {
        /// The task.
        task: TaskId,
        /// The refused claim.
        claim: Claim,
        /// The newest granted claim.
        granted: Claim,
    },
    /// A batch before the published end does not check out.
    #[error("{path}: damaged batch at byte {position}: {what}")]
    Damaged {
        /// The segment file.
        path: PathBuf,
        /// Where the batch starts in it.
        position: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A record that the format cannot hold.
    #[error("task {task}: {what}")]
    TooLarge {
        /// The task.
        task: TaskId,
        /// What is too large, and the bound.
        what: &'static str,
    },
    /// A read below the log's first offset.
    #[error("task {task}: offset {offset} is not in the log")]
    OutOfRange {
        /// The task.
        task: TaskId,
        /// The offset asked for.
        offset: Offset,
    },
    /// The file system said no.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said; disk-full is `source.kind() == ErrorKind::StorageFull`.
        source: io::Error,
    },
}

/// Errors of a task copy's store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// RocksDB said no.
    #[error("{path}: {source}")]
    Rocks {
        /// The database.
        path: PathBuf,
        /// What it said.
        source: rocksdb::Error,
    },
    /// Another process uses the state directory.
    #[error("{path}: this directory is in use by another process; stop that one, or choose another folder")]
    Held {
        /// The directory.
        path: PathBuf,
    },
    /// A value in the store is not what the program writes.
    #[error("{path}: {what}")]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The file system said no.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl StoreError {
    /// Whether the copy itself is to blame, so that a new one, replayed from the log, is the remedy. It is not if,
    /// say, the disk is full or another process holds the copy.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::Rocks { source, .. } => source.kind() == rocksdb::ErrorKind::Corruption,
            _ => false,
        }
    }
}

/// Errors of a source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A line of a recorded load that cannot be read.
    #[error("{path}:{line}: {what}{}", others(*.more))]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
        /// How many further lines can't be read.
        more: u64,
    },
    /// Neither one file for all tasks nor one for each.
    #[error(
        "there are {files} files for {tasks} tasks: a recorded load is one file for all, or one for each task"
    )]
    Files {
        /// How many.
        files: usize,
        /// For so many.
        tasks: usize,
    },
    /// The file system said no.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

fn others(more: u64) -> String {
    match more {
        0 => String::new(),
        1 => "; another line is broken too".to_owned(),
        more => format!("; {more} more lines are broken too"),
    }
}

/// Anything that ends a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The leader was handed a view that no group can be in: a fault of the protocol.
    #[error("the leader's view of the group is unusable: {0}")]
    View(#[from] assignor::ViewError),
    /// A thread panicked; the run is poisoned.
    #[error("{thread} panicked: {message}")]
    Panic {
        /// Its name.
        thread: String,
        /// What it said.
        message: String,
    },
    /// A script named somebody who is not there.
    #[error("{what} {name} is not in the group")]
    Unknown {
        /// Member or instance.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A script named somebody whose instance is being started again and is not back yet.
    #[error(
        "{what} {name} is down: {instance} is being started again and is not back yet; let this happen later"
    )]
    Down {
        /// Member or instance.
        what: &'static str,
        /// Its name.
        name: String,
        /// The instance.
        instance: assignor::InstanceId,
    },
    /// Threads can't be pinned to cores.
    #[error("threads can't be pinned to cores: {source}; let them run free (engine.pin = \"none\")")]
    Pin {
        /// What the operating system said.
        source: io::Error,
    },
}
