//! Fills a task's changelog before the clock starts, as if an owner had processed the preloaded records long ago.
//!
//! The state goes through the log alone: whoever starts the task replays it, like any other restore.

use std::path::PathBuf;

use assignor::TaskId;

use crate::clock::Time;
use crate::error::{Error, StoreError};
use crate::log::{BatchBuilder, Resume, TaskLog};
use crate::position::Claim;
use crate::source::{Records, Sources};
use crate::store::ReadState;
use crate::task::Cache;
use crate::task::processor::Processor;

/// Records of one batch.
const BATCH_RECORDS: usize = 1_000;

/// Processes the task's preloaded records into its empty log, under the oldest claim there is. `progress` is told
/// after each batch how many records are done; it returns whether to go on.
///
/// # Errors
///
/// What source and log say.
pub fn preload(
    task: &TaskId,
    log: &dyn TaskLog,
    sources: &dyn Sources,
    processor: &mut dyn Processor,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), Error> {
    let total = sources.preloaded(task);
    if total == 0 {
        return Ok(());
    }
    let epoch = log.fence(Claim::default())?.epoch;
    let mut source = sources.open(task, 0)?;
    let (mut state, mut records, mut batch) =
        (Latest::default(), Records::default(), BatchBuilder::default());
    while source.position() < total {
        let max = u64::min(BATCH_RECORDS as u64, total - source.position()) as usize;
        records.clear();
        batch.clear();
        source.poll(Time::ZERO, max, &mut records)?;
        processor.process(&records, &state, &mut batch)?;
        batch.finish(Resume { source_offset: source.position(), stream_time: Time::ZERO, epoch });
        log.append(epoch, &batch)?;
        state.0.apply(batch.updates());
        if !progress(source.position()) {
            break;
        }
    }
    Ok(())
}

/// The state while preloading: in memory alone, and dropped afterwards.
#[derive(Debug, Default)]
struct Latest(Cache);

impl ReadState for Latest {
    fn get_many(
        &self,
        keys: &[&[u8]],
        visit: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<(), StoreError> {
        self.0.get_each(keys, |index, value| visit(index, value.flatten()));
        Ok(())
    }

    fn location(&self) -> PathBuf {
        PathBuf::from("(preload)")
    }
}
