//! Settings of a group and of the engine, with the values of the two timing profiles.

use std::time::Duration;

use crate::log::LogOptions;
use crate::pin::Pinning;
use crate::restore::ReplayOptions;
use crate::store::RocksOptions;
use crate::task::CommitOptions;
use crate::task::processor::{Count, Join, Map, PerKey, Processor, Window, WindowOptions};

/// How members learn that a rebalance has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notices {
    /// The coordinator tells everybody at once.
    Pushed,
    /// With the answer to the member's next heartbeat, as in Kafka's classic protocol.
    WithHeartbeat,
}

/// Timing of the group protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// How often an instance sends heartbeats for each of its members.
    pub heartbeat_interval: Duration,
    /// A member that is not heard of for this long is out.
    pub session_timeout: Duration,
    /// Joins are waited for this long at most; who has not joined by then is out.
    pub rebalance_timeout: Duration,
    /// The answer of the leader, and each member's sync, are waited for this long at most.
    pub sync_timeout: Duration,
    /// The first generation of an empty group waits this long for more members; each late joiner extends it, up to
    /// the rebalance timeout.
    pub initial_delay: Duration,
    /// A later rebalance waits this long if all that is wanted is that members come or mean to go, so that others who do
    /// so in the same moment are part of it: each alone would have tasks learned where they are not to stay. Everybody
    /// runs on meanwhile. Whatever leaves a task without an owner, or hands one over, is not waited with.
    pub rebalance_delay: Duration,
    /// A worker that does not poll for this long is out.
    pub max_poll_interval: Duration,
    /// How members learn of a rebalance.
    pub notices: Notices,
    /// Whether the barrier waits for static members that are away until the rebalance timeout (Kafka does).
    pub barrier_waits_for_away: bool,
    /// The first generation of all waits until this many members have joined (within the rebalance timeout), so that
    /// an application that starts with many is not first given to one. 0: does not wait.
    pub initial_members: usize,
}

impl GroupConfig {
    /// Kafka's defaults: `heartbeat.interval.ms` 3 s, `session.timeout.ms` 45 s, rebalance timeout =
    /// `max.poll.interval.ms` 5 min, `group.initial.rebalance.delay.ms` 3 s.
    #[must_use]
    pub fn kafka() -> Self {
        Self {
            heartbeat_interval: Duration::from_secs(3),
            session_timeout: Duration::from_secs(45),
            rebalance_timeout: Duration::from_secs(300),
            sync_timeout: Duration::from_secs(300),
            initial_delay: Duration::from_secs(3),
            rebalance_delay: Duration::ZERO,
            max_poll_interval: Duration::from_secs(300),
            notices: Notices::WithHeartbeat,
            barrier_waits_for_away: true,
            initial_members: 0,
        }
    }

    /// As short as one machine allows: what is measured is the hand-over, not the waiting for a timer.
    #[must_use]
    pub fn tight() -> Self {
        Self {
            heartbeat_interval: Duration::from_millis(100),
            session_timeout: Duration::from_secs(1),
            rebalance_timeout: Duration::from_secs(5),
            sync_timeout: Duration::from_secs(5),
            initial_delay: Duration::ZERO,
            rebalance_delay: Duration::from_millis(50),
            max_poll_interval: Duration::from_secs(5),
            notices: Notices::Pushed,
            barrier_waits_for_away: false,
            initial_members: 0,
        }
    }
}

/// What a task does with its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessorKind {
    /// Per key, a count and a sum of hashed source offsets, padded to this many bytes.
    Count {
        /// Size of a value.
        value_bytes: usize,
    },
    /// Counts per key and tumbling window.
    Window {
        /// Windows, and how long they are kept.
        options: WindowOptions,
        /// Size of a value at least.
        value_bytes: usize,
    },
    /// Joins a stream with a table.
    Join {
        /// One record of so many is a row of the table.
        table_every: u32,
        /// Size of a value at least.
        value_bytes: usize,
    },
    /// Each record to one output record, without state: what tasks that are not stateful do.
    Map,
}

impl ProcessorKind {
    /// A processor of this kind, as it is after nothing.
    #[must_use]
    pub fn make(self) -> Box<dyn Processor> {
        match self {
            Self::Count { value_bytes } => Box::new(PerKey::new(Count::new(value_bytes))),
            Self::Window { options, value_bytes } => Box::new(PerKey::new(Window::new(options, value_bytes))),
            Self::Join { table_every, value_bytes } => {
                Box::new(PerKey::new(Join::new(table_every, value_bytes)))
            }
            Self::Map => Box::new(Map),
        }
    }
}

/// What keeps the state of a task copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreKind {
    /// A RocksDB database on disk each.
    #[default]
    RocksDb,
    /// A hash table in memory each, which an instance loses when it goes down.
    Memory,
}

/// When changelogs are compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionOptions {
    /// How often the logs are looked at. Default 250 ms.
    pub interval: Duration,
    /// A log is compacted when this share of its closed segments has never been. Default 50, as Kafka's
    /// `min.cleanable.dirty.ratio`.
    pub dirty_percent: u32,
    /// Keys that a compaction keeps in memory at most. Default 10 million.
    pub most_keys: usize,
}

impl Default for CompactionOptions {
    fn default() -> Self {
        Self { interval: Duration::from_millis(250), dirty_percent: 50, most_keys: 10_000_000 }
    }
}

/// Settings of the engine itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// What every stateful task does; the others do [`ProcessorKind::Map`].
    pub processor: ProcessorKind,
    /// A turn takes at most this many records.
    pub turn_records: usize,
    /// A worker that has caught up waits this long before it looks again, so that turns carry batches.
    pub linger: Duration,
    /// Records per second that one worker can serve, kept by waiting. `None`: as many as the machine can.
    pub worker_rate: Option<u64>,
    /// Changelog bytes per second that one instance may replay, kept by waiting. `None`: no limit.
    pub restore_bytes_per_s: Option<u64>,
    /// Changelog bytes of one piece of replay: how long a copy is locked, and others wait for theirs.
    pub piece_bytes: u64,
    /// How a replay works, and what memory it may use.
    pub replay: ReplayOptions,
    /// What keeps copies. Default RocksDB.
    pub store: StoreKind,
    /// How databases are laid out.
    pub rocks: RocksOptions,
    /// How logs are kept.
    pub log: LogOptions,
    /// When updates reach a store.
    pub commit: CommitOptions,
    /// When logs are compacted in the background. Default never.
    pub compaction: Option<CompactionOptions>,
    /// Which cores workers and restorers run on.
    pub pinning: Pinning,
    /// Whether threads that others wait for ask the system for short slices of a busy core, so that they have it sooner
    /// (Linux since 6.12; without effect elsewhere). Default yes.
    pub short_slices: bool,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            processor: ProcessorKind::Count { value_bytes: 100 },
            turn_records: 500,
            linger: Duration::from_millis(1),
            worker_rate: None,
            restore_bytes_per_s: None,
            piece_bytes: 1 << 20,
            replay: ReplayOptions::default(),
            store: StoreKind::default(),
            rocks: RocksOptions::default(),
            log: LogOptions::default(),
            commit: CommitOptions::default(),
            compaction: None,
            pinning: Pinning::Free,
            short_slices: true,
        }
    }
}
