//! The recorder: nothing is lost or counted twice between workers, intervals and phases, and its logs open.

use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use results::histogram::Percentiles;
use results::interval_log::{Beginning, Clock, IntervalLog};
use results::latency::{Closed, LatencyRecord, OPEN_INTERVALS, Recorder, interval_of, summaries};
use results::phase::Phase;

/// Two workers, three phases, late hand-overs, one second before the warm-up's end and two after it.
fn record() -> (LatencyRecord, Vec<Closed>) {
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
    let closed = recorder.close(i64::MAX);
    (recorder.finish(), closed)
}

#[test]
fn totals_are_the_sum_of_the_intervals() {
    let (record, closed) = record();
    let measured = record.measured();
    assert_eq!(measured.latency.len(), 2 * (2_000 + 1_200));
    assert_eq!(measured.service.len(), measured.latency.len());
    assert_eq!(measured.latency.max() / 1_000, 300);
    assert_eq!(measured.service.max(), 40);
    for phase in Phase::ALL {
        let parts = closed.iter().filter(|interval| interval.phase == phase);
        let mut sum = results::latency::Pair::default();
        parts.for_each(|part| sum.add(&part.pair));
        assert_eq!(Some(sum).filter(|sum| !sum.latency.is_empty()).as_ref(), record.totals.get(&phase));
    }
}

#[test]
fn intervals_are_ordered_and_split_by_phase() {
    let (_, closed) = record();
    let keys: Vec<_> = closed.iter().map(|interval| (interval.index, interval.phase)).collect();
    assert!(keys.is_sorted());
    assert_eq!(keys.first(), Some(&(-10, Phase::WarmUp)));
    let of_ten: Vec<_> = closed.iter().filter(|interval| interval.index == 10).collect();
    assert_eq!(of_ten.len(), 2, "steady until 1,050, rebalance from there");
    let summary = summaries(&closed);
    assert_eq!(summary.len(), 30);
    assert_eq!(summary[20].latency_ms.count, of_ten.iter().map(|part| part.pair.latency.len()).sum::<u64>());
}

#[test]
fn tasks_and_window_are_told_apart_by_intended_arrival() {
    let (record, _) = record();
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
    let (record, closed) = record();
    for clock in [Clock::Latency, Clock::Service] {
        let mut log = Vec::new();
        let zero = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let mut serializer = V2DeflateSerializer::new();
        let beginning = Beginning { interval: closed[0].index, clock_zero: zero };
        let mut lines =
            IntervalLog::begin(&mut log, &mut serializer, clock, "eager, trial 1, seed 1", beginning)
                .expect("memory");
        closed.iter().for_each(|interval| lines.write(interval).expect("memory"));
        let (mut lines, mut start) = (0, None);
        let mut sum = results::histogram::empty::<u64>();
        for entry in IntervalLogIterator::new(&log) {
            match entry.expect("every line is valid") {
                LogEntry::StartTime(at) => start = Some(at),
                LogEntry::Interval(interval) => {
                    let expected = &closed[lines];
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
        assert_eq!(lines, closed.len());
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
fn what_is_kept_does_not_grow_with_the_run() {
    let recorder = Recorder::new(1, 50_000);
    let mut writer = recorder.writer();
    let (mut lines, mut most) = (0, 0);
    // Ten hours in which service is late for two minutes, ten records a second.
    for at in 0..360_000_i64 {
        let at_us = at * 100_000;
        let late = (6_000..7_200).contains(&at);
        writer.record_turn(0, at_us, 40, [at_us - if late { 80_000 } else { (at * 7_919) % 10_000 }]);
        let closed = recorder.close(interval_of(at_us) - OPEN_INTERVALS);
        most = most.max(closed.len());
        lines += closed.len();
    }
    drop(writer);
    lines += recorder.close(i64::MAX).len();
    assert_eq!((lines, most), (360_000, 1), "each interval came out once, at its time");
    let record = recorder.finish();
    assert_eq!(record.measured().latency.len() + record.totals[&Phase::WarmUp].latency.len(), 360_000);
    assert_eq!(record.late.stretches(), 1);
    assert_eq!(record.late.end_of(6_000), Some(7_199));
}

#[test]
fn a_part_that_comes_late_is_an_entry_of_its_own() {
    let recorder = Recorder::new(1, 50_000);
    recorder.set_phase(Phase::Steady);
    let mut writers = [recorder.writer(), recorder.writer()];
    writers[0].record_turn(0, 50_000, 10, [49_000]);
    writers[1].record_turn(0, 60_000, 10, [0]);
    // Whoever directs the run hands over for the idle one as well; the other is somehow missed.
    writers[0].flush_before(1);
    assert_eq!(recorder.close(1).len(), 1);
    writers[1].flush_before(0);
    assert!(recorder.close(1).is_empty(), "nothing of an interval that is not over");
    writers[1].flush_before(1);
    let late = recorder.close(1);
    assert_eq!((late[0].index, late[0].phase, late[0].pair.latency.len()), (0, Phase::Steady, 1));
    assert_eq!(recorder.finish().late.end_of(0), Some(0), "its own 60 ms are over the SLO");
    assert_eq!(recorder.finish().measured().latency.len(), 2);
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
