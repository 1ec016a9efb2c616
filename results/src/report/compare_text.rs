//! A comparison for the terminal: the chief figures, then the gates.

use comfy_table::{Cell, CellAlignment, Color, Table};

use super::comparison::{GATE_HEADINGS, HEADINGS, cells, gate_cells, shown, title};
use super::text::{Style, plain_table};
use crate::compare::{self, Comparison};
use crate::gate::{Outcome, Verdict};

/// Renders comparisons, each with its notes, and the gates below them. Ends with a newline.
#[must_use]
pub fn render(comparisons: &[Comparison], gates: &[Verdict], style: Style) -> String {
    let mut text = String::new();
    for comparison in comparisons {
        let mut table = table(style, &HEADINGS);
        for row in shown(comparison, gates) {
            let color = match row.verdict {
                compare::Verdict::Better => Some(Color::Green),
                compare::Verdict::Worse => Some(Color::Red),
                compare::Verdict::Same | compare::Verdict::TooFew => None,
            };
            add(&mut table, &cells(row), color);
        }
        text.push_str(&format!("{}\n{}\n", title(comparison), table.trim_fmt()));
        comparison.notes.iter().for_each(|note| text.push_str(&format!("note: {note}\n")));
        text.push('\n');
    }
    if !gates.is_empty() {
        let mut table = table(style, &GATE_HEADINGS);
        for verdict in gates {
            let color = match verdict.outcome {
                Outcome::Passed => Some(Color::Green),
                Outcome::Failed => Some(Color::Red),
                Outcome::Noise | Outcome::TooFew => Some(Color::Yellow),
            };
            add(&mut table, &gate_cells(verdict), color);
        }
        text.push_str(&table.trim_fmt());
        text.push('\n');
    }
    text
}

fn table(style: Style, headings: &[&str]) -> Table {
    let mut table = plain_table(style);
    table.set_header(headings.to_vec());
    table
}

/// Numbers to the right, the words at both ends to the left; the last cell carries the colour.
fn add(table: &mut Table, cells: &[String], color: Option<Color>) {
    let last = cells.len() - 1;
    let row = cells.iter().enumerate().map(|(at, text)| {
        let cell = Cell::new(text);
        match (at, color) {
            (0, _) => cell,
            (at, Some(color)) if at == last => cell.fg(color),
            (at, None) if at == last => cell,
            _ => cell.set_alignment(CellAlignment::Right),
        }
    });
    table.add_row(row.collect::<Vec<_>>());
}
