//! Compacts changelogs in the background, each when enough of it has never been compacted.

use std::sync::Arc;

use assignor::TaskId;
use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::clock::Clock as _;
use crate::config::CompactionOptions;
use crate::error::Error;
use crate::event::{Event, TaskEvent};
use crate::instance::Shared;
use crate::log::TaskLog;

/// Runs until the other end of `ended` is dropped, or the run is poisoned.
///
/// # Errors
///
/// A log that can't be compacted.
pub(super) fn run(
    shared: &Shared,
    logs: &[(TaskId, Arc<dyn TaskLog>)],
    options: CompactionOptions,
    ended: &Receiver<()>,
) -> Result<(), Error> {
    while ended.recv_timeout(options.interval) == Err(RecvTimeoutError::Timeout) {
        for (task, log) in logs {
            if shared.board.failed() {
                return Ok(());
            }
            let closed = log.closed();
            let due = closed.dirty_bytes * 100 >= closed.bytes * u64::from(options.dirty_percent);
            if closed.dirty_bytes > 0 && due {
                let done = log.compact(options.most_keys)?;
                let event =
                    TaskEvent::Compacted { bytes_before: done.bytes_before, bytes_after: done.bytes_after };
                shared.observer.event(shared.clock.now(), Event::Task(task.clone(), event));
            }
        }
    }
    Ok(())
}
