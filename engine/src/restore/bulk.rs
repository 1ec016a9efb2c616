//! The bulk phase: a chunk of the log becomes sorted files with the latest value of each key, ingested at once.
//!
//! The log is read once for an index of keys, and again, a few times at most, for the values that survive: it is
//! the one place where all of them are, so that the memory of a chunk is bounded by a setting, and what is written
//! is free of overlaps however often each key was updated. One helper thread takes half of the work.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::index::{Index, Layout, Piece};
use super::{Progress, ReplayOptions};
use crate::error::Error;
use crate::log::{LogReader, TaskLog};
use crate::position::Offset;
use crate::store::{Checkpoint, Part, PartWriter, Store};

/// A chunk is at most this many times as long as there is memory: each time costs a pass over the log.
const MOST_PASSES: u64 = 4;
/// Pieces, each a file, that a thread loads in one pass; all threads' together take up the memory at most.
const LOADED: usize = 3;
/// Smaller pieces are not worth a file, if there is the memory.
const LEAST_PIECE: usize = 4 << 20;

/// A chunk of the log on its way into the store.
#[derive(Debug)]
pub(super) struct Chunk {
    from: Offset,
    /// Where the store stands once the chunk is in it.
    to: Checkpoint,
    index: Index,
    bytes: u64,
}

impl Chunk {
    pub(super) fn new(from: Checkpoint) -> Self {
        Self { from: from.offset, to: from, index: Index::default(), bytes: 0 }
    }

    /// The offset up to which the log has been read.
    pub(super) fn end(&self) -> Offset {
        self.to.offset
    }

    /// Whether it takes no more; it always takes a first batch.
    pub(super) fn is_full(&self, options: &ReplayOptions) -> bool {
        let memory = options.chunk_bytes;
        if self.bytes == 0 {
            return false;
        }
        self.index.records() >= memory / Index::RECORD_BYTES
            || self.bytes >= (MOST_PASSES * memory as u64).min(u64::from(u32::MAX / 2))
    }

    /// Reads about `max_bytes`.
    pub(super) fn read(
        &mut self,
        reader: &mut dyn LogReader,
        max_bytes: u64,
        options: &ReplayOptions,
    ) -> Result<Progress, Error> {
        let mut done = Progress::default();
        while done.bytes < max_bytes.max(1) && !self.is_full(options) {
            let Some(batch) = reader.next()? else {
                done.at_end = true;
                break;
            };
            self.index.push(batch.updates());
            self.to = self.to.after(&batch);
            self.bytes += batch.bytes() as u64;
            done.records += u64::from(batch.records());
            done.bytes += batch.bytes() as u64;
        }
        Ok(done)
    }

    /// Brings it into the store.
    pub(super) fn ingest(
        self,
        log: &dyn TaskLog,
        store: &mut dyn Store,
        options: &ReplayOptions,
    ) -> Result<(), Error> {
        // Some of the memory is for the places, and an eighth for the files' own indices, filters and buffers.
        let room = options.chunk_bytes - options.chunk_bytes / 8;
        let room = room.saturating_sub(self.index.records() * Layout::PLACE_BYTES);
        let threads = 1 + usize::from(options.helper);
        let layout = self.index.layout(options.helper, |total| piece_bytes(total, room, threads));
        let writer = store.part_writer();
        let parts = write_all(log, &(self.from..self.to.offset), &layout, &*writer, options.helper)?;
        store.ingest(parts, self.to)?;
        Ok(())
    }
}

/// How long pieces of `total` bytes are of which `threads` load [`LOADED`] each at a time into `room` bytes: as many
/// passes over the log as it takes, all of them alike, so that no thread has more to do than another.
fn piece_bytes(total: usize, room: usize, threads: usize) -> usize {
    let at_once = threads * LOADED;
    let most = (room / at_once).max(1);
    let passes = total.div_ceil(most * at_once).max(1);
    total.div_ceil(passes * at_once).max(LEAST_PIECE.min(most))
}

/// Loads and writes all pieces, a few at a time on each thread.
fn write_all(
    log: &dyn TaskLog,
    chunk: &Range<Offset>,
    layout: &Layout,
    writer: &dyn PartWriter,
    helper: bool,
) -> Result<Vec<Part>, Error> {
    let next = AtomicUsize::new(0);
    let groups: Vec<_> = layout.pieces.chunks(LOADED).collect();
    let work = || -> Result<Vec<Part>, Error> {
        let mut parts = Vec::new();
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            for piece in load(log, chunk, layout, group)? {
                parts.push(writer.write(&mut piece.entries())?);
            }
        }
        Ok(parts)
    };
    thread::scope(|scope| {
        let helping = helper.then(|| scope.spawn(work));
        let mut parts = work()?;
        if let Some(helping) = helping {
            parts.extend(helping.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(parts)
    })
}

/// Reads the chunk again for what belongs into `pieces`.
fn load(
    log: &dyn TaskLog,
    chunk: &Range<Offset>,
    layout: &Layout,
    pieces: &[Range<u32>],
) -> Result<Vec<Piece>, Error> {
    let mut reader = log.read(chunk.start)?;
    let mut load = layout.load(pieces);
    let mut at = chunk.start;
    while at < chunk.end {
        let Some(batch) = reader.next()? else { break };
        load.push(batch.updates());
        at = batch.end();
    }
    Ok(load.into_pieces())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_alike_and_fit() {
        const MIB: usize = 1 << 20;
        for (total, room, threads, expected) in [
            // All in one pass.
            (180 * MIB, 192 * MIB, 2, 30 * MIB),
            (180 * MIB, 192 * MIB, 1, 60 * MIB),
            // A little too much for one pass is two half ones, not a full one and a rest for one thread.
            (240 * MIB, 192 * MIB, 2, 20 * MIB),
            // Few bytes are few files.
            (6 * MIB, 192 * MIB, 2, 4 * MIB),
            // Little memory is many.
            (240 * MIB, 6 * MIB, 2, MIB),
            (100, 0, 2, 1),
            (0, 192 * MIB, 2, 4 * MIB),
        ] {
            assert_eq!(piece_bytes(total, room, threads), expected, "{total} {room} {threads}");
        }
    }
}
