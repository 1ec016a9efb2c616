//! One validated scenario: everything a run needs to know, with nothing left to check.

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::config::{GroupConfig, Notices};
use serde_json::{Map, Value as Json};

use super::keys;
use super::mistake::Mistake;
use super::quantity::{KeyChoice, grouped};
use super::reader::Reader;
use super::script::{self, Event, Instances};
use super::tree::Node;

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The built-in's name, or the file's without its ending.
    pub name: String,
    /// What it shows, in one line.
    pub title: String,
    /// A paragraph: what happens, and what is right. Empty if the scenario says nothing.
    pub description: String,
    /// Number of tasks, all alike.
    pub tasks: u32,
    /// What each task keeps.
    pub state: State,
    /// What arrives.
    pub load: Load,
    /// A record later than this is delayed.
    pub slo: Duration,
    /// Timing of the group protocol.
    pub group: GroupConfig,
    /// Limits.
    pub capacity: Capacity,
    /// Settings of the engine.
    pub engine: EngineSettings,
    /// How long load runs before measuring begins.
    pub warm_up: Duration,
    /// How long is measured.
    pub duration: Duration,
    /// What runs at the start.
    pub instances: Vec<Instances>,
    /// What happens, by time.
    pub events: Vec<Event>,
    /// The scenario in its own words, with every default filled in.
    pub document: Map<String, Json>,
    /// What is odd about it, but may be meant.
    pub notes: Vec<String>,
}

/// What each task keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Distinct keys per task.
    pub keys: u64,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// How often each key was updated before the clock starts.
    pub updates_per_key: u64,
    /// Whether the state is there when the clock starts.
    pub preload: bool,
}

/// What arrives, and when.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Computed from the seed.
    Synthetic {
        /// Records per second over all tasks.
        rate: u64,
        /// Which keys arrive.
        keys: KeyChoice,
    },
    /// Read from a file.
    Recorded {
        /// The file.
        file: PathBuf,
    },
}

/// Limits kept by waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Records per second per worker.
    pub worker_rate: Option<u64>,
    /// Bytes of changelog replayed per second per instance.
    pub restore_bytes_per_s: Option<u64>,
}

/// Settings of the engine that seldom matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineSettings {
    /// A task processes at most this many records before it commits.
    pub turn_records: usize,
    /// Bytes that one replay may sort in memory.
    pub restore_memory_bytes: usize,
    /// Whether changelogs are forced to disk.
    pub fsync: bool,
    /// Size of a changelog's files.
    pub segment_bytes: u64,
}

/// A megabyte as disks and networks count it.
const MB: u64 = 1_000_000;

/// Reads and checks a whole scenario. `home` is the folder that `load.file` is relative to.
pub(super) fn read(name: &str, home: &Path, root: &Node, mistakes: &mut Vec<Mistake>) -> Plan {
    let mut found = Vec::new();
    let mut reader = Reader::new(root, &keys::SCENARIO, &mut found);
    let title = reader.get(&keys::TITLE);
    let description = reader.maybe(&keys::DESCRIPTION).unwrap_or_default();
    let tasks = narrow(reader.get(&keys::TASKS));
    reader.maybe(&keys::TASK);
    let state = reader.section(&keys::STATE, state);
    let (load, slo) = reader.section(&keys::LOAD, |reader| load(reader, home));
    let group = reader.section(&keys::GROUP, group);
    let capacity = reader.section(&keys::CAPACITY, |reader| Capacity {
        worker_rate: reader.maybe(&keys::WORKER_RATE),
        restore_bytes_per_s: reader.maybe(&keys::RESTORE_MB_PER_S).map(|mb| mb * MB),
    });
    let engine = reader.section(&keys::ENGINE, |reader| EngineSettings {
        turn_records: narrow(reader.get(&keys::TURN_RECORDS)),
        restore_memory_bytes: narrow(reader.get(&keys::RESTORE_MEMORY_MB) * MB),
        fsync: reader.get(&keys::FSYNC),
        segment_bytes: reader.get(&keys::SEGMENT_MB) * MB,
    });
    let warm_up = reader.get(&keys::WARM_UP);
    let duration = reader.maybe(&keys::DURATION);
    let instances = reader.sections(&keys::INSTANCES, |reader| script::instances(reader, &keys::COUNT));
    if instances.is_empty() {
        let mistake = match reader.place(&keys::INSTANCES) {
            Some(at) => Mistake::at(at, "the scenario starts no instances"),
            None => Mistake::anywhere("the scenario starts no instances"),
        };
        reader.mistake(mistake.hint("say what runs at the start:\n\n[[instances]]\ncount = 3\nworkers = 1"));
    }
    let events = reader.sections(&keys::AT, script::read);
    let document = reader.finish();

    // With nobody at the start every name would be unknown; one mistake is enough.
    let somebody = instances.iter().all(|of| of.count > 0 && of.workers > 0) && !instances.is_empty();
    let events = if somebody { script::check(events, &instances, duration, &mut found) } else { Vec::new() };
    mistakes.append(&mut found);
    let group = GroupConfig {
        initial_members: instances.iter().map(|of| of.count as usize * of.workers as usize).sum(),
        ..group
    };
    let mut plan = Plan {
        name: name.to_owned(),
        title,
        description,
        tasks,
        state,
        load,
        slo,
        group,
        capacity,
        engine,
        warm_up,
        duration: duration.unwrap_or_default(),
        instances,
        events,
        document,
        notes: Vec::new(),
    };
    plan.notes = plan.oddities();
    plan
}

/// Into a narrower type; the keys' own bounds are far below its greatest value.
fn narrow<T: TryFrom<u64> + Default>(number: u64) -> T {
    T::try_from(number).unwrap_or_default()
}

fn state(reader: &mut Reader<'_>) -> State {
    reader.get(&keys::PROCESSOR);
    State {
        keys: reader.get(&keys::STATE_KEYS),
        value_bytes: narrow(reader.get(&keys::VALUE_BYTES)),
        updates_per_key: reader.get(&keys::UPDATES_PER_KEY),
        preload: reader.get(&keys::PRELOAD),
    }
}

fn load(reader: &mut Reader<'_>, home: &Path) -> (Load, Duration) {
    let slo = Duration::from_millis(reader.get(&keys::SLO_MS));
    // `file` is often set over a scenario with a synthetic load, whose keys then mean nothing.
    let load = match reader.maybe(&keys::FILE) {
        // What a `--set` says was typed in the current folder, not beside the scenario file.
        Some(file) if reader.place(&keys::FILE).is_some_and(|at| at.source > 0) => {
            Load::Recorded { file: file.into() }
        }
        Some(file) => Load::Recorded { file: home.join(file) },
        None => Load::Synthetic { rate: reader.get(&keys::RATE), keys: reader.get(&keys::LOAD_KEYS) },
    };
    if let (Load::Recorded { file }, Some(at)) = (&load, reader.place(&keys::FILE).cloned())
        && let Err(error) = std::fs::File::open(file)
    {
        let title = format!("the recorded load {} can't be read: {error}", file.display());
        reader.mistake(
            Mistake::at(&at, title)
                .hint("a path is relative to the scenario file, or with --set to this folder"),
        );
    }
    (load, slo)
}

fn group(reader: &mut Reader<'_>) -> GroupConfig {
    let mut group = match reader.get(&keys::PROFILE) {
        "kafka" => GroupConfig::kafka(),
        _ => GroupConfig::tight(),
    };
    for (key, value) in [
        (&keys::HEARTBEAT_INTERVAL, &mut group.heartbeat_interval),
        (&keys::SESSION_TIMEOUT, &mut group.session_timeout),
        (&keys::REBALANCE_TIMEOUT, &mut group.rebalance_timeout),
        (&keys::SYNC_TIMEOUT, &mut group.sync_timeout),
        (&keys::INITIAL_DELAY, &mut group.initial_delay),
        (&keys::MAX_POLL_INTERVAL, &mut group.max_poll_interval),
    ] {
        if let Some(written) = reader.maybe(key) {
            *value = written;
        }
    }
    match reader.maybe(&keys::NOTICES) {
        Some("heartbeat") => group.notices = Notices::WithHeartbeat,
        Some(_) => group.notices = Notices::Pushed,
        None => {}
    }
    if let Some(waits) = reader.maybe(&keys::BARRIER_WAITS_FOR_AWAY) {
        group.barrier_waits_for_away = waits;
    }
    if group.heartbeat_interval >= group.session_timeout {
        let at = reader.place(&keys::SESSION_TIMEOUT).or(reader.place(&keys::HEARTBEAT_INTERVAL)).cloned();
        let title = "a session that ends before the next heartbeat throws everybody out";
        let mistake = at.map_or_else(|| Mistake::anywhere(title), |at| Mistake::at(&at, title));
        reader.mistake(mistake.hint("make `session_timeout` several times `heartbeat_interval`"));
    }
    group
}

impl Plan {
    /// Bytes of changelog that preloading writes, roughly: for the check that they fit on the disk.
    #[must_use]
    pub fn preload_bytes(&self) -> u64 {
        if !self.state.preload {
            return 0;
        }
        // 16 bytes of key and 6 of lengths come with each value.
        let record = self.state.value_bytes as u64 + 22;
        u64::from(self.tasks)
            .saturating_mul(self.state.keys * self.state.updates_per_key)
            .saturating_mul(record)
    }

    fn oddities(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let workers: u64 = self.instances.iter().map(|of| u64::from(of.count) * u64::from(of.workers)).sum();
        if let (Load::Synthetic { rate, .. }, Some(each)) = (&self.load, self.capacity.worker_rate)
            && *rate > each * workers
        {
            notes.push(format!(
                "load.rate is {} records/s, but {workers} workers of {} records/s serve only {}: the backlog will \
                 grow from the start",
                grouped(*rate),
                grouped(each),
                grouped(each * workers),
            ));
        }
        notes
    }
}
