//! The trail of a run: what happened, line by line, for a person who replays a failing seed.

use std::fmt::Display;

use crate::clock::Time;

/// Lines, if anybody wants them.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    wanted: bool,
    lines: Vec<String>,
}

impl Trail {
    pub(super) fn new(wanted: bool) -> Self {
        Self { wanted, lines: Vec::new() }
    }

    /// Notes a line; it is only made if it is wanted.
    pub(super) fn note<D: Display>(&mut self, at: Time, line: impl FnOnce() -> D) {
        if self.wanted {
            self.lines.push(format!("{at} {}", line()));
        }
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines
    }
}
