//! Gates as JUnit XML, which CI servers show as tests: one test case a gate and comparison.

use super::comparison::{gate_cells, title};
use crate::compare::Comparison;
use crate::gate::{Outcome, Verdict};

/// The whole document. A gate that is exceeded within the noise passes, with its numbers in the output; one that has
/// too few trials is skipped, with the reason.
#[must_use]
pub fn render(comparisons: &[Comparison], gates: &[Verdict]) -> String {
    let failures = gates.iter().filter(|gate| gate.failed()).count();
    let skipped = gates.iter().filter(|gate| gate.outcome == Outcome::TooFew).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"understudy compare\" \
         tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n",
        gates.len()
    );
    for gate in gates {
        let class = format!("{} against {}", gate.new, gate.base);
        text.push_str(&format!(
            "    <testcase classname=\"{}\" name=\"{}\">\n",
            escape(&class),
            escape(&gate.gate.text)
        ));
        let message = escape(&gate.explain());
        match gate.outcome {
            Outcome::Failed => text.push_str(&format!("      <failure message=\"{message}\"/>\n")),
            Outcome::TooFew => text.push_str(&format!("      <skipped message=\"{message}\"/>\n")),
            Outcome::Passed | Outcome::Noise => {}
        }
        let [_, base, new, limit, ratio, floor, outcome] = gate_cells(gate);
        text.push_str(&format!(
            "      <system-out>{}</system-out>\n    </testcase>\n",
            escape(&format!(
                "base {base}, new {new}, limit {limit}, ratio {ratio}, noise floor {floor}; {outcome}"
            ))
        ));
    }
    let notes = comparisons.iter().flat_map(|comparison| {
        comparison.notes.iter().map(move |note| format!("{}: {note}\n", title(comparison)))
    });
    let notes: String = notes.collect();
    text.push_str(&format!(
        "    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
        escape(&notes)
    ));
    text
}

/// XML 1.0: the five reserved characters, and no control characters, which it can't hold at all.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\n' | '\t' => escaped.push(letter),
            _ if letter.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}
