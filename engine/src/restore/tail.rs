//! The tailing phase: batches go into the store as they come.

use super::Progress;
use crate::error::Error;
use crate::log::LogReader;
use crate::store::Store;

/// Writes batches of about `max_bytes` in all, at least one if there is one.
pub(super) fn step(
    reader: &mut dyn LogReader,
    store: &mut dyn Store,
    max_bytes: u64,
) -> Result<Progress, Error> {
    let mut done = Progress::default();
    while done.bytes < max_bytes.max(1) {
        let Some(batch) = reader.next()? else {
            done.at_end = true;
            break;
        };
        let to = store.checkpoint().after(&batch);
        store.write(&mut batch.updates(), to)?;
        done.records += u64::from(batch.records());
        done.bytes += batch.bytes() as u64;
    }
    Ok(done)
}
