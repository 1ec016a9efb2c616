//! Every key that a scenario file may have: its rule, its default, and what it is for.
//!
//! The reader, `--set`, the did-you-mean hints and `understudy schema scenario` all follow these tables.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::rule::{Choice, Count, Flag, Keys, Metric, Names, Number, Rule, Strategies, Text, Time, Until};

/// One key.
pub(crate) struct Key<R> {
    pub(crate) name: &'static str,
    /// What it is for, in one line.
    pub(crate) doc: &'static str,
    /// What it may be.
    pub(crate) rule: R,
    /// What it is when it is not written.
    pub(crate) default: Absent,
}

/// What happens if a key is not written.
pub(crate) enum Absent {
    /// It has this value, written as in a file.
    Is(&'static str),
    /// That means something of its own (no limit, the profile's value).
    Fine,
    /// The scenario is refused, with this example.
    Refused(&'static str),
}

/// A key that has keys of its own; `many` of them under one name are written `[[name]]`.
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) many: bool,
    pub(crate) keys: &'static [&'static (dyn AnyKey + Sync)],
}

/// What the tables know of a key without knowing its type.
pub(crate) trait AnyKey {
    fn name(&self) -> &'static str;
    /// Its JSON Schema; `None` for a key that this version refuses.
    fn schema(&self) -> Option<Json>;
    fn required(&self) -> bool;
    /// The section, if it is one.
    fn section(&self) -> Option<&Section> {
        None
    }
}

impl<R: Rule> AnyKey for Key<R> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Option<Json> {
        let mut schema = self.rule.schema();
        let object = schema.as_object_mut()?;
        object.insert("description".into(), json!(self.doc));
        if let Absent::Is(default) = self.default {
            let plain = default.replace('_', "");
            object.insert("default".into(), serde_json::from_str(&plain).unwrap_or_else(|_| json!(default)));
        }
        Some(schema)
    }

    fn required(&self) -> bool {
        matches!(self.default, Absent::Refused(_))
    }
}

impl AnyKey for Section {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Option<Json> {
        let properties: serde_json::Map<String, Json> =
            self.keys.iter().filter_map(|key| Some((key.name().to_owned(), key.schema()?))).collect();
        let required: Vec<&str> =
            self.keys.iter().filter(|key| key.required()).map(|key| key.name()).collect();
        let table = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            "description": self.doc,
        });
        Some(if self.many { json!({ "type": "array", "items": table }) } else { table })
    }

    fn required(&self) -> bool {
        false
    }

    fn section(&self) -> Option<&Section> {
        Some(self)
    }
}

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);
const LONG_RUN: &str = "a day of load is the longest run that one result file is made for";
const LONG_TIMER: &str = "a timer longer than a day never fires in a run";
const THREADS: &str = "each worker is a thread of this machine";

const fn time(name: &'static str, least: Duration, default: Absent, doc: &'static str) -> Key<Time> {
    Key { name, doc, default, rule: Time { least, most: DAY, why: LONG_TIMER } }
}

pub(crate) static SCENARIO: Section = Section {
    name: "scenario",
    doc: "What an application is and what happens to it. Times count from the end of the warm-up.",
    many: false,
    keys: &[
        &TITLE,
        &DESCRIPTION,
        &TASKS,
        &TASK,
        &STATE,
        &LOAD,
        &GROUP,
        &CAPACITY,
        &ENGINE,
        &ROCKSDB,
        &WARM_UP,
        &DURATION,
        &INSTANCES,
        &AT,
        &STRATEGIES,
        &CLAIM,
    ],
};
pub(crate) static TITLE: Key<Text> = Key {
    name: "title",
    doc: "What the scenario shows, in one line",
    default: Absent::Refused("title = \"Scale up a running application\""),
    rule: Text,
};
pub(crate) static DESCRIPTION: Key<Text> = Key {
    name: "description",
    doc: "A paragraph: what happens, and what is right",
    default: Absent::Fine,
    rule: Text,
};
pub(crate) static TASKS: Key<Count> = Key {
    name: "tasks",
    doc: "Number of tasks, all alike and with state: T1, T2, …; or describe kinds of tasks with [[task]]",
    default: Absent::Fine,
    rule: Count { least: 1, most: 1_000, why: OPEN_FILES },
};
const OPEN_FILES: &str =
    "each task has a changelog and each of its copies a database, and a process has only so many open files";
pub(crate) static TASK: Section = Section {
    name: "task",
    doc: "A kind of tasks, instead of `tasks`; named T1, T2, … through all kinds in order",
    many: true,
    keys: &[&TASK_COUNT, &STATELESS, &WEIGHT],
};
pub(crate) static TASK_COUNT: Key<Count> = Key {
    name: "count",
    doc: "Tasks of this kind",
    default: Absent::Is("1"),
    rule: Count { least: 1, most: 1_000, why: OPEN_FILES },
};
pub(crate) static STATELESS: Key<Flag> = Key {
    name: "stateless",
    doc: "Whether they have no state: then they map each record to one, whatever `state.processor` is",
    default: Absent::Is("false"),
    rule: Flag,
};
pub(crate) static WEIGHT: Key<Count> = Key {
    name: "weight",
    doc: "Each task's share of `load.rate`, relative to the others'",
    default: Absent::Is("1"),
    rule: Count { least: 1, most: 1_000_000, why: "a share beyond leaves the other tasks without records" },
};
pub(crate) static WARM_UP: Key<Time> = Key {
    name: "warm_up",
    doc: "How long load runs before measuring begins",
    default: Absent::Is("2s"),
    rule: Time { least: Duration::ZERO, most: DAY, why: LONG_RUN },
};
pub(crate) static DURATION: Key<Time> = Key {
    name: "duration",
    doc: "How long is measured, from the end of the warm-up",
    default: Absent::Is("20s"),
    rule: Time { least: SECOND, most: DAY, why: LONG_RUN },
};

pub(crate) static STATE: Section = Section {
    name: "state",
    doc: "What each task keeps",
    many: false,
    keys: &[
        &STATE_KEYS,
        &VALUE_BYTES,
        &UPDATES_PER_KEY,
        &PRELOAD,
        &PROCESSOR,
        &WINDOW,
        &WINDOWS_KEPT,
        &DISORDER,
        &TABLE_EVERY,
    ],
};
pub(crate) static STATE_KEYS: Key<Count> = Key {
    name: "keys",
    doc: "Distinct keys per task",
    default: Absent::Is("100_000"),
    rule: Count {
        least: 1,
        most: 100_000_000,
        why: "at 100 bytes a key that is 10 GB a task, twice: log and store",
    },
};
pub(crate) static VALUE_BYTES: Key<Count> = Key {
    name: "value_bytes",
    doc: "Bytes of each value in the store, padding included",
    default: Absent::Is("100"),
    rule: Count { least: 16, most: 1_000_000, why: "one turn of a task is one batch in memory" },
};
pub(crate) static UPDATES_PER_KEY: Key<Count> = Key {
    name: "updates_per_key",
    doc: "How often each key was updated before the clock starts: the changelog's length over the store's",
    default: Absent::Is("1"),
    rule: Count { least: 1, most: 1_000, why: "each update is a record of the changelog, on disk" },
};
pub(crate) static PRELOAD: Key<Flag> = Key {
    name: "preload",
    doc: "Whether the state is there when the clock starts",
    default: Absent::Is("true"),
    rule: Flag,
};
pub(crate) static PROCESSOR: Key<Choice> = Key {
    name: "processor",
    doc: "What a task does with a record: `count` counts per key, `window` per key and window, `join` joins a stream \
          with a table, `map` makes one record of each and keeps no state",
    default: Absent::Is("count"),
    rule: Choice { among: &["count", "window", "join", "map"], later: &[] },
};
pub(crate) static WINDOW: Key<Time> =
    time("window", MS, Absent::Is("1s"), "For `window`: the length of a window");
pub(crate) static WINDOWS_KEPT: Key<Count> = Key {
    name: "windows_kept",
    doc: "For `window`: how many windows are kept, the newest included; later records of older ones are late",
    default: Absent::Is("4"),
    rule: Count { least: 1, most: 64, why: "each takes 24 bytes of every value" },
};
pub(crate) static DISORDER: Key<Time> = time(
    "disorder",
    Duration::ZERO,
    Absent::Is("0ms"),
    "For `window`: events lie up to this long before their arrival, so that they come out of order",
);
pub(crate) static TABLE_EVERY: Key<Count> = Key {
    name: "table_every",
    doc: "For `join`: one record of so many is a row of the table",
    default: Absent::Is("10"),
    rule: Count { least: 1, most: 1_000_000, why: "a table that never changes needs no larger number" },
};

pub(crate) static LOAD: Section = Section {
    name: "load",
    doc: "What arrives, and when; synthetic, or recorded in a file",
    many: false,
    keys: &[&RATE, &LOAD_KEYS, &FILE, &FILES, &SPEED, &LOOP, &BROKEN_LINES, &SLO_MS],
};
pub(crate) static RATE: Key<Count> = Key {
    name: "rate",
    doc: "Records per second over all tasks",
    default: Absent::Is("10_000"),
    rule: Count {
        least: 1,
        most: 50_000_000,
        why: "no machine serves more records per second through RocksDB",
    },
};
pub(crate) static LOAD_KEYS: Key<Keys> = Key {
    name: "keys",
    doc: "Which keys arrive: uniform, sequential, zipf(EXPONENT)",
    default: Absent::Is("zipf(0.99)"),
    rule: Keys,
};
pub(crate) static FILE: Key<Text> = Key {
    name: "file",
    doc: "A recorded load, lines of `time,key,bytes`, instead of `rate` and `keys`; relative to the scenario file",
    default: Absent::Fine,
    rule: Text,
};
pub(crate) static FILES: Key<Names> = Key {
    name: "files",
    doc: "Recorded loads, one for each task, instead of `file`",
    default: Absent::Fine,
    rule: Names,
};
pub(crate) static SPEED: Key<Number> = Key {
    name: "speed",
    doc: "A recorded load is played so many times as fast as it was recorded",
    default: Absent::Is("1.0"),
    rule: Number,
};
pub(crate) static LOOP: Key<Flag> = Key {
    name: "loop",
    doc: "Whether a recorded load begins anew when it has come to its end",
    default: Absent::Is("false"),
    rule: Flag,
};
pub(crate) static BROKEN_LINES: Key<Choice> = Key {
    name: "broken_lines",
    doc: "What to do with a recorded load that has lines which are no records: `refuse` it, or `skip` and count them",
    default: Absent::Is("refuse"),
    rule: Choice { among: &["refuse", "skip"], later: &[] },
};
pub(crate) static SLO_MS: Key<Count> = Key {
    name: "slo_ms",
    doc: "A record later than this many milliseconds is delayed",
    default: Absent::Is("50"),
    rule: Count { least: 1, most: 3_600_000, why: "an hour late is late under any objective" },
};

pub(crate) static GROUP: Section = Section {
    name: "group",
    doc: "Timing of the group protocol: a profile, and values that differ from it",
    many: false,
    keys: &[
        &PROFILE,
        &HEARTBEAT_INTERVAL,
        &SESSION_TIMEOUT,
        &REBALANCE_TIMEOUT,
        &SYNC_TIMEOUT,
        &INITIAL_DELAY,
        &MAX_POLL_INTERVAL,
        &NOTICES,
        &BARRIER_WAITS_FOR_AWAY,
    ],
};
pub(crate) static PROFILE: Key<Choice> = Key {
    name: "profile",
    doc: "`tight`: as fast as one machine allows; `kafka`: Kafka's defaults",
    default: Absent::Is("tight"),
    rule: Choice { among: &["tight", "kafka"], later: &[] },
};
const MS: Duration = Duration::from_millis(1);
pub(crate) static HEARTBEAT_INTERVAL: Key<Time> =
    time("heartbeat_interval", MS, Absent::Fine, "How often an instance says that its members are alive");
pub(crate) static SESSION_TIMEOUT: Key<Time> =
    time("session_timeout", MS, Absent::Fine, "A member that is not heard of for this long is out");
pub(crate) static REBALANCE_TIMEOUT: Key<Time> =
    time("rebalance_timeout", MS, Absent::Fine, "How long joins are waited for");
pub(crate) static SYNC_TIMEOUT: Key<Time> =
    time("sync_timeout", MS, Absent::Fine, "How long the leader's answer is waited for");
pub(crate) static INITIAL_DELAY: Key<Time> =
    time("initial_delay", Duration::ZERO, Absent::Fine, "How long an empty group waits for more members");
pub(crate) static MAX_POLL_INTERVAL: Key<Time> =
    time("max_poll_interval", MS, Absent::Fine, "A worker that does not poll for this long is out");
pub(crate) static NOTICES: Key<Choice> = Key {
    name: "notices",
    doc: "How members learn of a rebalance: at once, or with the next heartbeat's answer",
    default: Absent::Fine,
    rule: Choice { among: &["pushed", "heartbeat"], later: &[] },
};
pub(crate) static BARRIER_WAITS_FOR_AWAY: Key<Flag> = Key {
    name: "barrier_waits_for_away",
    doc: "Whether a rebalance waits for static members that are away",
    default: Absent::Fine,
    rule: Flag,
};

pub(crate) static CAPACITY: Section = Section {
    name: "capacity",
    doc: "Limits kept by waiting, so that an added instance adds capacity on a machine of any size",
    many: false,
    keys: &[&WORKER_RATE, &RESTORE_MB_PER_S],
};
pub(crate) static WORKER_RATE: Key<Count> = Key {
    name: "worker_rate",
    doc: "Records per second per worker; no limit if absent",
    default: Absent::Fine,
    rule: Count {
        least: 1,
        most: 50_000_000,
        why: "no machine serves more records per second through RocksDB",
    },
};
pub(crate) static RESTORE_MB_PER_S: Key<Count> = Key {
    name: "restore_mb_per_s",
    doc: "Megabytes of changelog replayed per second per instance; no limit if absent",
    default: Absent::Fine,
    rule: Count { least: 1, most: 1_000_000, why: "no disk reads faster; leave it out for no limit" },
};

pub(crate) static ENGINE: Section = Section {
    name: "engine",
    doc: "Settings of the engine that seldom matter",
    many: false,
    keys: &[
        &TURN_RECORDS,
        &COMMIT_UPDATES,
        &CACHE_MB,
        &LINGER,
        &RESTORE_MEMORY_MB,
        &RESTORE_PIECE_KB,
        &FSYNC,
        &SEGMENT_MB,
        &COMPACTION,
    ],
};
pub(crate) static TURN_RECORDS: Key<Count> = Key {
    name: "turn_records",
    doc: "A task processes at most this many records before it commits",
    default: Absent::Is("500"),
    rule: Count { least: 1, most: 1_000_000, why: "a turn is one batch in memory" },
};
pub(crate) static RESTORE_MEMORY_MB: Key<Count> = Key {
    name: "restore_memory_mb",
    doc: "Megabytes that one replay may sort in memory",
    default: Absent::Is("64"),
    rule: Count { least: 1, most: 65_536, why: "several replays run at a time" },
};
pub(crate) static FSYNC: Key<Flag> = Key {
    name: "fsync",
    doc: "Whether changelogs are forced to disk: needed to survive a power loss, not a crash of the process",
    default: Absent::Is("false"),
    rule: Flag,
};
pub(crate) static SEGMENT_MB: Key<Count> = Key {
    name: "segment_mb",
    doc: "Size of a changelog's files in megabytes",
    default: Absent::Is("64"),
    rule: Count { least: 1, most: 4_096, why: "positions in a segment are 32 bits wide" },
};

pub(crate) static COMMIT_UPDATES: Key<Count> = Key {
    name: "commit_updates",
    doc: "A task's updates reach its store when so many keys wait; 0: every turn",
    default: Absent::Is("4096"),
    rule: Count { least: 0, most: 10_000_000, why: "a crash makes the successor replay them" },
};
pub(crate) static CACHE_MB: Key<Count> = Key {
    name: "cache_mb",
    doc: "Megabytes of recent values per running task",
    default: Absent::Is("32"),
    rule: Count { least: 1, most: 65_536, why: "every running task has such a cache" },
};
pub(crate) static LINGER: Key<Time> = time(
    "linger",
    Duration::ZERO,
    Absent::Is("1ms"),
    "How long a worker that has caught up waits, so that turns carry batches",
);
pub(crate) static RESTORE_PIECE_KB: Key<Count> = Key {
    name: "restore_piece_kb",
    doc: "Kilobytes of changelog that a restorer replays for one task before it looks at the others",
    default: Absent::Is("1048"),
    rule: Count { least: 1, most: 1_000_000, why: "others wait for that long" },
};
pub(crate) static COMPACTION: Key<Flag> = Key {
    name: "compaction",
    doc: "Whether changelogs are compacted, before the start and in the background. Full segments alone are",
    default: Absent::Is("false"),
    rule: Flag,
};

pub(crate) static ROCKSDB: Section = Section {
    name: "rocksdb",
    doc: "The stores' options",
    many: false,
    keys: &[
        &BLOCK_CACHE_MB,
        &WRITE_BUFFERS_MB,
        &WRITE_BUFFER_MB,
        &BACKGROUND_JOBS,
        &BLOCK_KB,
        &BLOOM_BITS,
        &OPTIONS,
    ],
};
const MEMORY: &str = "no machine has more memory";
pub(crate) static BLOCK_CACHE_MB: Key<Count> = Key {
    name: "block_cache_mb",
    doc: "Megabytes of cached blocks of all stores of an instance",
    default: Absent::Is("134"),
    rule: Count { least: 1, most: 1_000_000, why: MEMORY },
};
pub(crate) static WRITE_BUFFERS_MB: Key<Count> = Key {
    name: "write_buffers_mb",
    doc: "Megabytes of memtables of all stores of an instance",
    default: Absent::Is("268"),
    rule: Count { least: 1, most: 1_000_000, why: MEMORY },
};
pub(crate) static WRITE_BUFFER_MB: Key<Count> = Key {
    name: "write_buffer_mb",
    doc: "Megabytes of one memtable",
    default: Absent::Is("34"),
    rule: Count { least: 1, most: 100_000, why: MEMORY },
};
pub(crate) static BACKGROUND_JOBS: Key<Count> = Key {
    name: "background_jobs",
    doc: "Flushes and compactions at a time in the whole process",
    default: Absent::Is("2"),
    rule: Count { least: 1, most: 256, why: "each is a thread of this machine" },
};
pub(crate) static BLOCK_KB: Key<Count> = Key {
    name: "block_kb",
    doc: "Kilobytes of a block of a data file",
    default: Absent::Is("4"),
    rule: Count { least: 1, most: 65_536, why: "a read brings a whole block into memory" },
};
pub(crate) static BLOOM_BITS: Key<Count> = Key {
    name: "bloom_bits",
    doc: "Bloom filter bits a key; 0 for none",
    default: Absent::Is("10"),
    rule: Count { least: 0, most: 64, why: "more bits than a key has say no more" },
};
pub(crate) static OPTIONS: Key<Text> = Key {
    name: "options",
    doc: "Any other options of RocksDB as it writes them: `level0_stop_writes_trigger=30;max_open_files=500`",
    default: Absent::Fine,
    rule: Text,
};

pub(crate) static INSTANCES: Section = Section {
    name: "instances",
    doc: "What runs at the start: instances I1, I2, … with workers S1, S2, …",
    many: true,
    keys: &[&COUNT, &WORKERS, &STATIC],
};
pub(crate) static COUNT: Key<Count> = Key {
    name: "count",
    doc: "Instances of this kind",
    default: Absent::Is("1"),
    rule: Count { least: 1, most: 500, why: THREADS },
};
pub(crate) static WORKERS: Key<Count> = Key {
    name: "workers",
    doc: "Workers per instance",
    default: Absent::Is("1"),
    rule: Count { least: 1, most: 500, why: THREADS },
};
pub(crate) static STATIC: Key<Flag> = Key {
    name: "static",
    doc: "Whether each worker has a stable id: one that is back within its session causes no rebalance",
    default: Absent::Is("false"),
    rule: Flag,
};

pub(crate) static AT: Section = Section {
    name: "at",
    doc: "Something that happens to the group at a time",
    many: true,
    keys: &[&AT_TIME, &AFTER, &DEADLINE, &START, &LEAVE, &CRASH, &STALL, &RESTART],
};
pub(crate) static AT_TIME: Key<Time> = Key {
    name: "time",
    doc: "When, from the end of the warm-up",
    default: Absent::Fine,
    rule: Time { least: Duration::ZERO, most: DAY, why: LONG_RUN },
};
pub(crate) static AFTER: Key<Until> = Key {
    name: "after",
    doc: "A condition instead of a time: ready(S4), learning(S4), balanced, generation(3). Later events wait for it. \
          Strategies meet it at different times, so that their runs are not paired",
    default: Absent::Fine,
    rule: Until,
};
pub(crate) static DEADLINE: Key<Time> = Key {
    name: "deadline",
    doc: "When, from the end of the warm-up, it happens though the condition has not been met",
    default: Absent::Fine,
    rule: Time { least: Duration::ZERO, most: DAY, why: LONG_RUN },
};
pub(crate) static START: Section = Section {
    name: "start",
    doc: "Instances start",
    many: false,
    keys: &[&START_INSTANCES, &WORKERS, &STATIC],
};
pub(crate) static START_INSTANCES: Key<Count> = Key {
    name: "instances",
    doc: "How many",
    default: Absent::Is("1"),
    rule: Count { least: 1, most: 500, why: THREADS },
};
pub(crate) static LEAVE: Key<Names> = Key {
    name: "leave",
    doc: "Members (S2) or instances (I1) that are asked to leave",
    default: Absent::Fine,
    rule: Names,
};
pub(crate) static CRASH: Key<Names> = Key {
    name: "crash",
    doc: "Members or instances that stop at once, saying nothing",
    default: Absent::Fine,
    rule: Names,
};
pub(crate) static STALL: Section = Section {
    name: "stall",
    doc: "A member stands still",
    many: false,
    keys: &[&STALL_MEMBER, &STALL_LASTING],
};
pub(crate) static STALL_MEMBER: Key<Text> = Key {
    name: "member",
    doc: "Who: a member or an instance",
    default: Absent::Refused("member = \"S3\""),
    rule: Text,
};
pub(crate) static STALL_LASTING: Key<Time> =
    time("lasting", MS, Absent::Refused("lasting = \"3s\""), "For how long it says and does nothing");
pub(crate) static RESTART: Section = Section {
    name: "restart",
    doc: "An instance goes down, if it is not down already, and comes back on its state directory",
    many: false,
    keys: &[&RESTART_INSTANCE, &RESTART_STATIC, &RESTART_DOWN],
};
pub(crate) static RESTART_INSTANCE: Key<Text> =
    Key { name: "instance", doc: "Which", default: Absent::Refused("instance = \"I1\""), rule: Text };
pub(crate) static RESTART_STATIC: Key<Flag> = Key {
    name: "static",
    doc: "Whether it goes without a word, as static members do; else its members leave first. As it was started, if absent",
    default: Absent::Fine,
    rule: Flag,
};
pub(crate) static RESTART_DOWN: Key<Time> =
    time("down", Duration::ZERO, Absent::Is("0s"), "How long it stays down once it has stopped");

pub(crate) static STRATEGIES: Key<Strategies> = Key {
    name: "strategies",
    doc: "What it runs under unless --strategy says otherwise",
    default: Absent::Is("[\"eager\", \"learner\"]"),
    rule: Strategies,
};

pub(crate) static CLAIM: Section = Section {
    name: "claim",
    doc: "What must hold after the run; if it doesn't, `run` says so and its exit code is 1",
    many: true,
    keys: &[&SAYS, &METRIC, &AT_MOST, &AT_LEAST, &EXACTLY, &CLAIM_STRATEGY, &OF],
};
pub(crate) static SAYS: Key<Text> = Key {
    name: "says",
    doc: "The claim in a sentence",
    default: Absent::Refused("says = \"only what balance needs is moved\""),
    rule: Text,
};
pub(crate) static METRIC: Key<Metric> = Key {
    name: "metric",
    doc: "The number it is about, as docs/scenarios.md lists them",
    default: Absent::Refused("metric = \"task_pause_ms.max\""),
    rule: Metric,
};
pub(crate) static AT_MOST: Key<Number> =
    Key { name: "at_most", doc: "Its upper bound", default: Absent::Fine, rule: Number };
pub(crate) static AT_LEAST: Key<Number> =
    Key { name: "at_least", doc: "Its lower bound", default: Absent::Fine, rule: Number };
pub(crate) static EXACTLY: Key<Number> =
    Key { name: "exactly", doc: "What it must be", default: Absent::Fine, rule: Number };
pub(crate) static CLAIM_STRATEGY: Key<Text> = Key {
    name: "strategy",
    doc: "The strategy it is about, with or without options; every one if absent",
    default: Absent::Fine,
    rule: Text,
};
pub(crate) static OF: Key<Text> = Key {
    name: "of",
    doc: "A strategy: the bound is so many times its number",
    default: Absent::Fine,
    rule: Text,
};
