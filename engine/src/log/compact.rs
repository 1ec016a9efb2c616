//! Compaction: closed segments are written anew with the latest update of each key alone.
//!
//! Offsets stay: a batch goes on covering those that it covered, and one whose updates are all superseded is joined to
//! its neighbour of the same epoch. What is always kept is the newest `__resume` of every stretch of one epoch, every
//! fence, and deletions, since a copy elsewhere may hold the key. The segment that is written to is left alone.
//!
//! A segment is replaced in one step: the new file is whole before it takes the old one's name, and readers that are in
//! the middle of the old one go on at their offset in the new one. A crash leaves at most a file that nobody reads.

use std::io;
use std::path::Path;

use super::batch::{Batch, BatchBuilder, Broken, HEADER_BYTES, Kind, Resume};
use super::io::SegmentFiles;
use super::scan::read_exact;
use super::segment::{Segment, Shared};
use crate::error::LogError;
use crate::position::{Epoch, Offset};
use crate::source::KeyMap;

/// What a compaction did, in bytes of the segments that it went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Before.
    pub bytes_before: u64,
    /// After.
    pub bytes_after: u64,
}

/// Closed segments of a log: what there is to compact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of those that have never been compacted.
    pub dirty_bytes: u64,
}

/// Joined batches grow no larger than this.
const BATCH_BYTES: usize = 256 << 10;
/// Ending of a file that is being written.
const PARTIAL: &str = "compacting";

/// Where the latest update of each key is: base offset of its batch, and its number in there.
type Latest = KeyMap<(u64, u32)>;

/// Compacts the closed segments, as many from the start as have at most `most_keys` keys (but at least one).
pub(super) fn compact(log: &Shared, most_keys: usize) -> Result<Compacted, LogError> {
    let _alone = log.compacting.lock();
    let closed = {
        let state = log.state.lock();
        state.segments[..state.segments.len() - 1].to_vec()
    };
    let mut latest = Latest::default();
    let mut covered = 0;
    for segment in &closed {
        note_latest(&load(log, segment)?, segment, &mut latest)?;
        covered += 1;
        if latest.len() >= most_keys {
            break;
        }
    }
    let mut done = Compacted::default();
    for segment in &closed[..covered] {
        let before = load(log, segment)?;
        let after = rewrite(&before, segment, &latest)?;
        done.bytes_before += before.len() as u64;
        done.bytes_after += after.len() as u64;
        replace(log, segment, &after)?;
    }
    Ok(done)
}

/// A whole segment. Closed ones are as large as the log's options say.
fn load(log: &Shared, segment: &Segment) -> Result<Vec<u8>, LogError> {
    let io = |source| LogError::Io { path: segment.path.clone(), source };
    let file = log.files.open(&segment.path).map_err(io)?;
    let mut bytes = vec![0; segment.bytes as usize];
    read_exact(&*file, &mut bytes, 0).map_err(io)?;
    Ok(bytes)
}

/// Visits each batch of a segment with its bytes.
fn each_batch<'a>(
    bytes: &'a [u8],
    segment: &Segment,
    mut visit: impl FnMut(Batch<'a>, &'a [u8]),
) -> Result<(), LogError> {
    let mut at = 0;
    while at < bytes.len() {
        let batch = Batch::decode(&bytes[at..]).map_err(|broken| LogError::Damaged {
            path: segment.path.clone(),
            position: at as u64,
            what: match broken {
                Broken::Short(_) => "the segment ends in it",
                Broken::Wrong(what) => what,
            },
        })?;
        visit(batch, &bytes[at..at + batch.bytes()]);
        at += batch.bytes();
    }
    Ok(())
}

fn note_latest(bytes: &[u8], segment: &Segment, latest: &mut Latest) -> Result<(), LogError> {
    each_batch(bytes, segment, |batch, _| {
        for (number, (key, _)) in (0..).zip(batch.updates()) {
            match latest.get_mut(key) {
                Some(place) => *place = (batch.base().0, number),
                None => drop(latest.insert(key.into(), (batch.base().0, number))),
            }
        }
    })
}

/// The segment's batches with the latest updates alone.
fn rewrite(bytes: &[u8], segment: &Segment, latest: &Latest) -> Result<Vec<u8>, LogError> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut joined: Option<Joined> = None;
    each_batch(bytes, segment, |batch, whole| {
        let Some(resume) = batch.resume() else {
            finish(joined.take(), &mut out);
            out.extend_from_slice(whole);
            return;
        };
        let full = |so_far: &mut Joined| so_far.epoch != batch.epoch() || !so_far.has_room(&batch);
        finish(joined.take_if(full), &mut out);
        let so_far = joined.get_or_insert_with(|| Joined::new(batch.base(), batch.epoch()));
        for (number, (key, value)) in (0..).zip(batch.updates()) {
            if latest.get(key) == Some(&(batch.base().0, number)) {
                match value {
                    Some(value) => so_far.updates.put(key, value),
                    None => so_far.updates.delete(key),
                }
            }
        }
        so_far.records += batch.records();
        so_far.outputs += batch.outputs();
        so_far.resume = resume;
    })?;
    finish(joined.take(), &mut out);
    Ok(out)
}

/// Batches of one epoch on their way to being one.
struct Joined {
    base: Offset,
    epoch: Epoch,
    records: u32,
    outputs: u32,
    updates: BatchBuilder,
    resume: Resume,
}

impl Joined {
    fn new(base: Offset, epoch: Epoch) -> Self {
        let (updates, resume) = (BatchBuilder::default(), Resume::default());
        Self { base, epoch, records: 0, outputs: 0, updates, resume }
    }

    fn has_room(&self, batch: &Batch<'_>) -> bool {
        self.updates.bytes() + batch.bytes() <= BATCH_BYTES
            && self.records.checked_add(batch.records()).is_some()
            && self.outputs.checked_add(batch.outputs()).is_some()
    }
}

fn finish(joined: Option<Joined>, out: &mut Vec<u8>) {
    let Some(mut joined) = joined else { return };
    joined.updates.finish(joined.resume);
    joined.updates.stand_for(joined.records, joined.outputs);
    out.extend_from_slice(&joined.updates.header(Kind::Turn, joined.base, joined.epoch));
    out.extend_from_slice(joined.updates.payload());
}

/// Puts the new bytes in the old ones' place.
fn replace(log: &Shared, segment: &Segment, bytes: &[u8]) -> Result<(), LogError> {
    let partial = segment.path.with_extension(PARTIAL);
    let io = |source| LogError::Io { path: segment.path.clone(), source };
    let mut new = segment.renewed();
    each_batch(bytes, segment, |batch, _| new.note(&batch))?;
    debug_assert!(new.bytes >= HEADER_BYTES as u64, "a segment that was rolled has a batch");
    write(&*log.files, &partial, bytes, log.syncs()).map_err(io)?;
    // Readers look the segment up and open its file under this lock.
    let mut state = log.state.lock();
    log.files.rename(&partial, &segment.path).map_err(io)?;
    let at = state.segments.partition_point(|other| other.base < segment.base);
    if let Some(place) = state.segments.get_mut(at) {
        *place = new;
    }
    Ok(())
}

fn write(files: &dyn SegmentFiles, path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    let file = files.open(path)?;
    // It may be left over from a compaction that was interrupted.
    file.truncate(0)?;
    file.write_at(bytes, 0)?;
    if sync { file.sync() } else { Ok(()) }
}
