//! Whether every record was applied exactly once: what the sources say against what the final store holds.

use std::ops::AddAssign;

use assignor::TaskId;

use crate::clock::Time;
use crate::config::ProcessorKind;
use crate::error::{Error, StoreError};
use crate::log::TaskLog;
use crate::position::Offset;
use crate::source::{KeyMap, Records, Sources};
use crate::store::Store;
use crate::task::processor::count::Counted;
use crate::task::processor::{Count, Join, Keyed, Window};

/// The outcome, in records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Records that the sources had up to where the task stands.
    pub expected: u64,
    /// Records that the store has counted.
    pub applied: u64,
    /// Records missing from their keys' counts; keys whose counts agree but whose sums don't count one here and one
    /// in `doubled`.
    pub lost: u64,
    /// Records too many in their keys' counts.
    pub doubled: u64,
}

impl Audit {
    /// Nothing lost, nothing doubled.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.lost == 0 && self.doubled == 0 && self.expected == self.applied
    }

    /// Takes in a part of a key's state. A loss and a doubling within one leave the count right but not the sum.
    fn part(&mut self, expected: Counted, applied: Counted) {
        self.expected += expected.count;
        self.applied += applied.count;
        self.lost += expected.count.saturating_sub(applied.count);
        self.doubled += applied.count.saturating_sub(expected.count);
        if expected.count == applied.count && expected.sum != applied.sum {
            self.lost += 1;
            self.doubled += 1;
        }
    }
}

impl AddAssign for Audit {
    fn add_assign(&mut self, other: Self) {
        self.expected += other.expected;
        self.applied += other.applied;
        self.lost += other.lost;
        self.doubled += other.doubled;
    }
}

/// [`audit_state`] for the processor `count`.
///
/// # Errors
///
/// As there.
pub fn audit(task: &TaskId, sources: &dyn Sources, store: &dyn Store) -> Result<Audit, Error> {
    audit_keyed(&Count::new(0), task, sources, store)
}

/// Audits one task's final store, by what its processor keeps: every source record before the offset at which the
/// store resumes must be in it, and no other.
///
/// # Errors
///
/// What source and store say; [`StoreError::Damaged`] for a value that the processor has not written.
pub fn audit_state(
    processor: ProcessorKind,
    task: &TaskId,
    sources: &dyn Sources,
    store: &dyn Store,
) -> Result<Audit, Error> {
    match processor {
        ProcessorKind::Count { value_bytes } => audit_keyed(&Count::new(value_bytes), task, sources, store),
        ProcessorKind::Window { options, value_bytes } => {
            audit_keyed(&Window::new(options, value_bytes), task, sources, store)
        }
        ProcessorKind::Join { table_every, value_bytes } => {
            audit_keyed(&Join::new(table_every, value_bytes), task, sources, store)
        }
        // It keeps nothing; see `audit_outputs`.
        ProcessorKind::Map => Ok(Audit::default()),
    }
}

fn audit_keyed<K: Keyed>(
    keyed: &K,
    task: &TaskId,
    sources: &dyn Sources,
    store: &dyn Store,
) -> Result<Audit, Error> {
    let mut expected: KeyMap<K::State> = KeyMap::default();
    each_record(task, sources, store.checkpoint().resume.source_offset, &mut |offset, time, key| {
        if let Some(state) = expected.get_mut(key) {
            keyed.add(state, offset, time);
        } else {
            let mut first = K::State::default();
            keyed.add(&mut first, offset, time);
            expected.insert(key.into(), first);
        }
    })?;
    let mut audit = Audit::default();
    let mut damaged = None;
    store.scan(&mut |key, value| match keyed.decode(value) {
        Some(applied) => {
            let expected = expected.remove(key).unwrap_or_default();
            keyed.compare(&expected, &applied, &mut |expected, applied| audit.part(expected, applied));
        }
        None => damaged = Some(format!("the value of key {key:?} is too short")),
    })?;
    if let Some(what) = damaged {
        return Err(StoreError::Damaged { path: store.location(), what }.into());
    }
    let nothing = K::State::default();
    for missing in expected.into_values() {
        keyed.compare(&missing, &nothing, &mut |expected, applied| audit.part(expected, applied));
    }
    Ok(audit)
}

/// Audits a task of the processor `map`, which keeps nothing but its log: each turn must have put out as many records
/// as it took from the source, and gone on where the one before it stopped.
///
/// # Errors
///
/// What source and log say.
pub fn audit_outputs(task: &TaskId, sources: &dyn Sources, log: &dyn TaskLog) -> Result<Audit, Error> {
    let mut audit = Audit::default();
    let mut position = 0;
    let mut reader = log.read(Offset(0))?;
    while let Some(batch) = reader.next()? {
        let Some(resume) = batch.resume() else { continue };
        let (took, put_out) = (resume.source_offset.saturating_sub(position), u64::from(batch.outputs()));
        audit.applied += put_out;
        audit.lost += took.saturating_sub(put_out);
        audit.doubled += put_out.saturating_sub(took);
        position = position.max(resume.source_offset);
    }
    audit.expected = records_before(task, sources, position)?;
    Ok(audit)
}

/// Records that the source has before `end`.
fn records_before(task: &TaskId, sources: &dyn Sources, end: u64) -> Result<u64, Error> {
    let mut count = 0;
    each_record(task, sources, end, &mut |_, _, _| count += 1)?;
    Ok(count)
}

/// Visits offset, intended time and key of every source record before `end`.
fn each_record(
    task: &TaskId,
    sources: &dyn Sources,
    end: u64,
    visit: &mut dyn FnMut(u64, Time, &[u8]),
) -> Result<(), Error> {
    let mut source = sources.open(task, 0)?;
    let mut records = Records::default();
    while source.position() < end {
        records.clear();
        let max = u64::min(4_096, end - source.position()) as usize;
        source.poll(Time::NEVER, max, &mut records)?;
        if records.is_empty() {
            break;
        }
        for (index, &offset) in records.offsets.iter().enumerate() {
            visit(offset, records.times[index], records.key(index));
        }
    }
    Ok(())
}
