//! The files below a log as a seam, so that every fault of a disk is a wrapper (see [`faulty`](super::faulty)).

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// One segment file.
pub trait SegmentFile: fmt::Debug + Send + Sync {
    /// Writes all of `bytes` at `position`.
    ///
    /// # Errors
    ///
    /// What the file system says; any part of `bytes` may have been written.
    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()>;

    /// Reads at most `space.len()` bytes at `position`; 0 at the end of the file.
    ///
    /// # Errors
    ///
    /// What the file system says.
    fn read_at(&self, space: &mut [u8], position: u64) -> io::Result<usize>;

    /// Cuts the file to `bytes`.
    ///
    /// # Errors
    ///
    /// What the file system says.
    fn truncate(&self, bytes: u64) -> io::Result<()>;

    /// Makes what was written outlast a power loss.
    ///
    /// # Errors
    ///
    /// What the file system says; nobody knows then what is on disk.
    fn sync(&self) -> io::Result<()>;

    /// The file's length in bytes.
    ///
    /// # Errors
    ///
    /// What the file system says.
    fn bytes(&self) -> io::Result<u64>;
}

/// Where segment files come from.
pub trait SegmentFiles: fmt::Debug + Send + Sync {
    /// Makes `folder`, and the folders above it, if they don't exist.
    ///
    /// # Errors
    ///
    /// What the file system says.
    fn make_folder(&self, folder: &Path) -> io::Result<()>;

    /// The files in `folder`.
    ///
    /// # Errors
    ///
    /// What the file system says.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Opens a file for reading and writing, empty if it didn't exist.
    ///
    /// # Errors
    ///
    /// What the file system says.
    fn open(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>>;

    /// Gives a file another one's name, in one step; that one is gone then, but for those who have it open.
    ///
    /// # Errors
    ///
    /// What the file system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes the names in `folder` outlast a power loss.
    ///
    /// # Errors
    ///
    /// What the file system says.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

impl SegmentFiles for RealFiles {
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }
}

#[derive(Debug)]
struct RealFile(File);

impl SegmentFile for RealFile {
    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, position)
    }

    fn read_at(&self, space: &mut [u8], position: u64) -> io::Result<usize> {
        self.0.read_at(space, position)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}
