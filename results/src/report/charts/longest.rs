//! The headline's figure: every trial's longest pause, by strategy, on a logarithmic axis.

use serde_json::json;

use super::canvas::Canvas;
use super::frame::{LABEL, Line, Place, Plot, Size, fit, name};
use super::ink::{self, Ink};
use super::scale::{Scale, duration};
use super::{Chart, Drawing};
use crate::report::units;
use crate::report::view::{Strategy, View};

const FIGURE: &str = "task_pause_ms.max";
/// A pause of nothing has no place on a logarithmic axis: it stands where a microsecond would.
const LEAST_MS: f64 = 0.001;

/// `None` where nothing was measured.
pub(crate) fn longest(view: &View<'_>) -> Option<Chart> {
    let values: Vec<f64> =
        view.strategies.iter().flat_map(|of| of.values(FIGURE)).map(|value| value.max(LEAST_MS)).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(0.0, f64::max);
    let each = |of: &Strategy<'_>| {
        let median = of.median(FIGURE).map_or_else(|| "none".to_owned(), units::duration);
        format!("{} {median}", of.name)
    };
    let about = format!(
        "Longest pause of a task, by strategy: {}",
        view.strategies.iter().map(each).collect::<Vec<_>>().join(", ")
    );
    (!values.is_empty()).then(|| {
        Chart::new("longest", &about, json!({ "kind": "marks" }), |size| draw(view, (least, greatest), size))
    })
}

fn draw(view: &View<'_>, (least, greatest): (f64, f64), size: Size) -> Drawing {
    let rows = view.strategies.len() as f64;
    // On a phone a row has its name above it, elsewhere to the left.
    let (height, left, row) = size.pick((rows * 40.0 + 34.0, 150.0, 40.0), (rows * 56.0 + 34.0, 8.0, 56.0));
    let width = size.width();
    let canvas = Canvas::new(width, height);
    let place = Place { left, top: 6.0, right: width - size.pick(90.0, 14.0), bottom: height - 28.0 };
    let x = Scale::log(least, greatest, size.pick(9, 5), duration);
    let y = Scale::places(view.strategies.len());
    if let Some(mut plot) = Plot::new(&canvas, place, &x, &y) {
        for (at, strategy) in view.strategies.iter().enumerate() {
            // On a phone the marks stand below the name, in the lower half of the row.
            let down = size.pick(0.0, 10.0);
            let middle = place.top + (at as f64 + 0.5) * row + down;
            let y = view.strategies.len() as f64 - 1.0 - at as f64 - down / row;
            draw_row(&mut plot, place, &x, &Row { strategy, middle, y }, size);
        }
    }
    Drawing { canvas, place }
}

struct Row<'a> {
    strategy: &'a Strategy<'a>,
    /// Its middle in pixels from the top.
    middle: f64,
    /// The same on the y axis.
    y: f64,
}

fn draw_row(plot: &mut Plot<'_>, place: Place, x: &Scale, row: &Row<'_>, size: Size) {
    let Row { strategy, middle, y } = *row;
    let ink = ink::strategy(strategy.look);
    let canvas = plot.canvas;
    canvas.open(&format!("look look{}", strategy.look));
    let label = fit(&strategy.label(), size.pick(place.left - 18.0, 240.0), LABEL);
    let at = size.pick((place.left - 14.0, middle + 4.0), (place.left, middle - 16.0));
    name(canvas, at, size.pick("end", "start"), ink, &label);
    let median = strategy.median(FIGURE);
    if let Some(median) = median.map(|median| median.max(LEAST_MS)) {
        plot.line([(x.ends().0, y), (median, y)], Line::new(ink, 3.0));
        let tip = format!(
            "{}: longest pause {}{}",
            strategy.name,
            units::duration(median),
            if strategy.runs.len() > 1 {
                format!(", median of {} trials", strategy.runs.len())
            } else {
                String::new()
            }
        );
        canvas.open_mark("", &tip);
        plot.marker((median, y), strategy.look, 7.0, ink, 1.0);
        canvas.close();
    }
    for run in &strategy.runs {
        let value = run.metrics.task_pause_ms.max;
        canvas.open_mark("", &format!("{}, trial {}: {}", strategy.name, run.trial, units::duration(value)));
        plot.marker((value.max(LEAST_MS), y), strategy.look + 4, 4.0, ink, 0.8);
        canvas.close();
    }
    let value = median.map_or_else(|| "–".to_owned(), units::duration);
    let at = size.pick((place.right + 14.0, middle + 4.5), (place.right, middle - 16.0));
    canvas.text(at, size.pick("start", "end"), "big", Ink::Text, &value);
    canvas.close();
}
