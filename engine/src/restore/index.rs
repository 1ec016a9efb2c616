//! Which records of a chunk of the log survive, and where each belongs among the sorted survivors: known from keys
//! and lengths alone, so that no value is held for it.

use std::ops::Range;
use std::thread;

use crate::log::batch::Entries;

/// Keys that share their first 16 bytes are ordered, and told apart, when their bytes are at hand.
const PREFIX_BYTES: usize = 16;
/// Stands for all lengths beyond the prefix.
const LONG: u32 = PREFIX_BYTES as u32 + 1;
const LENGTH_BITS: u32 = 5;
/// Entries that are sorted at a time while the log is read: they fit into a core's cache.
const BLOCK: usize = 1 << 15;

/// One record of the chunk; records are numbered in log order.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The key's first bytes as a number, zero-padded, in two halves (a `u128` would pad the entry to 32 bytes).
    prefix: [u64; 2],
    nth: u32,
    /// The record's encoded length, and its key's length up to [`LONG`].
    lengths: u32,
}

impl Entry {
    /// Sorts like the key, as far as it is known.
    fn order(&self) -> (u64, u64, u32) {
        (self.prefix[0], self.prefix[1], self.lengths & ((1 << LENGTH_BITS) - 1))
    }

    fn is_long(&self) -> bool {
        self.order().2 == LONG
    }

    fn bytes(&self) -> u32 {
        self.lengths >> LENGTH_BITS
    }
}

/// The first 16 bytes of a key as a number that sorts like them.
fn prefix(key: &[u8]) -> [u64; 2] {
    let mut first = [0; PREFIX_BYTES];
    let length = key.len().min(PREFIX_BYTES);
    first[..length].copy_from_slice(&key[..length]);
    let whole = u128::from_be_bytes(first);
    [(whole >> 64) as u64, whole as u64]
}

/// The records of a chunk, sorted block by block.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: Vec<Entry>,
    sorted: usize,
}

impl Index {
    /// Memory of one record, half as much again for the last sort.
    pub(super) const RECORD_BYTES: usize = size_of::<Entry>() * 3 / 2;

    /// Records so far.
    pub(super) fn records(&self) -> usize {
        self.entries.len()
    }

    /// Takes in the updates of the next batch.
    pub(super) fn push(&mut self, mut updates: Entries<'_>) {
        while let Some((raw, key)) = updates.next_raw() {
            let length = (key.len() as u32).min(LONG);
            let lengths = (raw.len() as u32) << LENGTH_BITS | length;
            self.entries.push(Entry { prefix: prefix(key), nth: self.entries.len() as u32, lengths });
        }
        if self.entries.len() - self.sorted >= BLOCK {
            self.sort_block();
        }
    }

    fn sort_block(&mut self) {
        self.entries[self.sorted..].sort_by_key(Entry::order);
        self.sorted = self.entries.len();
    }

    /// Finds the survivors and lays them out in pieces of about `piece_bytes`.
    pub(super) fn layout(mut self, piece_bytes: usize, helper: bool) -> Layout {
        self.sort_block();
        // A stable sort keeps log order among equal keys, and merges the sorted blocks that it finds.
        if helper {
            let half = self.entries.len() / 2;
            let (early, late) = self.entries.split_at_mut(half);
            thread::scope(|scope| {
                scope.spawn(|| early.sort_by_key(Entry::order));
                late.sort_by_key(Entry::order);
            });
        }
        self.entries.sort_by_key(Entry::order);
        let mut layout = Layout { places: vec![NOWHERE; self.entries.len()], pieces: Vec::new() };
        let (mut start, mut end) = (0_u32, 0_u32);
        for group in self.entries.chunk_by(|a, b| a.order() == b.order()) {
            if end > start && (end - start) as usize >= piece_bytes {
                layout.pieces.push(start..end);
                start = end;
            }
            let survivors = if group[0].is_long() { group } else { &group[group.len() - 1..] };
            for survivor in survivors {
                layout.places[survivor.nth as usize] = end;
                end += survivor.bytes();
            }
        }
        if end > start {
            layout.pieces.push(start..end);
        }
        layout
    }
}

const NOWHERE: u32 = u32::MAX;

/// Where the survivors go: they stand in key order, encoded as in the log, in one row that is cut into pieces.
#[derive(Debug)]
pub(super) struct Layout {
    /// By record number: its first byte in the row, or [`NOWHERE`].
    places: Vec<u32>,
    pub(super) pieces: Vec<Range<u32>>,
}

/// Some neighbouring pieces on their way from the log into memory.
#[derive(Debug)]
pub(super) struct Load<'a> {
    layout: &'a Layout,
    pieces: &'a [Range<u32>],
    bytes: Vec<Vec<u8>>,
    nth: usize,
}

impl Layout {
    /// Starts to load `pieces`, for which the same batches must be pushed as into the index.
    pub(super) fn load<'a>(&'a self, pieces: &'a [Range<u32>]) -> Load<'a> {
        let bytes = pieces.iter().map(|piece| vec![0; piece.len()]).collect();
        Load { layout: self, pieces, bytes, nth: 0 }
    }
}

impl Load<'_> {
    /// Copies what belongs into the pieces.
    pub(super) fn push(&mut self, mut updates: Entries<'_>) {
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else { return };
        let row = first.start..last.end;
        while let Some((raw, _)) = updates.next_raw() {
            let place = self.layout.places[self.nth];
            self.nth += 1;
            if row.contains(&place) {
                let at = self.pieces.partition_point(|piece| piece.end <= place);
                let start = (place - self.pieces[at].start) as usize;
                self.bytes[at][start..start + raw.len()].copy_from_slice(raw);
            }
        }
    }

    /// The pieces, each sorted but for groups of long keys.
    pub(super) fn into_pieces(self) -> Vec<Piece> {
        self.bytes.into_iter().map(Piece).collect()
    }
}

/// Sorted survivors, encoded.
#[derive(Debug)]
pub(super) struct Piece(Vec<u8>);

impl Piece {
    /// Its entries in key order, each key once.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let mut raw = Entries::new(&self.0).peekable();
        let mut group: Vec<(&[u8], Option<&[u8]>)> = Vec::new();
        std::iter::from_fn(move || {
            if let Some(entry) = group.pop() {
                return Some(entry);
            }
            let entry = raw.next()?;
            let Some(start) = entry.0.get(..PREFIX_BYTES).filter(|start| start.len() < entry.0.len()) else {
                return Some(entry);
            };
            // Long keys with one prefix stand in log order: sort them, the latest first among equals.
            group.push(entry);
            while let Some(next) = raw.next_if(|(key, _)| key.len() > PREFIX_BYTES && key.starts_with(start))
            {
                group.push(next);
            }
            group.reverse();
            group.sort_by(|a, b| b.0.cmp(a.0));
            // Popping from the end takes the smallest key; of equal ones the one that comes last must be the latest.
            let mut kept: Vec<(&[u8], Option<&[u8]>)> = Vec::with_capacity(group.len());
            for entry in group.drain(..) {
                if kept.last().is_none_or(|last| last.0 != entry.0) {
                    kept.push(entry);
                }
            }
            group = kept;
            group.pop()
        })
    }
}
