//! The folder that results go to: refused before anything starts if it can't be used, and never half written.
//!
//! Every file is written elsewhere and renamed when it is whole; `result.json` last, after each run, so that
//! what was measured survives whatever happens to the runs that follow. Only `timeline.csv` grows run by run: lines of
//! a run that `result.json` does not know are what a killed program has left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use results::report::csv;
use results::schema::{Run, RunFile};
use results::timeline;
use tempfile::TempDir;

use crate::error::Error;
use crate::run::Finished;
use crate::strategies::file_name;

/// The file that says what a folder's result is.
pub const RESULT: &str = "result.json";
/// The timelines of all runs.
pub const TIMELINE: &str = "timeline.csv";
/// The report, for a browser.
pub const REPORT: &str = "report.html";
/// The file that lists a sweep's cells.
pub const SWEEP: &str = "sweep.json";
/// What a folder of results holds besides interval logs; what says most of it first.
const OURS: [&str; 4] = [SWEEP, RESULT, TIMELINE, REPORT];
/// What folders of state are called while a run needs them.
const WORK_PREFIX: &str = ".understudy-";

/// Why a folder can't take results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// It holds a result.
    #[error("{dir} already holds a result ({file}); choose another folder with --out, or remove it{}",
        if file == SWEEP { "; give the same --sweep to go on with it" } else { "" })]
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
        if let Some(file) = results_in(dir).map_err(unwritable)?.into_iter().next() {
            return Err(OutputError::Taken { dir: dir.to_owned(), file });
        }
        Self::open(dir).map_err(unwritable)
    }

    /// Goes on in a folder that holds some of its runs already: files of all others are taken away.
    ///
    /// # Errors
    ///
    /// [`OutputError`].
    pub fn go_on(dir: &Path, kept: &[Run]) -> Result<Self, OutputError> {
        let unwritable = |source| OutputError::Unwritable { dir: dir.to_owned(), source };
        let mut output = Self::open(dir).map_err(unwritable)?;
        let logs: Vec<String> = kept.iter().map(log_name).collect();
        for file in results_in(dir).map_err(unwritable)? {
            if is_log(&file) && !logs.contains(&file) || file == RESULT && kept.is_empty() {
                fs::remove_file(dir.join(file)).map_err(unwritable)?;
            }
        }
        output.keep_timelines(kept).map_err(unwritable)?;
        output.written = !kept.is_empty();
        Ok(output)
    }

    fn open(dir: &Path) -> io::Result<Self> {
        let mut made: Vec<PathBuf> = dir
            .ancestors()
            .take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists())
            .map(Path::to_owned)
            .collect();
        made.reverse();
        let output = Self { dir: dir.to_owned(), made, written: false };
        fs::create_dir_all(dir)?;
        // What a folder's permissions say is not the whole truth: a file does.
        output.work_dir().and_then(TempDir::close)?;
        Ok(output)
    }

    /// Leaves the lines of these runs alone in `timeline.csv`.
    fn keep_timelines(&self, kept: &[Run]) -> io::Result<()> {
        let path = self.dir.join(TIMELINE);
        let old = match File::open(&path) {
            Ok(old) => BufReader::new(old),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if kept.is_empty() {
            return fs::remove_file(path);
        }
        let starts = kept.iter().map(line_start).collect::<io::Result<Vec<_>>>()?;
        write_whole(&path, |new| {
            for (number, line) in old.lines().enumerate() {
                let line = line?;
                if number == 0 || starts.iter().any(|start| line.starts_with(start)) {
                    writeln!(new, "{line}")?;
                }
            }
            Ok(())
        })
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
        let Finished { run, log, timeline: lines, restore_ceiling } = finished;
        self.written = true;
        let name = self.dir.join(log_name(&run));
        fs::rename(log, &name).map_err(Error::io(name))?;
        let path = self.dir.join(TIMELINE);
        let append = || {
            let mut csv = OpenOptions::new().create(true).append(true).open(&path)?;
            if csv.metadata()?.len() == 0 {
                timeline::write_heading(&mut csv)?;
            }
            io::copy(&mut File::open(lines)?, &mut csv)
        };
        append().map_err(Error::io(&path))?;
        result.restore_ceiling = restore_ceiling;
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

    /// The folder stays, whether or not a run is written into it.
    pub(crate) fn keep(&mut self) {
        self.written = true;
    }

    /// Writes a file whole.
    pub(crate) fn write(
        &self,
        name: &str,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), Error> {
        let whole = self.dir.join(name);
        write_whole(&whole, fill).map_err(Error::io(whole))
    }
}

/// Writes a file elsewhere in its folder, with the rights that the user's files have, and renames it when it is whole.
///
/// # Errors
///
/// What the file system says; what had been there before is there still.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let name =
        path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "is no file's name"))?;
    let partial = path.with_file_name(format!(".{}.partial", name.to_string_lossy()));
    let written = File::create(&partial)
        .and_then(|file| {
            let mut out = BufWriter::new(file);
            fill(&mut out)?;
            out.flush()
        })
        .and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // The write's own error is the one to tell.
        drop(fs::remove_file(&partial));
    }
    written
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

/// What a run's interval log is called.
fn log_name(run: &Run) -> String {
    let twin = if run.replica == 0 { "" } else { "-aa" };
    format!("latency-{}-{}{twin}.hlog", file_name(&run.strategy), run.trial)
}

fn is_log(file: &str) -> bool {
    file.starts_with("latency-") && file.ends_with(".hlog")
}

/// How each line of a run begins in `timeline.csv`.
fn line_start(run: &Run) -> io::Result<String> {
    let mut start = Vec::new();
    csv::write_row(
        &mut start,
        [run.strategy.as_str(), &run.trial.to_string(), &run.replica.to_string(), ""],
    )?;
    Ok(String::from_utf8_lossy(start.trim_ascii_end()).into_owned())
}

/// The files in the folder that belong to a result or a sweep.
fn results_in(dir: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if OURS.contains(&name.as_str()) || is_log(&name) {
            found.push(name);
        }
    }
    found.sort_by_key(|name| OURS.iter().position(|own| own == name).unwrap_or(OURS.len()));
    Ok(found)
}
