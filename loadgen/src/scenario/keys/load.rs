//! The records that come in.

use super::super::key::{Absent, Key, Section};
use super::super::rule::{Choice, Count, Flag, Keys, Names, Number, Text};

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
    rule: Number { least: 0.001, most: 1e6, why: "a day is then played in a tenth of a second" },
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
