//! Reading a segment from its start when a log opens: where its batches are, and whether what follows them is a torn
//! tail (an append that a crash cut short) or damage.

use std::io;

use super::batch::{Batch, Broken, HEADER_BYTES, Header};
use super::io::SegmentFile;
use super::segment::Segment;
use crate::position::{Claim, Epoch, Offset};

/// Bytes read at a time.
const READ_BYTES: usize = 256 << 10;

/// What scanning one segment found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The last fence's claim.
    pub(super) claim: Option<Claim>,
    /// Where a new epoch begins: first offset and epoch.
    pub(super) epochs: Vec<(Offset, Epoch)>,
    /// The offset after the last whole batch.
    pub(super) end: Offset,
    /// Why the bytes after the last whole batch are not one; `None` where the file ends with it.
    pub(super) broken: Option<&'static str>,
    /// Whether a whole later batch comes after the broken bytes: then they are not a tail.
    pub(super) followed: bool,
}

/// Scans `file`, whose first batch must have base offset `segment.base`, and fills in `segment`'s bytes and index.
pub(super) fn scan(file: &dyn SegmentFile, segment: &mut Segment) -> io::Result<Scan> {
    let mut found = Scan { end: segment.base, ..Scan::default() };
    let mut window = Window::new(file)?;
    loop {
        match window.batch()? {
            Ok(None) => return Ok(found),
            Ok(Some(batch)) if batch.base() == found.end => {
                segment.note(&batch);
                found.end = batch.end();
                found.claim = batch.claim().or(found.claim);
                if found.epochs.last().is_none_or(|&(_, epoch)| epoch != batch.epoch()) {
                    found.epochs.push((batch.base(), batch.epoch()));
                }
                let bytes = batch.bytes();
                window.advance(bytes);
            }
            Ok(Some(_)) => found.broken = Some("its base offset does not follow the batch before it"),
            Err(what) => found.broken = Some(what),
        }
        if found.broken.is_some() {
            found.followed = window.whole_batch_ahead(found.end)?;
            return Ok(found);
        }
    }
}

/// A moving view of a file, from `position` on.
struct Window<'a> {
    file: &'a dyn SegmentFile,
    file_bytes: u64,
    position: u64,
    buffer: Vec<u8>,
    start: usize,
}

impl<'a> Window<'a> {
    fn new(file: &'a dyn SegmentFile) -> io::Result<Self> {
        Ok(Self { file, file_bytes: file.bytes()?, position: 0, buffer: Vec::new(), start: 0 })
    }

    fn left(&self) -> u64 {
        self.file_bytes - self.position
    }

    fn advance(&mut self, bytes: usize) {
        self.start += bytes;
        self.position += bytes as u64;
    }

    /// At least `bytes` from the position on, or all that the file has.
    fn fill(&mut self, bytes: usize) -> io::Result<&[u8]> {
        let held = self.buffer.len() - self.start;
        let wanted = u64::min(bytes as u64, self.left()) as usize;
        if held < wanted {
            self.buffer.drain(..self.start);
            self.start = 0;
            self.buffer.resize(u64::min(wanted.max(READ_BYTES) as u64, self.left()) as usize, 0);
            read_exact(self.file, &mut self.buffer[held..], self.position + held as u64)?;
        }
        Ok(&self.buffer[self.start..])
    }

    /// The batch at the position; `Ok(None)` at the end of the file.
    fn batch(&mut self) -> io::Result<Result<Option<Batch<'_>>, &'static str>> {
        if self.left() == 0 {
            return Ok(Ok(None));
        }
        let bytes = match Header::decode(self.fill(HEADER_BYTES)?) {
            Ok(header) => header.bytes,
            Err(Broken::Short(_)) => return Ok(Err("the file ends in it")),
            Err(Broken::Wrong(what)) => return Ok(Err(what)),
        };
        Ok(match Batch::decode(self.fill(bytes)?) {
            Ok(batch) => Ok(Some(batch)),
            Err(Broken::Short(_)) => Err("the file ends in it"),
            Err(Broken::Wrong(what)) => Err(what),
        })
    }

    /// Whether a whole batch with an offset from `end` on starts anywhere behind the position.
    fn whole_batch_ahead(&mut self, end: Offset) -> io::Result<bool> {
        while self.left() > HEADER_BYTES as u64 {
            self.advance(1);
            let plausible = Header::decode(self.fill(HEADER_BYTES)?)
                .is_ok_and(|header| header.base >= end && header.bytes as u64 <= self.left());
            if plausible && matches!(self.batch()?, Ok(Some(_))) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Fills `space` from `position` on, however short the reads.
pub(super) fn read_exact(file: &dyn SegmentFile, mut space: &mut [u8], mut position: u64) -> io::Result<()> {
    while !space.is_empty() {
        match file.read_at(space, position) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => {
                space = &mut space[bytes..];
                position += bytes as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
