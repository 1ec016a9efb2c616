//! Small charts of block characters for a terminal: bars of the longest pauses, and lines of latency over time. They
//! keep to the width they are given and use colour only where that is allowed; what they say is in the letters.

use super::text::Style;
use super::units;
use super::view::{Strategy, View};

/// Names longer than this are cut.
const NAME: usize = 24;
/// Lines longer than this nobody compares.
const LONGEST_LINE: usize = 72;
/// What follows a bar: a blank and a duration.
const VALUE: usize = 12;

/// The charts of one result, each with a heading. Ends with a newline; empty where there is nothing to draw, or no room.
pub(super) fn charts(view: &View<'_>, style: Style) -> String {
    let name = view.strategies.iter().map(|of| of.name.chars().count().min(NAME)).max().unwrap_or(0);
    let room = usize::from(style.width).saturating_sub(name + VALUE + 4).min(LONGEST_LINE);
    if room < 8 {
        return String::new();
    }
    let mut text = bars(view, (name, room), style);
    text.push_str(&lines(view, (name, room), style));
    text
}

fn bars(view: &View<'_>, (name, room): (usize, usize), style: Style) -> String {
    let of = |strategy: &Strategy<'_>| strategy.median("task_pause_ms.max").unwrap_or(0.0);
    let most = view.strategies.iter().map(of).fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let mut text = "longest pause\n".to_owned();
    for strategy in &view.strategies {
        let value = of(strategy);
        let bar = colored(&bar(value / most, room), strategy.look, style);
        text.push_str(&format!("  {} {bar} {}\n", label(strategy.name, name), units::duration(value)));
    }
    text
}

fn lines(view: &View<'_>, (name, room): (usize, usize), style: Style) -> String {
    if !view.has_timeline() {
        return String::new();
    }
    let span = view.span_s();
    let highest: Vec<(&Strategy<'_>, Vec<Option<f64>>)> =
        view.strategies.iter().map(|of| (of, columns(of, span, room))).collect();
    let known = || highest.iter().flat_map(|(_, of)| of.iter().flatten()).copied();
    let (Some(least), Some(most)) = (known().reduce(f64::min), known().reduce(f64::max)) else {
        return String::new();
    };
    let mut text = format!(
        "latency p99 over {}, logarithmic from {} to {}\n",
        units::duration((span.1 - span.0) * 1_000.0),
        units::duration(least),
        units::duration(most)
    );
    for (strategy, of) in &highest {
        let peak = of.iter().flatten().copied().reduce(f64::max).map_or_else(String::new, units::duration);
        let line: String = of.iter().map(|value| spark(*value, least, most)).collect();
        let line = colored(&line, strategy.look, style);
        text.push_str(&format!("  {} {line} {peak}\n", label(strategy.name, name)));
    }
    text
}

/// The highest 99th percentile in each of as many columns as there is room for.
fn columns(strategy: &Strategy<'_>, (from_s, to_s): (f64, f64), room: usize) -> Vec<Option<f64>> {
    let mut columns: Vec<Option<f64>> = vec![None; room];
    for point in strategy.points {
        let at = ((point.time_s - from_s) / (to_s - from_s) * room as f64).floor();
        if let Some(ms) = point.p99_ms.filter(|_| at >= 0.0)
            && let Some(column) = columns.get_mut(at as usize)
        {
            *column = Some(column.map_or(ms, |most| most.max(ms)));
        }
    }
    columns
}

/// A bar in eighths of a character; never nothing where there is something.
fn bar(share: f64, room: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * room as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { eighths };
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar
}

/// One column of a line: a step of a logarithmic scale, or a blank where nothing was served.
fn spark(value: Option<f64>, least: f64, most: f64) -> char {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let Some(value) = value else { return ' ' };
    let (least, value) = (least.max(1e-3), value.max(1e-3));
    let place = if most > least { (value / least).ln() / (most / least).ln() } else { 0.0 };
    STEPS[((place.clamp(0.0, 1.0) * 7.0).round()) as usize]
}

/// A name in exactly that many columns.
fn label(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return format!("{name:width$}");
    }
    let kept: String = name.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// The terminal's own colours, nearest to the page's.
fn colored(text: &str, look: usize, style: Style) -> String {
    const COLORS: [u8; 8] = [34, 31, 35, 32, 33, 36, 37, 93];
    if style.color { format!("\x1b[{}m{text}\x1b[0m", COLORS[look % 8]) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(1.0, 10), "██████████");
        assert_eq!(bar(0.55, 10), "█████▌");
        assert_eq!(bar(1e-9, 10), "▏", "what is there can be seen");
        assert_eq!(bar(0.0, 10), "");
    }

    #[test]
    fn a_line_climbs_by_orders_of_magnitude() {
        let line: String =
            [None, Some(1.0), Some(10.0), Some(100.0)].map(|value| spark(value, 1.0, 100.0)).iter().collect();
        assert_eq!(line, " ▁▅█");
        assert_eq!(spark(Some(3.0), 3.0, 3.0), '▁');
        assert_eq!(spark(Some(0.0), 0.0, 0.0), '▁');
    }

    #[test]
    fn names_keep_to_their_column() {
        assert_eq!(label("eager", 7), "eager  ");
        assert_eq!(label("learner(max_learners=1)", 10), "learner(m…");
    }
}
