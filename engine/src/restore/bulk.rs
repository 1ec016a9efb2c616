//! The bulk phase: a chunk of the log becomes one sorted file with the latest value of each key.

use super::Progress;
use crate::error::Error;
use crate::log::LogReader;
use crate::position::Offset;
use crate::store::{Checkpoint, Store};

/// Records of the log on their way into the store.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// Keys and values, one record after another.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Where the store stands once the chunk is in it; `None` while the chunk is empty.
    to: Option<Checkpoint>,
}

/// A record of the chunk.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The key's first 16 bytes as a number, zero-padded: most comparisons end here.
    prefix: u128,
    /// Where the key starts; later records start further on.
    at: u32,
    key_bytes: u16,
    /// `u32::MAX` for a deletion.
    value_bytes: u32,
}

const DELETED: u32 = u32::MAX;

impl Chunk {
    pub(super) fn is_empty(&self) -> bool {
        self.to.is_none()
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }

    /// The offset up to which the log has been read.
    pub(super) fn end(&self) -> Option<Offset> {
        self.to.map(|to| to.offset)
    }

    /// Reads about `max_bytes`, but stops when the chunk has `chunk_bytes`.
    pub(super) fn read(
        &mut self,
        reader: &mut dyn LogReader,
        from: Checkpoint,
        max_bytes: u64,
        chunk_bytes: usize,
    ) -> Result<Progress, Error> {
        let mut done = Progress::default();
        while done.bytes < max_bytes.max(1) && self.bytes() < chunk_bytes {
            let Some(batch) = reader.next()? else {
                done.at_end = true;
                break;
            };
            for (key, value) in batch.updates() {
                self.push(key, value);
            }
            self.to = Some(self.to.unwrap_or(from).after(&batch));
            done.records += u64::from(batch.records());
            done.bytes += batch.bytes() as u64;
        }
        Ok(done)
    }

    fn push(&mut self, key: &[u8], value: Option<&[u8]>) {
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.unwrap_or_default());
        let value_bytes = value.map_or(DELETED, |value| value.len() as u32);
        self.entries.push(Entry { prefix: prefix(key), at, key_bytes: key.len() as u16, value_bytes });
    }

    /// Brings the chunk into the store, and empties it.
    pub(super) fn ingest(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        let Some(to) = self.to.take() else { return Ok(()) };
        let bytes = &self.bytes;
        self.entries.sort_unstable_by(|a, b| {
            a.prefix.cmp(&b.prefix).then_with(|| a.key(bytes).cmp(b.key(bytes))).then_with(|| a.at.cmp(&b.at))
        });
        let mut entries = self.entries.iter().peekable();
        let mut latest = std::iter::from_fn(|| {
            let mut entry = entries.next()?;
            while let Some(later) = entries.next_if(|next| next.same_key(entry, bytes)) {
                entry = later;
            }
            Some((entry.key(bytes), entry.value(bytes)))
        });
        store.ingest(&mut latest, to)?;
        self.bytes.clear();
        self.entries.clear();
        Ok(())
    }
}

impl Entry {
    fn key<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.at as usize..][..usize::from(self.key_bytes)]
    }

    fn value<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let start = self.at as usize + usize::from(self.key_bytes);
        (self.value_bytes != DELETED).then(|| &bytes[start..][..self.value_bytes as usize])
    }

    fn same_key(&self, other: &Self, bytes: &[u8]) -> bool {
        self.prefix == other.prefix && self.key(bytes) == other.key(bytes)
    }
}

fn prefix(key: &[u8]) -> u128 {
    let mut first = [0; 16];
    let length = key.len().min(16);
    first[..length].copy_from_slice(&key[..length]);
    u128::from_be_bytes(first)
}
