//! Records a 2 s stall at 10,000 records/s and writes its interval log to standard output, for any HdrHistogram log
//! reader; a comment line holds the percentiles that the reader should find.
//!
//! ```text
//! cargo run --release -p results --example stall > stall.hlog
//! ```

use std::io::{self, Write};
use std::time::SystemTime;

use hdrhistogram::serialization::V2DeflateSerializer;
use results::histogram::Percentiles;
use results::interval_log::{Beginning, Clock, IntervalLog};
use results::latency::Recorder;
use results::phase::Phase;

/// Records arrive every 100 µs for 10 s; the worker polls every millisecond, but not from 2 s to 4 s.
fn main() -> io::Result<()> {
    let recorder = Recorder::new(1, 50_000);
    let mut worker = recorder.writer();
    let mut next_us = 0;
    for poll_us in (0..=10_000_000).step_by(1_000) {
        let stalled = (2_000_000..4_000_000).contains(&poll_us);
        if stalled {
            continue;
        }
        recorder.set_phase(if next_us < poll_us - 1_000 { Phase::Rebalance } else { Phase::Steady });
        let arrived = (next_us..poll_us).step_by(100);
        worker.record_turn(0, poll_us + 40, 40, arrived);
        next_us = poll_us;
    }
    drop(worker);
    let closed = recorder.close(i64::MAX);
    let record = recorder.finish();
    let Percentiles { count, p50, p99, p999, max, .. } = Percentiles::of(&record.measured().latency);
    let mut out = io::stdout().lock();
    writeln!(out, "#[{count} records: p50 {p50} ms, p99 {p99} ms, p99.9 {p999} ms, max {max} ms]")?;
    let mut serializer = V2DeflateSerializer::new();
    let beginning = Beginning { interval: 0, clock_zero: SystemTime::UNIX_EPOCH };
    let mut log = IntervalLog::begin(&mut out, &mut serializer, Clock::Latency, "a stall of 2 s", beginning)?;
    closed.iter().try_for_each(|interval| log.write(interval))
}
