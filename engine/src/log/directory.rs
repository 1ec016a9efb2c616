//! All logs of an application as folders under one root.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assignor::TaskId;
use parking_lot::Mutex;

use super::io::{RealFiles, SegmentFiles};
use super::{FileLog, LogDirectory, LogOptions, TaskLog};
use crate::error::LogError;
use crate::folder::folder_of;

/// Logs in files: one folder a task.
#[derive(Debug)]
pub struct FileLogs {
    root: PathBuf,
    options: LogOptions,
    files: Arc<dyn SegmentFiles>,
    open: Mutex<BTreeMap<TaskId, Arc<FileLog>>>,
}

impl FileLogs {
    /// Logs under `root`, which is made when the first log is.
    #[must_use]
    pub fn new(root: &Path, options: LogOptions) -> Self {
        Self::over(Arc::new(RealFiles), root, options)
    }

    /// The same over other files than the file system's.
    #[must_use]
    pub fn over(files: Arc<dyn SegmentFiles>, root: &Path, options: LogOptions) -> Self {
        Self { root: root.to_owned(), options, files, open: Mutex::default() }
    }

    /// The folder of a task's log.
    #[must_use]
    pub fn folder(&self, task: &TaskId) -> PathBuf {
        self.root.join(folder_of(task))
    }
}

impl LogDirectory for FileLogs {
    fn log(&self, task: &TaskId) -> Result<Arc<dyn TaskLog>, LogError> {
        let mut open = self.open.lock();
        if let Some(log) = open.get(task) {
            return Ok(Arc::clone(log) as Arc<dyn TaskLog>);
        }
        let log = FileLog::open(task, &self.folder(task), self.options, Arc::clone(&self.files))?;
        let log = Arc::new(log);
        open.insert(task.clone(), Arc::clone(&log));
        Ok(log)
    }
}
