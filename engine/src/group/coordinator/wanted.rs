//! The next rebalance: why it is wanted, and from when on it is due.

use std::time::Duration;

use crate::clock::Time;
use crate::event::Cause;

/// Why a rebalance is wanted after the one that is under way, if any.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// First cause first, without repeats.
    causes: Vec<Cause>,
    due: Time,
}

impl Wanted {
    pub(super) fn is_empty(&self) -> bool {
        self.causes.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.causes.clear();
    }

    /// Adds a cause that can wait for `delay`. The most urgent one decides; more that can wait put nothing off.
    pub(super) fn add(&mut self, cause: Cause, now: Time, delay: Duration) {
        let due = now + delay;
        self.due = if self.causes.is_empty() { due } else { self.due.min(due) };
        if !self.causes.contains(&cause) {
            self.causes.push(cause);
        }
    }

    /// When it should begin: never, if none is wanted.
    pub(super) fn due(&self) -> Time {
        if self.causes.is_empty() { Time::NEVER } else { self.due }
    }

    /// It begins: its causes.
    pub(super) fn take(&mut self) -> Vec<Cause> {
        std::mem::take(&mut self.causes)
    }
}

/// Whether a rebalance for this cause can wait for others like it: the tasks have owners, who go on meanwhile.
pub(super) fn can_wait(cause: Cause) -> bool {
    matches!(cause, Cause::Join | Cause::Leaving)
}
