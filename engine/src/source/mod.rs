//! A task's input: records with an offset, an intended arrival time and a key.
//!
//! A source is a function of (its seed or file, task, offset): it can be opened anywhere, any number of times, and
//! says the same. No thread generates anything: a poll returns the records whose time has come, so that a stall
//! delays records but never their intended times.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use assignor::TaskId;

use crate::clock::Time;
use crate::error::SourceError;

mod keys;
mod recorded;
mod synthetic;

pub use keys::{KeyDistribution, key_of};
pub use recorded::{BrokenLines, RecordedLoad, RecordedSources};
pub use synthetic::{SyntheticLoad, SyntheticSources};

/// Records of one poll, column by column. Reused from turn to turn.
#[derive(Debug, Default)]
pub struct Records {
    /// Source offsets, ascending without gaps.
    pub offsets: Vec<u64>,
    /// Intended arrival times.
    pub times: Vec<Time>,
    /// Payload sizes in bytes.
    pub sizes: Vec<u32>,
    /// Where each key ends in `key_bytes`.
    key_ends: Vec<usize>,
    key_bytes: Vec<u8>,
}

impl Records {
    /// Empties all columns, keeping their memory.
    pub fn clear(&mut self) {
        self.offsets.clear();
        self.times.clear();
        self.sizes.clear();
        self.key_ends.clear();
        self.key_bytes.clear();
    }

    /// Adds a record.
    pub fn push(&mut self, offset: u64, time: Time, key: &[u8], size: u32) {
        self.offsets.push(offset);
        self.times.push(time);
        self.sizes.push(size);
        self.key_bytes.extend_from_slice(key);
        self.key_ends.push(self.key_bytes.len());
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// The key of the record at `index`.
    #[must_use]
    pub fn key(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.key_ends[index - 1] };
        &self.key_bytes[start..self.key_ends[index]]
    }
}

/// One task's input, positioned.
pub trait Source: Send {
    /// Appends to `out` at most `max` records whose intended time is not after `now`, from the current position on.
    ///
    /// # Errors
    ///
    /// What reading a recorded load says.
    fn poll(&mut self, now: Time, max: usize, out: &mut Records) -> Result<(), SourceError>;

    /// The offset of the next record.
    fn position(&self) -> u64;

    /// When the next record is due; `None` if there are no more.
    fn next_due(&self) -> Option<Time>;

    /// Records due by `now` and not polled yet: the task's backlog.
    fn backlog(&self, now: Time) -> u64;
}

/// The inputs of all tasks.
pub trait Sources: fmt::Debug + Send + Sync {
    /// The task's input, positioned at `offset`.
    ///
    /// # Errors
    ///
    /// What opening a recorded load says.
    fn open(&self, task: &TaskId, offset: u64) -> Result<Box<dyn Source>, SourceError>;

    /// How many of the task's first offsets are preloaded: records that reach the changelog before the clock starts.
    fn preloaded(&self, task: &TaskId) -> u64;

    /// Records due by `now` from offset 0 on (preloaded ones included): where a source that keeps up stands.
    fn due(&self, task: &TaskId, now: Time) -> u64;
}

/// A bijective mixer (splitmix64's finaliser): what offsets are hashed with for the audit and keys are drawn with.
#[must_use]
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A fast hash of a key: for tables in memory and for partitions, never for anything an attacker chooses.
#[must_use]
pub fn hash(key: &[u8]) -> u64 {
    let (words, rest) = key.as_chunks::<8>();
    let mut tail = [0; 8];
    tail[..rest.len()].copy_from_slice(rest);
    let mut hash = mix(key.len() as u64 ^ u64::from_le_bytes(tail));
    for word in words {
        hash = mix(hash.rotate_left(29) ^ u64::from_le_bytes(*word));
    }
    hash
}

/// [`hash`] for tables of the standard library.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(bytes) ^ self.0.rotate_left(29);
    }

    fn write_usize(&mut self, _length: usize) {
        // The length of a key, which `hash` takes in as well.
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A table of keys. Its order means nothing: nobody may iterate over it for more than a sum.
pub(crate) type KeyMap<V> = HashMap<Box<[u8]>, V, BuildHasherDefault<KeyHasher>>;

/// From when to when the sources of a run have records: set while they are in use, by whoever directs the run.
#[derive(Debug)]
struct Span {
    begin: AtomicU64,
    end: AtomicU64,
}

impl Default for Span {
    /// Nothing is due yet, and nothing ends.
    fn default() -> Self {
        Self { begin: AtomicU64::new(u64::MAX), end: AtomicU64::new(u64::MAX) }
    }
}

impl Span {
    fn set_begin(&self, at: Time) {
        self.begin.store(at.0, Ordering::Release);
    }

    fn set_end(&self, at: Time) {
        self.end.store(at.0, Ordering::Release);
    }

    /// The moment from which live records count, `None` before it is set.
    fn begin(&self) -> Option<Time> {
        Some(Time(self.begin.load(Ordering::Acquire))).filter(|&begin| begin != Time::NEVER)
    }

    /// No record has an intended time from here on.
    fn end(&self) -> Time {
        Time(self.end.load(Ordering::Acquire))
    }
}
