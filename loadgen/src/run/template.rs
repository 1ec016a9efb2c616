//! Preloaded changelogs, made once and copied for every run: what they hold depends on neither seed nor strategy.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use assignor::TaskId;
use engine::error::Error as EngineError;
use engine::log::{Compacted, FileLogs, LogDirectory};
use engine::preload::preload;
use engine::source::Sources;

use crate::error::Error;
use crate::process;
use crate::scenario::Plan;
use crate::stop::Stop;
use crate::watch::{Glance, Stage, Watcher};
use crate::workload::{self, Workload};

/// A folder with the preloaded changelog of every task.
#[derive(Debug)]
pub(super) struct Template {
    logs: PathBuf,
    /// What compacting it came to.
    pub(super) compacted: Compacted,
}

impl Template {
    /// Preloads under `dir`. `None` if it was stopped.
    pub(super) fn make(
        plan: &Plan,
        dir: &Path,
        watcher: &dyn Watcher,
        stop: &Stop,
    ) -> Result<Option<Self>, Error> {
        let logs = dir.join("preloaded");
        fs::create_dir_all(&logs).map_err(Error::io(&logs))?;
        if !plan.state.preload {
            return Ok(Some(Self { logs, compacted: Compacted::default() }));
        }
        watcher.stage(Stage::Preload, None);
        // Any seed: it draws live records alone.
        let sources = Workload::new(plan, 0)?.sources();
        let settings = workload::engine_config(plan);
        let directory = FileLogs::new(&logs, settings.log);
        let job = Job {
            tasks: workload::tasks(plan).into_iter().filter(|task| sources.preloaded(task) > 0).collect(),
            next: AtomicUsize::new(0),
            done: AtomicU64::new(0),
            failure: Mutex::new(None),
        };
        let total: u64 = job.tasks.iter().map(|task| sources.preloaded(task)).sum();
        let told = AtomicU64::new(0);
        let tell = |done: u64| {
            let percent = done * 100 / total.max(1);
            if told.fetch_max(percent, Ordering::Relaxed) < percent {
                watcher.glance(&Glance { done: Some(percent as f64 / 100.0), ..Glance::default() });
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..process::cores() {
                scope.spawn(|| job.work(&directory, &*sources, &settings, stop, &tell));
            }
        });
        match job.failure.into_inner() {
            Ok(Some(error)) => Err(error.into()),
            _ if stop.requested() => Ok(None),
            _ => Ok(Some(Self { compacted: compact(plan, &directory)?, logs })),
        }
    }

    /// Copies the changelogs to where a cluster in `dir` looks for them.
    pub(super) fn copy_to(&self, dir: &Path) -> Result<(), Error> {
        copy(&self.logs, &dir.join("logs"))
    }
}

/// Compacts what was preloaded, if the scenario says so.
fn compact(plan: &Plan, logs: &FileLogs) -> Result<Compacted, Error> {
    let mut sum = Compacted::default();
    for task in workload::tasks(plan).iter().filter(|_| plan.engine.compaction) {
        let done = logs.log(task)?.compact(usize::MAX)?;
        sum.bytes_before += done.bytes_before;
        sum.bytes_after += done.bytes_after;
    }
    Ok(sum)
}

/// Tasks that threads take turns to preload.
struct Job {
    tasks: Vec<TaskId>,
    next: AtomicUsize,
    done: AtomicU64,
    failure: Mutex<Option<EngineError>>,
}

impl Job {
    fn work(
        &self,
        directory: &FileLogs,
        sources: &dyn Sources,
        settings: &engine::config::EngineConfig,
        stop: &Stop,
        tell: &(dyn Fn(u64) + Sync),
    ) {
        while let Some(task) = self.tasks.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let mut before = 0;
            let mut progress = |done: u64| {
                let all = self.done.fetch_add(done - before, Ordering::Relaxed) + done - before;
                before = done;
                tell(all);
                !stop.requested()
            };
            let outcome = directory.log(task).map_err(EngineError::from).and_then(|log| {
                preload(task, &*log, sources, &mut *settings.processor.make(), &mut progress)
            });
            if let (Err(error), Ok(mut failure)) = (outcome, self.failure.lock()) {
                failure.get_or_insert(error);
                return;
            }
        }
    }
}

/// Has the system write what it holds of a file. It would do so by itself half a minute later, in the midst of what is
/// measured, and appends would wait for the disk then.
fn write_out(path: &Path) -> Result<(), Error> {
    fs::OpenOptions::new().append(true).open(path).and_then(|file| file.sync_data()).map_err(Error::io(path))
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::io(to))?;
    for entry in fs::read_dir(from).map_err(Error::io(from))? {
        let entry = entry.map_err(Error::io(from))?;
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(Error::io(entry.path()))?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            write_out(&entry.path())?;
            fs::copy(entry.path(), &target).map_err(Error::io(&target))?;
            write_out(&target)?;
        }
    }
    Ok(())
}
