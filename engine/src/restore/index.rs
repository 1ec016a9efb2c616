//! Which records of a chunk of the log survive, and where each belongs among the sorted survivors: known from keys
//! and lengths alone, so that no value is held for it.

use std::ops::Range;
use std::thread;

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
    buckets: Vec<Vec<Entry>>,
    records: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { cuts: Vec::new(), buckets: vec![Vec::new()], records: 0 }
    }
}

impl Index {
    /// Memory of one record, half as much again for buckets that grow.
    pub(super) const RECORD_BYTES: usize = size_of::<Entry>() * 3 / 2;

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
        let bucket = &mut self.buckets[self.cuts.partition_point(|cut| *cut <= order)];
        if bucket.len() == bucket.capacity() {
            // Doubling could leave half of the memory unused.
            bucket.reserve_exact((bucket.len() / 4).max(256));
        }
        bucket.push(entry);
    }

    /// Cuts the key space where the records so far are cut into equal parts.
    fn cut(&mut self) {
        let sample = std::mem::take(&mut self.buckets).concat();
        let mut orders: Vec<_> = sample.iter().map(Entry::order).collect();
        orders.sort_unstable();
        self.cuts = (1..BUCKETS).map(|nth| orders[nth * orders.len() / BUCKETS]).collect();
        self.cuts.dedup();
        self.buckets = vec![Vec::new(); self.cuts.len() + 1];
        sample.into_iter().for_each(|entry| self.enter(entry));
    }

    /// Finds the survivors and lays them out in pieces of about `piece_bytes`.
    pub(super) fn layout(mut self, piece_bytes: usize, helper: bool) -> Layout {
        self.sort(helper);
        let mut layout = Layout { places: vec![NOWHERE; self.records], pieces: Vec::new() };
        let (mut start, mut end) = (0_u32, 0_u32);
        let mut last = None;
        for survivor in self.buckets.into_iter().flatten() {
            // Keys that may be one must not come into two pieces.
            let full = end > start && (end - start) as usize >= piece_bytes;
            if full && last != Some(survivor.order()) {
                layout.pieces.push(start..end);
                start = end;
            }
            last = Some(survivor.order());
            layout.places[survivor.nth as usize] = end;
            end += survivor.bytes();
        }
        if end > start {
            layout.pieces.push(start..end);
        }
        layout
    }

    /// Brings the buckets into order and drops what was overwritten.
    fn sort(&mut self, helper: bool) {
        let work = |buckets: &mut [Vec<Entry>]| {
            for bucket in buckets {
                bucket.sort_unstable_by_key(Entry::rank);
                bucket.dedup_by(|later, kept| !kept.is_long() && later.order() == kept.order());
            }
        };
        if !helper {
            return work(&mut self.buckets);
        }
        let mut before = 0;
        let half = self.buckets.iter().position(|bucket| {
            before += bucket.len();
            before > self.records / 2
        });
        let (low, high) = self.buckets.split_at_mut(half.unwrap_or_default());
        thread::scope(|scope| {
            scope.spawn(|| work(low));
            work(high);
        });
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
