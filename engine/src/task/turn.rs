//! One turn of a task: poll, process, append one batch, write to the store.
//!
//! The batch carries the updates and where to resume, a store write carries the changelog position: whatever happens
//! in between, a successor that replays the log to its end and resumes the source where the log says has applied
//! every record exactly once. So the updates of a few turns may go into the store together (see [`CommitOptions`]).

use std::fmt;
use std::sync::Arc;

use assignor::TaskId;

use super::cache::{Cache, Cached, CommitOptions, commit};
use super::processor::Processor;
use crate::clock::Time;
use crate::error::{Error, LogError};
use crate::log::{BatchBuilder, Resume, TaskLog};
use crate::position::{Epoch, Offset};
use crate::source::{Records, Source};
use crate::store::{Checkpoint, Store};

/// A step of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Takes records from the source.
    Poll,
    /// Makes updates of them.
    Process,
    /// Appends the updates to the log.
    Append,
    /// Hands them to the store, which has them written at the next commit.
    StoreWrite,
}

impl Step {
    /// All steps in order.
    pub const ALL: [Self; 4] = [Self::Poll, Self::Process, Self::Append, Self::StoreWrite];
}

/// Where in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// Before anything of it is done.
    Before,
    /// With a part of it done: half of the records polled, updates made but not finished, a torn batch in the log's
    /// file. A store write has no parts: it is as if it had been tried and lost.
    In,
    /// With all of it done.
    After,
}

impl When {
    /// All of them in order.
    pub const ALL: [Self; 3] = [Self::Before, Self::In, Self::After];
}

/// Decides where a turn breaks off as if its thread had died: the seam for injected crashes.
pub trait Breaker: fmt::Debug + Send + Sync {
    /// Whether `task` dies here and now.
    fn breaks(&self, task: &TaskId, step: Step, when: When) -> bool;
}

/// Nothing breaks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeverBreaks;

impl Breaker for NeverBreaks {
    fn breaks(&self, _: &TaskId, _: Step, _: When) -> bool {
        false
    }
}

/// What a turn did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Source records applied; 0 where none was due, and then nothing was appended either.
    pub records: usize,
    /// The changelog's end, up to which the state is known here.
    pub end: Offset,
}

/// Why a turn failed. The task is unusable afterwards: the caller drops it, and whoever takes over fences, replays
/// and resumes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The breaker said so.
    #[error("task {task}: broken {when:?} {step:?}")]
    Broken {
        /// The task.
        task: TaskId,
        /// The step.
        step: Step,
        /// Where in it.
        when: When,
    },
    /// Somebody else owns the task by now; nothing was changed.
    #[error("task {task}: epoch {epoch} is fenced, the newest is {newest}")]
    Fenced {
        /// The task.
        task: TaskId,
        /// The epoch that tried.
        epoch: Epoch,
        /// The newest epoch.
        newest: Epoch,
    },
    /// Log, store or source failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// A task that is processed here, from [`resume`](super::resume) until it is given up.
pub struct ActiveTask {
    pub(super) task: TaskId,
    pub(super) epoch: Epoch,
    pub(super) log: Arc<dyn TaskLog>,
    pub(super) store: Box<dyn Store>,
    pub(super) source: Box<dyn Source>,
    pub(super) processor: Box<dyn Processor>,
    pub(super) records: Records,
    pub(super) batch: BatchBuilder,
    /// Updates that the store may lack, and where it stands with them.
    pub(super) cache: Cache,
    pub(super) checkpoint: Checkpoint,
    pub(super) commit: CommitOptions,
}

impl fmt::Debug for ActiveTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveTask")
            .field("task", &self.task)
            .field("epoch", &self.epoch)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl ActiveTask {
    /// Applies at most `max_records` of the records that are due by `now`.
    ///
    /// # Errors
    ///
    /// [`TurnError`]; the task is unusable afterwards.
    pub fn turn(&mut self, now: Time, max_records: usize, breaker: &dyn Breaker) -> Result<Turn, TurnError> {
        self.poll(now, max_records, breaker)?;
        if self.records.is_empty() {
            return Ok(Turn { records: 0, end: self.checkpoint.offset });
        }
        let resume = self.process(breaker)?;
        let end = self.append(breaker)?;
        let backlog = self.records.len() >= max_records;
        self.write(Checkpoint { offset: end, epoch: self.epoch, resume }, backlog, breaker)?;
        Ok(Turn { records: self.records.len(), end })
    }

    /// The records of the last turn, for their intended times.
    #[must_use]
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The task.
    #[must_use]
    pub fn task(&self) -> &TaskId {
        &self.task
    }

    /// The epoch it appends under.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Where the task stands; its store may stand behind, by what waits for the next commit.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        self.checkpoint
    }

    /// Sets when updates reach the store.
    pub fn set_commit(&mut self, options: CommitOptions) {
        self.commit = options;
    }

    /// When its next record is due; `None` if there are no more.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        self.source.next_due()
    }

    /// Records due by `now` and not applied yet.
    #[must_use]
    pub fn backlog(&self, now: Time) -> u64 {
        self.source.backlog(now)
    }

    /// Gives the task up; what is left is its store, at the end of what this owner appended. Should the last commit
    /// fail, the store stands where it stood, which is a prefix of the log too.
    #[must_use]
    pub fn into_store(mut self) -> Box<dyn Store> {
        drop(commit(&mut self.cache, &mut *self.store, self.checkpoint, self.commit));
        self.store
    }

    fn poll(&mut self, now: Time, max_records: usize, breaker: &dyn Breaker) -> Result<(), TurnError> {
        self.check(breaker, Step::Poll, When::Before)?;
        self.records.clear();
        if breaker.breaks(&self.task, Step::Poll, When::In) {
            let part = max_records.div_ceil(2);
            self.source.poll(now, part, &mut self.records).map_err(Error::from)?;
            return Err(self.broken(Step::Poll, When::In));
        }
        self.source.poll(now, max_records, &mut self.records).map_err(Error::from)?;
        self.check(breaker, Step::Poll, When::After)
    }

    /// Makes the batch and says where the task resumes after it.
    fn process(&mut self, breaker: &dyn Breaker) -> Result<Resume, TurnError> {
        self.check(breaker, Step::Process, When::Before)?;
        self.batch.clear();
        let state = Cached { cache: &self.cache, store: &*self.store };
        self.processor.process(&self.records, &state, &mut self.batch).map_err(Error::from)?;
        self.check(breaker, Step::Process, When::In)?;
        let seen = self.checkpoint.resume.stream_time;
        let stream_time = self.records.times.iter().copied().fold(seen, Time::max);
        let resume = Resume { source_offset: self.source.position(), stream_time, epoch: self.epoch };
        self.batch.finish(resume);
        self.check(breaker, Step::Process, When::After)?;
        Ok(resume)
    }

    fn append(&mut self, breaker: &dyn Breaker) -> Result<Offset, TurnError> {
        self.check(breaker, Step::Append, When::Before)?;
        if breaker.breaks(&self.task, Step::Append, When::In) {
            let part = self.batch.bytes() / 2;
            self.log.append_torn(self.epoch, &self.batch, part).map_err(Error::from)?;
            return Err(self.broken(Step::Append, When::In));
        }
        let end = self.log.append(self.epoch, &self.batch).map_err(|error| match error {
            LogError::Fenced { task, epoch, newest } => TurnError::Fenced { task, epoch, newest },
            other => TurnError::Failed(other.into()),
        })?;
        self.check(breaker, Step::Append, When::After)?;
        Ok(end)
    }

    fn write(&mut self, to: Checkpoint, backlog: bool, breaker: &dyn Breaker) -> Result<(), TurnError> {
        self.check(breaker, Step::StoreWrite, When::Before)?;
        self.check(breaker, Step::StoreWrite, When::In)?;
        self.cache.apply(self.batch.updates());
        self.checkpoint = to;
        if self.commit.is_due(&self.cache, backlog) {
            commit(&mut self.cache, &mut *self.store, to, self.commit).map_err(Error::from)?;
        }
        self.check(breaker, Step::StoreWrite, When::After)
    }

    fn check(&self, breaker: &dyn Breaker, step: Step, when: When) -> Result<(), TurnError> {
        if breaker.breaks(&self.task, step, when) { Err(self.broken(step, when)) } else { Ok(()) }
    }

    fn broken(&self, step: Step, when: When) -> TurnError {
        TurnError::Broken { task: self.task.clone(), step, when }
    }
}
