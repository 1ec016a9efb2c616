//! Markdown, for a document or the summary of a CI run. Whatever comes from a file is escaped.

use super::comparison::{GATE_HEADINGS, HEADINGS, cells, gate_cells, shown, title};
use super::{headline, rows};
use crate::claim;
use crate::compare::Comparison;
use crate::gate::Verdict;
use crate::schema::{Run, RunFile};

/// A result: headline, picture, the table of strategies, warnings, the command to reproduce it, the environment.
/// `picture` is the name of an image file beside the document.
#[must_use]
pub fn run(result: &RunFile, picture: Option<&str>) -> String {
    let mut text = format!("## {}\n\n", escape(if result.title.is_empty() { "Run" } else { &result.title }));
    if let Some(line) = headline::headline(result) {
        text.push_str(&format!("**{}**\n\n", escape(&line)));
    }
    if let Some(file) = picture {
        text.push_str(&format!("![Longest pauses, and who ran each task when]({})\n\n", address(file)));
    }
    let strategies = result.strategies();
    let trials: Vec<Vec<&Run>> = strategies.iter().map(|strategy| result.trials(strategy)).collect();
    let mut header = vec![String::new()];
    for (strategy, runs) in strategies.iter().zip(&trials) {
        let trials = if runs.len() > 1 { format!(", median of {}", runs.len()) } else { String::new() };
        header.push(format!("{strategy}{trials}"));
    }
    let body = rows::ROWS.iter().map(|(label, cell)| {
        std::iter::once(label.trim().to_owned()).chain(trials.iter().map(|runs| cell(runs))).collect()
    });
    let claims = (!result.claims.is_empty()).then(|| {
        let cells = strategies.iter().map(|strategy| claim::summary(&result.claims, strategy));
        std::iter::once("claims".to_owned()).chain(cells).collect()
    });
    table(&mut text, &header, body.chain(claims));
    for claim in result.claims.iter().filter(|claim| claim.verdict == claim::Verdict::Failed) {
        text.push_str(&format!("\n> **Claim failed:** {}\n", escape(&claim.to_string())));
    }
    for warning in rows::warnings(result) {
        text.push_str(&format!("\n> **Warning:** {}\n", escape(&warning)));
    }
    if !result.command.is_empty() {
        // In a code span nothing is markup but the backtick.
        text.push_str(&format!("\nReproduce: `{}`\n", result.command.join(" ").replace('`', "'")));
    }
    let environment = &result.environment;
    let commit = environment.commit.as_deref().map(|commit| format!(", commit {commit}")).unwrap_or_default();
    let dirty = if environment.dirty == Some(true) { " with changes" } else { "" };
    text.push_str(&format!(
        "\nMade on {}, {} cores, {}; Understudy {}{}{dirty}, {}.\n",
        escape(&environment.cpu),
        environment.cores,
        escape(&environment.os),
        escape(&environment.understudy),
        escape(&commit),
        escape(&environment.profile)
    ));
    text
}

/// Comparisons with their notes, gates first: they are what the reader of a CI summary looks for.
#[must_use]
pub fn compare(comparisons: &[Comparison], gates: &[Verdict]) -> String {
    let mut text = String::new();
    if !gates.is_empty() {
        let failed = gates.iter().filter(|gate| gate.failed()).count();
        let verdict = if failed == 0 {
            format!("No gate of {} failed", gates.len())
        } else {
            format!("{failed} of {} gates failed", gates.len())
        };
        text.push_str(&format!("## {verdict}\n\n"));
        let header = GATE_HEADINGS.map(str::to_owned);
        table(&mut text, &header, gates.iter().map(|gate| gate_cells(gate).to_vec()));
        text.push('\n');
    }
    for comparison in comparisons {
        text.push_str(&format!("### {}\n\n", escape(&title(comparison))));
        let header = HEADINGS.map(str::to_owned);
        table(&mut text, &header, shown(comparison, gates).map(|row| cells(row).to_vec()));
        for note in &comparison.notes {
            text.push_str(&format!("\n> {}\n", escape(note)));
        }
        text.push('\n');
    }
    text
}

pub(super) fn table(text: &mut String, header: &[String], rows: impl Iterator<Item = Vec<String>>) {
    let mut line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    };
    line(header);
    let rules: Vec<String> =
        (0..header.len()).map(|at| if at == 0 { "---" } else { "---:" }.into()).collect();
    line(&rules);
    rows.for_each(|row| line(&row));
}

/// A file's name as the target of a link: what could end it is percent-encoded.
fn address(file: &str) -> String {
    let mut address = String::new();
    for byte in file.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            address.push(char::from(byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    address
}

/// Takes from text whatever Markdown or HTML could take for markup: a scenario's title is not to be trusted.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\r' => escaped.push(' '),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '!' | '~' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}
