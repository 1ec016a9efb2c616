//! The task copies of one instance: what each is meant to be, and the copy itself.
//!
//! The two are locked apart. A *role* is locked for a moment by whoever changes it; a *copy* is locked for as long
//! as a piece of replay takes. The restorer brings copies into line with their roles, a worker takes a copy out to
//! run its task; a copy is never in flight between threads, so that it is open at most once.
//!
//! Members of an instance hear of a generation one after the other, and one may be behind by several, or have been
//! thrown out without knowing. So each member has a say of its own in what a copy is meant to be, with the claim of the
//! answer that it comes from: the newest counts, and when that is taken back the next one does. And a copy that a worker
//! has out stays its own until it brings the copy back or its thread has ended, whatever is said meanwhile: as in Kafka
//! Streams, whose tasks lock their directories, a successor waits for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use assignor::{Copy, MemberId, TaskId};
use crossbeam_channel::Sender;
use parking_lot::{Mutex, MutexGuard};

use crate::log::{Fenced, TaskLog};
use crate::position::{Claim, Offset};
use crate::restore::Replay;

use super::worker::ToWorker;

/// A task that is being taken over and has too much to replay for its worker to do that between turns.
#[derive(Clone, Debug)]
pub(crate) struct Restoration {
    /// Who takes it over.
    pub(crate) member: MemberId,
    /// What its fence returned: the replay's end.
    pub(crate) fenced: Fenced,
    /// Where to say that the copy has reached the end.
    pub(crate) worker: Sender<ToWorker>,
}

/// What a copy is meant to be.
#[derive(Clone, Debug, Default)]
pub(crate) enum Role {
    /// Not open. It may lie on disk.
    #[default]
    Closed,
    /// Open and at hand, but nobody replays or runs it: given up, and perhaps coming straight back.
    Parked,
    /// Follows the changelog, to take over.
    Learner(MemberId),
    /// Follows the changelog for good.
    Standby,
    /// Replays to the fenced end.
    Restoring(Restoration),
    /// Has reached the fenced end; its worker has been told and will take it.
    Restored(Restoration),
    /// Its worker has it, or is about to take it.
    Running,
}

/// What the members of the instance say of a copy, each by its newest answer.
type Says = BTreeMap<MemberId, (Claim, Role)>;

/// Where a copy is.
#[derive(Default)]
pub(crate) enum Place {
    /// It is not open.
    #[default]
    Closed,
    /// At hand.
    Here(Replay),
    /// This member's worker runs its task.
    With(MemberId),
}

impl Place {
    /// The copy, if it is at hand.
    pub(crate) fn here(&mut self) -> Option<&mut Replay> {
        match self {
            Self::Here(copy) => Some(copy),
            Self::Closed | Self::With(_) => None,
        }
    }

    /// A worker takes the copy out, if it is at hand and `wanted`.
    pub(crate) fn take_out(
        &mut self,
        member: &MemberId,
        wanted: impl FnOnce(&Replay) -> bool,
    ) -> Option<Replay> {
        match std::mem::take(self) {
            Self::Here(copy) if wanted(&copy) => {
                *self = Self::With(member.clone());
                Some(copy)
            }
            other => {
                *self = other;
                None
            }
        }
    }

    /// Takes the copy out for good, if it is at hand.
    pub(crate) fn close(&mut self) -> Option<Replay> {
        match std::mem::take(self) {
            Self::Here(copy) => Some(copy),
            other => {
                *self = other;
                None
            }
        }
    }
}

/// One task's copy on this instance.
pub(crate) struct Slot {
    pub(crate) task: TaskId,
    pub(crate) log: Arc<dyn TaskLog>,
    says: Mutex<Says>,
    /// The copy, or who has it.
    pub(crate) copy: Mutex<Place>,
    /// Where the copy stands, readable while somebody works on it.
    restored: AtomicU64,
    /// How far it has read, which is further while a chunk is being gathered.
    read: AtomicU64,
    /// Whether there is a copy, open or on disk.
    exists: AtomicBool,
    /// Whether its instance has been told that this learner has caught up.
    ready_told: AtomicBool,
    /// Replayed into it since it got its role, for what a dropped learner has cost.
    replayed_records: AtomicU64,
    replayed_bytes: AtomicU64,
    /// Its lag when it got its role, for progress displays.
    initial_lag: AtomicU64,
}

impl Slot {
    fn new(task: TaskId, log: Arc<dyn TaskLog>) -> Self {
        Self {
            task,
            log,
            says: Mutex::default(),
            copy: Mutex::default(),
            restored: AtomicU64::new(0),
            read: AtomicU64::new(0),
            exists: AtomicBool::new(false),
            ready_told: AtomicBool::new(false),
            replayed_records: AtomicU64::new(0),
            replayed_bytes: AtomicU64::new(0),
            initial_lag: AtomicU64::new(0),
        }
    }

    /// Changelog end minus restored offset, in records.
    pub(crate) fn lag(&self) -> u64 {
        self.log.end().since(Offset(self.restored.load(Ordering::Acquire)))
    }

    /// Records that it has not read yet, for progress displays.
    pub(crate) fn unread(&self) -> u64 {
        self.log.end().since(Offset(self.read.load(Ordering::Relaxed)))
    }

    /// Its lag when it got its role.
    pub(crate) fn initial_lag(&self) -> u64 {
        self.initial_lag.load(Ordering::Relaxed)
    }

    /// Records and bytes replayed since it got its role.
    pub(crate) fn replayed(&self) -> (u64, u64) {
        (self.replayed_records.load(Ordering::Relaxed), self.replayed_bytes.load(Ordering::Relaxed))
    }

    /// Notes a piece of replay.
    pub(crate) fn advanced(&self, to: Offset, read: Offset, records: u64, bytes: u64) {
        self.restored.store(to.0, Ordering::Release);
        self.read.store(read.0, Ordering::Relaxed);
        self.exists.store(true, Ordering::Release);
        self.replayed_records.fetch_add(records, Ordering::Relaxed);
        self.replayed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A copy was found on disk.
    pub(crate) fn found(&self, at: Offset) {
        self.advanced(at, at, 0, 0);
    }

    /// The copy is gone: discarded, or lost with its worker.
    pub(crate) fn lost(&self) {
        self.exists.store(false, Ordering::Release);
        self.restored.store(0, Ordering::Release);
    }

    /// Whether there is a copy, open or on disk.
    pub(crate) fn exists(&self) -> bool {
        self.exists.load(Ordering::Acquire)
    }

    /// Says once per role that the copy has caught up: true the first time.
    pub(crate) fn tell_ready(&self) -> bool {
        !self.ready_told.swap(true, Ordering::Relaxed)
    }

    /// What it is meant to be: what the newest answer says.
    pub(crate) fn role(&self) -> Role {
        let says = self.says.lock();
        says.values().max_by_key(|(claim, _)| *claim).map(|(_, role)| role.clone()).unwrap_or_default()
    }

    /// A member was told to run the task. Until its worker takes over, the copy is kept at hand as it is.
    pub(crate) fn reserve(&self, member: &MemberId, claim: Claim) {
        self.says.lock().entry(member.clone()).or_insert((claim, Role::Parked)).0 = claim;
    }

    /// A member's answer says what the copy is to be.
    pub(crate) fn assign(&self, member: &MemberId, claim: Claim, role: Role) {
        self.begins(&role);
        self.says.lock().insert(member.clone(), (claim, role));
    }

    /// What a member says of it changes, if `expected` still holds; says whether it did.
    pub(crate) fn change(&self, member: &MemberId, expected: impl FnOnce(&Role) -> bool, role: Role) -> bool {
        let mut says = self.says.lock();
        let Some((_, now)) = says.get_mut(member).filter(|(_, now)| expected(now)) else { return false };
        self.begins(&role);
        *now = role;
        true
    }

    /// Whether a member wants its copy to follow the changelog for good.
    pub(crate) fn stands_by(&self, member: &MemberId) -> bool {
        self.says.lock().get(member).is_some_and(|(_, role)| matches!(role, Role::Standby))
    }

    /// A member does not want its copy any more, or is gone. If nobody else does, it is closed as soon as nobody runs
    /// it. False if it had no say in it.
    pub(crate) fn release(&self, member: &MemberId) -> bool {
        self.says.lock().remove(member).is_some()
    }

    /// Whatever it was meant to be, it is to be closed.
    pub(crate) fn close(&self) {
        self.says.lock().clear();
    }

    /// Work on it is counted anew.
    fn begins(&self, role: &Role) {
        if matches!(role, Role::Learner(_) | Role::Standby | Role::Restoring(_)) {
            self.replayed_records.store(0, Ordering::Relaxed);
            self.replayed_bytes.store(0, Ordering::Relaxed);
            self.initial_lag.store(self.lag(), Ordering::Relaxed);
            self.ready_told.store(false, Ordering::Relaxed);
        }
    }

    /// Whether the restorer could work on the copy: no worker has it out.
    pub(crate) fn is_at_hand(&self) -> bool {
        self.copy.try_lock().is_none_or(|place| !matches!(*place, Place::With(_)))
    }

    /// Parks a copy that its worker no longer runs but has not brought back yet. Until the worker puts it into the
    /// place that is returned, whoever wants it waits, and nobody opens it a second time.
    pub(crate) fn begin_parking(&self, member: &MemberId, at: Offset) -> MutexGuard<'_, Place> {
        let place = self.copy.lock();
        self.restored.store(at.0, Ordering::Release);
        self.exists.store(true, Ordering::Release);
        self.change(member, |role| matches!(role, Role::Running), Role::Parked);
        place
    }

    /// Puts the copy into its place.
    pub(crate) fn end_parking(&self, place: &mut Place, copy: Replay) {
        self.restored.store(copy.checkpoint().offset.0, Ordering::Release);
        *place = Place::Here(copy);
    }

    /// A worker's thread has ended without bringing the copy back, if it had it. What it had not flushed is lost.
    pub(crate) fn abandoned_by(&self, member: &MemberId) {
        let mut place = self.copy.lock();
        if matches!(&*place, Place::With(runner) if runner == member) {
            *place = Place::Closed;
            // How much of it is on disk is seen when it is opened.
            self.restored.store(0, Ordering::Release);
        }
    }
}

/// All copies of one instance: one slot per task of the application, for the instance's whole life.
pub(crate) struct Copies {
    slots: BTreeMap<TaskId, Arc<Slot>>,
}

impl Copies {
    /// Slots for all tasks, nothing open.
    pub(crate) fn new(logs: impl IntoIterator<Item = (TaskId, Arc<dyn TaskLog>)>) -> Self {
        Self {
            slots: logs
                .into_iter()
                .map(|(task, log)| (task.clone(), Arc::new(Slot::new(task, log))))
                .collect(),
        }
    }

    /// The task's slot.
    pub(crate) fn get(&self, task: &TaskId) -> Option<&Arc<Slot>> {
        self.slots.get(task)
    }

    /// Every slot, in task order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Slot>> {
        self.slots.values()
    }

    /// Drops what a crash has left open, unflushed, so that the directory can be opened again.
    pub(crate) fn drop_all(&self) {
        for slot in self.iter() {
            *slot.copy.lock() = Place::Closed;
        }
    }

    /// Copies that nobody runs or replays, with their lags.
    pub(crate) fn stored(&self) -> Vec<Copy> {
        self.iter()
            .filter(|slot| slot.exists.load(Ordering::Acquire))
            .filter(|slot| matches!(slot.role(), Role::Closed | Role::Parked))
            .map(|slot| Copy { task: slot.task.clone(), lag: slot.lag() })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::MemLog;
    use crate::position::{Epoch, Generation, Incarnation};
    use crate::restore::ReplayOptions;
    use crate::store::{MemStores, StoreDirectory as _};

    fn slot() -> Slot {
        let task = TaskId::from("T1");
        let log = Arc::new(MemLog::new(&task));
        Slot::new(task, log)
    }

    fn claim(generation: u64) -> Claim {
        Claim { incarnation: Incarnation(1), generation: Generation(generation) }
    }

    fn restoring(member: &str) -> Role {
        let fenced = Fenced { epoch: Epoch(1), end: Offset(0) };
        let (worker, _) = crossbeam_channel::unbounded();
        Role::Restoring(Restoration { member: member.into(), fenced, worker })
    }

    fn copy(slot: &Slot) -> Replay {
        let store = MemStores::default().open(&slot.task).unwrap();
        Replay::new(slot.log.clone(), store, ReplayOptions::default())
    }

    /// A member that is behind cannot take a copy from one that runs or restores it.
    #[test]
    fn an_older_answer_takes_nothing() {
        for role in [Role::Running, restoring("S1"), Role::Learner("S1".into())] {
            for late in [Role::Learner("S2".into()), Role::Standby, restoring("S2")] {
                let slot = slot();
                slot.assign(&"S1".into(), claim(5), role.clone());
                slot.assign(&"S2".into(), claim(4), late);
                assert_eq!(format!("{:?}", slot.role()), format!("{role:?}"));
                assert!(slot.release(&"S2".into()), "it is told that it is out");
                assert_eq!(format!("{:?}", slot.role()), format!("{role:?}"));
            }
        }
    }

    /// Who was displaced and is not out after all has its copy again when the other lets go of it.
    #[test]
    fn what_a_newer_answer_takes_back_is_the_older_ones_again() {
        let slot = slot();
        slot.assign(&"S1".into(), claim(1), Role::Standby);
        slot.assign(&"S2".into(), claim(2), Role::Learner("S2".into()));
        assert!(matches!(slot.role(), Role::Learner(_)));
        slot.release(&"S2".into());
        assert!(matches!(slot.role(), Role::Standby));
        slot.release(&"S1".into());
        assert!(matches!(slot.role(), Role::Closed));
    }

    /// A copy that a worker has out is nobody else's to open; brought back late, it is the successor's.
    #[test]
    fn a_copy_is_open_once() {
        let slot = slot();
        let (old, new) = (MemberId::from("S1"), MemberId::from("S2"));
        slot.assign(&old, claim(1), Role::Running);
        *slot.copy.lock() = Place::Here(copy(&slot));
        let out = slot.copy.lock().take_out(&old, |_| true).unwrap();
        slot.assign(&new, claim(2), restoring("S2"));
        assert!(!slot.is_at_hand());
        assert!(slot.copy.lock().take_out(&new, |_| true).is_none());
        assert!(slot.copy.lock().close().is_none());
        slot.abandoned_by(&new);
        assert!(!slot.is_at_hand(), "it is not the one that had it");
        let mut place = slot.begin_parking(&old, Offset(0));
        slot.end_parking(&mut place, out);
        drop(place);
        assert!(matches!(slot.role(), Role::Restoring(_)), "parking changes only its own say");
        assert!(slot.copy.lock().take_out(&new, |_| true).is_some());
        slot.abandoned_by(&new);
        assert!(matches!(*slot.copy.lock(), Place::Closed));
    }
}
