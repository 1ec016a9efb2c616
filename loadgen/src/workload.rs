//! A plan as the engine wants it: tasks, settings, and the source of all records.

use std::sync::Arc;
use std::time::Duration;

use assignor::TaskId;
use engine::clock::Time;
use engine::cluster::TaskSpec;
use engine::config::{CompactionOptions, EngineConfig};
use engine::log::LogOptions;
use engine::restore::ReplayOptions;
use engine::source::{
    BrokenLines, KeyDistribution, RecordedLoad, RecordedSources, Sources, SyntheticLoad, SyntheticSources,
};

use crate::error::Error;
use crate::scenario::{KeyChoice, Kind, Load, Plan};

/// Where all records of one run come from, and when they begin and end.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Computed from the seed.
    Synthetic(SyntheticSources),
    /// Read from a file.
    Recorded(RecordedSources),
}

impl Workload {
    /// The workload of a plan under a seed. Nothing arrives before [`Workload::begin`].
    ///
    /// # Errors
    ///
    /// A recorded load that can't be read, with file and line.
    pub fn new(plan: &Plan, seed: u64) -> Result<Self, Error> {
        let updates_per_key = if plan.state.preload { plan.state.updates_per_key } else { 0 };
        match &plan.load {
            Load::Synthetic { rate, keys } => Ok(Self::Synthetic(SyntheticSources::new(&SyntheticLoad {
                seed,
                tasks: tasks(plan)
                    .into_iter()
                    .zip(&plan.kinds)
                    .map(|(task, kind)| (task, kind.weight as f64))
                    .collect(),
                stateless: stateless(plan),
                rate: *rate as f64,
                keys: plan.state.keys,
                distribution: match keys {
                    KeyChoice::Uniform => KeyDistribution::Uniform,
                    KeyChoice::Sequential => KeyDistribution::Sequential,
                    KeyChoice::Zipf(exponent) => KeyDistribution::Zipf(*exponent),
                },
                record_bytes: u32::try_from(plan.state.value_bytes).unwrap_or(u32::MAX),
                updates_per_key,
            }))),
            Load::Recorded { files, speed, looping, skip_broken } => {
                Ok(Self::Recorded(RecordedSources::load(&RecordedLoad {
                    files: files.clone(),
                    tasks: tasks(plan),
                    stateless: stateless(plan),
                    updates_per_key,
                    speed: *speed,
                    looping: *looping,
                    skip_broken: *skip_broken,
                })?))
            }
        }
    }

    /// Records of a recorded load, and how long it lasts.
    #[must_use]
    pub fn extent(&self) -> Option<(u64, Duration)> {
        match self {
            Self::Synthetic(_) => None,
            Self::Recorded(sources) => {
                let (records, nanos) = sources.extent();
                Some((records, Duration::from_nanos(nanos)))
            }
        }
    }

    /// Lines of a recorded load that were passed over, if there are any.
    #[must_use]
    pub fn broken(&self) -> Option<&BrokenLines> {
        match self {
            Self::Synthetic(_) => None,
            Self::Recorded(sources) => Some(sources.broken()).filter(|broken| broken.count > 0),
        }
    }

    /// The sources, as the engine wants them.
    #[must_use]
    pub fn sources(&self) -> Arc<dyn Sources> {
        match self {
            Self::Synthetic(sources) => Arc::new(sources.clone()),
            Self::Recorded(sources) => Arc::new(sources.clone()),
        }
    }

    /// Records arrive from now on.
    pub fn begin(&self, at: Time) {
        match self {
            Self::Synthetic(sources) => sources.begin(at),
            Self::Recorded(sources) => sources.begin(at),
        }
    }

    /// No record arrives from then on.
    pub fn end(&self, at: Time) {
        match self {
            Self::Synthetic(sources) => sources.end(at),
            Self::Recorded(sources) => sources.end(at),
        }
    }
}

/// The tasks of a plan: T1, T2, …
#[must_use]
pub fn tasks(plan: &Plan) -> Vec<TaskId> {
    (1..=plan.tasks).map(|number| TaskId::from(format!("T{number}"))).collect()
}

/// The tasks without state.
#[must_use]
pub fn stateless(plan: &Plan) -> Vec<TaskId> {
    let kinds = tasks(plan).into_iter().zip(&plan.kinds);
    kinds.filter(|(_, kind)| kind.stateless).map(|(task, _)| task).collect()
}

/// The tasks with what strategies know of them.
#[must_use]
pub fn task_specs(plan: &Plan) -> Vec<TaskSpec> {
    let state_bytes = plan.state.keys.saturating_mul(plan.state.value_bytes as u64);
    let spec = |(id, kind): (TaskId, &Kind)| TaskSpec {
        id,
        stateful: !kind.stateless,
        state_bytes: if kind.stateless { 0 } else { state_bytes },
    };
    tasks(plan).into_iter().zip(&plan.kinds).map(spec).collect()
}

/// The engine's settings for a plan.
#[must_use]
pub fn engine_config(plan: &Plan) -> EngineConfig {
    EngineConfig {
        processor: plan.state.processor,
        turn_records: plan.engine.turn_records,
        linger: plan.engine.linger,
        commit: plan.engine.commit,
        piece_bytes: plan.engine.piece_bytes,
        store: plan.state.store,
        rocks: plan.rocks.clone(),
        pinning: plan.engine.pinning,
        short_slices: plan.engine.short_slices,
        compaction: plan.engine.compaction.then(CompactionOptions::default),
        worker_rate: plan.capacity.worker_rate,
        restore_bytes_per_s: plan.capacity.restore_bytes_per_s,
        replay: ReplayOptions { chunk_bytes: plan.engine.restore_memory_bytes, ..ReplayOptions::default() },
        log: LogOptions { segment_bytes: plan.engine.segment_bytes, fsync: plan.engine.fsync },
    }
}
