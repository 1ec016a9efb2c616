//! What one turn of a task leaves in its log: state updates, a count of output records, and where to resume.
//!
//! The encoding is the file format (little-endian; all of it but the first eight bytes is under the CRC):
//!
//! | bytes | field |
//! | --- | --- |
//! | 4 | length of everything after this field |
//! | 4 | CRC-32C of everything after this field |
//! | 8 | base offset |
//! | 8 | epoch |
//! | 1 | kind: 0 turn, 1 fence |
//! | 4 | records (updates, the resume record among them) |
//! | 4 | output records |
//! | rest | records: key length (2), value length (4, `u32::MAX` for a deletion), key, value |
//!
//! Every record takes one offset; a compacted batch holds fewer records than it says, and covers their offsets still. The last record of a turn is its [`Resume`] under the reserved key
//! [`RESUME_KEY`]; the only record of a fence is its [`Claim`] under [`FENCE_KEY`]. Reserved keys start with the
//! byte 0xff, which no UTF-8 text contains.

use crate::clock::Time;
use crate::position::{Claim, Epoch, Generation, Incarnation, Offset};

/// Bytes of a batch before its records.
pub const HEADER_BYTES: usize = 33;
/// No batch is longer; a length beyond it in a file is damage.
pub const MAX_BATCH_BYTES: usize = 64 << 20;
/// First byte of every key that no task may use.
pub const RESERVED: u8 = 0xff;
/// The key of a turn's last record.
pub const RESUME_KEY: &[u8] = b"\xff__resume";
/// The key of a fence's only record.
pub const FENCE_KEY: &[u8] = b"\xff__fence";

/// Length and CRC come before what the CRC covers.
const UNCOVERED: usize = 8;
const ENTRY_BYTES: usize = 6;
const DELETED: u32 = u32::MAX;
/// Both reserved records have fixed lengths, so that the last record is found without a walk.
const RESUME_BYTES: usize = ENTRY_BYTES + RESUME_KEY.len() + 24;

/// Where a task resumes after a batch: part of the batch, hence of the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// The next source record to read: everything before it is applied.
    pub source_offset: u64,
    /// The latest intended time among the applied records.
    pub stream_time: Time,
    /// The epoch of the turn.
    pub epoch: Epoch,
}

impl Resume {
    /// As 24 bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.source_offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.stream_time.0.to_le_bytes());
        bytes[16..].copy_from_slice(&self.epoch.0.to_le_bytes());
        bytes
    }

    /// From 24 bytes; `None` if there are not exactly as many.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [source_offset, time, epoch] = words(bytes)?;
        Some(Self { source_offset, stream_time: Time(time), epoch: Epoch(epoch) })
    }
}

/// What a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One turn of a task.
    Turn,
    /// A fence: nothing of an older epoch comes after it.
    Fence,
}

/// Builds one batch after another without allocating anew.
///
/// Updates first, then [`finish`](Self::finish), then the log's `append`, then [`clear`](Self::clear).
///
/// ```
/// use engine::log::{BatchBuilder, Resume};
/// let mut batch = BatchBuilder::default();
/// batch.put(b"a", b"1");
/// batch.delete(b"b");
/// batch.finish(Resume { source_offset: 7, ..Resume::default() });
/// assert_eq!(batch.updates().collect::<Vec<_>>(), [(&b"a"[..], Some(&b"1"[..])), (b"b", None)]);
/// assert_eq!(batch.records(), 3, "the resume record counts");
/// ```
#[derive(Debug, Default)]
pub struct BatchBuilder {
    payload: Vec<u8>,
    records: u32,
    outputs: u32,
    resume: Option<Resume>,
    unfit: Option<&'static str>,
}

impl BatchBuilder {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.payload.clear();
        self.records = 0;
        self.outputs = 0;
        self.resume = None;
        self.unfit = None;
    }

    /// Adds an update. A key is at most 65,535 bytes and does not start with [`RESERVED`]; a log refuses the whole
    /// batch otherwise (see [`unfit`](Self::unfit)).
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.put_with(key, value.len(), |space| space.copy_from_slice(value));
    }

    /// Adds an update whose value of `len` bytes, zeroed, is written in place by `fill`.
    pub fn put_with(&mut self, key: &[u8], len: usize, fill: impl FnOnce(&mut [u8])) {
        if !self.admits(key, len) {
            return;
        }
        self.entry(key, len as u32);
        let start = self.payload.len();
        self.payload.resize(start + len, 0);
        fill(&mut self.payload[start..]);
    }

    /// Adds a deletion.
    pub fn delete(&mut self, key: &[u8]) {
        if self.admits(key, 0) {
            self.entry(key, DELETED);
        }
    }

    /// Counts output records of the turn.
    pub fn count_outputs(&mut self, records: u32) {
        self.outputs += records;
    }

    /// Adds the resume record. Nothing may be added afterwards.
    pub fn finish(&mut self, resume: Resume) {
        debug_assert!(self.resume.is_none(), "a batch is finished once");
        self.entry(RESUME_KEY, 24);
        self.payload.extend_from_slice(&resume.encode());
        self.resume = Some(resume);
    }

    /// Makes a finished batch stand for more records than it holds: those that compaction has left out.
    pub(super) fn stand_for(&mut self, records: u32, outputs: u32) {
        self.records = records;
        self.outputs = outputs;
    }

    /// Makes it a fence.
    pub(super) fn fence(&mut self, claim: Claim) {
        self.clear();
        self.entry(FENCE_KEY, 16);
        self.payload.extend_from_slice(&claim.incarnation.0.to_le_bytes());
        self.payload.extend_from_slice(&claim.generation.0.to_le_bytes());
    }

    /// Records in it, the resume record included.
    #[must_use]
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Output records counted.
    #[must_use]
    pub fn outputs(&self) -> u32 {
        self.outputs
    }

    /// The resume record, once finished.
    #[must_use]
    pub fn resume(&self) -> Option<Resume> {
        self.resume
    }

    /// Bytes it takes in a log.
    #[must_use]
    pub fn bytes(&self) -> usize {
        HEADER_BYTES + self.payload.len()
    }

    /// The updates, without the resume record, in the order in which they were added.
    #[must_use]
    pub fn updates(&self) -> Entries<'_> {
        let reserved = if self.resume.is_some() { RESUME_BYTES } else { 0 };
        Entries(&self.payload[..self.payload.len() - reserved])
    }

    /// Why no log would take it, if so.
    #[must_use]
    pub fn unfit(&self) -> Option<&'static str> {
        let whole = if self.bytes() > MAX_BATCH_BYTES { Some("a batch is larger than 64 MiB") } else { None };
        self.unfit.or(whole)
    }

    /// The records, encoded.
    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The bytes that go before the payload.
    pub(super) fn header(&self, kind: Kind, base: Offset, epoch: Epoch) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&((self.bytes() - 4) as u32).to_le_bytes());
        header[8..16].copy_from_slice(&base.0.to_le_bytes());
        header[16..24].copy_from_slice(&epoch.0.to_le_bytes());
        header[24] = u8::from(kind == Kind::Fence);
        header[25..29].copy_from_slice(&self.records.to_le_bytes());
        header[29..33].copy_from_slice(&self.outputs.to_le_bytes());
        let crc = crc32c::crc32c_append(crc32c::crc32c(&header[UNCOVERED..]), &self.payload);
        header[4..8].copy_from_slice(&crc.to_le_bytes());
        header
    }

    fn admits(&mut self, key: &[u8], value_bytes: usize) -> bool {
        debug_assert!(self.resume.is_none(), "the resume record comes last");
        let unfit = if key.len() > usize::from(u16::MAX) {
            "a key is longer than 65,535 bytes"
        } else if key.first() == Some(&RESERVED) {
            "a key starts with the reserved byte 0xff"
        } else if value_bytes > MAX_BATCH_BYTES {
            "a value is larger than 64 MiB"
        } else {
            return true;
        };
        self.unfit.get_or_insert(unfit);
        false
    }

    /// Lengths and key; `admits` has bounded both.
    fn entry(&mut self, key: &[u8], value_bytes: u32) {
        self.payload.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.payload.extend_from_slice(&value_bytes.to_le_bytes());
        self.payload.extend_from_slice(key);
        self.records += 1;
    }
}

/// Why bytes are not a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The batch goes on beyond the bytes at hand; it takes this many in all (or as many as its header).
    Short(usize),
    /// It does not check out.
    Wrong(&'static str),
}

/// A whole batch, in place.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    base: Offset,
    epoch: Epoch,
    kind: Kind,
    records: u32,
    outputs: u32,
    payload: &'a [u8],
}

impl<'a> Batch<'a> {
    /// Decodes the batch at the start of `bytes`, which may go on after it.
    ///
    /// # Errors
    ///
    /// [`Broken`]: the CRC covers all but the length, and the length is checked by where the CRC ends.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Broken> {
        let header = Header::decode(bytes)?;
        let Some(whole) = bytes.get(..header.bytes) else { return Err(Broken::Short(header.bytes)) };
        if crc32c::crc32c(&whole[UNCOVERED..]) != header.crc {
            return Err(Broken::Wrong("the CRC differs"));
        }
        let batch = Self::trusted(whole, &header);
        let complete = match batch.kind {
            Kind::Turn => batch.resume().is_some(),
            Kind::Fence => batch.claim().is_some(),
        };
        if complete { Ok(batch) } else { Err(Broken::Wrong("the reserved record is missing")) }
    }

    /// The batch of a header whose CRC has been checked, at the start of `bytes`.
    pub(super) fn trusted(bytes: &'a [u8], header: &Header) -> Self {
        Self {
            base: header.base,
            epoch: header.epoch,
            kind: header.kind,
            records: header.records,
            outputs: header.outputs,
            payload: &bytes[HEADER_BYTES..header.bytes],
        }
    }

    /// The offset of its first record.
    #[must_use]
    pub fn base(&self) -> Offset {
        self.base
    }

    /// The offset after its last record.
    #[must_use]
    pub fn end(&self) -> Offset {
        Offset(self.base.0 + u64::from(self.records))
    }

    /// The epoch it was appended under.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Turn or fence.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Records in it, the reserved one included.
    #[must_use]
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Output records of the turn.
    #[must_use]
    pub fn outputs(&self) -> u32 {
        self.outputs
    }

    /// Bytes it takes in the log.
    #[must_use]
    pub fn bytes(&self) -> usize {
        HEADER_BYTES + self.payload.len()
    }

    /// All records, the reserved one last.
    #[must_use]
    pub fn entries(&self) -> Entries<'a> {
        Entries(self.payload)
    }

    /// The state updates: all records but the reserved one.
    #[must_use]
    pub fn updates(&self) -> Entries<'a> {
        match self.kind {
            Kind::Turn => Entries(&self.payload[..self.payload.len() - RESUME_BYTES]),
            Kind::Fence => Entries(&[]),
        }
    }

    /// Where the task resumes after this batch; `None` for a fence, which changes nothing about it.
    #[must_use]
    pub fn resume(&self) -> Option<Resume> {
        let start = self.payload.len().checked_sub(RESUME_BYTES)?;
        let mut last = Entries(&self.payload[start..]);
        match last.next() {
            Some((RESUME_KEY, Some(value))) if self.kind == Kind::Turn => Resume::decode(value),
            _ => None,
        }
    }

    /// What a fence was made with; `None` for a turn.
    #[must_use]
    pub fn claim(&self) -> Option<Claim> {
        match Entries(self.payload).next() {
            Some((FENCE_KEY, Some(value))) if self.kind == Kind::Fence => {
                let [incarnation, generation] = words(value)?;
                Some(Claim { incarnation: Incarnation(incarnation), generation: Generation(generation) })
            }
            _ => None,
        }
    }
}

/// Records of a batch in place: keys, and values or deletions.
#[derive(Clone, Debug)]
pub struct Entries<'a>(&'a [u8]);

impl<'a> Entries<'a> {
    /// Records that stand one after another in `bytes`, as in a batch.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next record as it stands, beside its key.
    pub(crate) fn next_raw(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let before = self.0;
        let (key, _) = self.next()?;
        Some((&before[..before.len() - self.0.len()], key))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let (&[k0, k1, v0, v1, v2, v3], rest) = self.0.split_first_chunk::<ENTRY_BYTES>()?;
        let (key, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes([k0, k1])))?;
        let value_bytes = u32::from_le_bytes([v0, v1, v2, v3]);
        if value_bytes == DELETED {
            self.0 = rest;
            return Some((key, None));
        }
        let (value, rest) = rest.split_at_checked(value_bytes as usize)?;
        self.0 = rest;
        Some((key, Some(value)))
    }
}

/// The fields before a batch's records, checked for what can be checked without them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Bytes of the whole batch.
    pub(super) bytes: usize,
    pub(super) crc: u32,
    pub(super) base: Offset,
    pub(super) epoch: Epoch,
    pub(super) kind: Kind,
    pub(super) records: u32,
    pub(super) outputs: u32,
}

impl Header {
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Broken> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(Broken::Short(HEADER_BYTES));
        };
        let length = u32_at(header, 0) as usize;
        if !(HEADER_BYTES - 4..=MAX_BATCH_BYTES - 4).contains(&length) {
            return Err(Broken::Wrong("its length is out of bounds"));
        }
        let kind = match header[24] {
            0 => Kind::Turn,
            1 => Kind::Fence,
            _ => return Err(Broken::Wrong("its kind is unknown")),
        };
        Ok(Self {
            bytes: length + 4,
            crc: u32_at(header, 4),
            base: Offset(u64_at(header, 8)),
            epoch: Epoch(u64_at(header, 16)),
            kind,
            records: u32_at(header, 25),
            outputs: u32_at(header, 29),
        })
    }
}

fn u32_at(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&header[at..at + 4]);
    u32::from_le_bytes(bytes)
}

fn u64_at(header: &[u8; HEADER_BYTES], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&header[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// Exactly `N` little-endian words.
fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (chunks, []) = bytes.as_chunks::<8>() else { return None };
    let chunks: &[[u8; 8]; N] = chunks.try_into().ok()?;
    Some(chunks.map(u64::from_le_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded() -> Vec<u8> {
        let mut batch = BatchBuilder::default();
        batch.put(b"key", b"value");
        batch.put(b"", b"");
        batch.delete(b"gone");
        batch.count_outputs(5);
        batch.finish(Resume { source_offset: 9, stream_time: Time(8), epoch: Epoch(7) });
        let mut bytes = batch.header(Kind::Turn, Offset(100), Epoch(7)).to_vec();
        bytes.extend_from_slice(batch.payload());
        bytes
    }

    #[test]
    fn a_batch_says_what_was_put_into_it() {
        let bytes = encoded();
        let batch = Batch::decode(&bytes).unwrap();
        assert_eq!((batch.base(), batch.end(), batch.epoch()), (Offset(100), Offset(104), Epoch(7)));
        assert_eq!((batch.kind(), batch.outputs(), batch.bytes()), (Kind::Turn, 5, bytes.len()));
        let updates: Vec<_> = batch.updates().collect();
        assert_eq!(updates, [(&b"key"[..], Some(&b"value"[..])), (b"", Some(b"")), (b"gone", None)]);
        let resume = Resume { source_offset: 9, stream_time: Time(8), epoch: Epoch(7) };
        assert_eq!(batch.resume(), Some(resume));
        assert_eq!(batch.entries().last(), Some((RESUME_KEY, Some(&resume.encode()[..]))));
        assert_eq!(batch.claim(), None);
    }

    #[test]
    fn a_fence_carries_its_claim() {
        let claim = Claim { incarnation: Incarnation(2), generation: Generation(3) };
        let mut batch = BatchBuilder::default();
        batch.fence(claim);
        let mut bytes = batch.header(Kind::Fence, Offset(1), Epoch(4)).to_vec();
        bytes.extend_from_slice(batch.payload());
        let batch = Batch::decode(&bytes).unwrap();
        assert_eq!((batch.claim(), batch.resume(), batch.end()), (Some(claim), None, Offset(2)));
        assert_eq!(batch.updates().count(), 0);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let whole = encoded();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Batch::decode(&bytes).is_err(), "bit {bit}");
        }
        for cut in 0..whole.len() {
            assert!(matches!(Batch::decode(&whole[..cut]), Err(Broken::Short(_))), "cut at {cut}");
        }
    }

    #[test]
    fn keys_that_no_log_takes_are_told() {
        let mut batch = BatchBuilder::default();
        batch.put(RESUME_KEY, b"");
        assert!(batch.unfit().is_some_and(|why| why.contains("reserved")));
        batch.clear();
        batch.put(&[b'a'; 70_000], b"");
        assert!(batch.unfit().is_some_and(|why| why.contains("65,535")));
        batch.clear();
        assert_eq!((batch.unfit(), batch.records()), (None, 0));
    }
}
