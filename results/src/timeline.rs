//! The timeline of a run: one row per 100 ms, and its CSV.

use std::collections::BTreeMap;
use std::io;

use crate::event::{Event, What};
use crate::latency::{INTERVAL_US, IntervalSummary, LatencyRecord, interval_of};
use crate::pause::Pause;
use crate::phase::Phase;
use crate::report::csv;

/// What the program saw of the process and its stores at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

/// What lies further back than an hour before the warm-up's end is left out: nobody warms up that long, but a clock
/// that was not set yet can say so.
const EARLIEST: i64 = -36_000;

/// Puts latencies, pauses, events and samples on one time axis, from the first interval that has something to the
/// last.
#[must_use]
pub fn rows(events: &[Event], latency: &LatencyRecord, pauses: &[Pause], samples: &[Sample]) -> Vec<Row> {
    let served: BTreeMap<i64, IntervalSummary> =
        latency.per_interval().into_iter().map(|interval| (interval.index, interval)).collect();
    let sampled: BTreeMap<i64, Sample> =
        samples.iter().map(|sample| (interval_of(sample.at_us), *sample)).collect();
    let ends = [served.keys().next(), served.keys().last(), sampled.keys().next(), sampled.keys().last()];
    let known = ends.iter().flatten().copied().copied();
    let (Some(first), Some(last)) = (known.clone().min(), known.max()) else { return Vec::new() };
    let mut rows: Vec<Row> = Vec::new();
    let mut phase = Phase::WarmUp;
    let first = first.max(EARLIEST);
    for index in first..=last {
        let served = served.get(&index).copied();
        phase = served.map_or(phase, |served| served.phase);
        rows.push(Row { index, phase, served, sample: sampled.get(&index).copied(), ..Row::default() });
    }
    add_pauses(&mut rows, first, pauses);
    add_events(&mut rows, first, events);
    rows
}

fn add_pauses(rows: &mut [Row], first: i64, pauses: &[Pause]) {
    for pause in pauses {
        for index in interval_of(pause.start_us)..=interval_of(pause.end_us) {
            let Some(row) = usize::try_from(index - first).ok().and_then(|at| rows.get_mut(at)) else {
                continue;
            };
            let from_us = pause.start_us.max(index * INTERVAL_US);
            let to_us = pause.end_us.min((index + 1) * INTERVAL_US);
            row.tasks_paused += (to_us - from_us) as f64 / INTERVAL_US as f64;
        }
    }
}

fn add_events(rows: &mut [Row], first: i64, events: &[Event]) {
    let mut learners: BTreeMap<(&str, &str), ()> = BTreeMap::new();
    let mut generation = 0;
    let mut events = events.iter().peekable();
    for (index, row) in (first..).zip(rows) {
        while let Some(event) = events.next_if(|event| interval_of(event.at_us) <= index) {
            match &event.what {
                What::LearnerStarted { task, member, .. } => {
                    learners.insert((task, member), ());
                }
                What::LearnerDropped { task, member, .. } | What::TaskPolled { task, member, .. } => {
                    learners.remove(&(task.as_str(), member.as_str()));
                }
                What::MemberGone { member, .. } => learners.retain(|(_, learner), ()| learner != member),
                What::GenerationCompleted { generation: completed, .. } => generation = *completed,
                What::Replayed { records, bytes, .. } if interval_of(event.at_us) == index => {
                    row.restore_records += records;
                    row.restore_bytes += bytes;
                }
                _ => {}
            }
        }
        row.learners = u32::try_from(learners.len()).unwrap_or(u32::MAX);
        row.generation = generation;
    }
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
