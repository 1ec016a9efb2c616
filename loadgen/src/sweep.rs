//! A sweep's folder: `sweep.json`, and for each cell a folder with an ordinary result.
//!
//! The list of cells is written with the first run that is measured. Given again with the same command, runs that are
//! whole stay, and the rest is run; anything that would make the old and the new unlike is refused.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use results::environment::Environment;
use results::likeness::{self, Difference};
use results::read::{self, ReadError};
use results::schema::{Run, RunFile};
use results::sweep_file::{Cell, SweepFile};

use crate::error::Error;
use crate::output::{Output, OutputError, RESULT, SWEEP};

/// Why a sweep can't be gone on with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// A file of it can't be read.
    #[error("{file}: {source}")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// A file of it is damaged.
    #[error("{0}; to run this part of the sweep again, remove the folder that the file is in")]
    Damaged(#[source] ReadError),
    /// It is another sweep.
    #[error("{} is another sweep; choose another folder with --out, or give its own command again:\n{}",
        dir.display(), list(differences))]
    Another {
        /// The sweep's folder.
        dir: PathBuf,
        /// What is there against what is asked.
        differences: Vec<Difference>,
    },
    /// A cell's result is not what it should be.
    #[error("{}: its runs would be unlike those that are to come; choose another folder with --out, or remove this one:\n{}",
        cell.display(), list(differences))]
    Unlike {
        /// The cell's result.
        cell: PathBuf,
        /// What is there against what would come.
        differences: Vec<Difference>,
    },
    /// The folder can't be used.
    #[error(transparent)]
    Output(#[from] OutputError),
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(|difference| format!("  {difference}")).collect::<Vec<_>>().join("\n")
}

/// A folder that takes a sweep's results.
#[derive(Debug)]
pub struct Sweep {
    dir: PathBuf,
    file: SweepFile,
    /// What there is of each cell.
    found: Vec<Option<RunFile>>,
    /// The folder itself, while nothing has been written into it.
    fresh: Option<Output>,
}

impl Sweep {
    /// Opens the folder for `asked`, new or to go on.
    ///
    /// # Errors
    ///
    /// [`SweepError`]; nothing has been changed then.
    pub fn open(dir: &Path, asked: SweepFile, environment: &Environment) -> Result<Self, SweepError> {
        let Some(content) = content(&dir.join(SWEEP))? else {
            let found = vec![None; asked.cells.len()];
            return Ok(Self { dir: dir.to_owned(), file: asked, found, fresh: Some(Output::prepare(dir)?) });
        };
        let name = dir.join(SWEEP).display().to_string();
        let there = read::read_sweep(&name, &content).map_err(SweepError::Damaged)?;
        let differences = there.differences(&asked);
        if !differences.is_empty() {
            return Err(SweepError::Another { dir: dir.to_owned(), differences });
        }
        let found = asked
            .cells
            .iter()
            .map(|cell| result_of(dir, cell, environment))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self { dir: dir.to_owned(), file: asked, found, fresh: None })
    }

    /// The runs of a cell that are whole, in its result as far as it got; `None` if nothing is there.
    pub fn take(&mut self, cell: usize) -> Option<RunFile> {
        self.found.get_mut(cell)?.take()
    }

    /// The folder of a cell, for the runs that are to come.
    ///
    /// # Errors
    ///
    /// [`OutputError`].
    pub fn output(&self, cell: usize, kept: &[Run]) -> Result<Output, OutputError> {
        Output::go_on(&self.cell_dir(cell), kept)
    }

    /// The sweep's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A cell's folder.
    #[must_use]
    pub fn cell_dir(&self, cell: usize) -> PathBuf {
        self.dir.join(self.file.cells.get(cell).map_or("", |cell| &cell.folder))
    }

    /// Says what the sweep consists of, before the first of its results is written.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn begin(&mut self) -> Result<(), Error> {
        if let Some(mut output) = self.fresh.take() {
            output.write(SWEEP, |out| io::Write::write_all(out, self.file.to_json().as_bytes()))?;
            output.keep();
        }
        Ok(())
    }
}

/// A cell's result without the runs that are not whole; refused unless what is to come is like it.
fn result_of(dir: &Path, cell: &Cell, environment: &Environment) -> Result<Option<RunFile>, SweepError> {
    let path = dir.join(&cell.folder).join(RESULT);
    let Some(content) = content(&path)? else { return Ok(None) };
    let mut result = read::read(&path.display().to_string(), &content).map_err(SweepError::Damaged)?;
    let plain = |environment: &Environment| serde_json::to_value(environment).unwrap_or_default();
    let mut differences = likeness::between("environment", &plain(&result.environment), &plain(environment));
    let scenario = |scenario: &serde_json::Map<String, serde_json::Value>| scenario.clone().into();
    differences.extend(likeness::between("scenario", &scenario(&result.scenario), &scenario(&cell.scenario)));
    if !differences.is_empty() {
        return Err(SweepError::Unlike { cell: path, differences });
    }
    if result.incomplete {
        result.runs.retain(|run| !run.incomplete && run.audit.passed);
    }
    Ok(Some(result))
}

fn content(path: &Path) -> Result<Option<Vec<u8>>, SweepError> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SweepError::Unreadable { file: path.to_owned(), source }),
    }
}
