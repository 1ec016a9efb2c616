//! Ctrl-C: the first asks the run to stop and keep what it has, the second ends the program.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use loadgen::stop::Stop;

use crate::exit;

/// The folder of state that must not outlive the program.
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Catches interrupts and termination from now on.
pub(crate) fn install() -> anyhow::Result<Arc<Stop>> {
    let stop = Arc::new(Stop::default());
    let asked = stop.clone();
    ctrlc::set_handler(move || {
        if asked.request() {
            if let Some(folder) = FOLDER.lock().unwrap_or_else(PoisonError::into_inner).take() {
                // The run still writes there; what can't be removed is left, and said nothing about.
                drop(std::fs::remove_dir_all(folder));
            }
            std::process::exit(130);
        }
        exit::complain("stopping; what was measured is kept (once more to end at once)");
    })
    .context("interrupts can't be caught")?;
    Ok(stop)
}

/// While this lives, a second interrupt removes the folder.
pub(crate) struct Guard;

/// Guards a folder.
pub(crate) fn guard(folder: &Path) -> Guard {
    *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.to_owned());
    Guard
}

impl Drop for Guard {
    fn drop(&mut self) {
        FOLDER.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
