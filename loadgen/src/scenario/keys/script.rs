//! What runs at the start, and what happens then.

use std::time::Duration;

use super::super::key::{Absent, Key, Section};
use super::super::rule::{Count, Flag, Names, Text, Time, Until};
use super::{DAY, LONG_RUN, MS, THREADS, time};

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
