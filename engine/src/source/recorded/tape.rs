//! One task's records on disk, in order, sixteen bytes each: a recorded load is as long as it likes, and takes memory
//! for its keys and for one time in 4,096 alone.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use parking_lot::Mutex;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// From the load's first record, in ns.
    pub(super) time: u64,
    /// The number of its key.
    pub(super) key: u32,
    /// Its size.
    pub(super) bytes: u32,
}

const ENTRY_BYTES: usize = 16;
/// Records that are read at a time.
const PAGE: u64 = 4_096;

impl Entry {
    fn encode(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.time.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.key.to_le_bytes());
        bytes[12..].copy_from_slice(&self.bytes.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let [t0, t1, t2, t3, t4, t5, t6, t7, k0, k1, k2, k3, b0, b1, b2, b3] = *bytes;
        Self {
            time: u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
            key: u32::from_le_bytes([k0, k1, k2, k3]),
            bytes: u32::from_le_bytes([b0, b1, b2, b3]),
        }
    }
}

/// A tape that is being written.
#[derive(Debug)]
pub(super) struct Recorder {
    file: BufWriter<File>,
    starts: Vec<u64>,
    entries: u64,
    last: u64,
}

impl Recorder {
    /// Onto a file without a name, which is gone with its last user.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile()?), starts: Vec::new(), entries: 0, last: 0 })
    }

    /// Adds a record that is no earlier than those before it.
    pub(super) fn push(&mut self, entry: Entry) -> io::Result<()> {
        if self.entries.is_multiple_of(PAGE) {
            self.starts.push(entry.time);
        }
        self.entries += 1;
        self.last = entry.time;
        self.file.write_all(&entry.encode())
    }

    /// Ends writing.
    pub(super) fn finish(self) -> io::Result<Tape> {
        let Self { file, starts, entries, last } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Tape { file, starts, entries, last, page: Mutex::default() })
    }
}

/// Records that can be read at any place.
#[derive(Debug)]
pub(super) struct Tape {
    file: File,
    /// The time of the first record of each page.
    starts: Vec<u64>,
    entries: u64,
    last: u64,
    /// The page that a time was looked up in last.
    page: Mutex<Option<(u64, Vec<Entry>)>>,
}

impl Tape {
    /// How many records.
    pub(super) fn len(&self) -> u64 {
        self.entries
    }

    /// The last record's time; 0 if there is none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// A time that is not after that of the record `nth`.
    pub(super) fn start_before(&self, nth: u64) -> u64 {
        self.starts.get((nth / PAGE) as usize).copied().unwrap_or(self.last)
    }

    /// The page with the record `nth`: the number of its first record, and its records.
    pub(super) fn page(&self, nth: u64) -> io::Result<(u64, Vec<Entry>)> {
        let first = nth / PAGE * PAGE;
        let count = PAGE.min(self.entries.saturating_sub(first)) as usize;
        let mut bytes = vec![0; count * ENTRY_BYTES];
        self.file.read_exact_at(&mut bytes, first * ENTRY_BYTES as u64)?;
        let (entries, _) = bytes.as_chunks::<ENTRY_BYTES>();
        Ok((first, entries.iter().map(Entry::decode).collect()))
    }

    /// Records that are no later than `time`.
    pub(super) fn within(&self, time: u64) -> io::Result<u64> {
        if time >= self.last {
            return Ok(self.entries);
        }
        let Some(page) = self.starts.partition_point(|&start| start <= time).checked_sub(1) else {
            return Ok(0);
        };
        let first = page as u64 * PAGE;
        let mut held = self.page.lock();
        if held.as_ref().is_none_or(|(at, _)| *at != first) {
            *held = Some(self.page(first)?);
        }
        let entries = held.as_ref().map_or(&[][..], |(_, entries)| entries);
        Ok(first + entries.partition_point(|entry| entry.time <= time) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_found_by_place_and_by_time() {
        let mut recorder = Recorder::new().unwrap();
        let entry = |nth: u64| Entry { time: nth / 3 * 10, key: nth as u32, bytes: 7 };
        let count = 3 * PAGE + 17;
        (0..count).for_each(|nth| recorder.push(entry(nth)).unwrap());
        let tape = recorder.finish().unwrap();
        assert_eq!((tape.len(), tape.last()), (count, entry(count - 1).time));
        for nth in [0, 1, PAGE - 1, PAGE, 2 * PAGE + 5, count - 1] {
            let (first, page) = tape.page(nth).unwrap();
            assert_eq!(page[(nth - first) as usize], entry(nth));
            let time = entry(nth).time;
            assert_eq!(tape.within(time).unwrap(), (nth / 3 * 3 + 3).min(count), "{nth}");
            assert_eq!(tape.within(time + 9).unwrap(), (nth / 3 * 3 + 3).min(count), "{nth}");
        }
        assert_eq!(tape.within(u64::MAX).unwrap(), count);
    }
}
