//! Which records of a chunk of the log survive, and where each belongs among the sorted survivors: known from keys
//! and lengths alone, so that no value is held for it.

use std::ops::Range;
use std::thread;

use super::buckets::Buckets;
use crate::log::batch::Entries;
use crate::prefix::{PREFIX_BYTES, prefix};

/// Stands for all lengths beyond the prefix: keys that share it are ordered, and told apart, when their bytes are at
/// hand.
const LONG: u32 = PREFIX_BYTES as u32 + 1;
const LENGTH_BITS: u32 = 5;
/// Records that are read before the key space is cut into buckets at what they show of it.
const SAMPLE: usize = 1 << 15;
/// Parts of the key space that are sorted each by itself: of a few million records, one fits into a core's cache.
const BUCKETS: usize = 256;

/// What is known of a key's place in the order of keys.
type Order = (u64, u64, u32);

/// One record of the chunk; records are numbered in log order.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Of the key (as a `u128` it would pad the entry to 32 bytes).
    prefix: [u64; 2],
    nth: u32,
    /// The record's encoded length, and its key's length up to [`LONG`].
    lengths: u32,
}

impl Entry {
    /// Sorts like the key, as far as it is known.
    fn order(&self) -> Order {
        (self.prefix[0], self.prefix[1], self.lengths & ((1 << LENGTH_BITS) - 1))
    }

    /// Among equals the latest first, but for long keys, which may yet differ: they stay in log order.
    fn rank(&self) -> (Order, u32) {
        (self.order(), if self.is_long() { self.nth } else { !self.nth })
    }

    fn is_long(&self) -> bool {
        self.order().2 == LONG
    }

    fn bytes(&self) -> u32 {
        self.lengths >> LENGTH_BITS
    }
}

/// The records of a chunk, dealt out by key.
#[derive(Debug)]
pub(super) struct Index {
    /// Where each bucket but the first starts.
    cuts: Vec<Order>,
    /// In log order each.
    buckets: Buckets<Entry>,
    records: usize,
}

/// A record that is the latest of its key.
#[derive(Clone, Copy, Debug)]
struct Survivor {
    nth: u32,
    bytes: u32,
    /// Its key may be that of the one before: as far as it is known, they are the same.
    may_repeat: bool,
}

impl Default for Index {
    fn default() -> Self {
        Self { cuts: Vec::new(), buckets: Buckets::new(1), records: 0 }
    }
}

impl Index {
    /// Memory of one record.
    pub(super) const RECORD_BYTES: usize = size_of::<Entry>() + size_of::<Survivor>() + Layout::PLACE_BYTES;

    /// Records so far.
    pub(super) fn records(&self) -> usize {
        self.records
    }

    /// Takes in the updates of the next batch.
    pub(super) fn push(&mut self, mut updates: Entries<'_>) {
        while let Some((raw, key)) = updates.next_raw() {
            let length = (key.len() as u32).min(LONG);
            let lengths = (raw.len() as u32) << LENGTH_BITS | length;
            self.enter(Entry { prefix: prefix(key), nth: self.records as u32, lengths });
            self.records += 1;
        }
        if self.cuts.is_empty() && self.records >= SAMPLE {
            self.cut();
        }
    }

    fn enter(&mut self, entry: Entry) {
        let order = entry.order();
        self.buckets.push(self.cuts.partition_point(|cut| *cut <= order), entry);
    }

    /// Cuts the key space where the records so far are cut into equal parts.
    fn cut(&mut self) {
        let mut sample = Vec::new();
        self.buckets.copy(0, &mut sample);
        let mut orders: Vec<_> = sample.iter().map(Entry::order).collect();
        orders.sort_unstable();
        self.cuts = (1..BUCKETS).map(|nth| orders[nth * orders.len() / BUCKETS]).collect();
        self.cuts.dedup();
        self.buckets = Buckets::new(self.cuts.len() + 1);
        sample.into_iter().for_each(|entry| self.enter(entry));
    }

    /// Finds the survivors and lays them out in pieces of about as many bytes as `piece_bytes` says for all of them
    /// together.
    pub(super) fn layout(self, helper: bool, piece_bytes: impl FnOnce(usize) -> usize) -> Layout {
        let records = self.records;
        let survivors = self.survivors(helper);
        drop(self);
        let piece_bytes =
            piece_bytes(survivors.iter().flatten().map(|survivor| survivor.bytes as usize).sum());
        let mut layout = Layout { places: vec![NOWHERE; records], pieces: Vec::new() };
        let (mut start, mut end) = (0_u32, 0_u32);
        for survivor in survivors.into_iter().flatten() {
            // Keys that may be one must not come into two pieces.
            let full = end > start && (end - start) as usize >= piece_bytes;
            if full && !survivor.may_repeat {
                layout.pieces.push(start..end);
                start = end;
            }
            layout.places[survivor.nth as usize] = end;
            end += survivor.bytes;
        }
        if end > start {
            layout.pieces.push(start..end);
        }
        layout
    }

    /// Who survives, in key order: what the lower buckets hold, then the rest.
    fn survivors(&self, helper: bool) -> [Vec<Survivor>; 2] {
        let lists = self.buckets.lists();
        if !helper {
            return [self.survivors_of(0..lists), Vec::new()];
        }
        let mut before = 0;
        let half = (0..lists).find(|&list| {
            before += self.buckets.entries(list);
            before > self.records / 2
        });
        let half = half.unwrap_or_default();
        thread::scope(|scope| {
            let low = scope.spawn(|| self.survivors_of(0..half));
            let high = self.survivors_of(half..lists);
            [low.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), high]
        })
    }

    /// Brings buckets into order, one by one, and leaves out what was overwritten.
    fn survivors_of(&self, lists: Range<usize>) -> Vec<Survivor> {
        let most = lists.clone().map(|list| self.buckets.entries(list)).sum();
        let (mut survivors, mut bucket) = (Vec::with_capacity(most), Vec::new());
        for list in lists {
            bucket.clear();
            self.buckets.copy(list, &mut bucket);
            bucket.sort_unstable_by_key(Entry::rank);
            let mut last = None;
            for entry in &bucket {
                let may_repeat = last == Some(entry.order());
                if !may_repeat || entry.is_long() {
                    survivors.push(Survivor { nth: entry.nth, bytes: entry.bytes(), may_repeat });
                }
                last = Some(entry.order());
            }
        }
        survivors
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
    /// Memory of one record's place.
    pub(super) const PLACE_BYTES: usize = size_of::<u32>();

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
