//! The rows of the table of strategies, shared by all formats: a label, and how a strategy's trials fill its cell.

use super::units;
use crate::figure::{self, Unit};
use crate::schema::{Audit, Run, RunFile};

/// Fills a cell from a strategy's trials.
pub(super) type CellOf = fn(&[&Run]) -> String;

/// The table, from top to bottom. An indented label continues the one above it.
pub(super) const ROWS: [(&str, CellOf); 18] = [
    ("task pauses", pauses),
    ("  longest pause", |runs| show("task_pause_ms.max", runs)),
    ("  all together", |runs| show("task_pause_ms.sum", runs)),
    ("  median pause", |runs| show("task_pause_ms.p50", runs)),
    ("  most of it for", chief_part),
    ("stop the world", |runs| show("stop_the_world_ms", runs)),
    ("latency p50", |runs| show("service_latency_ms.p50", runs)),
    ("latency p99", |runs| show("service_latency_ms.p99", runs)),
    ("latency p99.9", |runs| show("service_latency_ms.p999", runs)),
    ("latency max", |runs| show("service_latency_ms.max", runs)),
    ("delayed records", |runs| show("delayed_records", runs)),
    ("recovery", |runs| within_run("recovery_ms", runs)),
    ("rebalances", rebalances),
    ("restore", restore),
    ("  of a bulk load", of_bulk_load),
    ("moves", moves),
    ("time to balance", |runs| within_run("time_to_balance_ms", runs)),
    (AUDIT, audit),
];

/// Label of the row that can call for attention.
pub(super) const AUDIT: &str = "audit";

fn median(name: &str, runs: &[&Run]) -> Option<f64> {
    figure::by_name(name).and_then(|figure| figure::median(figure, runs))
}

fn show(name: &str, runs: &[&Run]) -> String {
    let unit = figure::by_name(name).map_or(Unit::Count, |figure| figure.unit);
    median(name, runs).map_or_else(|| "–".to_owned(), |value| unit.show(value))
}

/// A time that the run may have been too short for; nothing scripted, nothing to wait for.
fn within_run(name: &str, runs: &[&Run]) -> String {
    if runs.iter().all(|run| run.membership.is_empty()) {
        return "–".to_owned();
    }
    let duration_us = runs.iter().map(|run| run.duration_us).max().unwrap_or(0);
    median(name, runs)
        .map_or_else(|| format!("> {}", units::duration(duration_us as f64 / 1_000.0)), units::duration)
}

fn pauses(runs: &[&Run]) -> String {
    let count = show("task_pause_ms.count", runs);
    match median("task_pause_ms.given_back", runs) {
        Some(given_back) if given_back > 0.0 => format!("{count} ({} given back)", units::count(given_back)),
        _ => count,
    }
}

/// The part of the anatomy that took most, with its share of all pauses.
fn chief_part(runs: &[&Run]) -> String {
    let sum: f64 = runs.iter().map(|run| run.metrics.task_pause_ms.sum).sum();
    let parts = runs.first().map(|run| run.metrics.task_pause_ms.anatomy.parts()).unwrap_or_default();
    let chief = parts
        .iter()
        .enumerate()
        .map(|(at, (name, _))| {
            let ms: f64 = runs.iter().map(|run| run.metrics.task_pause_ms.anatomy.parts()[at].1).sum();
            (*name, ms)
        })
        .max_by(|a, b| a.1.total_cmp(&b.1));
    match chief {
        Some((name, ms)) if sum > 0.0 => format!("{name} ({:.0} %)", 100.0 * ms / sum),
        _ => "–".to_owned(),
    }
}

fn rebalances(runs: &[&Run]) -> String {
    let mut text = show("rebalances.total", runs);
    let causes: Vec<String> = figure::FIGURES
        .iter()
        .filter_map(|figure| {
            let cause = figure.name.strip_prefix("rebalances.by_cause.")?;
            let count = figure::median(figure, runs).filter(|count| *count > 0.0)?;
            Some(format!("{cause} {}", units::count(count)))
        })
        .collect();
    if !causes.is_empty() {
        text.push_str(": ");
        text.push_str(&causes.join(", "));
    }
    text
}

fn restore(runs: &[&Run]) -> String {
    match median("restore.records_per_s", runs) {
        None => "–".to_owned(),
        Some(_) => format!("{}, {}", show("restore.records_per_s", runs), show("restore.mb_per_s", runs)),
    }
}

/// Records replayed per second as a share of what a bulk load into RocksDB reached.
fn of_bulk_load(runs: &[&Run]) -> String {
    median("restore.share_of_ceiling", runs)
        .map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

fn moves(runs: &[&Run]) -> String {
    let minimum = runs.iter().map(|run| run.metrics.moves.minimum).max().unwrap_or(0);
    format!("{} (minimum {minimum})", show("moves.actual", runs))
}

fn audit(runs: &[&Run]) -> String {
    let failed: Vec<_> = runs.iter().map(|run| run.audit).filter(|audit| !audit.passed).collect();
    if failed.is_empty() {
        return "passed".to_owned();
    }
    let sum = |part: fn(&Audit) -> u64| units::grouped(failed.iter().map(part).sum());
    format!(
        "FAILED: {} lost, {} doubled, {} stale appends",
        sum(|audit| audit.lost),
        sum(|audit| audit.doubled),
        sum(|audit| audit.stale_appends)
    )
}

/// The file's warnings, then each run's own with its name in front.
pub(super) fn warnings(result: &RunFile) -> Vec<String> {
    let mut all = result.warnings.clone();
    if result.incomplete {
        all.push("stopped before the end: this is what had been measured by then".to_owned());
    }
    for run in &result.runs {
        let twin = if run.replica == 0 { "" } else { " (A/A twin)" };
        all.extend(
            run.warnings
                .iter()
                .map(|warning| format!("{}, trial {}{twin}: {warning}", run.strategy, run.trial)),
        );
    }
    all
}
