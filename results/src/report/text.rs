//! The table that a terminal shows: figures in rows, strategies in columns, medians where there are several trials.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, presets};

use super::{headline, units};
use crate::figure::{self, Unit};
use crate::schema::{Run, RunFile};

/// How the terminal wants it. The program decides: no colour where `NO_COLOR` is set or nobody looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: u16,
    /// Whether escape sequences for colour and weight may be written.
    pub color: bool,
}

/// Columns that the labels take, and the least that a strategy needs.
const LABEL_WIDTH: u16 = 24;
const STRATEGY_WIDTH: u16 = 18;

type CellOf = fn(&[&Run]) -> String;

const ROWS: [(&str, CellOf); 18] = [
    ("task pauses", pauses),
    ("  longest", |runs| show("task_pause_ms.max", runs)),
    ("  all together", |runs| show("task_pause_ms.sum", runs)),
    ("  median", |runs| show("task_pause_ms.p50", runs)),
    ("  most of it for", chief_part),
    ("stop the world", |runs| show("stop_the_world_ms", runs)),
    ("latency p50", |runs| show("service_latency_ms.p50", runs)),
    ("  p99", |runs| show("service_latency_ms.p99", runs)),
    ("  p99.9", |runs| show("service_latency_ms.p999", runs)),
    ("  max", |runs| show("service_latency_ms.max", runs)),
    ("delayed records", |runs| show("delayed_records", runs)),
    ("recovery", |runs| within_run("recovery_ms", runs)),
    ("rebalances", rebalances),
    ("restored", |runs| show("restore.records_per_s", runs)),
    ("", |runs| show("restore.mb_per_s", runs)),
    ("moves", moves),
    ("time to balance", |runs| within_run("time_to_balance_ms", runs)),
    ("audit", audit),
];

/// The whole report: title, table, headline, warnings. Ends with a newline.
#[must_use]
pub fn render(result: &RunFile, style: Style) -> String {
    let mut text = String::new();
    if !result.title.is_empty() {
        text.push_str(&result.title);
        text.push_str("\n\n");
    }
    let strategies = result.strategies();
    let fits = usize::from((style.width.saturating_sub(LABEL_WIDTH) / STRATEGY_WIDTH).max(1));
    for part in strategies.chunks(fits) {
        text.push_str(&table(result, part, style));
        text.push('\n');
    }
    if let Some(line) = headline::headline(result) {
        text.push('\n');
        text.push_str(&line);
        text.push('\n');
    }
    for warning in warnings(result) {
        text.push_str("warning: ");
        text.push_str(&warning);
        text.push('\n');
    }
    text
}

fn table(result: &RunFile, strategies: &[&str], style: Style) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(style.width.max(40));
    if style.color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let trials: Vec<Vec<&Run>> = strategies.iter().map(|strategy| result.trials(strategy)).collect();
    let mut header = vec![Cell::new("")];
    for (strategy, runs) in strategies.iter().zip(&trials) {
        let trials = if runs.len() > 1 { format!("\nmedian of {}", runs.len()) } else { String::new() };
        // A blank after each comma lets a long list of options wrap.
        let name = strategy.replace(',', ", ");
        header.push(Cell::new(format!("{name}{trials}")).add_attribute(Attribute::Bold));
    }
    table.set_header(header);
    for (label, cell) in ROWS {
        let mut row = vec![Cell::new(label)];
        for runs in &trials {
            let cell = Cell::new(cell(runs)).set_alignment(CellAlignment::Right);
            let void = label == "audit" && runs.iter().any(|run| !run.audit.passed);
            row.push(if void { cell.fg(Color::Red).add_attribute(Attribute::Bold) } else { cell });
        }
        table.add_row(row);
    }
    table.trim_fmt()
}

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

fn moves(runs: &[&Run]) -> String {
    let minimum = runs.iter().map(|run| run.metrics.moves.minimum).max().unwrap_or(0);
    format!("{} (minimum {minimum})", show("moves.actual", runs))
}

fn audit(runs: &[&Run]) -> String {
    let failed: Vec<_> = runs.iter().map(|run| run.audit).filter(|audit| !audit.passed).collect();
    if failed.is_empty() {
        return "passed".to_owned();
    }
    let sum = |part: fn(&crate::schema::Audit) -> u64| units::grouped(failed.iter().map(part).sum());
    format!(
        "FAILED: {} lost, {} doubled, {} stale appends",
        sum(|audit| audit.lost),
        sum(|audit| audit.doubled),
        sum(|audit| audit.stale_appends)
    )
}

/// The file's warnings, then each run's own with its name in front.
fn warnings(result: &RunFile) -> Vec<String> {
    let mut all = result.warnings.clone();
    if result.incomplete {
        all.push("stopped before the end: this is what had been measured by then".to_owned());
    }
    for run in &result.runs {
        all.extend(
            run.warnings.iter().map(|warning| format!("{}, trial {}: {warning}", run.strategy, run.trial)),
        );
    }
    all
}
