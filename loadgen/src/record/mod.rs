//! Watches an engine and writes down what results are made of: events, and latencies by interval and phase.
//!
//! Nothing that is kept grows with the run's length alone: intervals are taken out when they are over (`tape`), pieces
//! of replay are added up, and of everything else there is as much as the script brings about.
//!
//! The engine's clock starts with the engine; a result's clock is 0 at the end of the warm-up. Latencies are recorded
//! while that moment, the *origin*, is known already; events are shifted when the run is over.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use assignor::{MemberId, TaskId};
use engine::clock::Time;
use engine::event::{Event as EngineEvent, Observer, Served};
use results::event::{Action, Event, What};
use results::latency::{self, Closed, LatencyRecord, OPEN_INTERVALS, Writer, interval_of};
use results::phase::{Phase, Tracker};
use results::timeline::Entry;

use crate::scenario::Condition;

mod convert;
pub mod tape;

/// A worker that has served nothing for so many intervals (five seconds) is taken to be gone.
const IDLE_INTERVALS: i64 = 50;

/// Which part of a run it is; between the end of the warm-up and the end of the load, events tell the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Nothing is counted yet.
    WarmUp,
    /// What the run is about.
    Measured,
    /// Nothing arrives any more.
    Drain,
}

/// An [`Observer`] that keeps what it sees.
#[derive(Debug)]
pub struct Recorder {
    tasks: BTreeMap<TaskId, usize>,
    /// The end of the warm-up on the engine's clock, in microseconds.
    origin_us: AtomicU64,
    latency: Arc<latency::Recorder>,
    /// One for each member that has served anything of late: its worker alone writes to it.
    writers: RwLock<BTreeMap<MemberId, Mutex<Writer>>>,
    journal: Mutex<Journal>,
}

#[derive(Debug)]
struct Journal {
    part: Part,
    tracker: Tracker,
    /// In the order of their arrival here, which is nearly that of their times.
    events: Vec<(Time, What)>,
    /// Which of them adds up the replay of a task on an instance, before and after the origin.
    replays: BTreeMap<(String, String, bool), usize>,
    /// Records and bytes replayed by interval, until somebody takes them.
    replayed: BTreeMap<i64, (u64, u64)>,
}

/// What was recorded.
#[derive(Debug)]
pub struct Record {
    /// In the order of their times, relative to the origin.
    pub events: Vec<Event>,
    /// All latencies.
    pub latency: LatencyRecord,
}

impl Recorder {
    /// A recorder for these tasks that counts as late what took longer than `slo_us` microseconds.
    #[must_use]
    pub fn new(tasks: &[TaskId], slo_us: u64) -> Arc<Self> {
        Arc::new(Self {
            tasks: tasks.iter().cloned().zip(0..).collect(),
            origin_us: AtomicU64::new(u64::MAX),
            latency: latency::Recorder::new(tasks.len(), slo_us),
            writers: RwLock::default(),
            journal: Mutex::new(Journal {
                part: Part::WarmUp,
                tracker: Tracker::default(),
                events: Vec::new(),
                replays: BTreeMap::new(),
                replayed: BTreeMap::new(),
            }),
        })
    }

    /// Fixes the origin, before the first record arrives, and the window of records whose lateness is counted
    /// (microseconds after the origin).
    pub fn set_origin(&self, origin: Time, window_us: Option<(i64, i64)>) {
        self.origin_us.store(origin.micros(), Ordering::Release);
        if let Some((from, to)) = window_us {
            self.latency.open_window(from, to);
        }
    }

    /// Says which part of the run begins.
    pub fn begin(&self, part: Part) {
        let mut journal = lock(&self.journal);
        journal.part = part;
        self.latency.set_phase(journal.phase());
    }

    /// Writes down what the script did, at the time at which it was meant to.
    pub fn scripted(&self, at: Time, action: Action, members: Vec<String>) {
        lock(&self.journal).events.push((at, What::Scripted { action, members }));
    }

    /// Whether a condition of the script holds, for events after `since`. That every task runs is for the caller to
    /// find out.
    #[must_use]
    pub fn holds(&self, condition: &Condition, since: Time) -> bool {
        let journal = lock(&self.journal);
        let later = || journal.events.iter().rev().filter(|(at, _)| *at >= since);
        match condition {
            Condition::Ready(of) => later().any(
                |(_, what)| matches!(what, What::LearnerReady { member, .. } if member.as_str() == of.as_str()),
            ),
            Condition::Learning(of) => later().any(
                |(_, what)| matches!(what, What::LearnerStarted { member, .. } if member.as_str() == of.as_str()),
            ),
            Condition::Balanced => later()
                .find_map(|(_, what)| match what {
                    What::RebalanceStarted { .. } => Some(false),
                    What::GenerationCompleted { balanced, .. } => Some(*balanced),
                    _ => None,
                })
                .unwrap_or(false),
            Condition::Generation(number) => {
                let origin = self.origin_us.load(Ordering::Acquire);
                let completed = journal.events.iter().filter(|(at, what)| {
                    at.micros() >= origin && matches!(what, What::GenerationCompleted { .. })
                });
                completed.count() as u64 >= *number
            }
        }
    }

    /// The 99th percentile of service latency over the last few hundred milliseconds.
    #[must_use]
    pub fn recent_p99_ms(&self) -> f64 {
        self.latency.recent().p99
    }

    /// Takes out the intervals that are over, those of idle workers included.
    fn close(&self, now: Time) -> Vec<Closed> {
        let current = interval_of(relative(now, self.origin_us.load(Ordering::Acquire)));
        for writer in self.writers.read().unwrap_or_else(PoisonError::into_inner).values() {
            lock(writer).flush_before(current);
        }
        self.forget_idle(current.saturating_sub(IDLE_INTERVALS));
        self.latency.close(current.saturating_sub(OPEN_INTERVALS))
    }

    /// Lets go of the histograms of workers that have served nothing since the interval `since`: most of them are gone.
    /// One that comes back is given new ones.
    fn forget_idle(&self, since: i64) {
        let is_idle = |writer: &Mutex<Writer>| lock(writer).last_interval() < since;
        let any = self.writers.read().unwrap_or_else(PoisonError::into_inner).values().any(is_idle);
        if any {
            let mut writers = self.writers.write().unwrap_or_else(PoisonError::into_inner);
            writers.retain(|_, writer| !is_idle(writer));
        }
    }

    /// Replay by interval since it was last asked for.
    fn take_replayed(&self) -> impl Iterator<Item = Entry> + use<> {
        let replayed = std::mem::take(&mut lock(&self.journal).replayed);
        replayed.into_iter().map(|(index, (records, bytes))| Entry::Replayed { index, records, bytes })
    }

    /// Says that nobody is watched any more: everything can be taken out.
    pub fn end(&self) {
        // Writers hand over when they are dropped.
        self.writers.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// What was kept, once nobody is watched any more.
    #[must_use]
    pub fn finish(&self) -> Record {
        self.end();
        let origin = self.origin_us.load(Ordering::Acquire);
        let mut events: Vec<Event> = std::mem::take(&mut lock(&self.journal).events)
            .into_iter()
            .map(|(at, what)| Event { at_us: relative(at, origin), what })
            .collect();
        events.sort_by_key(|event| event.at_us);
        Record { events, latency: self.latency.finish() }
    }
}

impl Journal {
    fn phase(&self) -> Phase {
        match self.part {
            Part::WarmUp => Phase::WarmUp,
            Part::Measured => self.tracker.phase(),
            Part::Drain => Phase::Drain,
        }
    }

    /// Adds a piece of replay to what there is of its task and instance: copies that follow a changelog report some
    /// ten pieces a second for as long as the run lasts.
    fn add_replay(&mut self, at: Time, at_us: i64, what: What) {
        let What::Replayed { task, instance, records, bytes, work_us } = what else { return };
        let of_interval = self.replayed.entry(interval_of(at_us)).or_default();
        of_interval.0 += records;
        of_interval.1 += bytes;
        let key = (task.clone(), instance.clone(), at_us >= 0);
        match self.replays.get(&key).and_then(|index| self.events.get_mut(*index)) {
            Some((_, What::Replayed { records: sum, bytes: sum_bytes, work_us: sum_us, .. })) => {
                *sum += records;
                *sum_bytes += bytes;
                *sum_us += work_us;
            }
            _ => {
                self.replays.insert(key, self.events.len());
                self.events.push((at, What::Replayed { task, instance, records, bytes, work_us }));
            }
        }
    }
}

impl Observer for Recorder {
    fn event(&self, at: Time, event: EngineEvent) {
        let Some(what) = convert::what(event) else { return };
        let mut journal = lock(&self.journal);
        if matches!(what, What::Replayed { .. }) {
            let at_us = relative(at, self.origin_us.load(Ordering::Acquire));
            return journal.add_replay(at, at_us, what);
        }
        journal.tracker.observe(&what);
        self.latency.set_phase(journal.phase());
        journal.events.push((at, what));
    }

    fn served(&self, served: Served<'_>) {
        let origin = self.origin_us.load(Ordering::Acquire);
        let task = self.tasks.get(served.task).copied().unwrap_or(usize::MAX);
        let record = |writer: &Mutex<Writer>| {
            let service_us = served.at.micros() - served.began.micros().min(served.at.micros());
            let intended = served.intended.iter().map(|at| relative(*at, origin));
            lock(writer).record_turn(task, relative(served.at, origin), service_us, intended);
        };
        let writers = self.writers.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = writers.get(served.member) {
            return record(writer);
        }
        drop(writers);
        let mut writers = self.writers.write().unwrap_or_else(PoisonError::into_inner);
        record(writers.entry(served.member.clone()).or_insert_with(|| Mutex::new(self.latency.writer())));
    }
}

/// Microseconds from the origin; before it is known, everything lies far before it.
fn relative(at: Time, origin_us: u64) -> i64 {
    let signed = |us: u64| i64::try_from(us).unwrap_or(i64::MAX);
    signed(at.micros()).saturating_sub(signed(origin_us))
}

/// A thread that panicked while it held the lock has left whole entries behind; the run is poisoned elsewhere.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A worker that is gone leaves its latencies behind, and nothing else.
    #[test]
    fn who_serves_no_more_is_let_go_of() {
        let task = TaskId::from("T1");
        let recorder = Recorder::new(std::slice::from_ref(&task), 50_000);
        recorder.set_origin(Time::ZERO, None);
        recorder.begin(Part::Measured);
        let interval = Duration::from_millis(100);
        let mut served = 0;
        for nth in 0..500_u32 {
            let at = Time::ZERO + interval * nth;
            // S1 stays; of the others each serves for one interval.
            for member in [MemberId::from("S1"), MemberId::from(format!("S{}", nth + 2))] {
                recorder.served(Served { task: &task, member: &member, began: at, at, intended: &[at] });
                served += 1;
            }
            recorder.close(at);
        }
        let kept: Vec<String> = recorder.writers.read().unwrap().keys().map(ToString::to_string).collect();
        assert!(kept.contains(&"S1".to_owned()) && kept.len() <= 60, "{} writers: {kept:?}", kept.len());
        assert_eq!(recorder.finish().latency.measured().latency.len(), served);
    }
}
