//! An instance's restorer: the thread that brings copies into line with their roles.
//!
//! Restoring actives come first, since their tasks stand still; then copies to be closed; then learners and
//! standbys, a piece each in turn. `restore_bytes_per_s` is kept by waiting between pieces.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assignor::{InstanceId, MemberId, TaskId};
use crossbeam_channel::{Receiver, Sender};

use crate::clock::{Clock as _, Time};
use crate::error::{Error, StoreError};
use crate::event::{Event, TaskEvent};
use crate::position::Claim;
use crate::restore::{Limit, Progress, Replay};
use crate::store::StoreDirectory;
use crate::task::open_copy;

use super::copies::{Copies, Place, Restoration, Role, Slot};
use super::worker::ToWorker;
use super::{Shared, ToInstance};

/// How often followers that have caught up look for news. The lag this adds is part of every hand-over.
const FOLLOW: Duration = Duration::from_millis(5);
/// Replay work is told to the observer at this age.
const TELL: Duration = Duration::from_millis(50);
/// How often an idle restorer looks whether the run has failed.
const IDLE: Duration = Duration::from_millis(100);

/// So often a copy of one task may turn out to be damaged before that is the disk's fault, and ends the run.
const PATIENCE: u32 = 3;

/// What a restorer is made with.
pub(crate) struct RestorerParts {
    pub(crate) instance: InstanceId,
    pub(crate) shared: Arc<Shared>,
    pub(crate) copies: Arc<Copies>,
    pub(crate) stores: Arc<dyn StoreDirectory>,
    pub(crate) wake: Receiver<()>,
    pub(crate) reports: Sender<ToInstance>,
    pub(crate) crashed: Arc<AtomicBool>,
    /// Set by the instance when its workers are gone: close every copy and end.
    pub(crate) ending: Arc<AtomicBool>,
    /// Dropped when it is known what copies lie on the disk.
    pub(crate) looked: Option<Sender<()>>,
    /// Copies found on the disk are kept open for this member: they will be wanted at once.
    pub(crate) kept_for: Option<MemberId>,
}

pub(crate) struct Restorer {
    parts: RestorerParts,
    limit: Option<Limit>,
    /// Which follower had the last piece.
    turn: usize,
    /// Work that the observer has not been told of.
    tallies: BTreeMap<TaskId, Tally>,
    /// How often a copy was found to be damaged.
    damaged: BTreeMap<TaskId, u32>,
}

/// Replay work on one copy. A follower works in hundreds of small pieces a second; they are told together.
struct Tally {
    since: Time,
    records: u64,
    bytes: u64,
    work: Duration,
}

impl Tally {
    fn since(since: Time) -> Self {
        Self { since, records: 0, bytes: 0, work: Duration::ZERO }
    }

    fn add(&mut self, piece: Progress, work: Duration) {
        self.records += piece.records;
        self.bytes += piece.bytes;
        self.work += work;
    }
}

/// What a look at the slots found to do.
enum Work {
    Restore(Arc<Slot>),
    Close(Arc<Slot>),
    Follow(Arc<Slot>),
    /// Nothing now; whether there are followers to come back for.
    Wait {
        followers: bool,
    },
}

impl Restorer {
    pub(crate) fn new(parts: RestorerParts) -> Self {
        let limit = parts.shared.engine.restore_bytes_per_s.map(Limit::new);
        Self { parts, limit, turn: 0, tallies: BTreeMap::new(), damaged: BTreeMap::new() }
    }

    /// Runs until its instance ends, crashes, or the run is poisoned.
    ///
    /// # Errors
    ///
    /// A failed log or store; a core that it can't be pinned to.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        self.parts.shared.pins.restorer()?;
        self.look_at_disk()?;
        loop {
            if self.parts.crashed.load(Ordering::Acquire) || self.parts.shared.board.failed() {
                return Ok(());
            }
            if self.parts.ending.load(Ordering::Acquire) {
                self.tell(Duration::ZERO);
                return self.close_all();
            }
            self.tell(TELL);
            match self.find_work() {
                Work::Restore(slot) => self.restore(&slot)?,
                Work::Close(slot) => Self::close(&slot)?,
                Work::Follow(slot) => self.follow(&slot)?,
                Work::Wait { followers } => {
                    let patience = if followers { FOLLOW } else { IDLE };
                    let _woken = self.parts.wake.recv_timeout(patience);
                }
            }
        }
    }

    /// Finds the copies that an earlier process left in the directory, and how far behind each is: its members say so
    /// when they join.
    fn look_at_disk(&mut self) -> Result<(), Error> {
        for task in self.parts.stores.tasks()? {
            let Some(slot) = self.parts.copies.get(&task).cloned() else { continue };
            let copy = self.open(&slot)?;
            slot.found(copy.checkpoint().offset);
            if let Some(member) = &self.parts.kept_for {
                slot.assign(member, Claim::default(), Role::Parked);
                *slot.copy.lock() = Place::Here(copy);
            } else {
                copy.into_store().close()?;
            }
        }
        drop(self.parts.looked.take());
        Ok(())
    }

    /// Tells the observer of the work on copies that was begun at least this long ago.
    fn tell(&mut self, age: Duration) {
        let now = self.parts.shared.clock.now();
        let (observer, instance) = (&self.parts.shared.observer, &self.parts.instance);
        self.tallies.retain(|task, tally| {
            let young = now.since(tally.since) < age;
            if !young {
                let &mut Tally { records, bytes, work, .. } = tally;
                let replayed = TaskEvent::Replayed { instance: instance.clone(), records, bytes, work };
                observer.event(now, Event::Task(task.clone(), replayed));
            }
            young
        });
    }

    fn find_work(&mut self) -> Work {
        let mut close = None;
        let mut followers = Vec::new();
        let mut following = false;
        for slot in self.parts.copies.iter() {
            match slot.role() {
                // Another worker, thrown out of the group perhaps, still has the copy: look again later.
                Role::Restoring(_) | Role::Learner(_) | Role::Standby if !slot.is_at_hand() => {
                    following = true;
                }
                Role::Restoring(_) => return Work::Restore(slot.clone()),
                // Who holds the lock is a worker that is about to take the copy: look again later.
                Role::Closed if slot.copy.try_lock().is_some_and(|copy| matches!(*copy, Place::Here(_))) => {
                    close = Some(slot.clone());
                }
                Role::Learner(_) | Role::Standby => {
                    following = true;
                    let unopened = slot.copy.try_lock().is_some_and(|copy| matches!(*copy, Place::Closed));
                    if unopened || slot.lag() > 0 {
                        followers.push(slot.clone());
                    }
                }
                Role::Closed | Role::Parked | Role::Restored(_) | Role::Running => {}
            }
        }
        if let Some(slot) = close {
            return Work::Close(slot);
        }
        if followers.is_empty() {
            return Work::Wait { followers: following };
        }
        self.turn = (self.turn + 1) % followers.len();
        Work::Follow(followers.swap_remove(self.turn))
    }

    /// Opens the slot's copy if it is not open, and says how many records a piece replayed. The copy stays locked
    /// only for this piece.
    fn piece(&mut self, slot: &Slot) -> Result<u64, Error> {
        let mut held = slot.copy.lock();
        if !matches!(slot.role(), Role::Restoring(_) | Role::Learner(_) | Role::Standby) {
            return Ok(0);
        }
        if matches!(*held, Place::Closed) {
            *held = Place::Here(self.open(slot)?);
        }
        let Some(copy) = held.here() else { return Ok(0) };
        let clock = &self.parts.shared.clock;
        let before = (copy.position(), copy.checkpoint().offset);
        let began = clock.now();
        let piece = match copy.step(self.parts.shared.engine.piece_bytes) {
            // What a replay has made it can make again. The next piece begins with an empty copy.
            Err(Error::Store(error)) if error.is_damage() => {
                *held = Place::Closed;
                drop(held);
                self.throw_away(slot, error)?;
                return Ok(0);
            }
            piece => piece?,
        };
        let at = clock.now();
        let after = (copy.position(), copy.checkpoint().offset);
        slot.advanced(after.1, after.0, piece.records, piece.bytes);
        drop(held);
        // A look that found nothing is not work; bringing a gathered chunk into the store is, though it reads nothing.
        if before != after {
            self.tallies.entry(slot.task.clone()).or_insert(Tally::since(began)).add(piece, at.since(began));
        }
        self.keep_to_limit(piece.bytes);
        Ok(piece.records)
    }

    /// Throws away a copy that turned out to be damaged in mid-replay.
    fn throw_away(&mut self, slot: &Slot, error: StoreError) -> Result<(), Error> {
        let times = self.damaged.entry(slot.task.clone()).or_default();
        *times += 1;
        if *times > PATIENCE {
            return Err(error.into());
        }
        self.parts.stores.discard(&slot.task)?;
        self.discarded(slot, slot.replayed().1);
        Ok(())
    }

    fn discarded(&self, slot: &Slot, bytes: u64) {
        slot.lost();
        let shared = &self.parts.shared;
        let discarded = TaskEvent::Discarded { instance: self.parts.instance.clone(), bytes };
        shared.observer.event(shared.clock.now(), Event::Task(slot.task.clone(), discarded));
    }

    fn open(&self, slot: &Slot) -> Result<Replay, Error> {
        let opened = open_copy(&*self.parts.stores, &*slot.log, &slot.task)?;
        if let Some(discarded) = opened.discarded {
            self.discarded(slot, discarded.bytes);
        }
        let replay = Replay::new(slot.log.clone(), opened.store, self.parts.shared.engine.replay);
        slot.advanced(replay.checkpoint().offset, replay.position(), 0, 0);
        Ok(replay)
    }

    fn restore(&mut self, slot: &Arc<Slot>) -> Result<(), Error> {
        self.piece(slot)?;
        let Role::Restoring(restoration) = slot.role() else { return Ok(()) };
        let Restoration { member, fenced, .. } = &restoration;
        let arrived = slot.copy.lock().here().is_some_and(|copy| copy.checkpoint().offset >= fenced.end);
        let is_this = |role: &Role| matches!(role, Role::Restoring(now) if now.fenced == *fenced);
        if arrived && slot.change(member, is_this, Role::Restored(restoration.clone())) {
            drop(restoration.worker.send(ToWorker::Restored { task: slot.task.clone() }));
        }
        Ok(())
    }

    fn follow(&mut self, slot: &Arc<Slot>) -> Result<(), Error> {
        let acceptable = self.parts.shared.conduct.acceptable_lag;
        self.piece(slot)?;
        if slot.exists() && slot.lag() <= acceptable && slot.tell_ready() {
            drop(self.parts.reports.send(ToInstance::Progress));
        }
        Ok(())
    }

    fn close(slot: &Slot) -> Result<(), Error> {
        let mut held = slot.copy.lock();
        if !matches!(slot.role(), Role::Closed) {
            return Ok(());
        }
        if let Some(copy) = held.close() {
            copy.into_store().close()?;
        }
        Ok(())
    }

    fn close_all(&self) -> Result<(), Error> {
        for slot in self.parts.copies.iter() {
            slot.close();
            Self::close(slot)?;
        }
        Ok(())
    }

    fn keep_to_limit(&mut self, bytes: u64) {
        let Some(limit) = self.limit.as_mut() else { return };
        let clock = &self.parts.shared.clock;
        let now = clock.now();
        limit.spend(now, bytes);
        let until = now + limit.wait(now);
        // A wake-up during the wait is no reason to go faster; roles are looked at again right after it.
        while clock.now() < until && !self.parts.crashed.load(Ordering::Acquire) {
            let _woken = self.parts.wake.recv_deadline(clock.instant(until));
        }
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::unbounded;
    use parking_lot::Mutex;

    use super::*;
    use crate::board::Board;
    use crate::clock::RealClock;
    use crate::config::{EngineConfig, GroupConfig};
    use crate::event::{Observer, Served};
    use crate::log::{BatchBuilder, LogDirectory, MemLogs, Resume};
    use crate::pin::{Pinning, Pins};
    use crate::position::Claim;
    use crate::source::{KeyDistribution, SyntheticLoad, SyntheticSources};
    use crate::store::MemStores;
    use crate::store::faulty::{FaultyStores, StoreFault};
    use crate::task::NeverBreaks;

    #[derive(Default)]
    struct Discards(Mutex<Vec<u64>>);

    impl Observer for Discards {
        fn event(&self, _: Time, event: Event) {
            if let Event::Task(_, TaskEvent::Discarded { bytes, .. }) = event {
                self.0.lock().push(bytes);
            }
        }

        fn served(&self, _: Served<'_>) {}
    }

    /// A learner's replay over stores with these faults: records replayed into the final copy, copies thrown away.
    fn learn(faults: &[StoreFault]) -> Result<(u64, usize), Error> {
        let task = TaskId::from("T1");
        let logs = MemLogs::default();
        let log = logs.log(&task).unwrap();
        let epoch = log.fence(Claim::default()).unwrap().epoch;
        let mut batch = BatchBuilder::default();
        for nth in 0..50_u64 {
            batch.clear();
            batch.put(&nth.to_le_bytes(), b"value");
            batch.finish(Resume { source_offset: nth + 1, ..Resume::default() });
            log.append(epoch, &batch).unwrap();
        }
        let observer = Arc::new(Discards::default());
        let strategy = assignor::parse("learner").unwrap();
        let load = SyntheticLoad {
            seed: 1,
            tasks: Vec::new(),
            stateless: Vec::new(),
            rate: 1.0,
            keys: 1,
            distribution: KeyDistribution::Uniform,
            record_bytes: 1,
            updates_per_key: 0,
        };
        let shared = Arc::new(Shared {
            clock: Arc::new(RealClock::start()),
            sources: Arc::new(SyntheticSources::new(&load)),
            observer: observer.clone(),
            breaker: Arc::new(NeverBreaks),
            board: Board::new([task.clone()]),
            pins: Pins::new(Pinning::Free).unwrap(),
            engine: EngineConfig { piece_bytes: 100, ..EngineConfig::default() },
            group: GroupConfig::tight(),
            conduct: strategy.conduct(),
            strategy,
            state_bytes: BTreeMap::new(),
            stateless: std::collections::BTreeSet::new(),
        });
        let copies = Arc::new(Copies::new([(task.clone(), log.clone())]));
        let slot = copies.get(&task).unwrap().clone();
        slot.assign(&"S1".into(), Claim::default(), Role::Learner("S1".into()));
        let stores = FaultyStores::new(Arc::new(MemStores::default()));
        let (_wake, woken) = unbounded();
        let (reports, _reported) = unbounded();
        let mut restorer = Restorer::new(RestorerParts {
            instance: "I1".into(),
            shared,
            copies,
            stores: Arc::new(stores.clone()),
            wake: woken,
            reports,
            crashed: Arc::default(),
            ending: Arc::default(),
            looked: None,
            kept_for: None,
        });
        // The faults strike when the replay is under way.
        restorer.piece(&slot)?;
        restorer.piece(&slot)?;
        stores.plan(faults.iter().copied());
        while slot.lag() > 0 {
            restorer.piece(&slot)?;
        }
        assert_eq!(stores.left(), 0, "every fault has struck");
        let copy = slot.copy.lock().close().unwrap().into_store();
        let mut keys = 0;
        copy.scan(&mut |_, _| keys += 1).unwrap();
        assert_eq!(copy.checkpoint().resume.source_offset, 50);
        let discards = observer.0.lock().len();
        Ok((keys, discards))
    }

    #[test]
    fn a_copy_damaged_in_mid_replay_is_thrown_away_and_learned_anew() {
        assert_eq!(learn(&[]).unwrap(), (50, 0));
        assert_eq!(learn(&[StoreFault::DamagedWrite]).unwrap(), (50, 1));
        assert_eq!(learn(&[StoreFault::DamagedWrite, StoreFault::DamagedOpen]).unwrap(), (50, 2));
    }

    #[test]
    fn damage_that_does_not_end_and_a_full_disk_end_the_run() {
        let error = learn(&[StoreFault::DamagedWrite; 4]).unwrap_err();
        assert!(matches!(error, Error::Store(StoreError::Damaged { .. })), "{error}");
        match learn(&[StoreFault::DiskFull]).unwrap_err() {
            Error::Store(StoreError::Io { source, .. }) => {
                assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_copy_that_another_process_holds_is_not_thrown_away() {
        let faults = [StoreFault::DamagedWrite, StoreFault::HeldOpen];
        let error = learn(&faults).unwrap_err();
        assert!(matches!(error, Error::Store(StoreError::Held { .. })), "{error}");
    }
}
