//! Every key that a scenario file may have: its rule, its default, and what it is for.
//!
//! The reader, `--set`, the did-you-mean hints and `understudy schema scenario` all follow these tables.

mod claim;
mod engine;
mod group;
mod load;
mod script;
mod state;

use std::time::Duration;

use super::key::{Absent, Key, Section};
use super::rule::{Count, Flag, Text, Time};

pub(crate) use claim::*;
pub(crate) use engine::*;
pub(crate) use group::*;
pub(crate) use load::*;
pub(crate) use script::*;
pub(crate) use state::*;

const MS: Duration = Duration::from_millis(1);
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
