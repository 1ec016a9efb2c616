//! The charts of a report as SVG, each once for wide screens and once for phones, with the numbers behind them for a
//! script that shows them on request.
//!
//! Scales, axes and marks are plotters'; [`canvas`] writes what it draws.

mod anatomy;
mod canvas;
mod columns;
mod events;
mod frame;
mod ink;
mod lanes;
mod legend;
mod longest;
mod pareto;
pub mod picture;
mod resources;
mod scale;
mod sweep;
mod tail;
mod timeline;

use serde::Serialize;
use serde_json::Value;

pub(crate) use anatomy::anatomy;
use canvas::escape;
use frame::Size;
pub(crate) use ink::{strategy_patch, style_sheet};
pub(crate) use lanes::lanes;
pub(crate) use legend::{Key, part_keys, phase_keys, role_keys, sample, standby_class};
pub(crate) use longest::longest;
pub(crate) use pareto::pareto;
pub(crate) use resources::resources;
pub(crate) use sweep::sweep;
pub(crate) use tail::tail;
pub(crate) use timeline::timeline;

/// One chart.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Chart {
    /// Its name within the page, of letters, digits and hyphens.
    pub(crate) id: String,
    /// For wide screens: an `svg` element.
    pub(crate) wide: String,
    /// For phones.
    pub(crate) narrow: String,
    /// The numbers behind it, for the script.
    #[serde(skip)]
    pub(crate) data: Value,
}

/// A drawing and where its plot lies in it.
struct Drawing {
    canvas: canvas::Canvas,
    place: frame::Place,
}

impl Chart {
    /// `about` says what it shows to those who can't see it.
    fn new(id: &str, about: &str, data: Value, draw: impl Fn(Size) -> Drawing) -> Self {
        let svg = |size: Size| {
            let Drawing { canvas, place } = draw(size);
            let class = size.pick("wide", "narrow");
            let attributes = format!(
                "class=\"{class}\" role=\"img\" aria-label=\"{}\" {}",
                escape(about),
                place.attribute()
            );
            canvas.finish(&attributes, "")
        };
        Chart { id: id.to_owned(), wide: svg(Size::Wide), narrow: svg(Size::Narrow), data }
    }
}

/// A number for the script: four significant digits are more than a picture shows.
fn number(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        Value::from(rounded as i64)
    } else {
        Value::from(rounded)
    }
}
