//! A task's log in files: segments rolled by size, one batch after another in each.
//!
//! The published end is a number in memory, moved only after a batch has been written whole (and synced, if so set):
//! what lies in a file beyond it is a torn tail that no reader looks at. A fence is a batch like any other, so that
//! it is one atomic, persisted operation.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use assignor::TaskId;
use parking_lot::Mutex;

use super::batch::{Batch, BatchBuilder, Kind};
use super::compact::{Closed, Compacted, compact};
use super::io::{SegmentFile, SegmentFiles};
use super::reader::FileReader;
use super::scan::scan;
use super::{Fenced, LogReader, TaskLog, granted};
use crate::error::LogError;
use crate::position::{Claim, Epoch, Offset};

/// One index entry per this many bytes of batches.
const INDEX_BYTES: u64 = 64 << 10;

/// How a log keeps its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// A segment that has reached this size is followed by a new one. Default 64 MiB.
    pub segment_bytes: u64,
    /// Whether an append returns only when its batch would outlast a power loss. Off by default: logs then survive
    /// a crash of the process, not of the machine.
    pub fsync: bool,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, fsync: false }
    }
}

/// One segment file, as far as it is published.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) base: Offset,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// How often its file has been replaced by a compacted one.
    pub(super) revision: u32,
    /// Base offsets of some batches and where they start, both ascending.
    index: Vec<(Offset, u64)>,
}

impl Segment {
    fn new(folder: &Path, base: Offset) -> Self {
        Self {
            base,
            path: folder.join(format!("{base:020}.log", base = base.0)),
            bytes: 0,
            revision: 0,
            index: Vec::new(),
        }
    }

    /// The same segment in its next file, of which nothing has been noted yet.
    pub(super) fn renewed(&self) -> Self {
        Self { revision: self.revision + 1, bytes: 0, index: Vec::new(), ..self.clone() }
    }

    /// Takes in a batch that has been found or written at the segment's end.
    pub(super) fn note(&mut self, batch: &Batch<'_>) {
        self.extend(batch.base(), batch.bytes());
    }

    fn extend(&mut self, base: Offset, bytes: usize) {
        if self.index.last().is_none_or(|&(_, position)| self.bytes - position >= INDEX_BYTES) {
            self.index.push((base, self.bytes));
        }
        self.bytes += bytes as u64;
    }

    /// A batch boundary at or before the batch that holds `offset`.
    pub(super) fn position_before(&self, offset: Offset) -> u64 {
        let after = self.index.partition_point(|&(base, _)| base <= offset);
        after.checked_sub(1).map_or(0, |at| self.index[at].1)
    }
}

/// A task's log in a folder of its own.
#[derive(Debug)]
pub struct FileLog(Arc<Shared>);

/// What a log shares with its readers.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) task: TaskId,
    pub(super) files: Arc<dyn SegmentFiles>,
    folder: PathBuf,
    options: LogOptions,
    /// The published end, so that a lag is told without waiting for an append.
    end: AtomicU64,
    pub(super) state: Mutex<State>,
    /// Held by the one compaction at a time.
    pub(super) compacting: Mutex<()>,
}

#[derive(Debug)]
pub(super) struct State {
    /// Never empty; the last one is written to.
    pub(super) segments: Vec<Segment>,
    active: Box<dyn SegmentFile>,
    pub(super) end: Offset,
    /// First offset of each epoch, ascending.
    epochs: Vec<(Offset, Epoch)>,
    claim: Option<Claim>,
    /// Whether there may be bytes beyond the published end of the active segment.
    torn: bool,
}

impl FileLog {
    /// Opens the log in `folder`, made empty if there is none. The published end is then the last whole batch; a
    /// torn tail stays in its file until the next fence.
    ///
    /// # Errors
    ///
    /// I/O errors; [`LogError::Damaged`] where something in the middle does not check out: a broken batch that a
    /// whole one follows, or that does not lie in the last segment.
    pub fn open(
        task: &TaskId,
        folder: &Path,
        options: LogOptions,
        files: Arc<dyn SegmentFiles>,
    ) -> Result<Self, LogError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| LogError::Io { path, source }
        };
        files.make_folder(folder).map_err(io(folder))?;
        let bases = segment_bases(&files.list(folder).map_err(io(folder))?);
        let first = Segment::new(folder, bases.first().copied().unwrap_or_default());
        let active = files.open(&first.path).map_err(io(&first.path))?;
        let end = first.base;
        let mut state =
            State { segments: Vec::new(), active, end, epochs: Vec::new(), claim: None, torn: false };
        for (nth, base) in bases.iter().enumerate() {
            let mut segment = Segment::new(folder, *base);
            if *base != state.end {
                let what = "the segment does not follow the one before it";
                return Err(LogError::Damaged { path: segment.path, position: 0, what });
            }
            state.active = files.open(&segment.path).map_err(io(&segment.path))?;
            let found = scan(&*state.active, &mut segment).map_err(io(&segment.path))?;
            let last = nth + 1 == bases.len();
            if let Some(what) = found.broken {
                if found.followed || !last {
                    return Err(LogError::Damaged { path: segment.path, position: segment.bytes, what });
                }
                state.torn = true;
            }
            state.end = found.end;
            state.claim = found.claim.or(state.claim);
            for (first, epoch) in found.epochs {
                state.enter(first, epoch);
            }
            state.segments.push(segment);
        }
        if state.segments.is_empty() {
            state.segments.push(first);
        }
        let end = AtomicU64::new(state.end.0);
        let (task, folder) = (task.clone(), folder.to_owned());
        Ok(Self(Arc::new(Shared {
            task,
            files,
            folder,
            options,
            end,
            state: Mutex::new(state),
            compacting: Mutex::new(()),
        })))
    }
}

/// The base offsets in the names of segment files, ascending; other files are none of ours.
fn segment_bases(paths: &[PathBuf]) -> Vec<Offset> {
    let mut bases: Vec<_> = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .filter_map(|path| path.file_stem()?.to_str()?.parse().ok().map(Offset))
        .collect();
    bases.sort_unstable();
    bases
}

impl State {
    /// The newest epoch.
    fn epoch(&self) -> Epoch {
        self.epochs.last().map_or(Epoch(0), |&(_, epoch)| epoch)
    }

    fn enter(&mut self, first: Offset, epoch: Epoch) {
        if epoch != self.epoch() {
            self.epochs.push((first, epoch));
        }
    }

    fn active(&self) -> &Segment {
        &self.segments[self.segments.len() - 1]
    }

    fn active_mut(&mut self) -> &mut Segment {
        let last = self.segments.len() - 1;
        &mut self.segments[last]
    }
}

impl Shared {
    /// Whether what is written has to outlast a power loss.
    pub(super) fn syncs(&self) -> bool {
        self.options.fsync
    }

    fn io(&self, state: &State) -> impl FnOnce(io::Error) -> LogError + use<> {
        let path = state.active().path.clone();
        move |source| LogError::Io { path, source }
    }

    /// Writes one batch and publishes it, or publishes nothing.
    fn write(
        &self,
        state: &mut State,
        kind: Kind,
        epoch: Epoch,
        batch: &BatchBuilder,
    ) -> Result<(), LogError> {
        if let Some(what) = batch.unfit() {
            return Err(LogError::TooLarge { task: self.task.clone(), what });
        }
        self.truncate(state)?;
        if state.active().bytes >= self.options.segment_bytes {
            self.roll(state)?;
        }
        state.torn = true;
        let position = state.active().bytes;
        let header = batch.header(kind, state.end, epoch);
        // Two writes are cheaper than one of a copy that joins the header to a payload of tens of kilobytes.
        state.active.write_at(&header, position).map_err(self.io(state))?;
        state.active.write_at(batch.payload(), position + header.len() as u64).map_err(self.io(state))?;
        if self.options.fsync {
            state.active.sync().map_err(self.io(state))?;
        }
        state.torn = false;
        let base = state.end;
        state.active_mut().extend(base, batch.bytes());
        state.enter(base, epoch);
        state.end.0 += u64::from(batch.records());
        self.end.store(state.end.0, Ordering::Release);
        Ok(())
    }

    /// Cuts off what an append has left that a crash or an error interrupted.
    fn truncate(&self, state: &mut State) -> Result<(), LogError> {
        if state.torn {
            state.active.truncate(state.active().bytes).map_err(self.io(state))?;
            state.torn = false;
        }
        Ok(())
    }

    fn roll(&self, state: &mut State) -> Result<(), LogError> {
        let segment = Segment::new(&self.folder, state.end);
        let path = segment.path.clone();
        let io = |source| LogError::Io { path, source };
        let open = || {
            let file = self.files.open(&segment.path)?;
            if self.options.fsync {
                self.files.sync_folder(&self.folder)?;
            }
            Ok(file)
        };
        state.active = open().map_err(io)?;
        state.segments.push(segment);
        Ok(())
    }
}

impl TaskLog for FileLog {
    fn fence(&self, claim: Claim) -> Result<Fenced, LogError> {
        let mut state = self.0.state.lock();
        granted(&self.0.task, claim, state.claim)?;
        let epoch = Epoch(state.epoch().0 + 1);
        let mut batch = BatchBuilder::default();
        batch.fence(claim);
        self.0.write(&mut state, Kind::Fence, epoch, &batch)?;
        state.claim = Some(claim);
        Ok(Fenced { epoch, end: state.end })
    }

    fn append(&self, epoch: Epoch, batch: &BatchBuilder) -> Result<Offset, LogError> {
        let mut state = self.0.state.lock();
        let newest = state.epoch();
        if epoch != newest {
            return Err(LogError::Fenced { task: self.0.task.clone(), epoch, newest });
        }
        debug_assert!(batch.resume().is_some(), "a turn says where to resume");
        self.0.write(&mut state, Kind::Turn, epoch, batch)?;
        Ok(state.end)
    }

    fn append_torn(&self, epoch: Epoch, batch: &BatchBuilder, bytes: usize) -> Result<(), LogError> {
        let mut state = self.0.state.lock();
        if epoch != state.epoch() {
            return Ok(());
        }
        self.0.truncate(&mut state)?;
        let mut whole = batch.header(Kind::Turn, state.end, epoch).to_vec();
        whole.extend_from_slice(batch.payload());
        state.torn = true;
        let part = &whole[..bytes.min(whole.len() - 1)];
        state.active.write_at(part, state.active().bytes).map_err(self.0.io(&state))
    }

    fn end(&self) -> Offset {
        Offset(self.0.end.load(Ordering::Acquire))
    }

    fn epoch(&self) -> Epoch {
        self.0.state.lock().epoch()
    }

    fn claim(&self) -> Option<Claim> {
        self.0.state.lock().claim
    }

    fn epoch_at(&self, offset: Offset) -> Option<Epoch> {
        let state = self.0.state.lock();
        if offset > state.end {
            return None;
        }
        let before = state.epochs.partition_point(|&(first, _)| first < offset);
        Some(before.checked_sub(1).map_or(Epoch(0), |at| state.epochs[at].1))
    }

    fn read(&self, from: Offset) -> Result<Box<dyn LogReader>, LogError> {
        Ok(Box::new(FileReader::new(Arc::clone(&self.0), from)?))
    }

    fn compact(&self, most_keys: usize) -> Result<Compacted, LogError> {
        compact(&self.0, most_keys)
    }

    fn closed(&self) -> Closed {
        let state = self.0.state.lock();
        let closed = &state.segments[..state.segments.len() - 1];
        let dirty = closed.iter().filter(|segment| segment.revision == 0);
        Closed {
            bytes: closed.iter().map(|segment| segment.bytes).sum(),
            dirty_bytes: dirty.map(|segment| segment.bytes).sum(),
        }
    }

    fn bytes_from(&self, from: Offset) -> u64 {
        let state = self.0.state.lock();
        let whole: u64 = state.segments.iter().filter(|s| s.base >= from).map(|s| s.bytes).sum();
        let after = state.segments.partition_point(|segment| segment.base < from);
        let part = after.checked_sub(1).map_or(0, |at| {
            let segment = &state.segments[at];
            let ends = state.segments.get(after).map_or(state.end, |next| next.base);
            if from >= ends { 0 } else { segment.bytes - segment.position_before(from) }
        });
        whole + part
    }
}
