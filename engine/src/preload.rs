//! Fills a task's changelog before the clock starts, as if an owner had processed the preloaded records long ago.
//!
//! The state goes through the log alone: whoever starts the task replays it, like any other restore.

use std::collections::HashMap;
use std::path::PathBuf;

use assignor::TaskId;

use crate::clock::Time;
use crate::error::{Error, StoreError};
use crate::log::{BatchBuilder, Resume, TaskLog};
use crate::position::Claim;
use crate::source::{Records, Sources};
use crate::store::{Checkpoint, SortedEntries, Store, Updates};
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
        let resume = Resume { source_offset: source.position(), stream_time: Time::ZERO, epoch };
        batch.finish(resume);
        let offset = log.append(epoch, &batch)?;
        state.write(&mut batch.updates(), Checkpoint { offset, epoch, resume })?;
        if !progress(source.position()) {
            break;
        }
    }
    Ok(())
}

/// The state while preloading: a table in memory, dropped afterwards.
#[derive(Debug, Default)]
struct Latest {
    values: HashMap<Box<[u8]>, Box<[u8]>>,
    checkpoint: Checkpoint,
}

impl Store for Latest {
    fn checkpoint(&self) -> Checkpoint {
        self.checkpoint
    }

    fn get_many(
        &self,
        keys: &[&[u8]],
        visit: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<(), StoreError> {
        for (index, &key) in keys.iter().enumerate() {
            visit(index, self.values.get(key).map(AsRef::as_ref));
        }
        Ok(())
    }

    fn write(&mut self, updates: &mut Updates<'_>, to: Checkpoint) -> Result<(), StoreError> {
        for (key, value) in updates {
            match (value, self.values.get_mut(key)) {
                (Some(value), Some(held)) if held.len() == value.len() => held.copy_from_slice(value),
                (Some(value), _) => drop(self.values.insert(key.into(), value.into())),
                (None, _) => drop(self.values.remove(key)),
            }
        }
        self.checkpoint = to;
        Ok(())
    }

    fn ingest(&mut self, chunk: &mut SortedEntries<'_>, to: Checkpoint) -> Result<(), StoreError> {
        self.write(chunk, to)
    }

    fn scan(&self, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        let mut sorted: Vec<_> = self.values.iter().collect();
        sorted.sort_unstable();
        sorted.into_iter().for_each(|(key, value)| visit(key, value));
        Ok(())
    }

    fn location(&self) -> PathBuf {
        PathBuf::from("(preload)")
    }

    fn size_bytes(&self) -> u64 {
        self.values.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() as u64
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}
