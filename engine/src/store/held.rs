//! A state directory, and a cluster's whole directory, belong to one process at a time.
//!
//! The lock is the operating system's, on a file in the directory, and goes with the process however it ends. Within
//! one process a directory may be opened more than once: that a copy is open at most once is for RocksDB to check.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::error::StoreError;

/// The file that is locked.
const LOCK: &str = ".lock";

/// What this process holds.
static HELD: Mutex<BTreeMap<PathBuf, Weak<File>>> = Mutex::new(BTreeMap::new());

/// Holds `root`, made if it doesn't exist, until the last holder in this process is dropped.
pub(crate) fn hold(root: &Path) -> Result<Arc<File>, StoreError> {
    let io = |source| StoreError::Io { path: root.to_owned(), source };
    fs::create_dir_all(root).map_err(io)?;
    let path = root.canonicalize().map_err(io)?;
    let mut held = HELD.lock();
    held.retain(|_, lock| lock.strong_count() > 0);
    if let Some(lock) = held.get(&path).and_then(Weak::upgrade) {
        return Ok(lock);
    }
    let file = File::options().write(true).create(true).truncate(false).open(path.join(LOCK)).map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::Held { path: root.to_owned() }),
        Err(TryLockError::Error(source)) => return Err(io(source)),
    }
    let lock = Arc::new(file);
    held.insert(path, Arc::downgrade(&lock));
    Ok(lock)
}
