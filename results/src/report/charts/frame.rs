//! A picture's frame: where the plot lies in it, its axes and grid. All charts are drawn in one.

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::cartesian::Cartesian2d;
use plotters::element::{EmptyElement, PathElement, Polygon, Rectangle};
use plotters::style::{Color, IntoTextStyle, ShapeStyle};

use super::canvas::{Canvas, px};
use super::ink::Ink;
use super::scale::Scale;

/// For which screens a picture is drawn. The page holds both and shows the one that fits, so that text is never scaled
/// down to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Desktops, tablets, paper.
    Wide,
    /// Phones.
    Narrow,
}

impl Size {
    /// Width in pixels.
    pub(super) fn width(self) -> f64 {
        match self {
            Size::Wide => 920.0,
            Size::Narrow => 380.0,
        }
    }

    /// One of two values.
    pub(super) fn pick<T>(self, wide: T, narrow: T) -> T {
        match self {
            Size::Wide => wide,
            Size::Narrow => narrow,
        }
    }
}

/// Size of labels in pixels.
pub(super) const LABEL: f64 = 12.0;

/// The plot's place within the picture, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Place {
    /// As an attribute for the script: left, top, right, bottom.
    pub(super) fn attribute(&self) -> String {
        format!("data-plot=\"{} {} {} {}\"", self.left, self.top, self.right, self.bottom)
    }

    pub(super) fn x(&self, scale: &Scale, value: f64) -> f64 {
        self.left + scale.place(value) * (self.right - self.left)
    }

    pub(super) fn y(&self, scale: &Scale, value: f64) -> f64 {
        self.bottom - scale.place(value) * (self.bottom - self.top)
    }
}

type Chart<'a> = ChartContext<'a, Canvas, Cartesian2d<Scale, Scale>>;

/// A plot with its two scales.
pub(super) struct Plot<'a> {
    pub(super) canvas: &'a Canvas,
    chart: Chart<'a>,
}

/// What can be said of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) ink: Ink,
    pub(super) width: f64,
}

impl Line {
    pub(super) fn new(ink: Ink, width: f64) -> Self {
        Line { ink, width }
    }

    fn style(self) -> ShapeStyle {
        self.ink.color().stroke_width(px(self.width).unsigned_abs())
    }
}

impl<'a> Plot<'a> {
    /// Draws grid and labels and returns the plot to draw into. `None` never happens for a place inside the canvas.
    pub(super) fn new(canvas: &'a Canvas, place: Place, x: &Scale, y: &Scale) -> Option<Self> {
        let area = canvas.area();
        let (width, height) = area.dim_in_pixel();
        let (width, height) = (f64::from(width) / 10.0, f64::from(height) / 10.0);
        let mut chart = ChartBuilder::on(&area)
            .margin_top(px(place.top))
            .margin_right(px(width - place.right))
            .set_label_area_size(plotters::chart::LabelAreaPosition::Left, px(place.left))
            .set_label_area_size(plotters::chart::LabelAreaPosition::Bottom, px(height - place.bottom))
            .build_cartesian_2d(x.clone(), y.clone())
            .ok()?;
        let label =
            ("sans-serif", f64::from(px(LABEL))).into_text_style(&area).with_color(Ink::Muted.color());
        let y_ticks_only = y.ticks().is_empty();
        let mut mesh = chart.configure_mesh();
        mesh.bold_line_style(Line::new(Ink::Grid, 1.0).style())
            .light_line_style(Ink::Grid.color().mix(0.0))
            .axis_style(Line::new(Ink::Grid, 1.0).style())
            .max_light_lines(0)
            .set_all_tick_mark_size(px(3.0))
            .label_style(label);
        if y_ticks_only {
            mesh.disable_y_mesh();
        }
        mesh.draw().ok()?;
        Some(Plot { canvas, chart })
    }

    /// A line through points.
    pub(super) fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, line: Line) {
        let points: Vec<(f64, f64)> = points.into_iter().collect();
        if points.len() > 1 {
            // The canvas takes everything.
            let _ = self.chart.draw_series(std::iter::once(PathElement::new(points, line.style())));
        }
    }

    /// A filled area; see-through by `alpha`.
    pub(super) fn area(&mut self, outline: Vec<(f64, f64)>, ink: Ink, alpha: f64) {
        if outline.len() > 2 {
            let _ = self.chart.draw_series(std::iter::once(Polygon::new(outline, ink.color().mix(alpha))));
        }
    }

    /// A filled rectangle between two corners.
    pub(super) fn rectangle(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        let _ = self.chart.draw_series(std::iter::once(Rectangle::new([from, to], ink.color().filled())));
    }

    /// A marker of the n-th shape: disc, square, triangle, diamond, and the same once more, hollow.
    pub(super) fn marker(&mut self, at: (f64, f64), shape: usize, radius: f64, ink: Ink, alpha: f64) {
        let r = px(radius);
        let color = ink.color().mix(alpha);
        let style = if shape % 8 < 4 { color.filled() } else { color.stroke_width(px(1.8).unsigned_abs()) };
        let origin = EmptyElement::at(at);
        let _ = match shape % 4 {
            0 => self
                .chart
                .draw_series(std::iter::once(origin + plotters::element::Circle::new((0, 0), r, style)))
                .map(|_| ()),
            corner => {
                let polygon = corners(corner, r);
                if shape % 8 < 4 {
                    self.chart.draw_series(std::iter::once(origin + Polygon::new(polygon, color))).map(|_| ())
                } else {
                    let mut closed = polygon;
                    closed.push(closed[0]);
                    self.chart
                        .draw_series(std::iter::once(origin + PathElement::new(closed, style)))
                        .map(|_| ())
                }
            }
        };
    }

    /// The title of an axis or a remark, in pixels of the picture.
    pub(super) fn note(&self, at: (f64, f64), anchor: &str, ink: Ink, text: &str) {
        self.canvas.text(at, anchor, "t", ink, text);
    }
}

/// The corners of a square, a triangle, a diamond.
fn corners(shape: usize, r: i32) -> Vec<(i32, i32)> {
    let side = r * 9 / 10;
    match shape {
        1 => vec![(-side, -side), (side, -side), (side, side), (-side, side)],
        2 => vec![(0, -r * 12 / 10), (r * 11 / 10, r * 8 / 10), (-r * 11 / 10, r * 8 / 10)],
        _ => vec![(0, -r * 13 / 10), (r * 13 / 10, 0), (0, r * 13 / 10), (-r * 13 / 10, 0)],
    }
}

/// Bold text in the house style, for labels that name a row.
pub(super) fn name(canvas: &Canvas, at: (f64, f64), anchor: &str, ink: Ink, text: &str) {
    canvas.text(at, anchor, "b", ink, text);
}

/// Text that fits into `width` pixels, cut with an ellipsis if need be.
pub(super) fn fit(text: &str, width: f64, size: f64) -> String {
    if super::canvas::text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        kept.push(letter);
        if super::canvas::text_width(&kept, size) > width - size * 0.8 {
            kept.pop();
            break;
        }
    }
    kept.push('…');
    kept
}
