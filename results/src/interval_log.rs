//! Writes latencies as an HdrHistogram interval log, version 2, which any HdrHistogram log reader opens.
//!
//! One line per 100 ms interval and phase, tagged with the phase; values in microseconds, the human-readable maximum
//! of a line in milliseconds. Format: <https://hdrhistogram.github.io/HdrHistogram/>, class `HistogramLogWriter`.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};

use crate::latency::{INTERVAL_US, LatencyRecord};

/// Which of a record's two clocks goes into the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// From the intended arrival.
    Latency,
    /// From the poll.
    Service,
}

/// Writes the log. `run` names strategy, trial and seed in a comment; `clock_zero` is the wall time of the end of
/// the warm-up. Readers see times in seconds since the first interval; a comment says where the warm-up ended.
///
/// # Errors
/// What the writer `out` reports.
pub fn write(
    out: &mut impl io::Write,
    record: &LatencyRecord,
    clock: Clock,
    run: &str,
    clock_zero: SystemTime,
) -> io::Result<()> {
    // Times in the log can't be negative, so they count from the first interval, which lies in the warm-up.
    let first = record.intervals.first().map_or(0, |interval| interval.index.min(0));
    let before_zero = interval_start(-first);
    let what = match clock {
        Clock::Latency => "latency from intended arrival to state update",
        Clock::Service => "service time from poll to state update",
    };
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment(&format!("[Understudy: {}]", run.replace(['\n', '\r'], " ")))
        .add_comment(&format!("[{what}, in microseconds; tags are phases]"))
        .add_comment(&format!("[The warm-up ends at {:.3} s]", before_zero.as_secs_f64()))
        .with_start_time(clock_zero.checked_sub(before_zero).unwrap_or(SystemTime::UNIX_EPOCH))
        .with_max_value_divisor(1_000.0)
        .begin_log_with(out, &mut serializer)?;
    for interval in &record.intervals {
        let pair = interval.decode();
        let histogram = match clock {
            Clock::Latency => &pair.latency,
            Clock::Service => &pair.service,
        };
        log.write_histogram(
            histogram,
            interval_start(interval.index - first),
            interval_start(1),
            Tag::new(interval.phase.name()),
        )
        .map_err(|error| match error {
            IntervalLogWriterError::IoError(error) => error,
            IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
        })?;
    }
    Ok(())
}

fn interval_start(index: i64) -> Duration {
    Duration::from_micros(index.saturating_mul(INTERVAL_US).unsigned_abs())
}
