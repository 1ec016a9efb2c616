//! The recorder of latencies: one histogram per 100 ms interval and phase, written by many workers at little cost.
//!
//! A worker owns a [`Writer`]. It records into histograms of its own and hands them over when the interval or the
//! phase changes, so a record costs two bucket increments (its interval's and its task's), a turn one uncontended
//! lock. Whoever directs the run takes the intervals out that lie some hundred milliseconds back ([`Recorder::close`])
//! and writes them down. What stays is of one size however long the run: sums by phase and task, the stretches in
//! which service was late, and a few open intervals.
//!
//! ```
//! use results::histogram::Percentiles;
//! use results::latency::Recorder;
//! use results::phase::Phase;
//!
//! let recorder = Recorder::new(1, 50_000);
//! recorder.set_phase(Phase::Steady);
//! let mut worker = recorder.writer();
//! // Two records that were meant to arrive at 0 and 1.5 ms, served at 2 ms in a turn of 0.1 ms.
//! worker.record_turn(0, 2_000, 100, [0, 1_500]);
//! drop(worker);
//! let closed = recorder.close(i64::MAX);
//! assert_eq!((closed[0].index, closed[0].phase), (0, Phase::Steady));
//! let latency = Percentiles::of(&recorder.finish().measured().latency);
//! assert_eq!((latency.count, latency.p50, latency.max), (2, 0.5, 2.0));
//! ```
//!
//! Two clocks are kept apart. *Latency* counts from a record's intended arrival, so a stall delays everything
//! behind it. *Service time* counts from the poll, which is all that a closed-loop generator would see.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::histogram::{self, Percentiles, ms};
use crate::phase::Phase;
use crate::stretches::Stretches;
use crate::warm_up::Settling;

/// Length of an interval in microseconds.
pub const INTERVAL_US: i64 = 100_000;

/// Intervals behind the current one that should stay open, because workers hand theirs over a little late.
pub const OPEN_INTERVALS: i64 = 4;

/// The interval that a time lies in; interval 0 starts at the end of the warm-up.
#[must_use]
pub fn interval_of(at_us: i64) -> i64 {
    at_us.div_euclid(INTERVAL_US)
}

/// Latencies and service times of the same records.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// From intended arrival to state update, in microseconds.
    pub latency: Histogram<u64>,
    /// From poll to state update, in microseconds.
    pub service: Histogram<u64>,
}

impl Default for Pair {
    fn default() -> Self {
        Pair { latency: histogram::empty(), service: histogram::empty() }
    }
}

impl Pair {
    /// Adds another pair's counts.
    pub fn add(&mut self, other: &Pair) {
        // Equal resolution, and room to grow: adding can't fail.
        let _ = self.latency.add(&other.latency);
        let _ = self.service.add(&other.service);
    }
}

/// Latencies of one task, split at the first scripted event; by intended arrival, so that all strategies are judged
/// by the same records.
#[derive(Clone, Debug, Default)]
pub struct TaskLatency {
    /// Records that arrived after the warm-up and before the window.
    pub rest: Distribution,
    /// Records that arrived in the window.
    pub window: Distribution,
}

/// A small histogram with its exact sum.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// Latencies in microseconds.
    pub histogram: Histogram<u32>,
    /// Their exact sum, in microseconds.
    pub sum_us: u64,
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution { histogram: histogram::empty(), sum_us: 0 }
    }
}

impl Distribution {
    fn record(&mut self, latency_us: u64) {
        histogram::record(&mut self.histogram, latency_us, 1);
        self.sum_us += latency_us;
    }
}

/// Counts over the measured part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that arrived in the window and were served.
    pub window_records: u64,
    /// Those of them that were served later than the SLO allows.
    pub window_late: u64,
}

/// What is shared by all writers of a run. See the module's text.
#[derive(Debug)]
pub struct Recorder {
    slo_us: u64,
    phase: AtomicU8,
    window_from_us: AtomicI64,
    window_to_us: AtomicI64,
    tasks: Vec<Mutex<Option<Box<TaskLatency>>>>,
    intervals: Mutex<Intervals>,
}

#[derive(Debug, Default)]
struct Intervals {
    open: BTreeMap<(i64, Phase), Pair>,
    totals: BTreeMap<Phase, Pair>,
    counts: Counts,
    late: Stretches,
    settling: Settling,
    last: Option<i64>,
}

impl Recorder {
    /// A recorder for tasks 0 to `tasks` − 1 that counts as late what took longer than `slo_us` microseconds.
    /// It starts in the warm-up and without a window.
    #[must_use]
    pub fn new(tasks: usize, slo_us: u64) -> Arc<Self> {
        Arc::new(Recorder {
            slo_us,
            phase: AtomicU8::new(Phase::WarmUp.index()),
            window_from_us: AtomicI64::new(i64::MAX),
            window_to_us: AtomicI64::new(i64::MAX),
            tasks: (0..tasks).map(|_| Mutex::new(None)).collect(),
            intervals: Mutex::default(),
        })
    }

    /// Turns served from now on are tagged with this phase.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase.index(), Ordering::Relaxed);
    }

    /// The phase now.
    #[must_use]
    pub fn phase(&self) -> Phase {
        Phase::at(self.phase.load(Ordering::Relaxed))
    }

    /// Opens the window, by intended arrival: `from_us` is the first scripted event, `to_us` (excluded) the same for
    /// every strategy. To be called before a record that arrives in it is served; for timed events, before the run.
    pub fn open_window(&self, from_us: i64, to_us: i64) {
        self.window_to_us.store(to_us, Ordering::Relaxed);
        self.window_from_us.store(from_us, Ordering::Relaxed);
    }

    /// A worker's handle. What it has recorded is handed over at the latest when it is dropped, even by a worker
    /// that is crashed by the script: the measurement is not part of what crashes.
    #[must_use]
    pub fn writer(self: &Arc<Self>) -> Writer {
        Writer {
            recorder: Arc::clone(self),
            current: (i64::MIN, Phase::WarmUp),
            pair: Pair::default(),
            counts: Counts::default(),
        }
    }

    /// Latencies of the last few intervals that workers have handed over: for a progress display.
    #[must_use]
    pub fn recent(&self) -> Percentiles {
        let intervals = lock(&self.intervals);
        let mut sum = histogram::empty::<u64>();
        for pair in intervals.open.values() {
            let _ = sum.add(&pair.latency);
        }
        Percentiles::of(&sum)
    }

    /// Takes out every interval before `end`, in order. A worker that hands over later than that has its part come out
    /// as another entry of the same interval.
    pub fn close(&self, end: i64) -> Vec<Closed> {
        let window_from = interval_of(self.window_from_us.load(Ordering::Relaxed));
        let mut intervals = lock(&self.intervals);
        let mut closed = Vec::new();
        while let Some(entry) = intervals.open.first_entry()
            && entry.key().0 < end
        {
            let ((index, phase), pair) = entry.remove_entry();
            closed.push(Closed { index, phase, pair });
        }
        for summary in summaries(&closed) {
            intervals.judge(&summary, self.slo_us, window_from);
        }
        closed
    }

    /// What is left of everything that has been handed over. Complete once every [`Writer`] has been dropped.
    #[must_use]
    pub fn finish(&self) -> LatencyRecord {
        self.close(i64::MAX);
        let intervals = lock(&self.intervals);
        let window_from = self.window_from_us.load(Ordering::Relaxed);
        LatencyRecord {
            slo_us: self.slo_us,
            window_us: (window_from != i64::MAX)
                .then(|| (window_from, self.window_to_us.load(Ordering::Relaxed))),
            totals: intervals.totals.clone(),
            tasks: self.tasks.iter().map(|task| lock(task).as_deref().cloned().unwrap_or_default()).collect(),
            counts: intervals.counts,
            late: intervals.late.clone(),
            settling: intervals.settling.clone(),
            last_interval: intervals.last,
        }
    }
}

impl Intervals {
    fn add(&mut self, key: (i64, Phase), pair: &Pair, counts: Counts) {
        self.totals.entry(key.1).or_default().add(pair);
        self.counts.window_records += counts.window_records;
        self.counts.window_late += counts.window_late;
        self.open.entry(key).or_default().add(pair);
    }

    /// Keeps of a closed interval what metrics need.
    fn judge(&mut self, interval: &IntervalSummary, slo_us: u64, window_from: i64) {
        if interval.latency_ms.p99 > ms(slo_us) {
            self.late.add(interval.index, interval.index);
        }
        if (0..window_from).contains(&interval.index) {
            self.settling.add(interval);
        }
        self.last = self.last.max(Some(interval.index));
    }
}

/// A worker's own end of the recorder.
#[derive(Debug)]
pub struct Writer {
    recorder: Arc<Recorder>,
    current: (i64, Phase),
    pair: Pair,
    counts: Counts,
}

impl Writer {
    /// Records one turn of `task` whose state update was complete at `at_us` and had begun `service_us` before, for
    /// records that were meant to arrive at the times given (microseconds on the run's clock). A turn belongs to the
    /// interval and the phase it completes in. A task beyond the recorder's is counted in the intervals alone.
    pub fn record_turn(
        &mut self,
        task: usize,
        at_us: i64,
        service_us: u64,
        intended_us: impl IntoIterator<Item = i64>,
    ) {
        let recorder = Arc::clone(&self.recorder);
        let key = (interval_of(at_us), recorder.phase());
        if key != self.current {
            self.flush();
            self.current = key;
        }
        let from_us = recorder.window_from_us.load(Ordering::Relaxed);
        let to_us = recorder.window_to_us.load(Ordering::Relaxed);
        let mut guard = recorder.tasks.get(task).map(lock);
        let mut of_task = guard.as_mut().map(|task| task.get_or_insert_default());
        let mut records = 0;
        for intended_us in intended_us {
            let latency_us = u64::try_from(at_us - intended_us).unwrap_or(0);
            histogram::record(&mut self.pair.latency, latency_us, 1);
            records += 1;
            if intended_us >= from_us {
                if intended_us >= to_us {
                    continue;
                }
                self.counts.window_records += 1;
                self.counts.window_late += u64::from(latency_us > recorder.slo_us);
                if let Some(task) = &mut of_task {
                    task.window.record(latency_us);
                }
            } else if intended_us >= 0
                && let Some(task) = &mut of_task
            {
                task.rest.record(latency_us);
            }
        }
        if records > 0 {
            histogram::record(&mut self.pair.service, service_us, records);
        }
    }

    /// The interval of the last turn that it recorded; `i64::MIN` before the first.
    #[must_use]
    pub fn last_interval(&self) -> i64 {
        self.current.0
    }

    /// Hands over what belongs to an interval before `end`, for a worker that may be idle.
    pub fn flush_before(&mut self, end: i64) {
        if self.current.0 < end {
            self.flush();
        }
    }

    /// Hands over what has been recorded since the last interval.
    pub fn flush(&mut self) {
        if !self.pair.latency.is_empty() {
            lock(&self.recorder.intervals).add(self.current, &self.pair, self.counts);
            self.pair.latency.reset();
            self.pair.service.reset();
            self.counts = Counts::default();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.flush();
    }
}

/// All latencies of one run. Plain data.
#[derive(Clone, Debug, Default)]
pub struct LatencyRecord {
    /// What counts as late, in microseconds.
    pub slo_us: u64,
    /// The window by intended arrival, start included, end excluded; none if the script did nothing.
    pub window_us: Option<(i64, i64)>,
    /// Sums over the intervals, per phase.
    pub totals: BTreeMap<Phase, Pair>,
    /// Per task, in the order of the recorder's task numbers.
    pub tasks: Vec<TaskLatency>,
    /// Counts over the window.
    pub counts: Counts,
    /// The intervals whose 99th percentile was over the SLO.
    pub late: Stretches,
    /// What the rule of the warm-up judges.
    pub settling: Settling,
    /// The last interval in which a record was served.
    pub last_interval: Option<i64>,
}

impl LatencyRecord {
    /// Sum over the phases that count as the run's: steady, rebalance, restore and drain.
    #[must_use]
    pub fn measured(&self) -> Pair {
        let mut sum = Pair::default();
        for (_, pair) in self.totals.iter().filter(|(phase, _)| phase.is_measured()) {
            sum.add(pair);
        }
        sum
    }
}

/// One interval of one phase, complete but for what is handed over late.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// Which interval: it starts at `index` × 100 ms.
    pub index: i64,
    /// Its phase.
    pub phase: Phase,
    /// Its histograms.
    pub pair: Pair,
}

/// The figures of each interval, phases added up. The entries of an interval follow one another.
#[must_use]
pub fn summaries(closed: &[Closed]) -> Vec<IntervalSummary> {
    closed
        .chunk_by(|a, b| a.index == b.index)
        .map(|parts| {
            let mut sum = Pair::default();
            parts.iter().for_each(|part| sum.add(&part.pair));
            // The phase that served most speaks for the interval.
            let phase = parts.iter().max_by_key(|part| part.pair.latency.len()).map(|part| part.phase);
            IntervalSummary {
                index: parts[0].index,
                phase: phase.unwrap_or_default(),
                latency_ms: Percentiles::of(&sum.latency),
                service_ms: Percentiles::of(&sum.service),
            }
        })
        .collect()
}

/// The figures of one 100 ms interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalSummary {
    /// Which interval: it starts at `index` × 100 ms.
    pub index: i64,
    /// The phase in which most of its records were served.
    pub phase: Phase,
    /// Latency figures.
    pub latency_ms: Percentiles,
    /// Service-time figures.
    pub service_ms: Percentiles,
}

/// A writer that panicked between two increments has left valid counts behind; the run is poisoned elsewhere.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
