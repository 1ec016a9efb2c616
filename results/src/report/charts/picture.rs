//! A result's picture on its own, for a document that can show an image but no page.

use super::canvas::Canvas;
use super::frame::Size;
use super::ink::{Ink, style_sheet};
use super::{lanes, longest};
use crate::report::view::View;

/// Room for a heading above each chart.
const HEADING: f64 = 30.0;

/// One SVG: the headline, the longest pauses, and the lanes of every strategy. `None` where nothing paused.
#[must_use]
pub fn picture(view: &View<'_>) -> Option<String> {
    let figure = longest(view)?;
    let mut parts =
        vec![(view.headline.clone().unwrap_or_else(|| "Longest pause of a task".to_owned()), figure.wide)];
    for (at, strategy) in view.strategies.iter().enumerate() {
        if let Some(chart) = lanes(strategy, view.span_s(), at) {
            parts.push((format!("{}: who runs each task", strategy.label()), chart.wide));
        }
    }
    let mut body = String::new();
    let mut top = 10.0;
    for (heading, svg) in &parts {
        let line = Canvas::new(0.0, 0.0);
        line.text((16.0, top + 18.0), "start", "b", Ink::Text, heading);
        body.push_str(&line.body());
        top += HEADING;
        let height = height_of(svg);
        let width = Size::Wide.width();
        // A nested picture keeps its own coordinates.
        body.push_str(&svg.replacen(
            "<svg ",
            &format!("<svg x=\"16\" y=\"{top}\" width=\"{width}\" height=\"{height}\" "),
            1,
        ));
        top += height + 16.0;
    }
    let sheet = format!(
        "<style>text{{font:12px system-ui,sans-serif}}.b{{font-weight:600}}.big{{font-size:15px;font-weight:600}}\
         .t9{{font-size:9px}}.t11{{font-size:11px}}.event path{{stroke-dasharray:4 3}}{}</style>",
        style_sheet()
    );
    let width = Size::Wide.width() + 32.0;
    let ground = format!("<rect width=\"{width}\" height=\"{top}\" {}/>", Ink::Paper.fill());
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{top}\" viewBox=\"0 0 {width} {top}\">\
         {sheet}{ground}{body}</svg>\n"
    ))
}

/// The fourth number of its view box, which [`Canvas::finish`] wrote.
fn height_of(svg: &str) -> f64 {
    let after = svg.split_once("viewBox=\"").map_or("", |(_, after)| after);
    let numbers = after.split_once('"').map_or("", |(numbers, _)| numbers);
    numbers.split(' ').nth(3).and_then(|height| height.parse().ok()).unwrap_or(0.0)
}
