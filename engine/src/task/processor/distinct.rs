//! The distinct keys of a turn, numbered in order of first appearance.

use crate::source::{Records, hash};

/// A table from keys to numbers that is reused from turn to turn.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    /// Open addressing; a number plus one, 0 for free. A power of two, at least twice as long as there are keys.
    table: Vec<u32>,
    /// The first record of each distinct key.
    first: Vec<u32>,
}

impl Distinct {
    /// Empties it, with space for the keys of `records` records.
    pub(super) fn reset(&mut self, records: usize) {
        self.table.clear();
        self.table.resize((records * 2).next_power_of_two().max(16), 0);
        self.first.clear();
    }

    /// The number of the key of the record at `index`.
    pub(super) fn number(&mut self, records: &Records, index: usize) -> usize {
        let key = records.key(index);
        let mask = self.table.len() - 1;
        let mut at = hash(key) as usize & mask;
        loop {
            match self.table[at] {
                0 => {
                    self.first.push(index as u32);
                    self.table[at] = self.first.len() as u32;
                    return self.first.len() - 1;
                }
                taken if records.key(self.first[taken as usize - 1] as usize) == key => {
                    return taken as usize - 1;
                }
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The distinct keys by number.
    pub(super) fn keys<'a>(&'a self, records: &'a Records) -> impl Iterator<Item = &'a [u8]> {
        self.first.iter().map(|&index| records.key(index as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Time;

    #[test]
    fn equal_keys_share_a_number() {
        let mut records = Records::default();
        for key in ["b", "a", "b", "", "a", "c"] {
            records.push(0, Time::ZERO, key.as_bytes(), 0);
        }
        let mut distinct = Distinct::default();
        for _ in 0..2 {
            distinct.reset(records.len());
            let numbers: Vec<_> = (0..records.len()).map(|at| distinct.number(&records, at)).collect();
            assert_eq!(numbers, [0, 1, 0, 2, 1, 3]);
            assert!(distinct.keys(&records).eq([&b"b"[..], b"a", b"", b"c"]));
        }
    }
}
