//! What workers and instances can do, and how the engine below them is set.

use std::time::Duration;

use super::super::key::{Absent, Key, Section};
use super::super::rule::{Choice, Count, Flag, Text, Time};
use super::time;

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
        &COMMIT_BACKLOG_UPDATES,
        &CACHE_MB,
        &LINGER,
        &RESTORE_MEMORY_MB,
        &RESTORE_PIECE_KB,
        &FSYNC,
        &SEGMENT_MB,
        &COMPACTION,
        &PIN,
        &SHORT_SLICES,
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
    default: Absent::Is("512"),
    rule: Count { least: 0, most: 10_000_000, why: "a crash makes the successor replay them" },
};
pub(crate) static COMMIT_BACKLOG_UPDATES: Key<Count> = Key {
    name: "commit_backlog_updates",
    doc: "The same while a task has a backlog, if it is more; without effect where every turn commits",
    default: Absent::Is("32_768"),
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

pub(crate) static PIN: Key<Choice> = Key {
    name: "pin",
    doc: "Which cores threads run on: none: any; workers: each worker on one core, by turns; apart: restorers on the \
          last core, workers on the others. On Linux alone",
    default: Absent::Is("none"),
    rule: Choice { among: &["none", "workers", "apart"], later: &[] },
};

pub(crate) static SHORT_SLICES: Key<Flag> = Key {
    name: "short_slices",
    doc: "Whether threads that others wait for ask the system for short slices of a busy core, so that they have it \
          sooner. Without effect where the system knows none: it is Linux since 6.12 that does",
    default: Absent::Is("true"),
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
