//! The table that a terminal shows: figures in rows, strategies in columns, medians where there are several trials.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, presets};

use super::view::{Material, View};
use super::{headline, inline, rows};
use crate::claim::{self, Judged, Verdict};
use crate::schema::{Run, RunFile};

/// How the terminal wants it. The program decides: no colour where `NO_COLOR` is set or nobody looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: u16,
    /// Whether escape sequences for colour and weight may be written.
    pub color: bool,
}

/// Narrower than this, nothing gets.
const LEAST_WIDTH: u16 = 40;
/// Columns that the labels take, and the least that a strategy needs.
const LABEL_WIDTH: u16 = 24;
const STRATEGY_WIDTH: u16 = 18;

/// The whole report: title, table, small charts, headline, warnings. Ends with a newline.
#[must_use]
pub fn render(material: Material<'_>, style: Style) -> String {
    let result = material.result;
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
    let charts = inline::charts(&View::new(material), style);
    if !charts.is_empty() {
        text.push('\n');
        text.push_str(&charts);
    }
    if let Some(line) = headline::headline(result) {
        text.push('\n');
        text.push_str(&prose(&line, style));
    }
    for claim in failed_claims(result) {
        text.push_str(&prose(&format!("claim failed: {claim}"), style));
    }
    for warning in rows::warnings(result) {
        text.push_str(&prose(&format!("warning: {warning}"), style));
    }
    text
}

/// A sentence within the terminal's width, further lines set in.
fn prose(line: &str, style: Style) -> String {
    let options = textwrap::Options::new(style.width.max(LEAST_WIDTH).into()).subsequent_indent("  ");
    format!("{}\n", textwrap::fill(line, options))
}

fn table(result: &RunFile, strategies: &[&str], style: Style) -> String {
    let mut table = plain_table(style);
    let trials: Vec<Vec<&Run>> = strategies.iter().map(|strategy| result.trials(strategy)).collect();
    let mut header = vec![Cell::new("")];
    for (strategy, runs) in strategies.iter().zip(&trials) {
        let trials = if runs.len() > 1 { format!("\nmedian of {}", runs.len()) } else { String::new() };
        // A blank after each comma lets a long list of options wrap.
        let name = strategy.replace(',', ", ");
        let heading = Cell::new(format!("{name}{trials}")).add_attribute(Attribute::Bold);
        header.push(heading.set_alignment(CellAlignment::Right));
    }
    table.set_header(header);
    for (label, cell) in rows::ROWS {
        let mut row = vec![Cell::new(label)];
        for runs in &trials {
            let cell = Cell::new(cell(runs)).set_alignment(CellAlignment::Right);
            let void = label == rows::AUDIT && runs.iter().any(|run| !run.audit.passed);
            row.push(if void { cell.fg(Color::Red).add_attribute(Attribute::Bold) } else { cell });
        }
        table.add_row(row);
    }
    if !result.claims.is_empty() {
        let mut row = vec![Cell::new("claims")];
        for strategy in strategies {
            let cell =
                Cell::new(claim::summary(&result.claims, strategy)).set_alignment(CellAlignment::Right);
            let failed = failed_claims(result).any(|claim| claim.strategy == *strategy);
            row.push(if failed { cell.fg(Color::Red).add_attribute(Attribute::Bold) } else { cell });
        }
        table.add_row(row);
    }
    table.trim_fmt()
}

pub(super) fn failed_claims(result: &RunFile) -> impl Iterator<Item = &Judged> {
    result.claims.iter().filter(|claim| claim.verdict == Verdict::Failed)
}

/// An empty table in the house style: three horizontal lines, as wide as the terminal at most.
pub(super) fn plain_table(style: Style) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(style.width.max(LEAST_WIDTH));
    if style.color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table
}
