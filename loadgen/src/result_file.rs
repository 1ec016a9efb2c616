//! Reading results back, and printing what was made of them to standard output or into a file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use loadgen::output::RESULT;
use results::compare::Named;
use results::report::text::Style;
use results::schema::RunFile;

use crate::exit::{self, Failure};

/// A result with the name it is called by in messages.
#[derive(Debug)]
pub(crate) struct ResultFile {
    name: String,
    result: RunFile,
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
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> anyhow::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("--out {}: cannot be written", path.display())).map_err(Failure::Unusable)
}
