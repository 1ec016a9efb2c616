//! Reading results back, and printing what was made of them to standard output or into a file.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use loadgen::output::{RESULT, SWEEP, TIMELINE, write_whole};
use results::compare::Named;
use results::read;
use results::report::text::Style;
use results::report::view::Material;
use results::schema::RunFile;
use results::timeline::read::{self as timeline, Timeline};

use crate::exit::{self, Failure};

/// A result with the name it is called by in messages.
#[derive(Debug)]
pub(crate) struct ResultFile {
    name: String,
    result: RunFile,
}

/// What a RESULT on the command line stands for.
#[derive(Debug)]
pub(crate) enum Read {
    /// One result.
    One(Box<ResultFile>),
    /// A sweep: its cells by the name of their folder, as far as they have been run.
    Sweep(Vec<(String, ResultFile)>),
}

impl Read {
    /// Reads a `result.json`, a `sweep.json` with all of its cells, or what a folder holds of these.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let index = if path.is_dir() { path.join(SWEEP) } else { path.to_owned() };
        if !index.ends_with(SWEEP) || !index.is_file() {
            return Ok(Self::One(Box::new(ResultFile::read(path)?)));
        }
        let name = index.display().to_string();
        let content = fs::read(&index).with_context(|| name.clone()).map_err(Failure::Unusable)?;
        let sweep = read::read_sweep(&name, &content).map_err(Failure::unusable)?;
        let folder = index.parent().unwrap_or(Path::new(""));
        let mut cells = Vec::new();
        for cell in sweep.cells {
            let file = folder.join(&cell.folder).join(RESULT);
            // A sweep that was stopped has not got to all of its cells.
            if file.exists() {
                cells.push((cell.folder, ResultFile::read(&file)?));
            }
        }
        if cells.is_empty() {
            return Err(Failure::Unusable(anyhow!("{name}: none of the sweep's cells has been run")));
        }
        Ok(Self::Sweep(cells))
    }

    /// Its results, one or many.
    pub(crate) fn results(&self) -> Vec<&ResultFile> {
        match self {
            Self::One(file) => vec![file],
            Self::Sweep(cells) => cells.iter().map(|(_, file)| file).collect(),
        }
    }
}

impl ResultFile {
    /// Reads a `result.json`, or the one in a folder.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let file = if path.is_dir() { path.join(RESULT) } else { path.to_owned() };
        let name = file.display().to_string();
        let content = fs::read(&file)
            .with_context(|| format!("{name}: a RESULT is a result.json, or the folder that holds it"))
            .map_err(Failure::Unusable)?;
        let result = results::read::read(&name, &content).map_err(Failure::unusable)?;
        Ok(Self { name, result })
    }

    /// What was read.
    pub(crate) fn result(&self) -> &RunFile {
        &self.result
    }

    /// The same with its name.
    pub(crate) fn named(&self) -> Named<'_> {
        Named { file: &self.name, result: &self.result }
    }

    /// The content of the `timeline.csv` beside it; empty if there is none.
    pub(crate) fn timelines(&self) -> Result<Vec<Timeline>, Failure> {
        timelines(Path::new(&self.name).parent().unwrap_or(Path::new("")))
    }
}

/// The content of the `timeline.csv` in a folder; empty if there is none.
pub(crate) fn timelines(folder: &Path) -> Result<Vec<Timeline>, Failure> {
    let file = folder.join(TIMELINE);
    let name = file.display().to_string();
    match fs::read(&file) {
        Ok(content) => timeline::read(&name, &content).map_err(Failure::unusable),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Failure::Unusable(anyhow::Error::new(error).context(name))),
    }
}

/// Results with their timelines, as reports take them.
pub(crate) fn materials<'a>(
    results: impl IntoIterator<Item = &'a RunFile>,
    timelines: &'a [Vec<Timeline>],
) -> Vec<Material<'a>> {
    results.into_iter().zip(timelines).map(|(result, timelines)| Material { result, timelines }).collect()
}

/// Opens a file with whatever the system opens such files with. A machine without a screen has nothing of the kind, so
/// failing at that is said and is no failure.
pub(crate) fn open(path: &Path) {
    if let Err(error) = opener::open(path) {
        exit::complain(&format!("{} can't be opened here: {error}", path.display()));
    }
}

/// How text goes to standard output: as wide as the terminal.
pub(crate) fn style() -> Style {
    let width = terminal_size::terminal_size().map_or(100, |(terminal_size::Width(width), _)| width);
    Style { width, color: exit::styled(&std::io::stdout()) }
}

/// Prints, or writes whole into a file.
pub(crate) fn deliver(text: &str, out: Option<&PathBuf>) -> Result<(), Failure> {
    let Some(path) = out else {
        exit::say(text.trim_end());
        return Ok(());
    };
    write_whole(path, |file| file.write_all(text.as_bytes()))
        .with_context(|| format!("{} can't be written", path.display()))
        .map_err(Failure::Unusable)
}
