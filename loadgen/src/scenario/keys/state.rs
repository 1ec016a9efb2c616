//! What each task keeps, and what it does with a record.

use std::time::Duration;

use super::super::key::{Absent, Key, Section};
use super::super::rule::{Choice, Count, Flag, Time};
use super::{MS, time};

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
        &STORE,
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
pub(crate) static STORE: Key<Choice> = Key {
    name: "store",
    doc: "What keeps a copy: `rocksdb`, a database on disk; `memory`, a hash table, which an instance that goes down \
          loses",
    default: Absent::Is("rocksdb"),
    rule: Choice { among: &["rocksdb", "memory"], later: &[] },
};
pub(crate) static TABLE_EVERY: Key<Count> = Key {
    name: "table_every",
    doc: "For `join`: one record of so many is a row of the table",
    default: Absent::Is("10"),
    rule: Count { least: 1, most: 1_000_000, why: "a table that never changes needs no larger number" },
};
