//! The audit of a stopped application: every task's final copy against what its source said, and its log against the
//! rule that nobody appends under an old epoch.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use assignor::TaskId;
use engine::audit::{self, Audit};
use engine::cluster::Remains;
use engine::config::ProcessorKind;
use engine::error::Error as EngineError;
use engine::log::{FileLogs, LogDirectory, TaskLog};
use engine::position::{Epoch, Offset};
use engine::restore::{Replay, ReplayOptions};
use engine::source::Sources;
use engine::store::{Checkpoint, Store};

use crate::error::Error;
use crate::process;
use crate::scenario::Plan;
use crate::workload;

/// A task's final copy.
#[derive(Clone, Debug)]
pub(super) struct Final {
    pub(super) task: TaskId,
    /// What the instance that ran it last has left.
    pub(super) remains: Remains,
}

/// What the audit found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) records: Audit,
    /// Batches in a log whose epoch is older than one before it.
    pub(super) stale_appends: u64,
    /// Every task was there to be audited.
    pub(super) complete: bool,
}

/// Audits every task, as many at a time as there are cores.
pub(super) fn run(
    plan: &Plan,
    sources: &dyn Sources,
    dir: &Path,
    finals: &[Final],
) -> Result<Outcome, Error> {
    let logs = FileLogs::new(&dir.join("logs"), workload::engine_config(plan).log);
    let stateless = workload::stateless(plan);
    let stateful = workload::engine_config(plan).processor;
    let processor = |task| if stateless.contains(task) { ProcessorKind::Map } else { stateful };
    let next = AtomicUsize::new(0);
    let found: Mutex<Result<Outcome, EngineError>> = Mutex::new(Ok(Outcome::default()));
    std::thread::scope(|scope| {
        for _ in 0..process::cores() {
            scope.spawn(|| {
                while let Some(copy) = finals.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let one = audit_task(copy, processor(&copy.task), sources, &logs);
                    let Ok(mut found) = found.lock() else { return };
                    match (&mut *found, one) {
                        (Ok(sum), Ok((records, stale))) => {
                            sum.records += records;
                            sum.stale_appends += stale;
                        }
                        (Ok(_), Err(error)) => *found = Err(error),
                        (Err(_), _) => return,
                    }
                }
            });
        }
    });
    let outcome = found.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    Ok(Outcome { complete: finals.len() == plan.tasks as usize, ..outcome })
}

fn audit_task(
    copy: &Final,
    processor: ProcessorKind,
    sources: &dyn Sources,
    logs: &FileLogs,
) -> Result<(Audit, u64), EngineError> {
    let log = logs.log(&copy.task)?;
    if processor == ProcessorKind::Map {
        return Ok((audit::audit_outputs(&copy.task, sources, &*log)?, stale_appends(&*log)?));
    }
    let mut store = copy.remains.open()?.open(&copy.task)?;
    if matches!(copy.remains, Remains::InMemory(_)) && store.checkpoint() == Checkpoint::default() {
        store = replayed(store, &log)?;
    }
    let records = audit::audit_state(processor, &copy.task, sources, &*store)?;
    store.close()?;
    Ok((records, stale_appends(&*log)?))
}

/// What an instance had in memory is gone if it went down: the state is what a successor would make of the changelog.
fn replayed(store: Box<dyn Store>, log: &Arc<dyn TaskLog>) -> Result<Box<dyn Store>, EngineError> {
    let mut replay = Replay::new(log.clone(), store, ReplayOptions::default());
    while !replay.step(64 << 20)?.at_end {}
    Ok(replay.into_store())
}

/// Batches whose epoch is older than one before them: the fence let somebody through.
fn stale_appends(log: &dyn TaskLog) -> Result<u64, EngineError> {
    let mut reader = log.read(Offset(0))?;
    let (mut newest, mut stale) = (Epoch(0), 0);
    while let Some(batch) = reader.next()? {
        stale += u64::from(batch.epoch() < newest);
        newest = newest.max(batch.epoch());
    }
    Ok(stale)
}

#[cfg(test)]
mod tests {
    use engine::preload::preload;
    use engine::source::{KeyDistribution, SyntheticLoad, SyntheticSources};
    use engine::store::HashStores;

    use super::*;

    /// An owner that is down at the end has left nothing but the changelog.
    #[test]
    fn what_nobody_has_in_memory_is_made_anew() {
        let (task, folder) = (TaskId::from("T1"), tempfile::tempdir().unwrap());
        let sources = SyntheticSources::new(&SyntheticLoad {
            seed: 7,
            tasks: vec![(task.clone(), 1.0)],
            stateless: Vec::new(),
            rate: 1_000.0,
            keys: 500,
            distribution: KeyDistribution::Uniform,
            record_bytes: 50,
            updates_per_key: 2,
        });
        let logs = FileLogs::new(folder.path(), engine::log::LogOptions::default());
        let processor = ProcessorKind::Count { value_bytes: 50 };
        let log = logs.log(&task).unwrap();
        preload(&task, &*log, &sources, &mut *processor.make(), &mut |_| true).unwrap();
        let copy = Final { task, remains: Remains::InMemory(HashStores::default()) };
        let (found, stale) = audit_task(&copy, processor, &sources, &logs).unwrap();
        assert_eq!((found.applied, found.lost, found.doubled, stale), (1_000, 0, 0, 0), "{found:?}");
    }
}
