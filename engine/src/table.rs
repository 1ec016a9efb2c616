//! Values by key in memory: a hash table over one row of entries, laid out for few cache misses.
//!
//! Millions of keys don't fit into a core's caches, so a lookup costs what its misses cost: one for the table, one for
//! the entry. A turn looks all of its keys up together and touches what each will need before it needs any of it, so
//! that the misses overlap.

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
    marked: bool,
}

impl Head {
    fn decode(bytes: &[u8]) -> Self {
        let (words, _) = bytes[..HEAD_BYTES].as_chunks::<4>();
        let [key_bytes, value_bytes, space, marked] = [0, 1, 2, 3].map(|at| u32::from_le_bytes(words[at]));
        Self { key_bytes, value_bytes, space, marked: marked != 0 }
    }

    fn encode(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        let words = [self.key_bytes, self.value_bytes, self.space, u32::from(self.marked)];
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

/// So many bytes of no use are left alone.
const WORTH_BYTES: usize = 64 << 10;

/// Where an entry is. Any change of the table but a mark may move it elsewhere.
pub(crate) type Place = usize;

/// Values by key. A key that was deleted stays known as one without a value.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Open addressing; 0 for free. A power of two, at least twice as long as there are keys.
    slots: Vec<u64>,
    keys: usize,
    /// Entries, one after another.
    bytes: Vec<u8>,
    /// Bytes of entries without a value: moved or deleted.
    dead: usize,
}

impl Table {
    /// Memory in use, roughly.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.slots)
    }

    /// Whether it is worth being made anew: most of it is of no use.
    pub(crate) fn is_mostly_dead(&self) -> bool {
        self.dead > (self.bytes.len() / 2).max(WORTH_BYTES)
    }

    /// Looks many keys up at once: `visit` gets the value of each, `Some(None)` if it is known to have none, `None` if
    /// it is not known.
    pub(crate) fn get_each<'a>(
        &'a self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<Option<&'a [u8]>>),
    ) {
        let mask = self.slots.len().wrapping_sub(1);
        let word = |hash: u64| self.slots.get(hash as usize & mask).copied().unwrap_or_default();
        let hashes: Vec<u64> = keys.iter().map(|key| hash(key)).collect();
        let words: Vec<u64> = hashes.iter().map(|&hash| word(hash)).collect();
        // Nothing here waits for anything else, so that the processor fetches many entries at a time.
        let touched: u64 = words.iter().filter_map(|&word| Some(u64::from(self.bytes[place(word)?]))).sum();
        std::hint::black_box(touched);
        for (number, (key, hash)) in keys.iter().zip(hashes).enumerate() {
            visit(number, self.find(key, hash).map(|place| self.value(place)));
        }
    }

    /// Sets a key's value, or that it has none.
    pub(crate) fn put(&mut self, key: &[u8], value: Option<&[u8]>) -> Place {
        let hash = hash(key);
        let needed = value.map_or(0, <[u8]>::len);
        let place = match self.find(key, hash) {
            Some(place) if self.head(place).space as usize >= needed => place,
            Some(place) => self.relocate(place, key, hash, needed),
            None => self.insert(key, hash, needed),
        };
        let mut head = self.head(place);
        let bytes = head.end(place) - place;
        self.dead -= if head.value_bytes == DELETED { bytes } else { 0 };
        self.dead += if value.is_none() { bytes } else { 0 };
        head.value_bytes = value.map_or(DELETED, |value| value.len() as u32);
        self.set_head(place, head);
        let start = head.value_at(place);
        self.bytes[start..start + needed].copy_from_slice(value.unwrap_or_default());
        place
    }

    /// Marks an entry, or takes its mark back; says what it was. An entry that is moved has none.
    pub(crate) fn mark(&mut self, place: Place, marked: bool) -> bool {
        let head = self.head(place);
        self.set_head(place, Head { marked, ..head });
        head.marked
    }

    /// Keys and values of these entries, in key order, without those that have moved since.
    pub(crate) fn sorted(
        &self,
        places: impl Iterator<Item = Place>,
    ) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let live = places.filter(|&place| self.head(place).value_bytes != MOVED);
        let mut sorted: Vec<_> = live.map(|place| (prefix(self.key(place)), place)).collect();
        sorted.sort_unstable_by(|(a, a_place), (b, b_place)| {
            a.cmp(b).then_with(|| self.key(*a_place).cmp(self.key(*b_place)))
        });
        sorted.into_iter().map(|(_, place)| (self.key(place), self.value(place)))
    }

    /// Every entry, moved ones included.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let place = next;
            (place < self.bytes.len()).then(|| {
                next = self.head(place).end(place);
                place
            })
        })
    }

    /// Forgets everything, and keeps its memory for what comes.
    pub(crate) fn clear(&mut self) {
        self.slots.fill(0);
        self.bytes.clear();
        (self.keys, self.dead) = (0, 0);
    }

    /// A table of what has a value.
    pub(crate) fn without_dead(&self) -> Self {
        let mut live = Self::default();
        for place in self.places().filter(|&place| self.head(place).value_bytes != MOVED) {
            if let Some(value) = self.value(place) {
                live.put(self.key(place), Some(value));
            }
        }
        live
    }

    fn head(&self, place: Place) -> Head {
        Head::decode(&self.bytes[place..])
    }

    fn set_head(&mut self, place: Place, head: Head) {
        self.bytes[place..place + HEAD_BYTES].copy_from_slice(&head.encode());
    }

    fn key(&self, place: Place) -> &[u8] {
        let start = place + HEAD_BYTES;
        &self.bytes[start..start + self.head(place).key_bytes as usize]
    }

    fn value(&self, place: Place) -> Option<&[u8]> {
        let head = self.head(place);
        let start = head.value_at(place);
        (head.value_bytes != DELETED).then(|| &self.bytes[start..start + head.value_bytes as usize])
    }

    /// Where the key's entry is.
    fn find(&self, key: &[u8], hash: u64) -> Option<Place> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let word = self.slots[at];
            let place = place(word)?;
            if word >> PLACE_BITS == hash >> PLACE_BITS && self.key(place) == key {
                return Some(place);
            }
            at = (at + 1) & mask;
        }
    }

    /// Makes an entry for a key that has none.
    fn insert(&mut self, key: &[u8], hash: u64, space: usize) -> Place {
        if self.slots.len() < 2 * (self.keys + 1) {
            self.grow();
        }
        self.keys += 1;
        let place = self.push(key, space);
        enter(&mut self.slots, hash, place);
        place
    }

    /// Makes a wider entry for a key; the old one's memory is lost.
    fn relocate(&mut self, old: Place, key: &[u8], hash: u64, space: usize) -> Place {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while place(self.slots[at]) != Some(old) {
            at = (at + 1) & mask;
        }
        let new = self.push(key, space);
        self.slots[at] = word(hash, new);
        let head = self.head(old);
        if head.value_bytes != DELETED {
            self.dead += head.end(old) - old;
        }
        self.set_head(old, Head { value_bytes: MOVED, ..head });
        new
    }

    /// Appends an entry without a value.
    fn push(&mut self, key: &[u8], space: usize) -> Place {
        let place = self.bytes.len();
        let head =
            Head { key_bytes: key.len() as u32, value_bytes: DELETED, space: space as u32, marked: false };
        self.bytes.extend_from_slice(&head.encode());
        self.bytes.extend_from_slice(key);
        self.bytes.resize(self.bytes.len() + space, 0);
        self.dead += self.bytes.len() - place;
        place
    }

    fn grow(&mut self) {
        let mut slots = vec![0; (self.slots.len() * 2).max(1 << 10)];
        for place in self.places() {
            if self.head(place).value_bytes != MOVED {
                enter(&mut slots, hash(self.key(place)), place);
            }
        }
        self.slots = slots;
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

/// Enters a key that `slots` lack.
fn enter(slots: &mut [u64], hash: u64, place: usize) {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    while slots[at] != 0 {
        at = (at + 1) & mask;
    }
    slots[at] = word(hash, place);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that grow, shrink and go, as of windows: what is of no use is counted, and a new table has none of it.
    #[test]
    fn what_is_dead_is_counted_and_left_behind() {
        let (mut table, mut model) = (Table::default(), std::collections::BTreeMap::new());
        for nth in 0..20_000_u64 {
            let key = (nth * nth % 700).to_le_bytes();
            let value = (nth % 5 != 0).then(|| vec![nth as u8; (nth % 90) as usize]);
            table.put(&key, value.as_deref());
            model.insert(key, value);
        }
        let bytes_of = |table: &Table, dead: bool| -> usize {
            let is_dead = |place: &Place| [DELETED, MOVED].contains(&table.head(*place).value_bytes);
            let places = table.places().filter(|place| is_dead(place) == dead);
            places.map(|place| table.head(place).end(place) - place).sum()
        };
        assert_eq!(table.dead, bytes_of(&table, true));
        let new = table.without_dead();
        assert_eq!((new.dead, new.bytes.len()), (0, bytes_of(&new, false)));
        assert!(new.bytes.len() < table.bytes.len() / 2);
        let live: Vec<_> =
            model.iter().filter_map(|(key, value)| Some((&key[..], value.as_deref()?))).collect();
        let held: Vec<_> = new.sorted(new.places()).map(|(key, value)| (key, value.unwrap())).collect();
        assert_eq!(held, live);
    }
}
