//! One validated scenario: everything a run needs to know, with nothing left to check.

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::config::{GroupConfig, Notices, ProcessorKind, StoreKind};
use engine::pin::Pinning;
use engine::store::RocksOptions;
use engine::task::CommitOptions;
use engine::task::processor::WindowOptions;
use results::claim::Claim;
use serde_json::{Map, Value as Json};

use super::claims;
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
    /// Number of tasks.
    pub tasks: u32,
    /// The kind of each, in order.
    pub kinds: Vec<Kind>,
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
    /// The stores' options.
    pub rocks: RocksOptions,
    /// How long load runs before measuring begins.
    pub warm_up: Duration,
    /// How long is measured.
    pub duration: Duration,
    /// What runs at the start.
    pub instances: Vec<Instances>,
    /// What happens, by time.
    pub events: Vec<Event>,
    /// What it runs under unless the user says otherwise.
    pub strategies: Vec<String>,
    /// What must hold after the run.
    pub claims: Vec<Claim>,
    /// The scenario in its own words, with every default filled in.
    pub document: Map<String, Json>,
    /// What is odd about it, but may be meant.
    pub notes: Vec<String>,
}

/// What kind of task it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// It has no state.
    pub stateless: bool,
    /// Its share of the load, relative to the others'.
    pub weight: u64,
}

/// What each task keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// What a task does with a record.
    pub processor: ProcessorKind,
    /// What keeps a copy.
    pub store: StoreKind,
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
    /// Read from files.
    Recorded {
        /// One for all tasks, or one for each.
        files: Vec<PathBuf>,
        /// So many times as fast as it was recorded.
        speed: f64,
        /// Whether it begins anew at its end.
        looping: bool,
        /// Whether broken lines are passed over.
        skip_broken: bool,
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
    /// When a task's updates reach its store.
    pub commit: CommitOptions,
    /// How long a worker that has caught up waits.
    pub linger: Duration,
    /// Bytes of changelog of one piece of replay.
    pub piece_bytes: u64,
    /// Whether changelogs are compacted.
    pub compaction: bool,
    /// Bytes that one replay may sort in memory.
    pub restore_memory_bytes: usize,
    /// Whether changelogs are forced to disk.
    pub fsync: bool,
    /// Size of a changelog's files.
    pub segment_bytes: u64,
    /// Which cores workers and restorers run on.
    pub pinning: Pinning,
    /// Whether threads that others wait for ask for short slices of a core.
    pub short_slices: bool,
}

/// A megabyte as disks and networks count it.
const MB: u64 = 1_000_000;

/// Reads and checks a whole scenario. `home` is the folder that `load.file` is relative to.
pub(super) fn read(name: &str, home: &Path, root: &Node, mistakes: &mut Vec<Mistake>) -> Plan {
    let mut found = Vec::new();
    let mut reader = Reader::new(root, &keys::SCENARIO, &mut found);
    let title = reader.get(&keys::TITLE);
    let description = reader.maybe(&keys::DESCRIPTION).unwrap_or_default();
    let kinds = kinds(&mut reader);
    let state = reader.section(&keys::STATE, state);
    let kinds: Vec<Kind> = match state.processor {
        ProcessorKind::Map => kinds.into_iter().map(|kind| Kind { stateless: true, ..kind }).collect(),
        _ => kinds,
    };
    let (load, slo) = reader.section(&keys::LOAD, |reader| load(reader, home));
    let group = reader.section(&keys::GROUP, group);
    let capacity = reader.section(&keys::CAPACITY, |reader| Capacity {
        worker_rate: reader.maybe(&keys::WORKER_RATE),
        restore_bytes_per_s: reader.maybe(&keys::RESTORE_MB_PER_S).map(|mb| mb * MB),
    });
    let engine = reader.section(&keys::ENGINE, engine);
    let rocks = reader.section(&keys::ROCKSDB, rocks);
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
    let strategies = reader.get(&keys::STRATEGIES);
    let claims = reader.sections(&keys::CLAIM, claims::read).into_iter().flatten().collect();
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
        tasks: narrow(kinds.len() as u64),
        kinds,
        state,
        load,
        slo,
        group,
        capacity,
        engine,
        rocks,
        warm_up,
        duration: duration.unwrap_or_default(),
        instances,
        events,
        strategies,
        claims,
        document,
        notes: Vec::new(),
    };
    plan.notes = plan.oddities();
    plan
}

/// Either `tasks` or the `[[task]]` tables: one kind for every task.
fn kinds(reader: &mut Reader<'_>) -> Vec<Kind> {
    let alike = reader.maybe(&keys::TASKS);
    let tables = reader.sections(&keys::TASK, |task| {
        let count: usize = narrow(task.get(&keys::TASK_COUNT));
        let kind = Kind { stateless: task.get(&keys::STATELESS), weight: task.get(&keys::WEIGHT) };
        std::iter::repeat_n(kind, count)
    });
    let mut kinds: Vec<Kind> = tables.into_iter().flatten().collect();
    let written = reader.place(&keys::TASK).cloned();
    match (reader.place(&keys::TASKS).is_some(), written) {
        (true, Some(at)) => reader
            .mistake(Mistake::at(&at, "the scenario has both `tasks` and [[task]]").hint(
                "tasks = 5 makes five alike; [[task]] tables make kinds of tasks: keep one of the two",
            )),
        (false, None) => {
            reader.mistake(Mistake::anywhere("the scenario lacks `tasks`").hint("for example: tasks = 5"));
        }
        (false, Some(at)) if kinds.len() > MOST_TASKS => reader.mistake(
            Mistake::at(&at, format!("{} tasks are too many: there can be {MOST_TASKS}", kinds.len()))
                .hint("each task has a changelog and each of its copies a database"),
        ),
        _ => {}
    }
    if let Some(count) = alike {
        kinds = vec![Kind { stateless: false, weight: 1 }; narrow(count)];
    }
    kinds
}

/// What `tasks` allows, for the sum of the tables.
const MOST_TASKS: usize = 1_000;

/// Into a narrower type; the keys' own bounds are far below its greatest value.
fn narrow<T: TryFrom<u64> + Default>(number: u64) -> T {
    T::try_from(number).unwrap_or_default()
}

fn state(reader: &mut Reader<'_>) -> State {
    let value_bytes = narrow(reader.get(&keys::VALUE_BYTES));
    let options = WindowOptions {
        size: reader.get(&keys::WINDOW),
        kept: narrow(reader.get(&keys::WINDOWS_KEPT)),
        disorder: reader.get(&keys::DISORDER),
    };
    let table_every = narrow(reader.get(&keys::TABLE_EVERY));
    let processor = match reader.get(&keys::PROCESSOR) {
        "window" => ProcessorKind::Window { options, value_bytes },
        "join" => ProcessorKind::Join { table_every, value_bytes },
        "map" => ProcessorKind::Map,
        _ => ProcessorKind::Count { value_bytes },
    };
    let store = if reader.get(&keys::STORE) == "memory" { StoreKind::Memory } else { StoreKind::RocksDb };
    State {
        processor,
        store,
        keys: reader.get(&keys::STATE_KEYS),
        value_bytes,
        updates_per_key: reader.get(&keys::UPDATES_PER_KEY),
        preload: reader.get(&keys::PRELOAD),
    }
}

fn engine(reader: &mut Reader<'_>) -> EngineSettings {
    EngineSettings {
        turn_records: narrow(reader.get(&keys::TURN_RECORDS)),
        commit: CommitOptions {
            updates: narrow(reader.get(&keys::COMMIT_UPDATES)),
            backlog_updates: narrow(reader.get(&keys::COMMIT_BACKLOG_UPDATES)),
            cache_bytes: narrow(reader.get(&keys::CACHE_MB) << 20),
        },
        linger: reader.get(&keys::LINGER),
        restore_memory_bytes: narrow(reader.get(&keys::RESTORE_MEMORY_MB) * MB),
        piece_bytes: reader.get(&keys::RESTORE_PIECE_KB) * 1_000,
        fsync: reader.get(&keys::FSYNC),
        segment_bytes: reader.get(&keys::SEGMENT_MB) * MB,
        compaction: reader.get(&keys::COMPACTION),
        pinning: pinning(reader),
        short_slices: reader.get(&keys::SHORT_SLICES),
    }
}

fn pinning(reader: &mut Reader<'_>) -> Pinning {
    let pinning = match reader.get(&keys::PIN) {
        "workers" => Pinning::Workers,
        "apart" => Pinning::Apart,
        _ => Pinning::Free,
    };
    if pinning != Pinning::Free && !Pinning::SUPPORTED {
        let at = reader.place(&keys::PIN).cloned();
        let title = "this operating system does not pin threads to cores";
        let mistake = at.map_or_else(|| Mistake::anywhere(title), |at| Mistake::at(&at, title));
        reader.mistake(mistake.hint("leave `pin` out here; Linux does"));
    }
    pinning
}

/// The stores' options, as far as RocksDB understands them.
fn rocks(reader: &mut Reader<'_>) -> RocksOptions {
    let mb = |number: u64| narrow(number * MB);
    let options = RocksOptions {
        block_cache_bytes: mb(reader.get(&keys::BLOCK_CACHE_MB)),
        write_buffer_budget_bytes: mb(reader.get(&keys::WRITE_BUFFERS_MB)),
        write_buffer_bytes: mb(reader.get(&keys::WRITE_BUFFER_MB)),
        background_jobs: narrow(reader.get(&keys::BACKGROUND_JOBS)),
        block_bytes: narrow(reader.get(&keys::BLOCK_KB) << 10),
        bloom_bits: narrow(reader.get(&keys::BLOOM_BITS)),
        text: reader.maybe(&keys::OPTIONS).unwrap_or_default(),
    };
    if let (Some(at), Err(error)) = (reader.place(&keys::OPTIONS).cloned(), options.check()) {
        reader.mistake(
            Mistake::at(&at, format!("RocksDB does not understand these options: {error}"))
                .hint("name=value, separated by semicolons; for example: options = \"max_open_files=500\""),
        );
    }
    options
}

fn load(reader: &mut Reader<'_>, home: &Path) -> (Load, Duration) {
    let slo = Duration::from_millis(reader.get(&keys::SLO_MS));
    let speed = reader.get(&keys::SPEED);
    let looping = reader.get(&keys::LOOP);
    let skip_broken = reader.get(&keys::BROKEN_LINES) == "skip";
    // A file is often set over a scenario with a synthetic load, whose keys then mean nothing.
    let files = recorded(reader, home);
    let load = if files.is_empty() {
        Load::Synthetic { rate: reader.get(&keys::RATE), keys: reader.get(&keys::LOAD_KEYS) }
    } else {
        Load::Recorded { files, speed, looping, skip_broken }
    };
    (load, slo)
}

/// The files of a recorded load, looked for where they were written: beside the scenario file, or, if a `--set` says
/// so, in the current folder.
fn recorded(reader: &mut Reader<'_>, home: &Path) -> Vec<PathBuf> {
    let one = reader.maybe(&keys::FILE);
    let many = reader.maybe(&keys::FILES);
    let (file_at, files_at) = (reader.place(&keys::FILE).cloned(), reader.place(&keys::FILES).cloned());
    if let (Some(_), Some(at)) = (&file_at, &files_at) {
        reader.mistake(
            Mistake::at(at, "a load has a `file` or `files`, not both")
                .hint("`file` is one for all tasks, by key; `files` are one for each task"),
        );
    }
    let many = many.into_iter().flatten().map(|(file, at)| (file, at.or_else(|| files_at.clone())));
    let named: Vec<_> = one.map(|file| (file, file_at)).into_iter().chain(many).collect();
    let mut paths = Vec::new();
    for (file, at) in named {
        let typed = at.as_ref().is_some_and(|at| at.source > 0);
        let path = if typed { PathBuf::from(file) } else { home.join(file) };
        if let Err(error) = std::fs::File::open(&path) {
            let title = format!("the recorded load {} can't be read: {error}", path.display());
            let mistake =
                at.map_or_else(|| Mistake::anywhere(title.clone()), |at| Mistake::at(&at, title.clone()));
            reader.mistake(
                mistake.hint("a path is relative to the scenario file, or with --set to this folder"),
            );
        }
        paths.push(path);
    }
    paths
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
        (&keys::REBALANCE_DELAY, &mut group.rebalance_delay),
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
        let stateful = self.kinds.iter().filter(|kind| !kind.stateless).count();
        (stateful as u64).saturating_mul(self.state.keys * self.state.updates_per_key).saturating_mul(record)
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
