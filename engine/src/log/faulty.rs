//! Segment files with faults: what a disk does on a bad day, on demand.
//!
//! ```
//! use std::sync::Arc;
//! use engine::log::faulty::{Fault, FaultyFiles};
//! use engine::log::io::RealFiles;
//! let files = FaultyFiles::new(Arc::new(RealFiles));
//! files.plan([Fault::DiskFull { after: 100 }]); // hits the next write that would go beyond 100 bytes
//! ```

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::io::{SegmentFile, SegmentFiles};

/// One thing that goes wrong, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A write leaves its first `bytes` and fails.
    TornWrite {
        /// What reaches the file.
        bytes: usize,
    },
    /// A write leaves what fits into `after` more bytes and fails with [`ErrorKind::StorageFull`].
    DiskFull {
        /// Bytes that still fit.
        after: usize,
    },
    /// A write does all it should and fails nevertheless.
    LateError,
    /// A sync fails.
    FailedSync,
    /// A truncation fails.
    FailedTruncate,
    /// A file can't take another one's name.
    FailedRename,
    /// A read returns at most `bytes`, without an error.
    ShortRead {
        /// How many at most (at least 1).
        bytes: usize,
    },
    /// A read fails.
    FailedRead,
}

/// Wraps segment files; faults are consumed in the order in which they were planned, each by the first call that it
/// fits.
#[derive(Clone, Debug)]
pub struct FaultyFiles {
    inner: Arc<dyn SegmentFiles>,
    plan: Arc<Mutex<VecDeque<Fault>>>,
}

impl FaultyFiles {
    /// Files that behave, until faults are planned.
    #[must_use]
    pub fn new(inner: Arc<dyn SegmentFiles>) -> Self {
        Self { inner, plan: Arc::default() }
    }

    /// Plans faults after those already planned.
    pub fn plan(&self, faults: impl IntoIterator<Item = Fault>) {
        self.plan.lock().extend(faults);
    }

    /// Faults that have not happened yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.plan.lock().len()
    }
}

impl SegmentFiles for FaultyFiles {
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        self.inner.make_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.inner.list(folder)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        Ok(Box::new(FaultyFile { inner: self.inner.open(path)?, plan: Arc::clone(&self.plan) }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.plan.lock().pop_front_if(|fault| *fault == Fault::FailedRename) {
            Some(_) => Err(ErrorKind::Other.into()),
            None => self.inner.rename(from, to),
        }
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.inner.sync_folder(folder)
    }
}

#[derive(Debug)]
struct FaultyFile {
    inner: Box<dyn SegmentFile>,
    plan: Arc<Mutex<VecDeque<Fault>>>,
}

impl FaultyFile {
    /// Takes the next fault if it fits.
    fn fault(&self, fits: impl Fn(Fault) -> bool) -> Option<Fault> {
        self.plan.lock().pop_front_if(|fault| fits(*fault))
    }
}

impl SegmentFile for FaultyFile {
    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        let fits = |fault| match fault {
            Fault::TornWrite { .. } | Fault::LateError => true,
            Fault::DiskFull { after } => bytes.len() > after,
            _ => false,
        };
        let (part, kind) = match self.fault(fits) {
            None => return self.inner.write_at(bytes, position),
            Some(Fault::TornWrite { bytes: part }) => (part, ErrorKind::Other),
            Some(Fault::DiskFull { after }) => (after, ErrorKind::StorageFull),
            Some(_) => (bytes.len(), ErrorKind::Other),
        };
        self.inner.write_at(&bytes[..part.min(bytes.len())], position)?;
        Err(kind.into())
    }

    fn read_at(&self, space: &mut [u8], position: u64) -> io::Result<usize> {
        match self.fault(|fault| matches!(fault, Fault::ShortRead { .. } | Fault::FailedRead)) {
            Some(Fault::ShortRead { bytes }) => {
                let part = bytes.clamp(1, space.len().max(1)).min(space.len());
                self.inner.read_at(&mut space[..part], position)
            }
            Some(_) => Err(ErrorKind::Other.into()),
            None => self.inner.read_at(space, position),
        }
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        match self.fault(|fault| fault == Fault::FailedTruncate) {
            Some(_) => Err(ErrorKind::Other.into()),
            None => self.inner.truncate(bytes),
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self.fault(|fault| fault == Fault::FailedSync) {
            Some(_) => Err(ErrorKind::Other.into()),
            None => self.inner.sync(),
        }
    }

    fn bytes(&self) -> io::Result<u64> {
        self.inner.bytes()
    }
}
