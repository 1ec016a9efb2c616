//! Where plotters draws: a backend that writes SVG whose colours are names, so that a page can say what they are.
//!
//! Plotters thinks in whole pixels. Here its pixel is a tenth of one, which is fine enough for any screen; whatever is
//! handed to plotters as a length goes through [`px`].

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::rc::Rc;

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, IntoDrawingArea};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontStyle,
    FontTransform,
};

use super::ink::Ink;

/// Plotters' pixels in one of the picture's.
const FINE: f64 = 10.0;

/// A length of the picture in plotters' pixels.
pub(super) fn px(length: f64) -> i32 {
    (length * FINE).round() as i32
}

/// What tells the lines of looks apart without colour, as attributes.
const DASHES: [&str; 8] = [
    "",
    " stroke-dasharray=\"7 2.5\"",
    " stroke-dasharray=\"2 2\"",
    " stroke-dasharray=\"9 2.5 2 2.5\"",
    " stroke-dasharray=\"4 2\"",
    " stroke-dasharray=\"12 3\"",
    " stroke-dasharray=\"1 3\"",
    " stroke-dasharray=\"9 2 2 2 2 2\"",
];

/// An SVG in the making. Clones draw into the same picture.
#[derive(Clone)]
pub(super) struct Canvas {
    body: Rc<RefCell<String>>,
    width: f64,
    height: f64,
}

/// What plotters draws on.
pub(super) type Area = DrawingArea<Canvas, Shift>;

impl Canvas {
    /// An empty picture of that size in pixels.
    pub(super) fn new(width: f64, height: f64) -> Self {
        Canvas { body: Rc::default(), width, height }
    }

    /// Its whole area for plotters.
    pub(super) fn area(&self) -> Area {
        self.clone().into_drawing_area()
    }

    /// Opens a group. `class` is a constant or made of numbers; nothing of a result goes into it.
    pub(super) fn open(&self, class: &str) {
        self.write(format_args!("<g class=\"{class}\">"));
    }

    /// Opens a group of the strategy with that look, so that it can be switched off; its lines have the look's dash.
    pub(super) fn open_look(&self, look: usize) {
        let dash = DASHES[look % DASHES.len()];
        self.write(format_args!("<g class=\"look look{look}\"{dash}>"));
    }

    /// Opens a group whose lines have a look's dash and that nothing switches off.
    pub(super) fn open_dashed(&self, look: usize) {
        self.write(format_args!("<g{}>", DASHES[look % DASHES.len()]));
    }

    /// Opens a group that can be pointed at and says `title` then.
    pub(super) fn open_mark(&self, class: &str, title: &str) {
        self.write(format_args!("<g class=\"mark {class}\"><title>{}</title>", escape(title)));
    }

    /// Closes the innermost group.
    pub(super) fn close(&self) {
        self.write(format_args!("</g>"));
    }

    /// Rectangles of one colour as one path, in pixels: left, top, right, bottom.
    pub(super) fn rectangles(&self, ink: Ink, boxes: impl IntoIterator<Item = [f64; 4]>) {
        let mut path = String::new();
        for [left, top, right, bottom] in boxes {
            let (w, h) = (Tenths(px(right) - px(left)), Tenths(px(bottom) - px(top)));
            let _ = write!(path, "M{} {}h{w}v{h}h-{w}z", Tenths(px(left)), Tenths(px(top)));
        }
        if !path.is_empty() {
            self.write(format_args!("<path d=\"{path}\" {}/>", ink.fill()));
        }
    }

    /// Text at a place in pixels; `anchor` is `start`, `middle` or `end`, `class` a constant.
    pub(super) fn text(&self, (x, y): (f64, f64), anchor: &str, class: &str, ink: Ink, text: &str) {
        self.write(format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\" class=\"{class} {}\" fill=\"{}\">{}</text>",
            Tenths(px(x)),
            Tenths(px(y)),
            ink.class(),
            ink.hex(),
            escape(text)
        ));
    }

    /// The picture: `attributes` go into the `svg` element, `head` is its first child. Both are markup.
    pub(super) fn finish(self, attributes: &str, head: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" {attributes}>{head}{}</svg>",
            self.width,
            self.height,
            self.body.borrow()
        )
    }

    /// What has been drawn, without the `svg` element around it.
    pub(super) fn body(&self) -> String {
        self.body.borrow().clone()
    }

    fn write(&self, markup: std::fmt::Arguments<'_>) {
        // Writing to a string can't fail.
        let _ = self.body.borrow_mut().write_fmt(markup);
    }

    fn path(&self, points: impl IntoIterator<Item = BackendCoord>, closed: bool, paint: &str) {
        let mut path = String::new();
        let mut last = None;
        for (x, y) in points {
            if last == Some((x, y)) {
                continue;
            }
            let _ = write!(path, "{}{} {}", if last.is_none() { 'M' } else { 'L' }, Tenths(x), Tenths(y));
            last = Some((x, y));
        }
        if last.is_some() {
            self.write(format_args!("<path d=\"{path}{}\" {paint}/>", if closed { "z" } else { "" }));
        }
    }
}

/// Tenths of a pixel as a number of pixels.
struct Tenths(i32);

impl std::fmt::Display for Tenths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 % 10 {
            0 => write!(f, "{}", self.0 / 10),
            _ => write!(f, "{:.1}", f64::from(self.0) / 10.0),
        }
    }
}

fn stroke(style: &impl BackendStyle) -> String {
    let width = Tenths(i32::try_from(style.stroke_width()).unwrap_or(i32::MAX));
    format!("{} stroke-width=\"{width}\"{}", Ink::of(style.color().rgb).stroke(), opacity(style.color()))
}

fn filled(color: BackendColor) -> String {
    format!("{}{}", Ink::of(color.rgb).fill(), opacity(color))
}

fn opacity(color: BackendColor) -> String {
    if color.alpha < 1.0 { format!(" opacity=\"{:.2}\"", color.alpha) } else { String::new() }
}

/// Width of text of size 1, which nobody can know without the reader's fonts: that of common sans-serif ones.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let of = |letter: char| match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | '\'' | ' ' | '|' => 0.3,
        'm' | 'w' | 'M' | 'W' | '%' => 0.88,
        'A'..='Z' => 0.68,
        _ => 0.57,
    };
    text.chars().map(of).sum::<f64>() * size
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl DrawingBackend for Canvas {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (px(self.width).unsigned_abs(), px(self.height).unsigned_abs())
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Drawn {
        self.path([(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)], true, &filled(color));
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let paint = if fill { filled(style.color()) } else { stroke(style) };
        self.path([(left, top), (right, top), (right, bottom), (left, bottom)], true, &paint);
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        if style.color().alpha > 0.0 {
            self.path(path, false, &stroke(style));
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let paint = if fill { filled(style.color()) } else { stroke(style) };
        let radius = Tenths(i32::try_from(radius).unwrap_or(i32::MAX));
        self.write(format_args!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{radius}\" {paint}/>",
            Tenths(x),
            Tenths(y)
        ));
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vert: I,
        style: &S,
    ) -> Drawn {
        self.path(vert, true, &filled(style.color()));
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(&mut self, text: &str, style: &T, (x, y): BackendCoord) -> Drawn {
        let ink = Ink::of(style.color().rgb);
        let (x, y) = (f64::from(x) / FINE, f64::from(y) / FINE);
        let size = style.size() / FINE;
        let anchor = match style.anchor().h_pos {
            HPos::Left => "start",
            HPos::Center => "middle",
            HPos::Right => "end",
        };
        // The baseline lies this share of the size below the named edge.
        let down = size
            * match style.anchor().v_pos {
                VPos::Top => 0.8,
                VPos::Center => 0.35,
                VPos::Bottom => -0.2,
            };
        let weight = if matches!(style.style(), FontStyle::Bold) { "b" } else { "t" };
        let turn = match style.transform() {
            FontTransform::Rotate270 => {
                format!(" transform=\"rotate(-90 {x:.1} {y:.1}) translate(0 {down:.1})\"")
            }
            FontTransform::Rotate90 => {
                format!(" transform=\"rotate(90 {x:.1} {y:.1}) translate(0 {down:.1})\"")
            }
            FontTransform::None | FontTransform::Rotate180 => format!(" dy=\"{down:.1}\""),
        };
        self.write(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\"{turn} font-size=\"{size:.0}\" text-anchor=\"{anchor}\" \
             class=\"{weight} {}\" fill=\"{}\">{}</text>",
            ink.class(),
            ink.hex(),
            escape(text)
        ));
        Ok(())
    }

    fn estimate_text_size<T: BackendTextStyle>(
        &self,
        text: &str,
        style: &T,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok((text_width(text, style.size()) as u32, style.size() as u32))
    }
}

/// XML text: the reserved characters as entities, control characters as what they are, unreadable.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push('\n'),
            _ if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}
