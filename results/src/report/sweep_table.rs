//! Sweeps as tables, one per swept key, for the terminal and for Markdown.

use comfy_table::CellAlignment;

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
        let mut table = plain_table(style);
        table.set_header(headings(sweep));
        cells(sweep).for_each(|row| {
            table.add_row(row);
        });
        // Names to the left, values and figures to the right.
        for column in table.column_iter_mut().skip(sweep.others.len() + 1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        text.push_str(&table.trim_fmt());
        text.push_str("\n\n");
    }
    text
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
    // Growth belongs to the median pause, the first of the figures.
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
