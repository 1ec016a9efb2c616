//! What is shown of a comparison, whatever the format: which figures, and their cells as text.

use super::units;
use crate::compare::{Comparison, Row};
use crate::figure::Unit;
use crate::gate::{Outcome, Verdict};

/// The figures that tables show unasked; the CSV has them all.
const CHIEF: [&str; 14] = [
    "task_pause_ms.max",
    "task_pause_ms.sum",
    "task_pause_ms.p50",
    "stop_the_world_ms",
    "service_latency_ms.p50",
    "service_latency_ms.p99",
    "service_latency_ms.max",
    "delayed_records",
    "recovery_ms",
    "rebalances.total",
    "restore.records_per_s",
    "moves.actual",
    "time_to_balance_ms",
    "foreground_cost.p99_ratio",
];

/// Headings of [`cells`].
pub(super) const HEADINGS: [&str; 7] = ["metric", "base", "new", "ratio", "95 % interval", "p", "verdict"];

/// Headings of [`gate_cells`].
pub(super) const GATE_HEADINGS: [&str; 7] =
    ["gate", "base", "new", "limit", "ratio [interval]", "noise floor", "outcome"];

/// The rows that a table shows: the chief figures, and those that a gate is on.
pub(super) fn shown<'a>(comparison: &'a Comparison, gates: &'a [Verdict]) -> impl Iterator<Item = &'a Row> {
    comparison.rows.iter().filter(move |row| {
        CHIEF.contains(&row.figure.name) || gates.iter().any(|gate| gate.row.figure == row.figure)
    })
}

/// One row as text.
pub(super) fn cells(row: &Row) -> [String; 7] {
    let value = |value: f64| bounded(row, row.figure.unit.show(value));
    [
        row.figure.label.to_owned(),
        value(row.medians.0),
        value(row.medians.1),
        ratio(row.estimate.ratio),
        interval(row.estimate.interval),
        format!("{:.4}", row.estimate.p),
        row.verdict.name().to_owned(),
    ]
}

/// One gate as text.
pub(super) fn gate_cells(verdict: &Verdict) -> [String; 7] {
    let row = &verdict.row;
    let show = |value: f64| row.figure.unit.show(value);
    [
        verdict.gate.text.clone(),
        show(row.medians.0),
        show(row.medians.1),
        show(verdict.limit),
        format!("{} {}", ratio(row.estimate.ratio), interval(row.estimate.interval)).trim_end().to_owned(),
        row.noise_floor.map_or_else(|| "unknown".to_owned(), |floor| format!("{:.1} %", floor * 100.0)),
        match verdict.outcome {
            Outcome::Passed => outcome(Outcome::Passed).to_owned(),
            other => format!("{}: {}", outcome(other), verdict.explain()),
        },
    ]
}

/// The outcome as a word that catches the eye.
pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "FAILED",
        Outcome::Noise => "within noise",
        Outcome::TooFew => "too few trials",
    }
}

/// `learner against eager, 10 paired trials`.
pub(super) fn title(comparison: &Comparison) -> String {
    let trials = if comparison.pairs == 1 { "trial" } else { "trials" };
    format!("{} against {}, {} paired {trials}", comparison.new, comparison.base, comparison.pairs)
}

/// A value that a run was too short for is at least that.
fn bounded(row: &Row, text: String) -> String {
    if row.cut { format!("≥ {text}") } else { text }
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "–".to_owned(), significant)
}

fn interval(interval: Option<(f64, f64)>) -> String {
    interval.map_or_else(String::new, |(low, high)| format!("[{}, {}]", significant(low), significant(high)))
}

/// A ratio with three significant digits, also where it is far below 1.
fn significant(ratio: f64) -> String {
    match ratio {
        _ if ratio == 0.0 => "0".to_owned(),
        _ if ratio.abs() < 0.001 => format!("{ratio:.1e}"),
        _ if ratio.abs() < 0.1 => format!("{ratio:.4}"),
        _ if ratio.abs() < 9.995 => format!("{ratio:.3}"),
        _ => units::metric(ratio),
    }
}

/// A plain number for machines: as many digits as tell it from its neighbours.
pub(super) fn plain(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count | Unit::Bytes if value.fract() == 0.0 => format!("{value:.0}"),
        _ => format!("{value}"),
    }
}
