//! Whether every record was applied exactly once: what the sources say against what the final store holds.

use std::ops::AddAssign;

use assignor::TaskId;

use crate::clock::Time;
use crate::error::{Error, StoreError};
use crate::source::{KeyMap, Records, Sources};
use crate::store::Store;
use crate::task::processor::count::Counted;

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

    /// Takes in one key. A loss and a doubling within one key leave the count right but not the sum.
    fn key(&mut self, expected: Counted, applied: Counted) {
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

/// Audits one task's final store of the processor `count`: every source record before the offset at which the store
/// resumes must be in it, and no other.
///
/// # Errors
///
/// What source and store say; [`StoreError::Damaged`] for a value that is no count.
pub fn audit(task: &TaskId, sources: &dyn Sources, store: &dyn Store) -> Result<Audit, Error> {
    let mut expected = expected(task, sources, store.checkpoint().resume.source_offset)?;
    let mut audit = Audit::default();
    let mut damaged = None;
    store.scan(&mut |key, value| match Counted::decode(value) {
        Some(applied) => audit.key(expected.remove(key).unwrap_or_default(), applied),
        None => damaged = Some(format!("the value of key {key:?} is too short for a count")),
    })?;
    if let Some(what) = damaged {
        return Err(StoreError::Damaged { path: store.location(), what }.into());
    }
    for missing in expected.into_values() {
        audit.key(missing, Counted::default());
    }
    Ok(audit)
}

/// What each key should hold after the source records before `end`.
fn expected(task: &TaskId, sources: &dyn Sources, end: u64) -> Result<KeyMap<Counted>, Error> {
    let mut counted: KeyMap<Counted> = KeyMap::default();
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
            match counted.get_mut(records.key(index)) {
                Some(key) => key.add(offset),
                None => {
                    let mut first = Counted::default();
                    first.add(offset);
                    counted.insert(records.key(index).into(), first);
                }
            }
        }
    }
    Ok(counted)
}
