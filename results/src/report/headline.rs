//! The comparison in one sentence: whose longest pause is which part of whose.

use super::units;
use crate::figure;
use crate::schema::RunFile;

/// Compares the strategy with the shortest longest pause to the one with the longest (medians over trials), as in
/// "learner's longest pause is 1/40 of eager's (52.0 ms against 2.08 s)". `None` with fewer than two strategies, or
/// where nothing paused.
#[must_use]
pub fn headline(result: &RunFile) -> Option<String> {
    let figure = figure::by_name("task_pause_ms.max")?;
    let longest: Vec<(&str, f64)> = result
        .strategies()
        .into_iter()
        .filter_map(|strategy| Some((strategy, figure::median(figure, &result.trials(strategy))?)))
        .collect();
    let best = longest.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
    // Of equal ones the first: it is named in the order the user gave.
    let worst = longest.iter().copied().rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
    if best.0 == worst.0 || worst.1 <= 0.0 {
        return None;
    }
    let trials = longest.iter().map(|(strategy, _)| result.trials(strategy).len()).max().unwrap_or(1);
    let medians = if trials > 1 { format!("; medians of {trials} trials") } else { String::new() };
    let figures = format!("({} against {}{medians})", units::duration(best.1), units::duration(worst.1));
    Some(if best.1 <= 0.0 {
        format!("{} paused no task, {} did {figures}", best.0, worst.0)
    } else {
        let times = worst.1 / best.1;
        let part = if times >= 1.95 {
            format!("1/{} of", units::grouped(times.round() as u64))
        } else {
            format!("{:.0} % of", 100.0 / times)
        };
        format!("{}'s longest pause is {part} {}'s {figures}", best.0, worst.0)
    })
}
