//! Where the time of pauses went, as stacked bars: all pauses together to scale, and once more as shares, because what
//! is a thousand times shorter can't be seen beside what is longer.

use serde_json::json;

use super::canvas::Canvas;
use super::frame::{LABEL, Place, Plot, Size, fit, name};
use super::ink::{self, Ink};
use super::scale::{Scale, duration};
use super::{Chart, Drawing};
use crate::report::units;
use crate::report::view::{Strategy, View};

/// A strategy's pauses by part: mean over its trials, in milliseconds.
struct Bar<'a> {
    strategy: &'a Strategy<'a>,
    parts: Vec<(&'static str, f64)>,
    sum: f64,
}

impl<'a> Bar<'a> {
    fn new(strategy: &'a Strategy<'a>) -> Self {
        let trials = strategy.runs.len().max(1) as f64;
        let mut parts: Vec<(&'static str, f64)> = Vec::new();
        for run in &strategy.runs {
            for (at, (part, ms)) in run.metrics.task_pause_ms.anatomy.parts().into_iter().enumerate() {
                match parts.get_mut(at) {
                    Some(sum) => sum.1 += ms / trials,
                    None => parts.push((part, ms / trials)),
                }
            }
        }
        let sum = parts.iter().map(|(_, ms)| ms).sum();
        Bar { strategy, parts, sum }
    }
}

/// `None` where no task paused.
pub(crate) fn anatomy(view: &View<'_>) -> Option<Chart> {
    let bars: Vec<Bar<'_>> = view.strategies.iter().map(Bar::new).collect();
    let greatest = bars.iter().map(|bar| bar.sum).fold(0.0, f64::max);
    let each = |bar: &Bar<'_>| format!("{} {}", bar.strategy.name, units::duration(bar.sum));
    let about =
        format!("All pauses together, by part: {}", bars.iter().map(each).collect::<Vec<_>>().join(", "));
    (greatest > 0.0).then(|| {
        Chart::new("anatomy", &about, json!({ "kind": "marks" }), |size| draw(&bars, greatest, size))
    })
}

/// Room between a panel's title and its first row.
const TITLE: f64 = 26.0;

fn draw(bars: &[Bar<'_>], greatest: f64, size: Size) -> Drawing {
    let row = size.pick(34.0, 48.0);
    let panel = TITLE + bars.len() as f64 * row + 28.0;
    let width = size.width();
    let canvas = Canvas::new(width, panel * 2.0 + 6.0);
    let left = size.pick(150.0, 8.0);
    let right = width - size.pick(90.0, 14.0);
    let to_scale = Place { left, top: TITLE, right, bottom: TITLE + bars.len() as f64 * row };
    let shares = Place { top: to_scale.top + panel + 6.0, bottom: to_scale.bottom + panel + 6.0, ..to_scale };
    // Plotters lays a chart out from the edges of the picture, so each panel is one chart in it.
    let absolute = Scale::linear(0.0, greatest * 1.02, size.pick(8, 4), duration);
    canvas.text(
        (left, 14.0),
        "start",
        "t",
        Ink::Muted,
        "to scale: task time without a worker, mean of a trial",
    );
    panel_of(&canvas, to_scale, &absolute, bars, row, size, false);
    canvas.text((left, panel + 20.0), "start", "t", Ink::Muted, "as shares of each strategy's own");
    panel_of(&canvas, shares, &Scale::linear(0.0, 1.0, 4, percent), bars, row, size, true);
    Drawing { canvas, place: Place { bottom: shares.bottom, ..to_scale } }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn panel_of(canvas: &Canvas, place: Place, x: &Scale, bars: &[Bar<'_>], row: f64, size: Size, shares: bool) {
    let Some(mut plot) = Plot::new(canvas, place, x, &Scale::places(bars.len())) else { return };
    for (at, bar) in bars.iter().enumerate() {
        let top = place.top + at as f64 * row;
        let middle = top + row / 2.0 + size.pick(0.0, 9.0);
        let y = bars.len() as f64 - 1.0 - at as f64 - size.pick(0.0, 9.0 / row);
        let half = size.pick(11.0, 9.0) / row;
        canvas.open(&format!("look look{}", bar.strategy.look));
        let label = fit(&bar.strategy.label(), size.pick(place.left - 18.0, 240.0), LABEL);
        let at = size.pick((place.left - 14.0, middle + 4.0), (place.left, top + 16.0));
        name(canvas, at, size.pick("end", "start"), ink::strategy(bar.strategy.look), &label);
        let unit = if shares { bar.sum.max(f64::MIN_POSITIVE) } else { 1.0 };
        let mut from = 0.0;
        for (at, (part, ms)) in bar.parts.iter().enumerate().filter(|(_, (_, ms))| *ms > 0.0) {
            let to = from + ms / unit;
            let share = 100.0 * ms / bar.sum.max(f64::MIN_POSITIVE);
            canvas.open_mark(
                "",
                &format!("{}: {part} {} ({share:.0} %)", bar.strategy.name, units::duration(*ms)),
            );
            plot.rectangle((from, y - half), (to, y + half), ink::part(at));
            canvas.close();
            from = to;
        }
        if !shares {
            let at = size.pick((place.right + 14.0, middle + 4.5), (place.right, top + 16.0));
            canvas.text(at, size.pick("start", "end"), "b", Ink::Text, &units::duration(bar.sum));
        }
        canvas.close();
    }
}
