//! Task copies in memory: a hash table each, as in Kafka Streams' in-memory key-value stores. A copy that is closed stays
//! with its instance; what a crash or a restart of the instance takes is replayed from the changelog.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use assignor::TaskId;
use parking_lot::Mutex;

use super::mem::MemParts;
use super::{Checkpoint, Form, Part, PartWriter, ReadState, Store, StoreDirectory, Updates};
use crate::error::StoreError;
use crate::table::Table;

/// What there is of a copy.
#[derive(Debug, Default)]
struct Contents {
    table: Table,
    checkpoint: Checkpoint,
}

/// One task copy in a hash table.
#[derive(Debug)]
pub struct HashStore {
    contents: Contents,
    /// Where it goes when it is closed.
    seat: Arc<Mutex<Seat>>,
}

/// A copy's place in its directory.
#[derive(Debug, Default)]
enum Seat {
    #[default]
    Empty,
    /// Somebody has it.
    Open,
    Closed(Contents),
}

impl HashStore {
    fn put(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.contents.table.put(key, value);
        // Twice as much memory as is needed is the most, and each byte is moved once for each that was wasted.
        if self.contents.table.is_mostly_dead() {
            self.contents.table = self.contents.table.without_dead();
        }
    }
}

impl ReadState for HashStore {
    fn get_many(
        &self,
        keys: &[&[u8]],
        visit: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<(), StoreError> {
        self.contents.table.get_each(keys, |number, known| visit(number, known.flatten()));
        Ok(())
    }

    fn location(&self) -> PathBuf {
        PathBuf::from("(memory)")
    }
}

impl Store for HashStore {
    fn checkpoint(&self) -> Checkpoint {
        self.contents.checkpoint
    }

    fn write(&mut self, updates: &mut Updates<'_>, to: Checkpoint) -> Result<(), StoreError> {
        for (key, value) in updates {
            self.put(key, value);
        }
        self.contents.checkpoint = to;
        Ok(())
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn part_writer(&self) -> Arc<dyn PartWriter> {
        Arc::new(MemParts)
    }

    fn ingest(&mut self, parts: Vec<Part>, to: Checkpoint) -> Result<(), StoreError> {
        for part in parts {
            if let Part(Form::Memory(entries)) = part {
                entries.iter().for_each(|(key, value)| self.put(key, value.as_deref()));
            }
        }
        self.contents.checkpoint = to;
        Ok(())
    }

    fn scan(&self, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        let table = &self.contents.table;
        table.sorted(table.places()).for_each(|(key, value)| {
            if let Some(value) = value {
                visit(key, value);
            }
        });
        Ok(())
    }

    fn size_bytes(&self) -> u64 {
        self.contents.table.memory() as u64
    }

    fn settle(&self, _whole: bool) -> Result<(), StoreError> {
        Ok(())
    }

    fn close(mut self: Box<Self>) -> Result<(), StoreError> {
        *self.seat.lock() = Seat::Closed(std::mem::take(&mut self.contents));
        Ok(())
    }
}

impl Drop for HashStore {
    /// Without a close it is as if its process had died.
    fn drop(&mut self) {
        let mut seat = self.seat.lock();
        if matches!(*seat, Seat::Open) {
            *seat = Seat::Empty;
        }
    }
}

/// The copies of one instance in memory. Whoever clones it shares them.
#[derive(Clone, Debug, Default)]
pub struct HashStores(Arc<Mutex<BTreeMap<TaskId, Arc<Mutex<Seat>>>>>);

impl StoreDirectory for HashStores {
    fn open(&self, task: &TaskId) -> Result<Box<dyn Store>, StoreError> {
        let seat = Arc::clone(self.0.lock().entry(task.clone()).or_default());
        let contents = match std::mem::replace(&mut *seat.lock(), Seat::Open) {
            Seat::Empty => Contents::default(),
            Seat::Closed(contents) => contents,
            Seat::Open => {
                let path = PathBuf::from(format!("(memory)/{task}"));
                return Err(StoreError::Held { path });
            }
        };
        Ok(Box::new(HashStore { contents, seat }))
    }

    fn discard(&self, task: &TaskId) -> Result<(), StoreError> {
        self.0.lock().remove(task);
        Ok(())
    }

    fn tasks(&self) -> Result<Vec<TaskId>, StoreError> {
        let seats = self.0.lock();
        let there = seats.iter().filter(|(_, seat)| !matches!(*seat.lock(), Seat::Empty));
        Ok(there.map(|(task, _)| task.clone()).collect())
    }
}
