//! What can go wrong between a valid scenario and its results.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Anything that ends a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] engine::error::Error),
    /// The file system said no.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The group did not come to rest before the load could start.
    #[error(
        "the group did not settle within {}s: {running} of {tasks} tasks were running{}",
        after.as_secs(),
        if *balanced { "" } else { ", and the group was not balanced" }
    )]
    NotSettled {
        /// How long was waited.
        after: Duration,
        /// Tasks that were running.
        running: usize,
        /// Tasks that there are.
        tasks: usize,
        /// Whether the group's plan was balanced and quiet.
        balanced: bool,
    },
    /// The folder for results can't be used.
    #[error(transparent)]
    Output(#[from] crate::output::OutputError),
}

impl Error {
    /// For `map_err` on the file system's answers about `path`.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

impl From<engine::error::LogError> for Error {
    fn from(error: engine::error::LogError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<engine::error::StoreError> for Error {
    fn from(error: engine::error::StoreError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<engine::error::SourceError> for Error {
    fn from(error: engine::error::SourceError) -> Self {
        Self::Engine(error.into())
    }
}
