//! The shape of `result.json`, `understudy/run/v1`: what a program or a person finds in the file of a finished run.
//!
//! Version 1 only ever grows: a reader of version 1 finds every key that it knows, and passes over those it doesn't.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claim::Judged;
use crate::environment::Environment;
use crate::event::{Action, Cause};
use crate::histogram::Above;
use crate::metric::{Ceiling, RunMetrics};
use crate::ownership::Span;
use crate::pause::Pause;

/// The name of this version of the schema, found under the key `schema`.
pub const SCHEMA: &str = "understudy/run/v1";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The scenario's title.
    #[serde(default)]
    pub title: String,
    /// The arguments that reproduce it; values that may be secret are not among them.
    #[serde(default)]
    pub command: Vec<String>,
    /// When it was started, in UTC, as in `2026-11-29T14:42:35Z`.
    #[serde(default)]
    pub started: String,
    /// The strategies in the order in which they were asked for: trials run them in an order of their own. Absent in
    /// files of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strategies: Vec<String>,
    /// The scenario with every setting that was in force.
    pub scenario: serde_json::Map<String, serde_json::Value>,
    /// The swept keys with the values they have here; absent where nothing was swept.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub sweep: serde_json::Map<String, serde_json::Value>,
    /// Where and with what it was made.
    pub environment: Environment,
    /// Whether all strategies met the same timed membership events; false if an event waited for a condition.
    #[serde(default = "yes")]
    pub paired: bool,
    /// Whether it was stopped before its last trial ended.
    #[serde(default)]
    pub incomplete: bool,
    /// What a reader has to know before believing the numbers.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What a bulk load into RocksDB reached in this run.
    #[serde(default)]
    pub restore_ceiling: Option<Ceiling>,
    /// What the scenario claims, judged for each strategy. Empty if it claims nothing or was stopped.
    #[serde(default)]
    pub claims: Vec<Judged>,
    /// One entry per strategy and trial, and per A/A twin, in the order in which they ran.
    pub runs: Vec<Run>,
}

fn yes() -> bool {
    true
}

/// One strategy's run through the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The strategy with its options, as given.
    pub strategy: String,
    /// Which trial, from 1. Runs of one trial share arrivals and membership events.
    pub trial: u32,
    /// 0, or 1 for the second run of an A/A pair: the same strategy once more in the same trial.
    #[serde(default)]
    pub replica: u32,
    /// The seed that the arrivals come from.
    pub seed: u64,
    /// All metrics.
    pub metrics: RunMetrics,
    /// Whether every record was applied exactly once.
    pub audit: Audit,
    /// Every pause with its anatomy.
    #[serde(default)]
    pub pauses: Vec<Pause>,
    /// Every completed generation.
    #[serde(default)]
    pub generations: Vec<Generation>,
    /// What the script did to the group.
    #[serde(default)]
    pub membership: Vec<Membership>,
    /// Who ran, restored and learned which task when.
    #[serde(default)]
    pub ownership: Vec<Span>,
    /// The tail of service latency, for a plot of both scales logarithmic.
    #[serde(default)]
    pub latency_tail: Vec<Above>,
    /// When arrivals ended, in microseconds since the end of the warm-up.
    #[serde(default)]
    pub duration_us: i64,
    /// When the run ended, its drain included.
    #[serde(default)]
    pub end_us: i64,
    /// CPU time of the process over wall time and cores, from 0 to 1.
    #[serde(default)]
    pub cpu_share: Option<f64>,
    /// Largest resident memory seen.
    #[serde(default)]
    pub rss_bytes_max: Option<u64>,
    /// Records that had arrived and were not served when the run ended.
    #[serde(default)]
    pub undrained: u64,
    /// Appends of fenced owners that the logs refused.
    #[serde(default)]
    pub appends_refused: u64,
    /// Store copies that were thrown away because they did not match their log.
    #[serde(default)]
    pub stores_discarded: u64,
    /// Compaction of changelogs: compare `metrics.restore` with that of a run without it.
    #[serde(default)]
    pub compaction: Compaction,
    /// Whether it was stopped before its end.
    #[serde(default)]
    pub incomplete: bool,
    /// Why its numbers are to be taken with care.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// Compaction of changelogs, in bytes of the segments that were gone through; a segment may be more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// Bytes of the preloaded changelogs, before.
    pub preloaded_bytes_before: u64,
    /// And after.
    pub preloaded_bytes_after: u64,
    /// Compactions while it was measured.
    pub count: u64,
    /// Bytes that they went through.
    pub bytes_before: u64,
    /// Bytes that they left.
    pub bytes_after: u64,
}

/// The outcome of the audit: what must have been applied against what was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// Records that the source says were due.
    pub expected: u64,
    /// Records found in the state.
    pub applied: u64,
    /// Records that are missing.
    pub lost: u64,
    /// Records applied more than once.
    pub doubled: u64,
    /// Appends that a log accepted under an old epoch.
    pub stale_appends: u64,
    /// Task time without an owner, in milliseconds (see the metric of that name).
    pub no_owner_ms: f64,
    /// Whether all is well; a run that failed is void.
    pub passed: bool,
}

/// A completed generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Generation {
    /// When the group began to form it, in microseconds since the end of the warm-up.
    pub started_us: i64,
    /// When its plan was accepted.
    pub completed_us: i64,
    /// Its number.
    pub generation: u64,
    /// What formed it, first cause first.
    pub causes: Vec<Cause>,
    /// Balanced, and nothing is being learned or asked back.
    pub balanced: bool,
    /// Active tasks per member.
    pub active: Vec<MemberTasks>,
    /// The tasks that each member stands by for; members without any are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standby: Vec<MemberTasks>,
}

/// Tasks of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberTasks {
    /// The member.
    pub member: String,
    /// Its tasks.
    pub tasks: Vec<String>,
}

/// Something that the script did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Membership {
    /// When, in microseconds since the end of the warm-up.
    pub at_us: i64,
    /// What.
    pub action: Action,
    /// To whom.
    pub members: Vec<String>,
}

/// The JSON Schema of the file.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(RunFile).to_value();
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".to_owned(), "A result of Understudy".into());
        root.insert("$id".to_owned(), SCHEMA.into());
    }
    if let Some(name) = schema.pointer_mut("/properties/schema") {
        *name = serde_json::json!({ "const": SCHEMA, "description": "Name and version of this schema." });
    }
    schema
}

/// Plain data as the text of a file.
pub(crate) fn pretty(data: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(data).expect("plain data becomes JSON");
    text.push('\n');
    text
}

impl RunFile {
    /// The file's text: indented JSON with a newline at its end.
    ///
    /// # Panics
    /// Never: the types hold nothing that JSON can't, and non-finite numbers become `null`.
    #[must_use]
    pub fn to_json(&self) -> String {
        pretty(self)
    }

    /// The strategies that have run, in the order in which they were asked for; where the file doesn't say, in that in
    /// which they first ran.
    #[must_use]
    pub fn strategies(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !names.contains(&run.strategy.as_str()) {
                names.push(&run.strategy);
            }
        }
        let asked = |name: &&str| self.strategies.iter().position(|asked| asked == name);
        names.sort_by_key(|name| asked(name).unwrap_or(usize::MAX));
        names
    }

    /// A strategy's runs by trial, A/A twins left out.
    #[must_use]
    pub fn trials(&self, strategy: &str) -> Vec<&Run> {
        let mut runs: Vec<&Run> =
            self.runs.iter().filter(|run| run.strategy == strategy && run.replica == 0).collect();
        runs.sort_by_key(|run| run.trial);
        runs
    }
}
