//! The group protocol and its timers.

use std::time::Duration;

use super::super::key::{Absent, Key, Section};
use super::super::rule::{Choice, Flag, Time};
use super::{MS, time};

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
        &REBALANCE_DELAY,
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
pub(crate) static REBALANCE_DELAY: Key<Time> = time(
    "rebalance_delay",
    Duration::ZERO,
    Absent::Fine,
    "How long a rebalance for members that come or mean to go waits for others",
);
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
