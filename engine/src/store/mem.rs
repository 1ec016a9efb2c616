//! Task copies in memory, for simulation and tests. Like a database they have a part that is flushed and one that is
//! not, so that a dropped store loses what a crash would take.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use assignor::TaskId;
use parking_lot::Mutex;

use super::{Checkpoint, Form, Part, PartWriter, ReadState, SortedEntries, Store, StoreDirectory, Updates};
use crate::error::StoreError;

/// What a crash leaves.
#[derive(Debug, Default)]
struct Flushed {
    values: BTreeMap<Vec<u8>, Vec<u8>>,
    checkpoint: Checkpoint,
}

impl Flushed {
    fn apply(&mut self, key: &[u8], value: Option<&[u8]>) {
        match value {
            Some(value) => self.values.insert(key.to_vec(), value.to_vec()),
            None => self.values.remove(key),
        };
    }
}

/// One task copy in memory.
#[derive(Debug, Default)]
pub struct MemStore {
    flushed: Arc<Mutex<Flushed>>,
    /// Updates since the last flush.
    recent: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    checkpoint: Checkpoint,
}

impl MemStore {
    fn over(flushed: Arc<Mutex<Flushed>>) -> Self {
        let checkpoint = flushed.lock().checkpoint;
        Self { flushed, recent: BTreeMap::new(), checkpoint }
    }

    fn flush(&mut self) {
        let mut flushed = self.flushed.lock();
        for (key, value) in std::mem::take(&mut self.recent) {
            flushed.apply(&key, value.as_deref());
        }
        flushed.checkpoint = self.checkpoint;
    }
}

impl ReadState for MemStore {
    fn get_many(
        &self,
        keys: &[&[u8]],
        visit: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<(), StoreError> {
        let flushed = self.flushed.lock();
        for (index, &key) in keys.iter().enumerate() {
            match self.recent.get(key) {
                Some(recent) => visit(index, recent.as_deref()),
                None => visit(index, flushed.values.get(key).map(Vec::as_slice)),
            }
        }
        Ok(())
    }

    fn location(&self) -> PathBuf {
        PathBuf::from("(memory)")
    }
}

impl Store for MemStore {
    fn checkpoint(&self) -> Checkpoint {
        self.checkpoint
    }

    fn write(&mut self, updates: &mut Updates<'_>, to: Checkpoint) -> Result<(), StoreError> {
        for (key, value) in updates {
            self.recent.insert(key.to_vec(), value.map(<[u8]>::to_vec));
        }
        self.checkpoint = to;
        Ok(())
    }

    fn part_writer(&self) -> Arc<dyn PartWriter> {
        Arc::new(MemParts)
    }

    fn ingest(&mut self, parts: Vec<Part>, to: Checkpoint) -> Result<(), StoreError> {
        self.flush();
        let mut flushed = self.flushed.lock();
        for part in parts {
            if let Part(Form::Memory(entries)) = part {
                entries.iter().for_each(|(key, value)| flushed.apply(key, value.as_deref()));
            }
        }
        flushed.checkpoint = to;
        self.checkpoint = to;
        Ok(())
    }

    fn scan(&self, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        let flushed = self.flushed.lock();
        let mut recent = self.recent.iter().peekable();
        for (key, value) in &flushed.values {
            while let Some((newer, update)) = recent.next_if(|(newer, _)| *newer < key) {
                if let Some(update) = update {
                    visit(newer, update);
                }
            }
            match recent.next_if(|(newer, _)| *newer == key) {
                Some((_, Some(update))) => visit(key, update),
                Some((_, None)) => {}
                None => visit(key, value),
            }
        }
        for (key, update) in recent {
            if let Some(update) = update {
                visit(key, update);
            }
        }
        Ok(())
    }

    fn size_bytes(&self) -> u64 {
        let flushed = self.flushed.lock();
        let kept = flushed.values.iter().map(|(key, value)| key.len() + value.len());
        let recent = self.recent.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, Vec::len));
        kept.chain(recent).sum::<usize>() as u64
    }

    fn settle(&self, _whole: bool) -> Result<(), StoreError> {
        Ok(())
    }

    fn close(mut self: Box<Self>) -> Result<(), StoreError> {
        self.flush();
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct MemParts;

impl PartWriter for MemParts {
    fn write(&self, entries: &mut SortedEntries<'_>) -> Result<Part, StoreError> {
        let entries = entries.map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)));
        Ok(Part(Form::Memory(entries.collect())))
    }
}

/// Copies in memory. Whoever clones them shares them.
#[derive(Clone, Debug, Default)]
pub struct MemStores(Arc<Mutex<BTreeMap<TaskId, Arc<Mutex<Flushed>>>>>);

impl StoreDirectory for MemStores {
    fn open(&self, task: &TaskId) -> Result<Box<dyn Store>, StoreError> {
        let flushed = Arc::clone(self.0.lock().entry(task.clone()).or_default());
        Ok(Box::new(MemStore::over(flushed)))
    }

    fn discard(&self, task: &TaskId) -> Result<(), StoreError> {
        self.0.lock().remove(task);
        Ok(())
    }

    fn tasks(&self) -> Result<Vec<TaskId>, StoreError> {
        Ok(self.0.lock().keys().cloned().collect())
    }
}
