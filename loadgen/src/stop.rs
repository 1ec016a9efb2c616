//! A request to stop, which waiting threads hear at once.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Set once, by a signal handler or a test; waited for by whoever directs a run.
#[derive(Debug, Default)]
pub struct Stop {
    requested: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Asks to stop. Says whether that had been asked before.
    pub fn request(&self) -> bool {
        let mut requested = self.requested.lock().unwrap_or_else(PoisonError::into_inner);
        self.changed.notify_all();
        std::mem::replace(&mut *requested, true)
    }

    /// Whether it has been asked to stop.
    #[must_use]
    pub fn requested(&self) -> bool {
        *self.requested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `deadline`, or until it is asked to stop: then `true`, at once.
    #[expect(
        clippy::disallowed_methods,
        reason = "a condition variable waits for durations, not for moments"
    )]
    pub fn wait_until(&self, deadline: Instant) -> bool {
        let requested = self.requested.lock().unwrap_or_else(PoisonError::into_inner);
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(requested, left, |requested| !*requested);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
