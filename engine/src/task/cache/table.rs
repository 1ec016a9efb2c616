//! The latest values of recently updated keys: a hash table over one row of entries, laid out for few cache misses.
//!
//! Millions of keys don't fit into a core's caches, so a lookup costs what its misses cost: one for the table, one for
//! the entry. A turn looks all of its keys up together and touches what each will need before it needs any of it, so
//! that the misses overlap.

use crate::log::batch::Entries;
use crate::prefix::prefix;
use crate::source::hash;

/// Bits of a table's word that say where the entry is, plus one; the bits above it are the hash's own.
const PLACE_BITS: u32 = 40;
/// What stands before an entry's key: four little-endian numbers of 32 bits.
const HEAD_BYTES: usize = 16;
/// Stands for the length of a value that was deleted.
const DELETED: u32 = u32::MAX;
/// Stands for the length of a value that has moved to another entry.
const MOVED: u32 = u32::MAX - 1;

/// The start of an entry. The key follows, then `space` bytes for the value.
#[derive(Clone, Copy, Debug)]
struct Head {
    key_bytes: u32,
    value_bytes: u32,
    space: u32,
    waiting: bool,
}

impl Head {
    fn decode(bytes: &[u8]) -> Self {
        let (words, _) = bytes[..HEAD_BYTES].as_chunks::<4>();
        let [key_bytes, value_bytes, space, waiting] = [0, 1, 2, 3].map(|at| u32::from_le_bytes(words[at]));
        Self { key_bytes, value_bytes, space, waiting: waiting != 0 }
    }

    fn encode(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        let words = [self.key_bytes, self.value_bytes, self.space, u32::from(self.waiting)];
        for (to, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// Where the value starts, for an entry at `place`.
    fn value_at(&self, place: usize) -> usize {
        place + HEAD_BYTES + self.key_bytes as usize
    }

    /// Where the next entry starts.
    fn end(&self, place: usize) -> usize {
        self.value_at(place) + self.space as usize
    }
}

/// The latest values of recently updated keys.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// Open addressing; 0 for free. A power of two, at least twice as long as there are keys.
    table: Vec<u64>,
    keys: usize,
    /// Entries, one after another.
    bytes: Vec<u8>,
    /// Where the entries are that the store lacks.
    waiting: Vec<usize>,
}

impl Cache {
    /// Keys that wait for a commit.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Memory in use, roughly.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.table) + size_of_val(&*self.waiting)
    }

    /// Takes in a turn's updates.
    pub(crate) fn apply(&mut self, updates: Entries<'_>) {
        for (key, value) in updates {
            self.put(key, value);
        }
    }

    /// Looks many keys up at once: `visit` gets the value of each, `Some(None)` if it is known to have none, `None` if
    /// it is not known.
    pub(crate) fn get_each<'a>(
        &'a self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<Option<&'a [u8]>>),
    ) {
        let mask = self.table.len().wrapping_sub(1);
        let word = |hash: u64| self.table.get(hash as usize & mask).copied().unwrap_or_default();
        let hashes: Vec<u64> = keys.iter().map(|key| hash(key)).collect();
        let words: Vec<u64> = hashes.iter().map(|&hash| word(hash)).collect();
        // Nothing here waits for anything else, so that the processor fetches many entries at a time.
        let touched: u64 = words.iter().filter_map(|&word| Some(u64::from(self.bytes[place(word)?]))).sum();
        std::hint::black_box(touched);
        for (number, (key, hash)) in keys.iter().zip(hashes).enumerate() {
            visit(number, self.find(key, hash).map(|place| self.value(place)));
        }
    }

    /// What waits for the store, in key order.
    pub(crate) fn updates(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let live = self.waiting.iter().filter(|&&place| self.head(place).value_bytes != MOVED);
        let mut sorted: Vec<_> = live.map(|&place| (prefix(self.key(place)), place)).collect();
        sorted.sort_unstable_by(|(a, a_place), (b, b_place)| {
            a.cmp(b).then_with(|| self.key(*a_place).cmp(self.key(*b_place)))
        });
        sorted.into_iter().map(|(_, place)| (self.key(place), self.value(place)))
    }

    /// Everything is in the store by now; if more memory than `limit` is in use, it is given up.
    pub(crate) fn committed(&mut self, limit: usize) {
        if self.memory() > limit {
            self.table.fill(0);
            self.keys = 0;
            self.bytes.clear();
            self.waiting.clear();
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        for place in waiting.drain(..) {
            let head = Head { waiting: false, ..self.head(place) };
            self.set_head(place, head);
        }
        self.waiting = waiting;
    }

    fn head(&self, place: usize) -> Head {
        Head::decode(&self.bytes[place..])
    }

    fn set_head(&mut self, place: usize, head: Head) {
        self.bytes[place..place + HEAD_BYTES].copy_from_slice(&head.encode());
    }

    fn key(&self, place: usize) -> &[u8] {
        let start = place + HEAD_BYTES;
        &self.bytes[start..start + self.head(place).key_bytes as usize]
    }

    fn value(&self, place: usize) -> Option<&[u8]> {
        let head = self.head(place);
        let start = head.value_at(place);
        (head.value_bytes != DELETED).then(|| &self.bytes[start..start + head.value_bytes as usize])
    }

    /// Where the key's entry is.
    fn find(&self, key: &[u8], hash: u64) -> Option<usize> {
        let mask = self.table.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let word = self.table[at];
            let place = place(word)?;
            if word >> PLACE_BITS == hash >> PLACE_BITS && self.key(place) == key {
                return Some(place);
            }
            at = (at + 1) & mask;
        }
    }

    fn put(&mut self, key: &[u8], value: Option<&[u8]>) {
        let hash = hash(key);
        let needed = value.map_or(0, <[u8]>::len);
        let place = match self.find(key, hash) {
            Some(place) if self.head(place).space as usize >= needed => place,
            Some(place) => self.relocate(place, key, hash, needed),
            None => self.insert(key, hash, needed),
        };
        let mut head = self.head(place);
        if !head.waiting {
            head.waiting = true;
            self.waiting.push(place);
        }
        head.value_bytes = value.map_or(DELETED, |value| value.len() as u32);
        self.set_head(place, head);
        let start = head.value_at(place);
        self.bytes[start..start + needed].copy_from_slice(value.unwrap_or_default());
    }

    /// Makes an entry for a key that has none.
    fn insert(&mut self, key: &[u8], hash: u64, space: usize) -> usize {
        if self.table.len() < 2 * (self.keys + 1) {
            self.grow();
        }
        self.keys += 1;
        let place = self.push(key, space);
        enter(&mut self.table, hash, place);
        place
    }

    /// Makes a wider entry for a key; the old one's memory is lost until the cache is emptied.
    fn relocate(&mut self, old: usize, key: &[u8], hash: u64, space: usize) -> usize {
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        while place(self.table[at]) != Some(old) {
            at = (at + 1) & mask;
        }
        let new = self.push(key, space);
        self.table[at] = word(hash, new);
        self.set_head(old, Head { value_bytes: MOVED, ..self.head(old) });
        new
    }

    fn push(&mut self, key: &[u8], space: usize) -> usize {
        let place = self.bytes.len();
        let head =
            Head { key_bytes: key.len() as u32, value_bytes: DELETED, space: space as u32, waiting: false };
        self.bytes.extend_from_slice(&head.encode());
        self.bytes.extend_from_slice(key);
        self.bytes.resize(self.bytes.len() + space, 0);
        place
    }

    fn grow(&mut self) {
        let mut table = vec![0; (self.table.len() * 2).max(1 << 10)];
        let mut place = 0;
        while place < self.bytes.len() {
            let head = self.head(place);
            if head.value_bytes != MOVED {
                enter(&mut table, hash(self.key(place)), place);
            }
            place = head.end(place);
        }
        self.table = table;
    }
}

/// The word for an entry at `place`.
fn word(hash: u64, place: usize) -> u64 {
    hash >> PLACE_BITS << PLACE_BITS | (place as u64 + 1)
}

/// Where a word's entry is; `None` for a free one.
fn place(word: u64) -> Option<usize> {
    ((word & ((1 << PLACE_BITS) - 1)) as usize).checked_sub(1)
}

/// Enters a key that `table` lacks.
fn enter(table: &mut [u64], hash: u64, place: usize) {
    let mask = table.len() - 1;
    let mut at = hash as usize & mask;
    while table[at] != 0 {
        at = (at + 1) & mask;
    }
    table[at] = word(hash, place);
}
