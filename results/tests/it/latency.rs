//! The recorder: nothing is lost or counted twice between workers, intervals and phases, and its logs open.

use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use results::histogram::Percentiles;
use results::interval_log::{self, Clock};
use results::latency::{LatencyRecord, Recorder};
use results::phase::Phase;

/// Two workers, three phases, late hand-overs, one second before the warm-up's end and two after it.
fn record() -> LatencyRecord {
    let recorder = Recorder::new(2, 50_000);
    recorder.open_window(1_000_000, 2_000_000);
    let mut writers = [recorder.writer(), recorder.writer()];
    for at_ms in -1_000..2_000_i64 {
        recorder.set_phase(match at_ms {
            ..0 => Phase::WarmUp,
            0..1_050 => Phase::Steady,
            _ => Phase::Rebalance,
        });
        for (task, writer) in writers.iter_mut().enumerate() {
            // The second worker stands still for 800 ms, so its last interval is handed over late.
            if task == 1 && (500..1_300).contains(&at_ms) {
                continue;
            }
            let at_us = at_ms * 1_000;
            writer.record_turn(task, at_us, 40, [at_us - 200, at_us - 300_000 * i64::from(at_ms == 1_500)]);
        }
    }
    drop(writers);
    recorder.finish()
}

#[test]
fn totals_are_the_sum_of_the_intervals() {
    let record = record();
    let measured = record.measured();
    assert_eq!(measured.latency.len(), 2 * (2_000 + 1_200));
    assert_eq!(measured.service.len(), measured.latency.len());
    assert_eq!(measured.latency.max() / 1_000, 300);
    assert_eq!(measured.service.max(), 40);
    for phase in Phase::ALL {
        let parts = record.intervals.iter().filter(|interval| interval.phase == phase);
        let mut sum = results::latency::Pair::default();
        parts.for_each(|part| sum.add(&part.decode()));
        assert_eq!(Some(sum).filter(|sum| !sum.latency.is_empty()).as_ref(), record.totals.get(&phase));
    }
}

#[test]
fn intervals_are_ordered_and_split_by_phase() {
    let record = record();
    let keys: Vec<_> = record.intervals.iter().map(|interval| (interval.index, interval.phase)).collect();
    assert!(keys.is_sorted());
    assert_eq!(keys.first(), Some(&(-10, Phase::WarmUp)));
    let of_ten: Vec<_> = record.intervals.iter().filter(|interval| interval.index == 10).collect();
    assert_eq!(of_ten.len(), 2, "steady until 1,050, rebalance from there");
    let summary = record.per_interval();
    assert_eq!(summary.len(), 30);
    assert_eq!(summary[20].latency_ms.count, of_ten.iter().map(|part| part.latency_ms.count).sum::<u64>());
}

#[test]
fn tasks_and_window_are_told_apart_by_intended_arrival() {
    let record = record();
    let [first, second] = record.tasks.as_slice() else { panic!("two tasks") };
    // Of 2,000 turns with two records each, the records from 0 to 1 s rest; those that arrived 0.2 ms before the
    // warm-up's end or the window's start belong to the time before.
    assert_eq!(first.rest.histogram.len() + first.window.histogram.len(), 4_000 - 1);
    assert_eq!(first.window.histogram.len(), 2_000 - 1);
    assert_eq!(second.window.histogram.len(), 2 * 700);
    assert_eq!(
        first.window.histogram.max() / 1_000,
        300,
        "larger than what a histogram has room for at first"
    );
    assert_eq!(record.counts.window_records, 2_000 - 1 + 2 * 700);
    assert_eq!(record.counts.window_late, 2, "the one record of each task that took 300 ms");
    assert_eq!(record.window_us, Some((1_000_000, 2_000_000)));
}

#[test]
fn a_log_reader_finds_the_same_histograms() {
    let record = record();
    for clock in [Clock::Latency, Clock::Service] {
        let mut log = Vec::new();
        let zero = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        interval_log::write(&mut log, &record, clock, "eager, trial 1, seed 1", zero).expect("memory");
        let (mut lines, mut start) = (0, None);
        let mut sum = results::histogram::empty::<u64>();
        for entry in IntervalLogIterator::new(&log) {
            match entry.expect("every line is valid") {
                LogEntry::StartTime(at) => start = Some(at),
                LogEntry::Interval(interval) => {
                    let expected = &record.intervals[lines];
                    assert_eq!(interval.tag().map(|tag| tag.as_str()), Some(expected.phase.name()));
                    assert_eq!(interval.duration(), Duration::from_millis(100));
                    let at_ms = (expected.index + 10) * 100;
                    assert_eq!(interval.start_timestamp(), Duration::from_millis(at_ms.unsigned_abs()));
                    sum += decode(interval.encoded_histogram());
                    lines += 1;
                }
                _ => {}
            }
        }
        assert_eq!(lines, record.intervals.len());
        assert_eq!(start, Some(Duration::from_secs(1_699_999_999)), "the first interval's wall time");
        let mut all = results::latency::Pair::default();
        record.totals.values().for_each(|pair| all.add(pair));
        let total = if clock == Clock::Latency { all.latency } else { all.service };
        assert_eq!(Percentiles::of(&sum), Percentiles::of(&total));
    }
}

/// The log's base64, decoded by hand: the crate has a decoder for the histogram alone.
fn decode(base64: &str) -> hdrhistogram::Histogram<u64> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for letter in base64.trim_end_matches('=').chars() {
        bits = bits << 6 | u32::try_from(ALPHABET.find(letter).expect("base64")).expect("below 64");
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram")
}

#[test]
fn a_tail_halves_down_to_one_value() {
    let mut histogram = results::histogram::empty();
    (1..=1_024).for_each(|us| results::histogram::record(&mut histogram, us, 1));
    let tail = results::histogram::tail(&histogram);
    let points: Vec<(f64, f64)> = tail.iter().map(|above| (above.share, above.ms)).collect();
    assert_eq!(points[..3], [(0.5, 0.512), (0.25, 0.768), (0.125, 0.896)]);
    assert_eq!(points.last(), Some(&(0.0, 1.024)));
    assert_eq!(points.len(), 12);
    assert!(results::histogram::tail(&results::histogram::empty()).is_empty());
}

#[test]
fn a_progress_display_sees_the_last_intervals() {
    let recorder = Recorder::new(1, 50_000);
    let mut writer = recorder.writer();
    assert_eq!(recorder.recent(), Percentiles::default());
    writer.record_turn(0, 150_000, 10, [100_000]);
    writer.flush();
    assert_eq!(recorder.recent().count, 1);
    assert_eq!(recorder.recent().p50.round(), 50.0);
}

#[test]
fn an_hour_of_intervals_stays_small() {
    // Bytes kept per interval, times 36,000 of them: megabytes, where live histograms would take gigabytes.
    let recorder = Recorder::new(1, 50_000);
    let mut writer = recorder.writer();
    for at in 0..100_000_i64 {
        // Latencies spread over four decades.
        writer.record_turn(0, at * 100, 40, [at * 100 - (at * 7_919) % 10_000 - (at % 97) * 1_000]);
    }
    drop(writer);
    let record = recorder.finish();
    assert_eq!(record.intervals.len(), 100);
    assert!(record.encoded_bytes() / 100 < 8_000, "{} bytes an interval", record.encoded_bytes() / 100);
}

#[test]
fn a_warm_up_that_was_too_short_is_noticed() {
    let run = |slow_until_ms: i64| {
        let recorder = Recorder::new(1, 50_000);
        recorder.set_phase(Phase::Steady);
        recorder.open_window(3_000_000, 9_000_000);
        let mut writer = recorder.writer();
        for at_ms in 0..9_000_i64 {
            let latency_us = if at_ms < slow_until_ms || at_ms > 3_000 { 9_000 } else { 2_000 };
            writer.record_turn(0, at_ms * 1_000, 10, [at_ms * 1_000 - latency_us]);
        }
        drop(writer);
        results::warm_up::check(&recorder.finish())
    };
    assert_eq!(run(0), None, "what the script does later is no matter of the warm-up");
    assert_eq!(run(300), None);
    assert!(
        run(800).is_some_and(|warning| warning.contains("p99 9.0 ms in the first second, 2.0 ms after it"))
    );
}
