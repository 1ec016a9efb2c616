//! What a swept setting does to the longest pauses, in one sentence.

use crate::report::units;
use crate::sweep::{Sweep, SweepRow};

/// The sentence, and the figures behind it. `None` where other settings change too, or a strategy has one value only:
/// then only the table can say it.
pub(super) fn sentence(sweep: &Sweep) -> Option<(String, String)> {
    if !sweep.others.is_empty() {
        return None;
    }
    let ends = ends(sweep);
    let (first, last) = ends.first()?;
    if first.value == last.value {
        return None;
    }
    let grown: Vec<String> = ends
        .iter()
        .enumerate()
        .filter_map(|(at, (_, last))| {
            let whose = format!("{}'s", last.strategy.replace(',', ", "));
            let what = if at == 0 { " longest pause" } else { "" };
            Some(format!("{whose}{what} {}", times(last.growth?)))
        })
        .collect();
    if grown.is_empty() {
        return None;
    }
    let figures: Vec<String> = ends
        .iter()
        .filter_map(|(first, last)| {
            let (from, to) = (units::duration(first.figures[0]?), units::duration(last.figures[0]?));
            Some(format!("{} {from} → {to}", last.strategy.replace(',', ", ")))
        })
        .collect();
    let sentence = format!("{} from {} to {}: {}.", sweep.key, first.value, last.value, grown.join(", "));
    let trials = if last.trials > 1 { format!("; medians of {} trials", last.trials) } else { String::new() };
    Some((sentence, format!("{}{trials}", figures.join(", "))))
}

/// The first and the last row of each strategy.
fn ends(sweep: &Sweep) -> Vec<(&SweepRow, &SweepRow)> {
    let mut ends: Vec<(&SweepRow, &SweepRow)> = Vec::new();
    for row in &sweep.rows {
        match ends.last_mut().filter(|(first, _)| first.strategy == row.strategy) {
            Some(end) => end.1 = row,
            None => ends.push((row, row)),
        }
    }
    ends
}

/// A ratio as people say it.
fn times(ratio: f64) -> String {
    let digits = if ratio < 9.95 { 1 } else { 0 };
    if ratio >= 0.95 { format!("× {ratio:.digits$}") } else { format!("× {ratio:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(strategy: &str, value: &str, longest_ms: f64, growth: f64) -> SweepRow {
        let mut figures = [None; crate::sweep::FIGURES.len()];
        figures[0] = Some(longest_ms);
        let (strategy, value) = (strategy.to_owned(), value.to_owned());
        SweepRow { strategy, value, others: Vec::new(), trials: 3, figures, growth: Some(growth) }
    }

    #[test]
    fn each_strategy_is_held_against_itself() {
        let rows = vec![
            row("eager", "1000", 100.0, 1.0),
            row("eager", "8000", 1_234.0, 12.34),
            row("learner", "1000", 4.0, 1.0),
            row("learner", "8000", 3.0, 0.75),
        ];
        let mut sweep = Sweep { key: "state.keys".to_owned(), others: Vec::new(), rows };
        let (said, figures) = sentence(&sweep).expect("a sentence");
        assert_eq!(said, "state.keys from 1000 to 8000: eager's longest pause × 12, learner's × 0.75.");
        assert_eq!(figures, "eager 100 ms → 1.23 s, learner 4.00 ms → 3.00 ms; medians of 3 trials");
        sweep.others.push("group.profile".to_owned());
        assert_eq!(sentence(&sweep), None);
    }
}
