//! Sweeps as tables, one per swept key, for the terminal and for Markdown.

use std::ops::Range;

use comfy_table::{CellAlignment, ColumnConstraint, Width};

use super::markdown;
use super::text::{Style, plain_table};
use crate::figure;
use crate::sweep::{FIGURES, Sweep};

/// Tables for the terminal. Ends with a newline; empty without sweeps.
#[must_use]
pub fn text(sweeps: &[Sweep], style: Style) -> String {
    let mut text = String::new();
    for sweep in sweeps {
        text.push_str(&format!("{}\n", sweep.key));
        let headings = headings(sweep);
        let rows: Vec<Vec<String>> = cells(sweep).collect();
        let names = sweep.others.len() + 2;
        for part in parts(&headings, &rows, names, style.width) {
            let of = |row: &Vec<String>| -> Vec<String> {
                (0..names).chain(part.clone()).filter_map(|at| row.get(at).cloned()).collect()
            };
            let rows: Vec<Vec<String>> = rows.iter().map(of).collect();
            text.push_str(&table(&of(&headings), &rows, names, style));
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

/// One table: `names` columns that say what a row is of, then figures.
fn table(head: &[String], rows: &[Vec<String>], names: usize, style: Style) -> String {
    let mut table = plain_table(style);
    table.set_header(head);
    rows.iter().for_each(|row| {
        table.add_row(row);
    });
    // Headings may wrap, but neither a word nor a figure is taken apart.
    for (at, column) in table.column_iter_mut().enumerate() {
        let least = least_width(head, rows, at) + PADDING;
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least as u16)));
    }
    // Names to the left, values and figures to the right.
    for column in table.column_iter_mut().skip(names - 1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

/// Blanks within a cell, and between two.
const PADDING: usize = 2;
const BETWEEN: usize = 1;

/// What the longest cell of a column needs, and the longest word of its heading.
fn least_width(head: &[String], rows: &[Vec<String>], at: usize) -> usize {
    let words = head[at].split(' ');
    let cells = rows.iter().filter_map(|row| row.get(at)).map(String::as_str);
    words.chain(cells).map(|text| text.chars().count()).max().unwrap_or(0)
}

/// Which of the figures' columns stand side by side: as many as there is room for beside the names, one at least.
fn parts(head: &[String], rows: &[Vec<String>], names: usize, width: u16) -> Vec<Range<usize>> {
    let needs = |at: usize| least_width(head, rows, at) + PADDING + BETWEEN;
    let room = usize::from(width).saturating_sub((0..names).map(needs).sum());
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut taken = 0;
    for at in names..head.len() {
        let own = needs(at);
        match parts.last_mut().filter(|_| taken + own <= room) {
            Some(last) => {
                last.end = at + 1;
                taken += own;
            }
            None => {
                parts.push(at..at + 1);
                taken = own;
            }
        }
    }
    parts
}

/// Tables in Markdown.
#[must_use]
pub fn markdown(sweeps: &[Sweep]) -> String {
    let mut text = String::new();
    for sweep in sweeps {
        text.push_str(&format!("### {}\n\n", markdown::escape(&sweep.key)));
        markdown::table(&mut text, &headings(sweep), cells(sweep));
        text.push('\n');
    }
    text
}

pub(super) fn headings(sweep: &Sweep) -> Vec<String> {
    let mut headings = vec!["strategy".to_owned()];
    headings.extend(sweep.others.iter().cloned());
    headings.push(sweep.key.clone());
    headings.extend(FIGURES.iter().filter_map(|name| Some(figure::by_name(name)?.label.to_owned())));
    // Growth belongs to the longest pause, the first of the figures.
    headings.insert(sweep.others.len() + 3, "growth".to_owned());
    headings
}

pub(super) fn cells(sweep: &Sweep) -> impl Iterator<Item = Vec<String>> {
    let absent = || "–".to_owned();
    sweep.rows.iter().map(move |row| {
        let mut cells = vec![row.strategy.replace(',', ", ")];
        cells.extend(row.others.iter().cloned());
        cells.push(row.value.clone());
        cells.extend(row.figures.iter().zip(FIGURES).map(|(value, name)| {
            let unit = figure::by_name(name).map(|figure| figure.unit);
            unit.zip(*value).map_or_else(absent, |(unit, value)| unit.show(value))
        }));
        let growth = row.growth.map_or_else(absent, |growth| format!("×{growth:.2}"));
        cells.insert(row.others.len() + 3, growth);
        cells
    })
}
