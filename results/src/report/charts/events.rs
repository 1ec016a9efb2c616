//! The script's events in a chart over time: a dashed line through the plot, and above it what happened, where that has
//! room.

use super::canvas::text_width;
use super::frame::{LABEL, Line, Place, Plot, fit};
use super::ink::Ink;
use super::scale::Scale;
use crate::schema::Run;

/// Height of the words' baseline in pixels.
const BASELINE: f64 = 13.0;
/// Longer words are cut, in pixels.
const LONGEST: f64 = 150.0;
/// Words may stand this far to the right of their line, in pixels, and no further.
const ASIDE: f64 = 30.0;

/// Draws the events of a run that lie within the chart.
pub(super) fn events(plot: &mut Plot<'_>, run: &Run, place: Place, (x, y): (&Scale, &Scale)) {
    let ((from_s, to_s), (low, high)) = (x.ends(), y.ends());
    let mut free = 0.0;
    for event in &run.membership {
        let at_s = event.at_us as f64 / 1e6;
        if !(from_s..=to_s).contains(&at_s) {
            continue;
        }
        let words = format!("{} {}", event.action.name(), event.members.join(", "));
        plot.canvas.open_mark("event", &format!("{words} at {at_s:.3} s"));
        plot.line([(at_s, low), (at_s, high)], Line::new(Ink::Event, 1.2));
        plot.canvas.close();
        let label = fit(&words, LONGEST, LABEL);
        let width = text_width(&label, LABEL);
        let at = place.x(x, at_s);
        let start = (at - 3.0).min(place.right - width).max(free);
        if start <= at + ASIDE && start + width <= place.right + 4.0 {
            plot.note((start, BASELINE), "start", Ink::Event, &label);
            free = start + width + 10.0;
        }
    }
}
