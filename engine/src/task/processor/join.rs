//! The processor `join`: a stream of records meets a table that changes under way.
//!
//! Stream and table come merged in one order, that of the source's offsets, so that a record always meets the same row
//! whoever processes it. Every `table_every`-th record (drawn by its offset), and everything that is preloaded, is a
//! row: it replaces its key's. Every other record joins the row that its key has by then, or none: a row that comes
//! later than a record does not change what the record has met.

use super::count::Counted;
use super::keyed::{Fields, Keyed, fill};
use crate::clock::Time;
use crate::source::mix;

/// What `join` keeps of a key. Every record of the key is in one of the three counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// The key's row: the source offset that it came from plus one, 0 for none.
    pub row: u64,
    /// Rows so far.
    pub rows: Counted,
    /// Records that met a row; the sum is over record *and* row.
    pub matched: Counted,
    /// Records that met none.
    pub unmatched: Counted,
}

/// Joins a stream with a table.
#[derive(Clone, Copy, Debug)]
pub struct Join {
    table_every: u64,
    value_bytes: usize,
}

const BYTES: usize = 8 + 3 * Counted::BYTES;

impl Join {
    /// One record of `table_every` (at least 1) is a row. Values are padded to `value_bytes`.
    #[must_use]
    pub fn new(table_every: u32, value_bytes: usize) -> Self {
        Self { table_every: u64::from(table_every.max(1)), value_bytes: value_bytes.max(BYTES) }
    }

    fn is_row(&self, offset: u64, time: Time) -> bool {
        // What is preloaded has no time of its own.
        time == Time::ZERO || mix(!offset).is_multiple_of(self.table_every)
    }
}

impl Keyed for Join {
    type State = Joined;

    fn add(&self, state: &mut Joined, offset: u64, time: Time) -> u32 {
        if self.is_row(offset, time) {
            state.row = offset + 1;
            state.rows.add(offset);
            return 0;
        }
        if state.row == 0 {
            state.unmatched.add(offset);
            return 0;
        }
        state.matched.count += 1;
        state.matched.sum = state.matched.sum.wrapping_add(mix(offset ^ mix(state.row)));
        1
    }

    fn decode(&self, value: &[u8]) -> Option<Joined> {
        let mut fields = Fields(value);
        Some(Joined {
            row: fields.number()?,
            rows: fields.counted()?,
            matched: fields.counted()?,
            unmatched: fields.counted()?,
        })
    }

    fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    fn encode(&self, state: &Joined, value: &mut [u8]) {
        let counts = [state.rows, state.matched, state.unmatched];
        fill(value, std::iter::once(state.row).chain(counts.into_iter().flat_map(|of| [of.count, of.sum])));
    }

    fn compare(&self, expected: &Joined, applied: &Joined, part: &mut dyn FnMut(Counted, Counted)) {
        part(expected.rows, applied.rows);
        part(expected.matched, applied.matched);
        part(expected.unmatched, applied.unmatched);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_record_meets_the_row_before_it_and_not_the_one_after() {
        let join = Join::new(u32::MAX, 0);
        let mut state = Joined::default();
        assert_eq!(join.add(&mut state, 0, Time(5)), 0, "no row yet");
        join.add(&mut state, 1, Time::ZERO);
        assert_eq!(join.add(&mut state, 2, Time(6)), 1);
        let met = state.matched;
        join.add(&mut state, 3, Time::ZERO);
        assert_eq!(state.matched, met, "a later row changes nothing that was joined");
        assert_eq!((state.row, state.rows.count, state.unmatched.count), (4, 2, 1));
    }

    proptest! {
        /// Against a model that looks the row of each record up in the whole history.
        #[test]
        fn each_record_meets_the_newest_row_of_its_past(every in 1_u32..6, records in 1_u64..200) {
            let join = Join::new(every, 0);
            let mut state = Joined::default();
            let mut expected = Joined::default();
            let rows: Vec<u64> = (0..records).filter(|&at| join.is_row(at, Time(1))).collect();
            for offset in 0..records {
                join.add(&mut state, offset, Time(1));
                let mut value = vec![0; join.value_bytes()];
                join.encode(&state, &mut value);
                assert_eq!(join.decode(&value).unwrap(), state);
                if rows.contains(&offset) {
                    expected.rows.add(offset);
                } else if let Some(row) = rows.iter().rfind(|&&row| row < offset) {
                    expected.matched.count += 1;
                    expected.matched.sum = expected.matched.sum.wrapping_add(mix(offset ^ mix(row + 1)));
                } else {
                    expected.unmatched.add(offset);
                }
            }
            expected.row = rows.last().map_or(0, |row| row + 1);
            assert_eq!(state, expected);
        }
    }
}
