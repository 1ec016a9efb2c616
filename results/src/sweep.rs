//! Several results of one scenario that differ in a few settings: which settings, and what each does.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::figure;
use crate::schema::RunFile;

/// What one swept key does: one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The key's path in the scenario, as in `state.keys`.
    pub key: String,
    /// The other swept keys.
    pub others: Vec<String>,
    /// By strategy, then the other keys' values, then the key's own: each block reads from its least value down.
    pub rows: Vec<SweepRow>,
}

/// One strategy under one combination of the swept keys.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepRow {
    /// The strategy.
    pub strategy: String,
    /// The key's value, as text.
    pub value: String,
    /// The other keys' values, as text.
    pub others: Vec<String>,
    /// Trials that the medians are of.
    pub trials: usize,
    /// Medians over the trials, in the order of [`FIGURES`].
    pub figures: [Option<f64>; FIGURES.len()],
    /// Longest pause over that of the block's first row; `None` where either has none.
    pub growth: Option<f64>,
}

/// The figures of a row.
pub const FIGURES: [&str; 6] = [
    "task_pause_ms.max",
    "task_pause_ms.p50",
    "stop_the_world_ms",
    "service_latency_ms.p99",
    "rebalances.total",
    "time_to_balance_ms",
];

/// One sweep per scenario key that differs between the results, in the order of the keys; none if they are alike.
/// Where all results say what was swept, only that counts: a profile changes other keys with itself. Results that are
/// alike in all keys are shown as rows of the same values.
#[must_use]
pub fn sweeps(results: &[&RunFile]) -> Vec<Sweep> {
    let swept = results.iter().all(|result| !result.sweep.is_empty());
    let settings: Vec<BTreeMap<String, Value>> = results
        .iter()
        .map(|result| {
            let mut leaves = BTreeMap::new();
            if swept {
                leaves.extend(result.sweep.clone());
            } else {
                leaf_values("", &Value::Object(result.scenario.clone()), &mut leaves);
            }
            leaves
        })
        .collect();
    let mut keys: Vec<&String> = settings.iter().flat_map(BTreeMap::keys).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.retain(|key| settings.iter().any(|of| of.get(*key) != settings[0].get(*key)));
    keys.iter().map(|key| sweep(key, &keys, results, &settings)).collect()
}

fn leaf_values(place: &str, value: &Value, leaves: &mut BTreeMap<String, Value>) {
    let Value::Object(object) = value else {
        leaves.insert(place.to_owned(), value.clone());
        return;
    };
    for (key, value) in object {
        let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
        leaf_values(&place, value, leaves);
    }
}

fn sweep(key: &str, keys: &[&String], results: &[&RunFile], settings: &[BTreeMap<String, Value>]) -> Sweep {
    let others: Vec<String> =
        keys.iter().filter(|other| **other != key).map(|other| (*other).clone()).collect();
    // The strategies' order is the user's, which all results of a sweep share.
    let mut strategies: Vec<&str> = Vec::new();
    for strategy in results.iter().flat_map(|result| result.strategies()) {
        if !strategies.contains(&strategy) {
            strategies.push(strategy);
        }
    }
    let mut order: Vec<usize> = (0..results.len()).collect();
    order.sort_by(|&a, &b| {
        let by = |key: &str| compare(settings[a].get(key), settings[b].get(key));
        others.iter().map(|other| by(other)).find(|order| order.is_ne()).unwrap_or_else(|| by(key))
    });
    let mut rows: Vec<SweepRow> = Vec::new();
    for strategy in strategies {
        for &at in &order {
            // What was stopped half-way has half the pauses.
            let mut runs = results[at].trials(strategy);
            runs.retain(|run| !run.incomplete);
            if runs.is_empty() {
                continue;
            }
            let figures =
                FIGURES.map(|name| figure::by_name(name).and_then(|figure| figure::median(figure, &runs)));
            let values = others.iter().map(|other| text(settings[at].get(other))).collect();
            let mut row = SweepRow {
                strategy: strategy.to_owned(),
                value: text(settings[at].get(key)),
                others: values,
                trials: runs.len(),
                figures,
                growth: None,
            };
            let first = rows
                .iter()
                .find(|first| first.strategy == row.strategy && first.others == row.others)
                .unwrap_or(&row);
            row.growth = match (first.figures[0], row.figures[0]) {
                (Some(first), Some(own)) if first > 0.0 => Some(own / first),
                _ => None,
            };
            rows.push(row);
        }
    }
    Sweep { key: key.to_owned(), others, rows }
}

/// Numbers by size, everything else as text.
fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a.and_then(Value::as_f64), b.and_then(Value::as_f64)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => text(a).cmp(&text(b)),
    }
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "–".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}
