//! CSV as RFC 4180 has it, but for the line ends, which are plain newlines.
//!
//! [`runs`] has one line per run and a column per figure, as change-point tools want it: time, commit, numbers.
//! [`compare`] has one line per figure.

use std::io;

use serde_json::Value;

use super::comparison::plain;
use crate::compare::Comparison;
use crate::figure::FIGURES;
use crate::schema::RunFile;

/// Writes results as one table, oldest first: `time`, `commit`, `scenario`, `strategy`, `trial`, `replica`, `seed`,
/// `audit`, the swept keys with their values as `sweep`, then every figure under its dotted name. A cell is empty where the run has no such number.
///
/// # Errors
/// What `out` reports.
pub fn runs(out: &mut impl io::Write, results: &[&RunFile]) -> io::Result<()> {
    let fixed = ["time", "commit", "scenario", "strategy", "trial", "replica", "seed", "audit", "sweep"];
    write_row(out, fixed.into_iter().chain(FIGURES.iter().map(|figure| figure.name)))?;
    let mut results: Vec<&RunFile> = results.to_vec();
    // ISO times in UTC sort as text.
    results.sort_by(|a, b| a.started.cmp(&b.started));
    for result in results {
        for run in &result.runs {
            let mut cells = vec![
                result.started.clone(),
                result.environment.commit.clone().unwrap_or_default(),
                result.title.clone(),
                run.strategy.clone(),
                run.trial.to_string(),
                run.replica.to_string(),
                run.seed.to_string(),
                if run.audit.passed { "passed" } else { "failed" }.to_owned(),
                swept(result),
            ];
            cells.extend(
                FIGURES.iter().map(|figure| {
                    (figure.of)(run).map_or_else(String::new, |value| plain(value, figure.unit))
                }),
            );
            write_row(out, cells.iter().map(String::as_str))?;
        }
    }
    Ok(())
}

/// `state.keys=100000 group.profile=tight`; empty where nothing was swept.
fn swept(result: &RunFile) -> String {
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let parts: Vec<String> =
        result.sweep.iter().map(|(key, value)| format!("{key}={}", shown(value))).collect();
    parts.join(" ")
}

/// Writes comparisons, one line per figure of each.
///
/// # Errors
/// What `out` reports.
pub fn compare(out: &mut impl io::Write, comparisons: &[Comparison]) -> io::Result<()> {
    write_row(
        out,
        [
            "base",
            "new",
            "metric",
            "pairs",
            "base_median",
            "new_median",
            "ratio",
            "low",
            "high",
            "p",
            "noise_floor",
            "verdict",
        ],
    )?;
    let optional = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for comparison in comparisons {
        for row in &comparison.rows {
            let cells = [
                comparison.base.clone(),
                comparison.new.clone(),
                row.figure.name.to_owned(),
                comparison.pairs.to_string(),
                plain(row.medians.0, row.figure.unit),
                plain(row.medians.1, row.figure.unit),
                optional(row.estimate.ratio),
                optional(row.estimate.interval.map(|interval| interval.0)),
                optional(row.estimate.interval.map(|interval| interval.1)),
                row.estimate.p.to_string(),
                optional(row.noise_floor),
                row.verdict.name().to_owned(),
            ];
            write_row(out, cells.iter().map(String::as_str))?;
        }
    }
    Ok(())
}

/// Writes one line. A cell with a comma, a quote or a line break is quoted.
///
/// # Errors
/// What `out` reports.
pub fn write_row<'a>(out: &mut impl io::Write, cells: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        if cell.contains([',', '"', '\n', '\r']) {
            write!(out, "\"{}\"", cell.replace('"', "\"\""))?;
        } else {
            out.write_all(cell.as_bytes())?;
        }
    }
    out.write_all(b"\n")
}
