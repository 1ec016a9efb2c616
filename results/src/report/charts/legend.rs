//! What the colours of a chart mean, for the page's legends.

use serde::Serialize;

use super::canvas::Canvas;
use super::frame::{Line, Place, Plot};
use super::ink::{self, Ink, patch_of};
use super::scale::Scale;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Key {
    /// Class of its patch.
    pub(crate) patch: String,
    /// What it means.
    pub(crate) text: &'static str,
}

fn key(ink: Ink, text: &'static str) -> Key {
    Key { patch: patch_of(ink), text }
}

/// What a task's copies do.
pub(crate) fn role_keys(standby: bool) -> Vec<Key> {
    let mut keys = vec![
        key(Ink::Active, "runs"),
        key(Ink::Paused, "stands still"),
        key(Ink::Restoring, "is restored meanwhile"),
        key(Ink::Learning, "learns elsewhere"),
        key(Ink::Ready, "has learned"),
    ];
    if standby {
        keys.push(key(Ink::Standby, "stands by"));
    }
    keys
}

/// The phases of a run.
pub(crate) fn phase_keys() -> Vec<Key> {
    vec![
        key(Ink::Paused, "rebalance: a task stands still or joins are called in"),
        key(Ink::Learning, "restore: copies catch up, all tasks run"),
        key(Ink::Active, "warm-up, drain"),
    ]
}

/// The parts of a pause.
pub(crate) fn part_keys() -> Vec<Key> {
    [
        "detect: a loss is noticed",
        "revoke: owners give up and join",
        "barrier: the others join",
        "assign: plan and answer",
        "restore: fence and replay",
        "catch-up: first poll",
    ]
    .into_iter()
    .enumerate()
    .map(|(at, text)| key(ink::part(at), text))
    .collect()
}

/// The class that only standbys in lanes are filled with.
pub(crate) fn standby_class() -> String {
    format!("class=\"{}\"", Ink::Standby.class())
}

/// A look's line and marker, as an `svg` element of 34 by 14 pixels.
pub(crate) fn sample(look: usize) -> String {
    let canvas = Canvas::new(34.0, 14.0);
    let place = Place { left: 0.0, top: 0.0, right: 34.0, bottom: 14.0 };
    let axis = || Scale::linear(0.0, 1.0, 1, |_| String::new()).bare();
    if let Some(mut plot) = Plot::new(&canvas, place, &axis(), &axis()) {
        let ink = ink::strategy(look);
        canvas.open_dashed(look);
        plot.line([(0.02, 0.5), (0.98, 0.5)], Line::new(ink, 2.2));
        canvas.close();
        plot.marker((0.5, 0.5), look, 4.5, ink, 1.0);
    }
    canvas.finish("aria-hidden=\"true\"", "")
}
