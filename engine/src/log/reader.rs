//! A cursor over a log's segment files, up to the published end.

use std::sync::Arc;

use super::LogReader;
use super::batch::{Batch, Broken, HEADER_BYTES, Header};
use super::io::SegmentFile;
use super::scan::read_exact;
use super::segment::{Segment, Shared};
use crate::error::LogError;
use crate::position::Offset;

/// Bytes read at a time: large enough to make the calls cheap, small enough to stay in a core's cache until decoded.
const READ_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct FileReader {
    log: Arc<Shared>,
    /// Everything before this has been returned (or was not asked for).
    offset: Offset,
    /// Which segment, by base offset: compaction may shift positions in the list.
    segment: Offset,
    path: std::path::PathBuf,
    file: Box<dyn SegmentFile>,
    /// Which of its files.
    revision: u32,
    /// How much of the segment is published, as far as known.
    published: u64,
    /// The buffer's bytes from `start` on are the file's from `position` on.
    position: u64,
    buffer: Vec<u8>,
    start: usize,
}

impl FileReader {
    pub(super) fn new(log: Arc<Shared>, from: Offset) -> Result<Self, LogError> {
        let state = log.state.lock();
        let after = state.segments.partition_point(|segment| segment.base <= from);
        let found = after.checked_sub(1).filter(|_| from <= state.end);
        let Some(at) = found else {
            return Err(LogError::OutOfRange { task: log.task.clone(), offset: from });
        };
        let segment = &state.segments[at];
        let (base, path, published) = (segment.base, segment.path.clone(), segment.bytes);
        let (position, revision) = (segment.position_before(from), segment.revision);
        let position = if from == state.end { published } else { position };
        // Under the lock: a compaction gives the name to another file.
        let file = open(&log, &path)?;
        drop(state);
        let buffer = Vec::new();
        Ok(Self {
            log,
            offset: from,
            segment: base,
            path,
            file,
            revision,
            published,
            position,
            buffer,
            start: 0,
        })
    }

    /// Learns what has been published since, and goes on to the next segment at the end of this one.
    fn refresh(&mut self) -> Result<(), LogError> {
        let log = Arc::clone(&self.log);
        let state = log.state.lock();
        let at = state.segments.partition_point(|segment| segment.base <= self.segment) - 1;
        let segment = &state.segments[at];
        if segment.revision != self.revision {
            // Compacted under way: from the same offset on in the new file.
            return self.enter(segment, segment.position_before(self.offset));
        }
        self.published = segment.bytes;
        if self.position < self.published {
            return Ok(());
        }
        match state.segments.get(at + 1) {
            Some(next) => self.enter(next, 0),
            None => Ok(()),
        }
    }

    /// Goes on at a position of a segment. The log's state is locked.
    fn enter(&mut self, segment: &Segment, position: u64) -> Result<(), LogError> {
        self.file = open(&self.log, &segment.path)?;
        self.segment = segment.base;
        self.revision = segment.revision;
        self.path.clone_from(&segment.path);
        self.published = segment.bytes;
        self.position = position;
        self.buffer.clear();
        self.start = 0;
        Ok(())
    }

    /// Makes the buffer hold `bytes` from the position on, or all that is published of the segment.
    fn fill(&mut self, bytes: usize) -> Result<(), LogError> {
        let held = self.buffer.len() - self.start;
        let left = self.published - self.position;
        let wanted = u64::min(bytes as u64, left) as usize;
        if held >= wanted {
            return Ok(());
        }
        self.buffer.copy_within(self.start.., 0);
        self.start = 0;
        let target = u64::min(wanted.max(READ_BYTES) as u64, left) as usize;
        self.buffer.resize(target, 0);
        let space = &mut self.buffer[held..];
        read_exact(&*self.file, space, self.position + held as u64)
            .map_err(|source| LogError::Io { path: self.path.clone(), source })
    }

    fn damaged(&self, what: &'static str) -> LogError {
        LogError::Damaged { path: self.path.clone(), position: self.position, what }
    }

    fn broken(&self, broken: Broken) -> LogError {
        self.damaged(match broken {
            Broken::Short(_) => "it goes beyond the published end",
            Broken::Wrong(what) => what,
        })
    }
}

impl LogReader for FileReader {
    fn next(&mut self) -> Result<Option<Batch<'_>>, LogError> {
        loop {
            if self.position == self.published {
                self.refresh()?;
                if self.position == self.published {
                    return Ok(None);
                }
            }
            self.fill(HEADER_BYTES)?;
            let header = Header::decode(&self.buffer[self.start..]).map_err(|broken| self.broken(broken))?;
            self.fill(header.bytes)?;
            let start = self.start;
            // A batch before the one asked for is stepped over only if its CRC vouches for its length.
            let end = match Batch::decode(&self.buffer[start..]) {
                Ok(batch) if batch.base() <= self.offset || batch.end() <= self.offset => batch.end(),
                Ok(_) => return Err(self.damaged("its base offset does not follow the batch before it")),
                Err(broken) => return Err(self.broken(broken)),
            };
            self.start += header.bytes;
            self.position += header.bytes as u64;
            if end > self.offset {
                self.offset = end;
                return Ok(Some(Batch::trusted(&self.buffer[start..], &header)));
            }
        }
    }
}

fn open(log: &Shared, path: &std::path::Path) -> Result<Box<dyn SegmentFile>, LogError> {
    log.files.open(path).map_err(|source| LogError::Io { path: path.to_owned(), source })
}
