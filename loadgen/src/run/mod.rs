//! Runs a plan under strategies: blocks of trials in random order, each in a folder of its own that is removed after.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`block`] | which run follows which, A/A twins among them |
//! | `ceiling` | what a bulk load into RocksDB reaches here and now |
//! | `template` | preloaded changelogs, made once |
//! | `trial` | one application through the scenario |
//! | `audit` | whether every record was applied exactly once |
//! | [`summary`] | one trial's figures |

use std::path::Path;
use std::sync::Arc;

use assignor::Strategy;
use engine::config::StoreKind;
use results::assemble::Identity;
use results::metric::Ceiling;
use tempfile::TempDir;

use crate::error::Error;
use crate::scenario::Plan;
use crate::stop::Stop;
use crate::watch::{Watcher, Which};
use crate::workload::Workload;

mod audit;
pub mod block;
mod ceiling;
pub mod summary;
mod template;
mod trial;

pub use block::Twins;
pub use summary::Finished;

use block::Slot;
use template::Template;
use trial::Trial;

/// What is to be run.
#[derive(Debug)]
pub struct Request<'a> {
    /// The scenario.
    pub plan: &'a Plan,
    /// Each runs once in every trial.
    pub strategies: &'a [Arc<dyn Strategy>],
    /// Trials, at least 1.
    pub trials: u32,
    /// Which runs have an A/A twin.
    pub twins: Twins,
    /// Runs that there are already: strategy, trial, replica. They are passed over.
    pub done: &'a [(String, u32, u32)],
    /// Trial n has the arrivals of seed + n − 1; the order of strategies comes from it too.
    pub seed: u64,
    /// A folder for logs and state, to which the caller has the right, and which the caller removes.
    pub work_dir: &'a Path,
}

/// How it ended.
#[derive(Debug)]
pub enum Ending {
    /// All trials ran.
    Complete,
    /// The user stopped it.
    Stopped,
    /// A trial failed; those before it are unharmed.
    Failed(Error),
}

/// Takes a finished run in, whose files are removed afterwards.
pub type Finish<'a> = &'a mut dyn FnMut(Finished) -> Result<(), Error>;

/// Runs everything, handing over each run as it is finished.
///
/// `finished` is called for every run that got as far as being measured, also for one that was stopped or failed.
pub fn run(request: &Request<'_>, watcher: &dyn Watcher, stop: &Stop, finished: Finish<'_>) -> Ending {
    all(request, watcher, stop, finished).unwrap_or_else(Ending::Failed)
}

fn all(
    request: &Request<'_>,
    watcher: &dyn Watcher,
    stop: &Stop,
    finished: Finish<'_>,
) -> Result<Ending, Error> {
    let left = request.left();
    if left.is_empty() {
        return Ok(Ending::Complete);
    }
    let Some(template) = Template::make(request.plan, request.work_dir, watcher, stop)? else {
        return Ok(Ending::Stopped);
    };
    let ceiling = match request.plan.state.store {
        StoreKind::RocksDb => {
            let dir = folder(request, "ceiling-")?;
            let ceiling = ceiling::measure(request.plan, dir.path())?;
            dir.close().map_err(Error::io(request.work_dir))?;
            Some(ceiling)
        }
        // It is RocksDB's.
        StoreKind::Memory => None,
    };
    let runner = Runner { request, template: &template, ceiling, watcher, stop };
    for (run, slot) in left.iter().enumerate() {
        let strategy = request.strategies[slot.strategy].name();
        watcher.begins(&Which { strategy, trial: slot.trial, run: run + 1, runs: left.len() });
        if let Some(ending) = runner.one(*slot, finished)? {
            return Ok(ending);
        }
    }
    Ok(Ending::Complete)
}

fn folder(request: &Request<'_>, prefix: &str) -> Result<TempDir, Error> {
    tempfile::Builder::new().prefix(prefix).tempdir_in(request.work_dir).map_err(Error::io(request.work_dir))
}

/// What all runs have in common.
struct Runner<'a> {
    request: &'a Request<'a>,
    template: &'a Template,
    /// What restores are compared with.
    ceiling: Option<Ceiling>,
    watcher: &'a dyn Watcher,
    stop: &'a Stop,
}

impl Runner<'_> {
    /// One run in a folder of its own. With an ending if nothing may follow.
    fn one(&self, slot: Slot, finished: Finish<'_>) -> Result<Option<Ending>, Error> {
        let request = self.request;
        let strategy = &request.strategies[slot.strategy];
        let identity = Identity {
            strategy: strategy.name(),
            trial: slot.trial,
            replica: slot.replica,
            seed: request.seed.wrapping_add(u64::from(slot.trial - 1)),
        };
        let dir = folder(request, "run-")?;
        self.template.copy_to(dir.path())?;
        let trial = Trial {
            plan: request.plan,
            name: format!("{}, trial {}, seed {}", identity.strategy, identity.trial, identity.seed),
            strategy: strategy.clone(),
            workload: Workload::new(request.plan, identity.seed)?,
            dir: dir.path(),
            watcher: self.watcher,
            stop: self.stop,
        };
        let Some(mut measured) = trial.run()? else {
            return Ok(Some(Ending::Stopped));
        };
        let failure = measured.played.failure.take();
        let stopped = measured.played.stopped;
        let mut done = summary::finish(request.plan, identity, measured, self.ceiling)?;
        done.run.compaction.preloaded_bytes_before = self.template.compacted.bytes_before;
        done.run.compaction.preloaded_bytes_after = self.template.compacted.bytes_after;
        if let Some(error) = &failure {
            done.run.incomplete = true;
            done.run.warnings.push(format!("the run failed: {error}"));
        }
        finished(done)?;
        dir.close().map_err(Error::io(request.work_dir))?;
        Ok(failure.map(Ending::Failed).or(stopped.then_some(Ending::Stopped)))
    }
}

impl Request<'_> {
    /// The runs that are still to be made, in their order.
    fn left(&self) -> Vec<Slot> {
        let is_done = |slot: &Slot| {
            let name = self.strategies[slot.strategy].name();
            self.done.iter().any(|done| *done == (name.clone(), slot.trial, slot.replica))
        };
        let all = block::order(self.strategies.len(), self.trials, self.seed, self.twins);
        all.into_iter().filter(|slot| !is_done(slot)).collect()
    }
}
