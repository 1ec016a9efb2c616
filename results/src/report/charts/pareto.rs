//! What a short pause is paid with: longest pause against rebalances, the mark's area being the bytes restored. The
//! strategies that no other beats in all three are ringed.

use serde_json::json;

use super::canvas::{Canvas, text_width};
use super::frame::{LABEL, Place, Plot, Size, fit};
use super::ink::{self, Ink};
use super::scale::{Scale, amount, duration};
use super::{Chart, Drawing};
use crate::report::units;
use crate::report::view::{Strategy, View};

/// One strategy's medians, and whether it is on the front.
struct Spot<'a> {
    strategy: &'a Strategy<'a>,
    rebalances: f64,
    pause_ms: f64,
    bytes: f64,
    front: bool,
}

/// `None` with fewer than two strategies to weigh.
pub(crate) fn pareto(view: &View<'_>) -> Option<Chart> {
    let mut spots: Vec<Spot<'_>> = view
        .strategies
        .iter()
        .filter_map(|strategy| {
            Some(Spot {
                strategy,
                rebalances: strategy.median("rebalances.total")?,
                pause_ms: strategy.median("task_pause_ms.max")?.max(0.001),
                bytes: strategy.median("restore.bytes")?,
                front: false,
            })
        })
        .collect();
    if spots.len() < 2 {
        return None;
    }
    let all: Vec<[f64; 3]> = spots.iter().map(|spot| [spot.rebalances, spot.pause_ms, spot.bytes]).collect();
    for (at, spot) in spots.iter_mut().enumerate() {
        spot.front = !all.iter().any(|other| beats(other, &all[at]));
    }
    let each = |spot: &Spot<'_>| {
        format!(
            "{}: {} rebalances, {}, {} restored",
            spot.strategy.name,
            units::count(spot.rebalances),
            units::duration(spot.pause_ms),
            units::bytes(spot.bytes)
        )
    };
    let about = format!(
        "Longest pause against rebalances: {}",
        spots.iter().map(each).collect::<Vec<_>>().join("; ")
    );
    Some(Chart::new("pareto", &about, json!({ "kind": "marks" }), |size| draw(&spots, size)))
}

/// No worse in anything and better in something.
fn beats(one: &[f64; 3], other: &[f64; 3]) -> bool {
    one.iter().zip(other).all(|(one, other)| one <= other) && one != other
}

fn draw(spots: &[Spot<'_>], size: Size) -> Drawing {
    let width = size.width();
    let height = size.pick(330.0, 330.0);
    let canvas = Canvas::new(width, height);
    let place = Place { left: 62.0, top: 20.0, right: width - 20.0, bottom: height - 44.0 };
    let runs = || spots.iter().flat_map(|spot| &spot.strategy.runs);
    let pauses = || runs().map(|run| run.metrics.task_pause_ms.max.max(0.001));
    let most = runs().map(|run| run.metrics.rebalances.total as f64).fold(1.0, f64::max);
    let x = Scale::linear(0.0, most * 1.25 + 0.5, 8, amount);
    let whole: Vec<f64> = x.ticks().iter().copied().filter(|tick| tick.fract() == 0.0).collect();
    let x = x.with_ticks(whole);
    let y = Scale::log(
        pauses().fold(f64::INFINITY, f64::min) / 1.6,
        pauses().fold(0.0, f64::max) * 1.6,
        8,
        duration,
    );
    let largest = spots.iter().map(|spot| spot.bytes).fold(1.0, f64::max);
    if let Some(mut plot) = Plot::new(&canvas, place, &x, &y) {
        plot.note((place.left, 12.0), "start", Ink::Muted, "longest pause ↓, rebalances ←: less is better");
        plot.note((place.right, height - 8.0), "end", Ink::Muted, "rebalances");
        let mut taken: Vec<[f64; 4]> =
            spots.iter().map(|spot| disc(place, (&x, &y), spot, largest)).collect();
        for spot in spots {
            draw_spot(&mut plot, spot, largest);
            label(&canvas, place, disc(place, (&x, &y), spot, largest), spot, &mut taken);
        }
    }
    Drawing { canvas, place }
}

fn draw_spot(plot: &mut Plot<'_>, spot: &Spot<'_>, largest: f64) {
    let strategy = spot.strategy;
    let ink = ink::strategy(strategy.look);
    let canvas = plot.canvas;
    let radius = radius(spot, largest);
    canvas.open(&format!("look look{}", strategy.look));
    for run in &strategy.runs {
        let at = (run.metrics.rebalances.total as f64, run.metrics.task_pause_ms.max.max(0.001));
        plot.marker(at, strategy.look, 2.6, ink, 0.55);
    }
    let at = (spot.rebalances, spot.pause_ms);
    let front = if spot.front { "; nobody is better in all three" } else { "" };
    let tip = format!(
        "{}: longest pause {}, {} rebalances, {} restored{front}",
        strategy.name,
        units::duration(spot.pause_ms),
        units::count(spot.rebalances),
        units::bytes(spot.bytes)
    );
    canvas.open_mark("", &tip);
    plot.marker(at, strategy.look, radius, ink, 0.35);
    plot.marker(at, strategy.look, 4.0, ink, 1.0);
    if spot.front {
        canvas.open("ring");
        plot.marker(at, 4, radius + 4.0, Ink::Text, 1.0);
        canvas.close();
    }
    canvas.close();
    canvas.close();
}

/// The area is what the eye weighs.
fn radius(spot: &Spot<'_>, largest: f64) -> f64 {
    5.0 + 15.0 * (spot.bytes / largest).sqrt()
}

/// The box around a mark and its ring, in pixels.
fn disc(place: Place, (x, y): (&Scale, &Scale), spot: &Spot<'_>, largest: f64) -> [f64; 4] {
    let (x, y) = (place.x(x, spot.rebalances), place.y(y, spot.pause_ms));
    let reach = radius(spot, largest) + 5.0;
    [x - reach, y - reach, x + reach, y + reach]
}

/// Writes a mark's label beside, below or above it: where it lies on nothing and within the plot, for around that the
/// axes have theirs. Notes its place.
fn label(canvas: &Canvas, plot: Place, around: [f64; 4], spot: &Spot<'_>, taken: &mut Vec<[f64; 4]>) {
    let [left, top, right, bottom] = around;
    let text = format!("{} · {}", fit(&spot.strategy.label(), 150.0, LABEL), units::bytes(spot.bytes));
    // The letters of an unknown font may be wider than they are reckoned.
    let width = text_width(&text, LABEL) * 1.12;
    let (middle_x, middle_y) = (f64::midpoint(left, right), f64::midpoint(top, bottom));
    let places = [
        (right + 4.0, middle_y),
        (left - 4.0 - width, middle_y),
        (middle_x - width / 2.0, bottom + 10.0),
        (middle_x - width / 2.0, top - 10.0),
        (middle_x - width / 2.0, bottom + 26.0),
        (middle_x - width / 2.0, top - 26.0),
    ];
    let of = |(x, y): (f64, f64)| {
        let x = x.min(plot.right - width).max(plot.left + 2.0);
        [x, y - 8.0, x + width, y + 8.0]
    };
    let within = |own: &[f64; 4]| own[1] >= plot.top && own[3] <= plot.bottom;
    let apart = |a: &[f64; 4], b: &[f64; 4]| a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
    let free =
        places.into_iter().map(of).find(|own| within(own) && taken.iter().all(|other| apart(own, other)));
    let own = free.unwrap_or_else(|| of(places[2]));
    taken.push(own);
    canvas.open(&format!("look look{}", spot.strategy.look));
    let at = (f64::midpoint(own[0], own[2]), own[1] + 12.0);
    canvas.text(at, "middle", "b", ink::strategy(spot.strategy.look), &text);
    canvas.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_equal_beats_nobody() {
        assert!(!beats(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]));
        assert!(beats(&[1.0, 2.0, 2.0], &[1.0, 2.0, 3.0]));
        assert!(!beats(&[0.0, 9.0, 0.0], &[1.0, 2.0, 3.0]));
    }
}
