//! What must hold in the end, and for which strategies.

use super::super::key::{Absent, Key, Section};
use super::super::rule::{Metric, Number, Strategies, Text};

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
    Key { name: "at_most", doc: "Its upper bound", default: Absent::Fine, rule: Number::ANY };
pub(crate) static AT_LEAST: Key<Number> =
    Key { name: "at_least", doc: "Its lower bound", default: Absent::Fine, rule: Number::ANY };
pub(crate) static EXACTLY: Key<Number> =
    Key { name: "exactly", doc: "What it must be", default: Absent::Fine, rule: Number::ANY };
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
