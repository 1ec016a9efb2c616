//! Whether two results may be compared: what differs between their scenarios, machines, builds and seeds.

use std::fmt;

use serde_json::Value;

use crate::schema::RunFile;

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key's path, as in `scenario.load.rate`.
    pub place: String,
    /// What the base has.
    pub base: String,
    /// What the new one has.
    pub new: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} against {}", self.place, self.base, self.new)
    }
}

/// Keys of the environment that name what is being compared rather than where: these may differ.
const SUBJECT: [&str; 3] = ["environment.commit", "environment.dirty", "environment.understudy"];

/// All that makes two results unlike: scenarios, environments but for version and commit, seeds of common trials.
#[must_use]
pub fn differences(base: &RunFile, new: &RunFile) -> Vec<Difference> {
    let mut found = Vec::new();
    let scenario = |result: &RunFile| Value::Object(result.scenario.clone());
    walk("scenario", &scenario(base), &scenario(new), &mut found);
    // Plain data always becomes JSON.
    let environment = |result: &RunFile| serde_json::to_value(&result.environment).unwrap_or_default();
    walk("environment", &environment(base), &environment(new), &mut found);
    found.retain(|difference| !SUBJECT.contains(&difference.place.as_str()));
    found.extend(seeds(base, new));
    found
}

/// Every leaf in which two values differ, by its path under `place`.
#[must_use]
pub fn between(place: &str, base: &Value, new: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(place, base, new, &mut found);
    found
}

/// Descends into objects of both sides and notes the leaves that differ.
fn walk(place: &str, base: &Value, new: &Value, found: &mut Vec<Difference>) {
    if let (Value::Object(base), Value::Object(new)) = (base, new) {
        let absent = Value::Null;
        let mut keys: Vec<&String> = base.keys().chain(new.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let (base, new) = (base.get(key).unwrap_or(&absent), new.get(key).unwrap_or(&absent));
            let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
            walk(&place, base, new, found);
        }
    } else if base != new {
        let show = |value: &Value| if value.is_null() { "nothing".to_owned() } else { value.to_string() };
        found.push(Difference { place: place.to_owned(), base: show(base), new: show(new) });
    }
}

fn seeds(base: &RunFile, new: &RunFile) -> Vec<Difference> {
    let seed_of =
        |result: &RunFile, trial| result.runs.iter().find(|run| run.trial == trial).map(|run| run.seed);
    let mut trials: Vec<u32> = base.runs.iter().map(|run| run.trial).collect();
    trials.sort_unstable();
    trials.dedup();
    trials
        .into_iter()
        .filter_map(|trial| Some((trial, seed_of(base, trial)?, seed_of(new, trial)?)))
        .filter(|(_, base, new)| base != new)
        .map(|(trial, base, new)| Difference {
            place: format!("seed of trial {trial}"),
            base: base.to_string(),
            new: new.to_string(),
        })
        .collect()
}
