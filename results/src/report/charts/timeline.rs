//! Latency over time, all strategies on one axis: a band from the median to the maximum with the 99th percentile in
//! it, and below the axis what each was doing.

use serde_json::{Value, json};

use super::canvas::Canvas;
use super::columns::{Columns, Extent};
use super::events::events;
use super::frame::{Line, Place, Plot, Size};
use super::ink::{self, Ink};
use super::scale::{Scale, duration};
use super::{Chart, Drawing, number};
use crate::phase::Phase;
use crate::report::view::{Strategy, View};

/// `None` without a timeline.
pub(crate) fn timeline(view: &View<'_>) -> Option<Chart> {
    if !view.has_timeline() {
        return None;
    }
    let columns = Columns::new(view.span_s());
    let curves: Vec<Curves<'_>> =
        view.strategies.iter().map(|strategy| Curves::new(strategy, columns)).collect();
    let peak = |of: &Curves<'_>| {
        let max = of.max.iter().flatten().map(|extent| extent.1).fold(0.0, f64::max);
        format!("{} peaks at {}", of.strategy.name, crate::report::units::duration(max))
    };
    let about = format!("Latency over time: {}", curves.iter().map(peak).collect::<Vec<_>>().join(", "));
    let data = data(&curves, columns, view.span_s());
    Some(Chart::new("timeline", &about, data, |size| draw(view, &curves, columns, size)))
}

/// What is drawn of one strategy.
struct Curves<'a> {
    strategy: &'a Strategy<'a>,
    p50: Vec<Extent>,
    p99: Vec<Extent>,
    max: Vec<Extent>,
    phases: Vec<Option<Phase>>,
}

impl<'a> Curves<'a> {
    fn new(strategy: &'a Strategy<'a>, columns: Columns) -> Self {
        let points = strategy.points;
        let mut phases: Vec<Option<Phase>> = vec![None; columns.count];
        for point in points {
            if let Some(column) = columns.of(point.time_s) {
                // What is rarer speaks for a column: a rebalance within a long steady stretch must not vanish.
                phases[column] = phases[column].max_by_rarity(point.phase);
            }
        }
        Curves {
            strategy,
            p50: columns.extents(points, |point| point.p50_ms),
            p99: columns.extents(points, |point| point.p99_ms),
            max: columns.extents(points, |point| point.max_ms),
            phases,
        }
    }
}

/// Chooses between phases of one column.
trait Rarer {
    fn max_by_rarity(self, other: Phase) -> Option<Phase>;
}

impl Rarer for Option<Phase> {
    fn max_by_rarity(self, other: Phase) -> Option<Phase> {
        let rank = |phase: Phase| match phase {
            Phase::Rebalance => 3,
            Phase::Restore => 2,
            Phase::Drain | Phase::WarmUp | Phase::Preload => 1,
            Phase::Steady => 0,
        };
        Some(self.map_or(other, |phase| if rank(other) > rank(phase) { other } else { phase }))
    }
}

/// One list of numbers per curve, a number per column.
fn data(curves: &[Curves<'_>], columns: Columns, (from_s, to_s): (f64, f64)) -> Value {
    let mut series = Vec::new();
    for of in curves {
        for (key, extents, label) in
            [("max", &of.max, "max"), ("p99", &of.p99, "p99"), ("p50", &of.p50, "p50")]
        {
            let values: Vec<Value> =
                extents.iter().map(|extent| extent.map_or(Value::Null, |(_, most)| number(most))).collect();
            series.push(json!({
                "look": of.strategy.look, "name": of.strategy.label(), "key": key, "label": label, "unit": "ms",
                "values": values,
            }));
        }
    }
    json!({
        "kind": "time", "from": from_s, "to": to_s, "first": columns.start_s(), "step": columns.step_s(),
        "series": series,
    })
}

/// Height of a strategy's ribbon of phases, and the room between two.
const RIBBON: f64 = 9.0;
const RIBBON_GAP: f64 = 4.0;

fn draw(view: &View<'_>, curves: &[Curves<'_>], columns: Columns, size: Size) -> Drawing {
    let width = size.width();
    let ribbons = curves.len() as f64 * (RIBBON + RIBBON_GAP) + 8.0;
    let height = size.pick(330.0, 300.0) + ribbons;
    let canvas = Canvas::new(width, height);
    let place = Place { left: 58.0, top: 26.0, right: width - 12.0, bottom: height - 28.0 - ribbons };
    let x = Scale::time(view.span_s().0, view.span_s().1, size.pick(12, 6));
    let medians = curves.iter().flat_map(|of| of.p50.iter().flatten()).map(|extent| extent.0);
    let least = medians.filter(|ms| *ms > 0.0).fold(f64::INFINITY, f64::min);
    let most =
        curves.iter().flat_map(|of| of.max.iter().flatten()).map(|extent| extent.1).fold(0.0, f64::max);
    let y = Scale::log(least, most, 8, duration);
    if let Some(mut plot) = Plot::new(&canvas, place, &x, &y) {
        shade(&mut plot, view, &x, &y);
        for of in curves {
            curve(&mut plot, of, columns);
        }
        // All strategies met them alike.
        if let Some(strategy) = view.strategies.first() {
            events(&mut plot, strategy.shown, place, (&x, &y));
        }
        slo(&mut plot, view, place, &x, &y);
        for (at, of) in curves.iter().enumerate() {
            let top = place.bottom + 30.0 + at as f64 * (RIBBON + RIBBON_GAP);
            ribbon(&canvas, of, columns, place, &x, top);
        }
    }
    Drawing { canvas, place }
}

/// The warm-up, and what comes after the last arrival.
fn shade(plot: &mut Plot<'_>, view: &View<'_>, x: &Scale, y: &Scale) {
    let (from, to) = x.ends();
    let (low, high) = y.ends();
    if from < 0.0 {
        plot.rectangle((from, low), (0.0, high), Ink::Shade);
    }
    let over = view.strategies.iter().map(|of| of.shown.duration_us).max().unwrap_or(0) as f64 / 1e6;
    if over > 0.0 && over < to {
        plot.rectangle((over, low), (to, high), Ink::Shade);
    }
}

fn curve(plot: &mut Plot<'_>, of: &Curves<'_>, columns: Columns) {
    let ink = ink::strategy(of.strategy.look);
    let canvas = plot.canvas;
    canvas.open_look(of.strategy.look);
    canvas.open("q-max");
    for (upper, lower) in bands(of) {
        let top = upper.iter().map(|(column, most)| (columns.middle(*column), *most));
        let bottom = lower.iter().rev().map(|(column, least)| (columns.middle(*column), *least));
        plot.area(top.clone().chain(bottom).collect(), ink, 0.12);
        canvas.open("edge");
        plot.line(top, Line::new(ink, 0.8));
        canvas.close();
    }
    canvas.close();
    canvas.open("q-p50");
    for line in columns.lines(&of.p50) {
        plot.line(line, Line::new(ink, 1.1));
    }
    canvas.close();
    canvas.open("q-p99");
    for line in columns.lines(&of.p99) {
        plot.line(line, Line::new(ink, 1.9));
    }
    canvas.close();
    canvas.close();
}

type Edge = Vec<(usize, f64)>;

/// The band from median to maximum, broken where nothing was served.
fn bands(of: &Curves<'_>) -> Vec<(Edge, Edge)> {
    let mut bands: Vec<(Edge, Edge)> = vec![(Vec::new(), Vec::new())];
    for (column, (p50, max)) in of.p50.iter().zip(&of.max).enumerate() {
        match (p50, max, bands.last_mut()) {
            (Some((least, _)), Some((_, most)), Some(band)) => {
                band.0.push((column, *most));
                band.1.push((column, *least));
            }
            _ => bands.push((Vec::new(), Vec::new())),
        }
    }
    bands.retain(|band| !band.0.is_empty());
    bands
}

/// The limit that delayed records are counted by.
fn slo(plot: &mut Plot<'_>, view: &View<'_>, place: Place, x: &Scale, y: &Scale) {
    let slo = view.result.scenario.get("load").and_then(|load| load.get("slo_ms")).and_then(Value::as_f64);
    let Some(slo) = slo.filter(|slo| *slo > y.ends().0 && *slo < y.ends().1) else { return };
    plot.canvas.open("slo");
    plot.line([(x.ends().0, slo), (x.ends().1, slo)], Line::new(Ink::Muted, 1.0));
    plot.canvas.close();
    plot.canvas.open("over");
    let at = (place.right - 4.0, place.y(y, slo) - 4.0);
    plot.note(at, "end", Ink::Muted, &format!("SLO {}", duration(slo)));
    plot.canvas.close();
}

/// What one strategy was doing, as a ribbon along the time axis.
fn ribbon(canvas: &Canvas, of: &Curves<'_>, columns: Columns, place: Place, x: &Scale, top: f64) {
    canvas.open(&format!("look look{}", of.strategy.look));
    let edge = |column: usize| place.x(x, columns.start_s() + column as f64 * columns.step_s());
    for (ink, wanted) in [
        (Ink::Active, [Phase::WarmUp, Phase::Drain].as_slice()),
        (Ink::Shade, &[Phase::Steady]),
        (Ink::Learning, &[Phase::Restore]),
        (Ink::Paused, &[Phase::Rebalance]),
    ] {
        let mut boxes: Vec<[f64; 4]> = Vec::new();
        for (column, _) in
            of.phases.iter().enumerate().filter(|(_, of)| of.is_some_and(|of| wanted.contains(&of)))
        {
            let (left, right) = (edge(column), edge(column + 1));
            match boxes.last_mut() {
                Some(last) if (last[2] - left).abs() < 0.01 => last[2] = right,
                _ => boxes.push([left, top, right, top + RIBBON]),
            }
        }
        canvas.rectangles(ink, boxes);
    }
    // Whose ribbon it is: a patch of its colour, named by the legend.
    canvas.rectangles(
        ink::strategy(of.strategy.look),
        [[place.left - 14.0, top, place.left - 5.0, top + RIBBON]],
    );
    canvas.close();
}
