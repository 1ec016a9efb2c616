//! What a swept setting does to the pauses: both scales logarithmic where the setting's values allow, so that a pause
//! in proportion to state is a straight slope and one that doesn't care is flat.

use serde_json::json;

use super::canvas::Canvas;
use super::frame::{Line, Place, Plot, fit};
use super::ink::{self, Ink};
use super::scale::{Scale, amount, duration};
use super::{Chart, Drawing};
use crate::figure;
use crate::report::units;
use crate::sweep::{FIGURES, Sweep, SweepRow};

/// One strategy under one combination of the other keys.
struct Curve<'a> {
    look: usize,
    label: String,
    rows: Vec<&'a SweepRow>,
}

/// One chart per figure of the sweep that is measured in time; none where the key has a single value. `look_of` says
/// how a strategy looks.
pub(crate) fn sweep(sweep: &Sweep, number_of: usize, look_of: &dyn Fn(&str) -> usize) -> Vec<Chart> {
    let mut values: Vec<&str> = Vec::new();
    for row in &sweep.rows {
        if !values.contains(&row.value.as_str()) {
            values.push(&row.value);
        }
    }
    if values.len() < 2 {
        return Vec::new();
    }
    let curves = curves(sweep, look_of);
    SHOWN
        .iter()
        .filter_map(|name| {
            let at = FIGURES.iter().position(|figure| figure == name)?;
            let figure = figure::by_name(name)?;
            chart(sweep, &format!("sweep-{number_of}-{at}"), (at, figure.label), &curves, &values)
        })
        .collect()
}

/// The figures that are drawn: what the page is about at full width, the others side by side.
const SHOWN: [&str; 3] = ["task_pause_ms.max", "task_pause_ms.p50", "service_latency_ms.p99"];

fn curves<'a>(sweep: &'a Sweep, look_of: &dyn Fn(&str) -> usize) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    for row in &sweep.rows {
        match curves.last_mut().filter(|curve| {
            curve.rows.last().is_some_and(|last| last.strategy == row.strategy && last.others == row.others)
        }) {
            Some(curve) => curve.rows.push(row),
            None => {
                let mut label = row.strategy.clone();
                for (key, value) in sweep.others.iter().zip(&row.others) {
                    label.push_str(&format!(", {key} {value}"));
                }
                curves.push(Curve { look: look_of(&row.strategy), label, rows: vec![row] });
            }
        }
    }
    curves
}

fn chart(
    sweep: &Sweep,
    id: &str,
    (at, label): (usize, &str),
    curves: &[Curve<'_>],
    values: &[&str],
) -> Option<Chart> {
    let known = curves.iter().flat_map(|curve| &curve.rows).filter_map(|row| row.figures[at]);
    let ms: Vec<f64> = known.map(|ms| ms.max(0.001)).collect();
    let least = ms.iter().copied().reduce(f64::min)?;
    let most = ms.iter().copied().fold(0.0, f64::max);
    let about = format!("{label} against {}", sweep.key);
    let key = sweep.key.clone();
    Some(Chart::new(id, &about, json!({ "kind": "marks" }), |size| {
        let whole = FIGURES[at] == SHOWN[0];
        let width = if whole { size.width() } else { size.pick(452.0, size.width()) };
        let height = if whole { 320.0 } else { 280.0 };
        let canvas = Canvas::new(width, height);
        let place = Place { left: 62.0, top: 28.0, right: width - 18.0, bottom: height - 42.0 };
        let axis = Axis::new(values);
        let y = Scale::log(least, most, 8, duration);
        canvas.text((0.0, 14.0), "start", "b", Ink::Text, label);
        canvas.text((place.right, height - 6.0), "end", "t", Ink::Muted, &fit(&key, 300.0, 12.0));
        if let Some(mut plot) = Plot::new(&canvas, place, &axis.scale, &y) {
            axis.name_places(&canvas, place);
            for curve in curves {
                draw_curve(&mut plot, curve, &axis, (at, label), &key);
            }
        }
        Drawing { canvas, place }
    }))
}

fn draw_curve(plot: &mut Plot<'_>, curve: &Curve<'_>, axis: &Axis, (at, label): (usize, &str), key: &str) {
    let ink = ink::strategy(curve.look);
    let points: Vec<(f64, f64, &SweepRow)> = curve
        .rows
        .iter()
        .filter_map(|row| Some((axis.place_of(&row.value)?, row.figures[at]?.max(0.001), *row)))
        .collect();
    plot.canvas.open_look(curve.look);
    plot.line(points.iter().map(|(x, y, _)| (*x, *y)), Line::new(ink, 2.2));
    for (x, y, row) in &points {
        let tip = format!("{}: {label} {} at {key} = {}", curve.label, units::duration(*y), row.value);
        plot.canvas.open_mark("", &tip);
        plot.marker((*x, *y), curve.look, 5.0, ink, 1.0);
        plot.canvas.close();
    }
    plot.canvas.close();
}

/// The values whose labels have room beside each other, from the least on.
fn apart(scale: &Scale, mut values: Vec<f64>) -> Vec<f64> {
    const ROOM: f64 = 0.13;
    values.sort_by(f64::total_cmp);
    let mut kept: Vec<f64> = Vec::new();
    for value in values {
        if kept.last().is_none_or(|last| scale.place(value) - scale.place(*last) >= ROOM) {
            kept.push(value);
        }
    }
    kept
}

/// The swept values on the x axis: by size where all are numbers above zero, else one beside the other.
struct Axis {
    scale: Scale,
    /// Place by value, where places stand for values.
    places: Option<Vec<String>>,
}

impl Axis {
    fn new(values: &[&str]) -> Self {
        let numbers: Option<Vec<f64>> =
            values.iter().map(|value| value.parse::<f64>().ok().filter(|value| *value > 0.0)).collect();
        match numbers {
            Some(numbers) => {
                let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
                let most = numbers.iter().copied().fold(0.0, f64::max);
                let scale = if most / least >= 3.0 {
                    Scale::log_around(least, most, amount)
                } else {
                    let room = (most - least).max(least * 0.1) * 0.1;
                    Scale::linear(least - room, most + room, 4, amount)
                };
                let ticks = apart(&scale, numbers);
                Axis { scale: scale.with_ticks(ticks), places: None }
            }
            None => Axis {
                scale: Scale::places(values.len()),
                places: Some(values.iter().map(|value| (*value).to_owned()).collect()),
            },
        }
    }

    fn place_of(&self, value: &str) -> Option<f64> {
        match &self.places {
            Some(places) => places.iter().position(|place| place == value).map(|at| at as f64),
            None => value.parse().ok(),
        }
    }

    fn name_places(&self, canvas: &Canvas, place: Place) {
        for (at, value) in self.places.iter().flatten().enumerate() {
            let x = place.x(&self.scale, at as f64);
            canvas.text((x, place.bottom + 16.0), "middle", "t", Ink::Muted, &fit(value, 90.0, 12.0));
        }
    }
}
