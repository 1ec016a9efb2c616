//! The timeline of a run: one row per 100 ms, and its CSV.

pub mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde::{Deserialize, Serialize};

use crate::event::{Event, What};
use crate::latency::{INTERVAL_US, IntervalSummary, interval_of};
use crate::pause::Pause;
use crate::phase::Phase;
use crate::report::csv;

/// What the program saw of the process and its stores at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When, in microseconds since the end of the warm-up.
    pub at_us: i64,
    /// Records that have arrived and are not served.
    pub backlog: u64,
    /// CPU time of the process since the last sample, in per cent of one core.
    pub cpu_percent: f64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Whether RocksDB was holding writes back: stores stalled or slowed down.
    pub stalled_stores: u32,
    /// Bytes that RocksDB has yet to compact.
    pub compaction_debt_bytes: u64,
}

/// One interval of 100 ms. Latencies are absent where nothing was served.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Which interval: it starts at `index` × 100 ms after the end of the warm-up.
    pub index: i64,
    /// The phase in which most of its records were served, or the last known one.
    pub phase: Phase,
    /// Latency and service-time figures, if anything was served.
    pub served: Option<IntervalSummary>,
    /// Tasks paused, averaged over the interval.
    pub tasks_paused: f64,
    /// Learners at work at the end of the interval.
    pub learners: u32,
    /// Changelog records replayed, reckoned to the interval in which the work was reported.
    pub restore_records: u64,
    /// Their bytes.
    pub restore_bytes: u64,
    /// Generations completed up to the end of the interval.
    pub generation: u64,
    /// The last sample taken in the interval.
    pub sample: Option<Sample>,
}

/// What becomes known of an interval while the run goes on, to be put on the time axis when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// Latencies of an interval.
    #[serde(rename = "l")]
    Served(IntervalSummary),
    /// A look at the process and its stores.
    #[serde(rename = "s")]
    Sample(Sample),
    /// Replay that was reported in an interval.
    #[serde(rename = "r")]
    Replayed {
        /// Which interval.
        index: i64,
        /// Changelog records.
        records: u64,
        /// Their bytes.
        bytes: u64,
    },
}

impl Entry {
    /// The interval that it belongs to.
    #[must_use]
    pub fn index(&self) -> i64 {
        match self {
            Entry::Served(summary) => summary.index,
            Entry::Sample(sample) => interval_of(sample.at_us),
            Entry::Replayed { index, .. } => *index,
        }
    }
}

/// What lies further back than an hour before the warm-up's end is left out: nobody warms up that long, but a clock
/// that was not set yet can say so.
const EARLIEST: i64 = -36_000;

/// Entries are nearly in order: one that comes this many intervals behind another is left out.
const HELD: i64 = 100;

/// Puts entries, pauses and events on one time axis, a row for each interval from the first that has something to the
/// last. Only the rows that may still change are held, so that a run may be as long as it likes.
#[derive(Debug)]
pub struct Timeline<'a> {
    pauses: &'a [Pause],
    events: std::slice::Iter<'a, Event>,
    held: BTreeMap<i64, Row>,
    /// The next row to be given out, once the first is known.
    next: Option<i64>,
    phase: Phase,
    learners: BTreeSet<(&'a str, &'a str)>,
    generation: u64,
}

impl<'a> Timeline<'a> {
    /// An empty one. Events and pauses are in the order of their times.
    #[must_use]
    pub fn new(events: &'a [Event], pauses: &'a [Pause]) -> Self {
        Self {
            pauses,
            events: events.iter(),
            held: BTreeMap::new(),
            next: None,
            phase: Phase::WarmUp,
            learners: BTreeSet::new(),
            generation: 0,
        }
    }

    /// Takes an entry in and gives out the rows that can't change any more.
    pub fn add(&mut self, entry: &Entry) -> Vec<Row> {
        let index = entry.index();
        if index < self.next.unwrap_or(EARLIEST) {
            return Vec::new();
        }
        let row = self.held.entry(index).or_insert(Row { index, ..Row::default() });
        match entry {
            Entry::Served(summary) => row.served = Some(merged(row.served, *summary)),
            Entry::Sample(sample) => row.sample = Some(*sample),
            Entry::Replayed { records, bytes, .. } => {
                row.restore_records += records;
                row.restore_bytes += bytes;
            }
        }
        let newest = self.held.last_key_value().map_or(index, |(newest, _)| *newest);
        self.give_out(newest - HELD)
    }

    /// Gives out what is left.
    pub fn finish(mut self) -> Vec<Row> {
        self.give_out(i64::MAX)
    }

    /// Rows before `end`, those without an entry included.
    fn give_out(&mut self, end: i64) -> Vec<Row> {
        let mut rows = Vec::new();
        while let Some((&held, _)) = self.held.first_key_value()
            && held < end
        {
            for index in self.next.unwrap_or(held)..=held {
                let row = self.held.remove(&index).unwrap_or(Row { index, ..Row::default() });
                rows.push(self.complete(row));
            }
            self.next = Some(held + 1);
        }
        rows
    }

    fn complete(&mut self, mut row: Row) -> Row {
        self.phase = row.served.map_or(self.phase, |served| served.phase);
        row.phase = self.phase;
        row.tasks_paused = self.paused(row.index);
        while let Some(event) = self.events.as_slice().first()
            && interval_of(event.at_us) <= row.index
        {
            self.events.next();
            self.follow(&event.what);
        }
        row.learners = u32::try_from(self.learners.len()).unwrap_or(u32::MAX);
        row.generation = self.generation;
        row
    }

    /// Tasks paused in an interval, on average.
    fn paused(&self, index: i64) -> f64 {
        let (from_us, to_us) = (index * INTERVAL_US, (index + 1) * INTERVAL_US);
        let within =
            |pause: &Pause| pause.end_us.min(to_us).saturating_sub(pause.start_us.max(from_us)).max(0);
        self.pauses.iter().map(within).sum::<i64>() as f64 / INTERVAL_US as f64
    }

    fn follow(&mut self, what: &'a What) {
        match what {
            What::LearnerStarted { task, member, .. } => {
                self.learners.insert((task, member));
            }
            What::LearnerDropped { task, member, .. } | What::TaskPolled { task, member, .. } => {
                self.learners.remove(&(task.as_str(), member.as_str()));
            }
            What::MemberGone { member, .. } => self.learners.retain(|(_, learner)| learner != member),
            What::GenerationCompleted { generation, .. } => self.generation = *generation,
            _ => {}
        }
    }
}

/// Two parts of one interval: a worker handed over late. Their percentiles can't be added; the larger part's stand.
fn merged(first: Option<IntervalSummary>, second: IntervalSummary) -> IntervalSummary {
    let Some(first) = first else { return second };
    let larger = if second.latency_ms.count > first.latency_ms.count { second } else { first };
    let mut merged = larger;
    merged.latency_ms.count = first.latency_ms.count + second.latency_ms.count;
    merged.latency_ms.max = first.latency_ms.max.max(second.latency_ms.max);
    merged.service_ms.count = first.service_ms.count + second.service_ms.count;
    merged.service_ms.max = first.service_ms.max.max(second.service_ms.max);
    merged
}

const COLUMNS: [&str; 21] = [
    "strategy",
    "trial",
    "replica",
    "time_s",
    "phase",
    "records",
    "latency_p50_ms",
    "latency_p99_ms",
    "latency_max_ms",
    "service_p99_ms",
    "backlog",
    "tasks_paused",
    "learners",
    "restore_records_per_s",
    "restore_mb_per_s",
    "generation",
    "cpu_percent",
    "rss_mb",
    "stalled_stores",
    "compaction_debt_mb",
    "window",
];

/// Writes the heading of `timeline.csv`, once per file.
///
/// # Errors
/// What `out` reports.
pub fn write_heading(out: &mut impl io::Write) -> io::Result<()> {
    csv::write_row(out, COLUMNS)
}

/// Appends the rows of one run. A cell is empty where nothing was served or sampled. `window` is the run's window in
/// microseconds; its column says whether the interval begins in it.
///
/// # Errors
/// What `out` reports.
pub fn write_rows(
    out: &mut impl io::Write,
    (strategy, trial, replica): (&str, u32, u32),
    window: Option<(i64, i64)>,
    rows: &[Row],
) -> io::Result<()> {
    let per_s = 1e6 / INTERVAL_US as f64;
    for row in rows {
        let start_us = row.index * INTERVAL_US;
        let served = |figure: fn(&IntervalSummary) -> f64| {
            row.served.as_ref().map_or_else(String::new, |summary| format!("{:.3}", figure(summary)))
        };
        let sampled = |figure: fn(&Sample) -> String| row.sample.as_ref().map_or_else(String::new, figure);
        let cells: [String; COLUMNS.len()] = [
            strategy.to_owned(),
            trial.to_string(),
            replica.to_string(),
            format!("{:.1}", start_us as f64 / 1e6),
            row.phase.name().to_owned(),
            row.served.map_or(0, |served| served.latency_ms.count).to_string(),
            served(|summary| summary.latency_ms.p50),
            served(|summary| summary.latency_ms.p99),
            served(|summary| summary.latency_ms.max),
            served(|summary| summary.service_ms.p99),
            sampled(|sample| sample.backlog.to_string()),
            format!("{:.3}", row.tasks_paused),
            row.learners.to_string(),
            format!("{:.0}", row.restore_records as f64 * per_s),
            format!("{:.3}", row.restore_bytes as f64 / 1e6 * per_s),
            row.generation.to_string(),
            sampled(|sample| format!("{:.1}", sample.cpu_percent)),
            sampled(|sample| format!("{:.1}", sample.rss_bytes as f64 / 1e6)),
            sampled(|sample| sample.stalled_stores.to_string()),
            sampled(|sample| format!("{:.1}", sample.compaction_debt_bytes as f64 / 1e6)),
            u8::from(window.is_some_and(|(from_us, to_us)| (from_us..to_us).contains(&start_us))).to_string(),
        ];
        csv::write_row(out, cells.iter().map(String::as_str))?;
    }
    Ok(())
}
