//! The tail of latency: which share of all records took longer than how long, both logarithmic. The drawn trial in
//! full, the others as hairlines.

use serde_json::json;

use super::canvas::Canvas;
use super::frame::{Line, Place, Plot, Size};
use super::ink::{self, Ink};
use super::scale::{Scale, duration};
use super::{Chart, Drawing};
use crate::histogram::Above;
use crate::report::units;
use crate::report::view::View;
use crate::schema::Run;

/// `None` where nothing was served.
pub(crate) fn tail(view: &View<'_>) -> Option<Chart> {
    let runs = || view.strategies.iter().flat_map(|strategy| &strategy.runs);
    let known = || runs().flat_map(|run| curve(run));
    known().next()?;
    let least_share = known().map(|(_, share)| share).fold(0.1, f64::min);
    let least = known().map(|(ms, _)| ms).filter(|ms| *ms > 0.0).fold(f64::INFINITY, f64::min);
    let most = known().map(|(ms, _)| ms).fold(0.0, f64::max);
    let about = "Share of records that took longer than a given time, by strategy".to_owned();
    let ends = ((least, most), least_share);
    Some(Chart::new("tail", &about, json!({ "kind": "marks" }), |size| draw(view, ends, size)))
}

/// Milliseconds and the share above them; the largest value of all stands at the share of one record.
fn curve(run: &Run) -> impl Iterator<Item = (f64, f64)> {
    let one = 1.0 / run.metrics.service_latency_ms.count.max(1) as f64;
    run.latency_tail.iter().map(move |Above { share, ms }| (*ms, share.max(one)))
}

/// As people name them: 10 %, 1 %, 0.1 %.
fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 0.999 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.*} %", (-percent.log10()).ceil() as usize)
    }
}

fn draw(view: &View<'_>, ((least, most), least_share): ((f64, f64), f64), size: Size) -> Drawing {
    let width = size.width();
    let height = size.pick(340.0, 320.0);
    let canvas = Canvas::new(width, height);
    let place = Place { left: 72.0, top: 28.0, right: width - 16.0, bottom: height - 28.0 };
    let x = Scale::log(least, most, size.pick(9, 5), duration);
    let y = Scale::log(least_share, 1.0, 8, share);
    if let Some(mut plot) = Plot::new(&canvas, place, &x, &y) {
        for strategy in &view.strategies {
            let ink = ink::strategy(strategy.look);
            canvas.open_look(strategy.look);
            canvas.open("faint");
            for run in strategy.runs.iter().filter(|run| run.trial != strategy.shown.trial) {
                plot.line(curve(run), Line::new(ink, 0.8));
            }
            canvas.close();
            plot.line(curve(strategy.shown), Line::new(ink, 2.2));
            for (ms, above) in curve(strategy.shown) {
                let tip = format!(
                    "{}: {} of records took longer than {}",
                    strategy.name,
                    exact(above),
                    units::duration(ms)
                );
                canvas.open_mark("dot", &tip);
                plot.marker((ms, above), strategy.look, 3.2, ink, 1.0);
                canvas.close();
            }
            canvas.close();
        }
        plot.note((place.left, 14.0), "start", Ink::Muted, "share of records that took longer");
    }
    Drawing { canvas, place }
}

fn exact(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = if percent >= 1.0 { 1 } else { ((-percent.log10()).ceil() as usize + 1).min(8) };
    format!("{percent:.decimals$} %")
}
