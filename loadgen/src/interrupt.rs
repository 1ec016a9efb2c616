//! Ctrl-C: the first asks the run to stop and keep what it has, the second ends the program.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use loadgen::stop::Stop;

use crate::exit;

/// The folder of state that must not outlive the program.
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Each attempt at removing a folder takes away what was made since the last.
const ATTEMPTS: usize = 20;

/// Catches interrupts and termination from now on.
pub(crate) fn install() -> anyhow::Result<Arc<Stop>> {
    let stop = Arc::new(Stop::default());
    let asked = stop.clone();
    ctrlc::set_handler(move || {
        if asked.request() {
            if let Some(folder) = FOLDER.lock().unwrap_or_else(PoisonError::into_inner).take() {
                remove(&folder);
            }
            std::process::exit(130);
        }
        exit::complain("stopping; what was measured is kept (once more to end at once)");
    })
    .context("interrupts can't be caught")?;
    Ok(stop)
}

/// Removes a folder in which others are still making files.
fn remove(folder: &Path) {
    for _ in 0..ATTEMPTS {
        if std::fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
    }
    exit::complain(&format!("state is left in {}", folder.display()));
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
