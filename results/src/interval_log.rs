//! Writes latencies as an HdrHistogram interval log, version 2, which any HdrHistogram log reader opens.
//!
//! One line per 100 ms interval and phase, tagged with the phase; values in microseconds, the human-readable maximum
//! of a line in milliseconds. Format: <https://hdrhistogram.github.io/HdrHistogram/>, class `HistogramLogWriter`.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriter, IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};

use crate::latency::{Closed, INTERVAL_US};

/// Which of a record's two clocks goes into the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// From the intended arrival.
    Latency,
    /// From the poll.
    Service,
}

/// Where a log begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Its first interval; earlier ones are written as if they were this one, because times in a log can't be negative.
    pub interval: i64,
    /// Wall time of interval 0, the end of the warm-up.
    pub clock_zero: SystemTime,
}

/// A log that is being written, interval by interval.
pub struct IntervalLog<'a, W: io::Write> {
    log: IntervalLogWriter<'a, 'a, W, V2DeflateSerializer>,
    clock: Clock,
    first: i64,
}

impl<W: io::Write> std::fmt::Debug for IntervalLog<'_, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IntervalLog").field("clock", &self.clock).finish_non_exhaustive()
    }
}

impl<'a, W: io::Write> IntervalLog<'a, W> {
    /// Writes the head of the log. `run` names strategy, trial and seed in a comment. Readers see times in seconds
    /// since the first interval; a comment says where the warm-up ended.
    ///
    /// # Errors
    /// What the writer `out` reports.
    pub fn begin(
        out: &'a mut W,
        serializer: &'a mut V2DeflateSerializer,
        clock: Clock,
        run: &str,
        beginning: Beginning,
    ) -> io::Result<Self> {
        let first = beginning.interval.min(0);
        let before_zero = start_of(-first);
        let what = match clock {
            Clock::Latency => "latency from intended arrival to state update",
            Clock::Service => "service time from poll to state update",
        };
        let log = IntervalLogWriterBuilder::new()
            .add_comment(&format!("[Understudy: {}]", run.replace(['\n', '\r'], " ")))
            .add_comment(&format!("[{what}, in microseconds; tags are phases]"))
            .add_comment(&format!("[The warm-up ends at {:.3} s]", before_zero.as_secs_f64()))
            .with_start_time(beginning.clock_zero.checked_sub(before_zero).unwrap_or(SystemTime::UNIX_EPOCH))
            .with_max_value_divisor(1_000.0)
            .begin_log_with(out, serializer)?;
        Ok(Self { log, clock, first })
    }

    /// Writes one line.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write(&mut self, interval: &Closed) -> io::Result<()> {
        let histogram = match self.clock {
            Clock::Latency => &interval.pair.latency,
            Clock::Service => &interval.pair.service,
        };
        self.log
            .write_histogram(
                histogram,
                start_of((interval.index - self.first).max(0)),
                start_of(1),
                Tag::new(interval.phase.name()),
            )
            .map_err(|error| match error {
                IntervalLogWriterError::IoError(error) => error,
                IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
            })
    }
}

fn start_of(index: i64) -> Duration {
    Duration::from_micros(index.saturating_mul(INTERVAL_US).unsigned_abs())
}
