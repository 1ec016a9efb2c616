//! Runs a plan under strategies: blocks of trials in random order, each in a folder of its own that is removed after.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `template` | preloaded changelogs, made once |
//! | `trial` | one application through the scenario |
//! | `audit` | whether every record was applied exactly once |
//! | [`summary`] | one trial's figures |

use std::path::Path;
use std::sync::Arc;

use assignor::Strategy;
use engine::source::mix;
use results::assemble::Identity;

use crate::error::Error;
use crate::scenario::Plan;
use crate::stop::Stop;
use crate::watch::{Watcher, Which};
use crate::workload::Workload;

mod audit;
pub mod summary;
mod template;
mod trial;

pub use summary::Finished;

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

/// Runs everything, handing over each run as it is finished.
///
/// `finished` is called for every run that got as far as being measured, also for one that was stopped or failed.
///
/// # Errors
///
/// What `finished` says; everything else is an [`Ending`].
pub fn run(
    request: &Request<'_>,
    watcher: &dyn Watcher,
    stop: &Stop,
    finished: &mut dyn FnMut(Finished) -> Result<(), Error>,
) -> Result<Ending, Error> {
    let template = match Template::make(request.plan, request.work_dir, watcher, stop) {
        Ok(Some(template)) => template,
        Ok(None) => return Ok(Ending::Stopped),
        Err(error) => return Ok(Ending::Failed(error)),
    };
    let runs = request.trials as usize * request.strategies.len();
    let mut run = 0;
    for trial in 1..=request.trials {
        let seed = request.seed.wrapping_add(u64::from(trial - 1));
        for index in order(request.strategies.len(), request.seed, trial) {
            run += 1;
            let strategy = &request.strategies[index];
            watcher.begins(&Which { strategy: strategy.name(), trial, run, runs });
            let identity = Identity { strategy: strategy.name(), trial, replica: 0, seed };
            match one(request, &template, strategy, identity, watcher, stop) {
                Ok((None, ending)) => return Ok(ending.unwrap_or(Ending::Stopped)),
                Ok((Some(done), ending)) => {
                    finished(done)?;
                    if let Some(ending) = ending {
                        return Ok(ending);
                    }
                }
                Err(error) => return Ok(Ending::Failed(error)),
            }
        }
    }
    Ok(Ending::Complete)
}

/// One run in a folder of its own. With an ending if nothing may follow.
fn one(
    request: &Request<'_>,
    template: &Template,
    strategy: &Arc<dyn Strategy>,
    identity: Identity,
    watcher: &dyn Watcher,
    stop: &Stop,
) -> Result<(Option<Finished>, Option<Ending>), Error> {
    let dir = tempfile::Builder::new()
        .prefix("run-")
        .tempdir_in(request.work_dir)
        .map_err(Error::io(request.work_dir))?;
    template.copy_to(dir.path())?;
    let workload = Workload::new(request.plan, identity.seed)?;
    let trial =
        Trial { plan: request.plan, strategy: strategy.clone(), workload, dir: dir.path(), watcher, stop };
    let Some(mut measured) = trial.run()? else {
        return Ok((None, Some(Ending::Stopped)));
    };
    let failure = measured.played.failure.take();
    let stopped = measured.played.stopped;
    let mut finished = summary::finish(request.plan, identity, measured);
    finished.run.compaction.preloaded_bytes_before = template.compacted.bytes_before;
    finished.run.compaction.preloaded_bytes_after = template.compacted.bytes_after;
    let ending = match failure {
        Some(error) => {
            finished.run.incomplete = true;
            finished.run.warnings.push(format!("the run failed: {error}"));
            Some(Ending::Failed(error))
        }
        None if stopped => Some(Ending::Stopped),
        None => None,
    };
    dir.close().map_err(Error::io(request.work_dir))?;
    Ok((Some(finished), ending))
}

/// The order of one trial's strategies: a shuffle (Fisher and Yates) drawn from the seed.
fn order(strategies: usize, seed: u64, trial: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..strategies).collect();
    let mut random = mix(seed ^ mix(u64::from(trial)));
    for last in (1..strategies).rev() {
        random = mix(random.wrapping_add(1));
        order.swap(last, (random % (last as u64 + 1)) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_has_its_turn_and_no_order_is_fixed() {
        let mut first = [0; 3];
        for trial in 1..=300 {
            let order = order(3, 7, trial);
            first[order[0]] += 1;
            let mut sorted = order;
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(first.iter().all(|&count| count > 60), "{first:?}");
        assert_eq!(order(3, 7, 5), order(3, 7, 5));
    }
}
