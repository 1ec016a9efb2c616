//! The folder that results go to: refused before anything starts if it can't be used, and never half written.
//!
//! Every file is written under another name and renamed when it is whole; `result.json` last, after each run, so that
//! what was measured survives whatever happens to the runs that follow.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use results::interval_log::{self, Clock};
use results::schema::RunFile;
use results::timeline;
use tempfile::TempDir;

use crate::error::Error;
use crate::run::Finished;
use crate::strategies::file_name;

/// The file that says what a folder's result is.
pub const RESULT: &str = "result.json";
/// The timelines of all runs.
pub const TIMELINE: &str = "timeline.csv";
/// What folders of state are called while a run needs them.
const WORK_PREFIX: &str = ".understudy-";

/// Why a folder can't take results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// It holds a result.
    #[error("{dir} already holds a result ({file}); choose another folder with --out, or remove it")]
    Taken {
        /// The folder.
        dir: PathBuf,
        /// The file that was found.
        file: String,
    },
    /// It can't be made or written.
    #[error("{dir} can't be written: {source}; choose another folder with --out")]
    Unwritable {
        /// The folder.
        dir: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
}

/// A folder that takes the result of one scenario.
#[derive(Debug)]
pub struct Output {
    dir: PathBuf,
    /// Folders that were made for it, outermost first.
    made: Vec<PathBuf>,
    timeline: Vec<u8>,
    written: bool,
}

impl Output {
    /// Makes sure that the folder can take a result.
    ///
    /// # Errors
    ///
    /// [`OutputError`]; nothing has been made then.
    pub fn prepare(dir: &Path) -> Result<Self, OutputError> {
        let unwritable = |source| OutputError::Unwritable { dir: dir.to_owned(), source };
        if let Some(file) = existing_result(dir).map_err(unwritable)? {
            return Err(OutputError::Taken { dir: dir.to_owned(), file });
        }
        let mut made: Vec<PathBuf> = dir
            .ancestors()
            .take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists())
            .map(Path::to_owned)
            .collect();
        made.reverse();
        let output = Self { dir: dir.to_owned(), made, timeline: Vec::new(), written: false };
        fs::create_dir_all(dir).map_err(unwritable)?;
        // What a folder's permissions say is not the whole truth: a file does.
        output.work_dir().and_then(TempDir::close).map_err(unwritable)?;
        Ok(output)
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A folder for logs and state, on the same disk, that is removed when it is dropped.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn work_dir(&self) -> io::Result<TempDir> {
        tempfile::Builder::new().prefix(WORK_PREFIX).tempdir_in(&self.dir)
    }

    /// Writes one run's own files, then the whole result with it.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn add(&mut self, finished: Finished, result: &mut RunFile) -> Result<(), Error> {
        let Finished { run, latency, timeline: rows, origin } = finished;
        self.written = true;
        let log = format!("latency-{}-{}.hlog", file_name(&run.strategy), run.trial);
        let name = format!("{}, trial {}, seed {}", run.strategy, run.trial, run.seed);
        self.write(&log, |out| interval_log::write(out, &latency, Clock::Latency, &name, origin))?;

        let csv = &mut self.timeline;
        let heading = if csv.is_empty() { timeline::write_heading(csv) } else { Ok(()) };
        heading
            .and_then(|()| {
                let id = (run.strategy.as_str(), run.trial, run.replica);
                timeline::write_rows(csv, id, latency.window_us, &rows)
            })
            .map_err(Error::io(self.dir.join(TIMELINE)))?;
        self.write(TIMELINE, |out| out.write_all(&self.timeline))?;
        result.runs.push(run);
        self.save(result)
    }

    /// Writes the result as it is now.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn save(&self, result: &RunFile) -> Result<(), Error> {
        self.write(RESULT, |out| out.write_all(result.to_json().as_bytes()))
    }

    fn write(
        &self,
        name: &str,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), Error> {
        let partial = self.dir.join(format!(".{name}.partial"));
        let whole = self.dir.join(name);
        let written = File::create(&partial)
            .and_then(|file| {
                let mut out = BufWriter::new(file);
                fill(&mut out)?;
                out.flush()
            })
            .and_then(|()| fs::rename(&partial, &whole));
        if written.is_err() {
            // The write's own error is the one to tell.
            drop(fs::remove_file(&partial));
        }
        written.map_err(Error::io(whole))
    }
}

impl Drop for Output {
    /// A folder that was made for a result that never came is taken away again.
    fn drop(&mut self) {
        if !self.written {
            for dir in self.made.iter().rev() {
                // Somebody else may have put something there.
                drop(fs::remove_dir(dir));
            }
        }
    }
}

/// A file in the folder that belongs to a result.
fn existing_result(dir: &Path) -> io::Result<Option<String>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name == RESULT || name == TIMELINE || (name.starts_with("latency-") && name.ends_with(".hlog")) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
