//! The colours, by what they stand for. Those that carry meaning are Okabe and Ito's, told apart by every kind of eye;
//! where several stand in one picture, place, dash or marker says the same once more.
//!
//! A colour is written twice: as it is on white paper, for readers that know no style sheets, and as a class, for which
//! [`style_sheet`] has one value by day and one by night.

use std::fmt::Write as _;

use plotters::style::RGBColor;

/// What a mark is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Text that is to be read.
    Text,
    /// Labels of axes, notes.
    Muted,
    /// Lines that guide the eye.
    Grid,
    /// The ground.
    Paper,
    /// A stretch of time that is set apart.
    Shade,
    /// A scripted event.
    Event,
    /// A task that runs.
    Active,
    /// A task that stands still.
    Paused,
    /// A task that is being restored by its owner.
    Restoring,
    /// A copy that catches up.
    Learning,
    /// A copy that has caught up.
    Ready,
    /// A copy that stands by.
    Standby,
    /// The n-th strategy.
    Strategy(u8),
    /// The n-th part of a pause.
    Part(u8),
}

use Ink::*;

/// How many strategies have a colour of their own.
pub(super) const STRATEGIES: u8 = 8;
/// How many parts a pause has.
pub(super) const PARTS: u8 = 6;

/// Ink, by day, by night.
const INKS: [(Ink, &str, &str); 26] = [
    (Text, "#1c2129", "#e9e7e2"),
    (Muted, "#5c6570", "#a3a9b3"),
    (Grid, "#e2e4e8", "#2c323b"),
    (Paper, "#ffffff", "#14171c"),
    (Shade, "#f1f2f5", "#1d2229"),
    (Event, "#1c2129", "#e9e7e2"),
    (Active, "#b9c4d3", "#4a5768"),
    (Paused, "#d55e00", "#e8701a"),
    (Restoring, "#e69f00", "#f0b429"),
    (Learning, "#56b4e9", "#56b4e9"),
    (Ready, "#009e73", "#1fbf92"),
    (Standby, "#cc79a7", "#cc79a7"),
    // Learner, eager, cooperative, high-availability; then whoever comes.
    (Strategy(0), "#0072b2", "#4ba3e3"),
    (Strategy(1), "#d55e00", "#ee7733"),
    (Strategy(2), "#b0578a", "#d98bb8"),
    (Strategy(3), "#009e73", "#2cc295"),
    (Strategy(4), "#b57d00", "#e6b333"),
    (Strategy(5), "#3d9fd6", "#8fd0f5"),
    (Strategy(6), "#4b4f58", "#c8ccd4"),
    (Strategy(7), "#8a7d00", "#f0e442"),
    (Part(0), "#9aa1ab", "#8b939e"),
    (Part(1), "#cc79a7", "#cc79a7"),
    (Part(2), "#f0e442", "#f0e442"),
    (Part(3), "#56b4e9", "#56b4e9"),
    (Part(4), "#d55e00", "#e8701a"),
    (Part(5), "#009e73", "#1fbf92"),
];

impl Ink {
    fn index(self) -> usize {
        INKS.iter().position(|(ink, ..)| *ink == self).unwrap_or(0)
    }

    /// The colour that plotters carries it as: a number, not something to look at.
    pub(super) fn color(self) -> RGBColor {
        RGBColor(u8::try_from(self.index()).unwrap_or(0), 0, 0)
    }

    /// Back from plotters.
    pub(super) fn of((index, ..): (u8, u8, u8)) -> Ink {
        INKS.get(usize::from(index)).map_or(Text, |(ink, ..)| *ink)
    }

    /// The colour on white paper.
    pub(super) fn hex(self) -> &'static str {
        INKS[self.index()].1
    }

    /// The class that fills with it.
    pub(super) fn class(self) -> String {
        format!("f{}", self.index())
    }

    /// Attributes of something filled.
    pub(super) fn fill(self) -> String {
        format!("fill=\"{}\" class=\"{}\"", self.hex(), self.class())
    }

    /// Attributes of a line.
    pub(super) fn stroke(self) -> String {
        format!("fill=\"none\" stroke=\"{}\" class=\"s{}\"", self.hex(), self.index())
    }
}

/// The n-th strategy's ink, whatever n.
pub(super) fn strategy(index: usize) -> Ink {
    Strategy(u8::try_from(index % usize::from(STRATEGIES)).unwrap_or(0))
}

/// The n-th part's ink.
pub(super) fn part(index: usize) -> Ink {
    Part(u8::try_from(index % usize::from(PARTS)).unwrap_or(0))
}

/// The classes, by day and by night.
pub(crate) fn style_sheet() -> String {
    let rules = |by_night: bool| {
        let mut rules = String::new();
        for (index, (_, day, night)) in INKS.iter().enumerate() {
            let hex = if by_night { night } else { day };
            let _ = write!(
                rules,
                ".f{index}{{fill:{hex}}}.s{index}{{stroke:{hex}}}.b{index}{{background:{hex}}}"
            );
        }
        rules
    };
    format!("{}@media (prefers-color-scheme:dark){{@media screen{{{}}}}}", rules(false), rules(true))
}

/// The class of a patch of that colour in a legend.
pub(crate) fn patch(ink: usize) -> String {
    format!("b{ink}")
}

/// The class of a patch of the n-th strategy's colour.
pub(crate) fn strategy_patch(index: usize) -> String {
    patch(strategy(index).index())
}

/// The class of a patch of an ink's colour.
pub(super) fn patch_of(ink: Ink) -> String {
    patch(ink.index())
}
