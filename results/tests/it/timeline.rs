//! The timeline puts latencies, pauses, events and samples on one axis, and writes them as CSV.

use crate::script::Script;
use results::event::{Event, What};
use results::latency::{interval_of, summaries};
use results::pause::{Pause, pauses};
use results::phase::Phase;
use results::timeline::{self, Entry, Row, Sample, Timeline};

const SCRIPT: &str = "
    tasks 2, duration 600, slo 50, window 100..600
    load T1 1000/s 0..600 latency 1 stall 150..320
    load T2 100/s 0..600 latency 1
    100 scripted start S2
    110 learning T1 S2 lag 500
    140 replayed T1 I2 500 records, 50000 bytes, work 1
    150 stopped T1 S1 given-up
    160 completed 2 learner-ready balanced S1=T2 S2=T1
    320 polled T1 S2 2
";

/// All rows, from entries in the order in which they become known.
fn rows(script: &Script, pauses: &[Pause], samples: &[Sample]) -> Vec<Row> {
    let served = summaries(&script.closed).into_iter().map(Entry::Served);
    let replayed = script.events.iter().filter_map(|event: &Event| match event.what {
        What::Replayed { records, bytes, .. } => {
            Some(Entry::Replayed { index: interval_of(event.at_us), records, bytes })
        }
        _ => None,
    });
    let mut entries: Vec<Entry> =
        served.chain(replayed).chain(samples.iter().copied().map(Entry::Sample)).collect();
    entries.sort_by_key(Entry::index);
    let mut timeline = Timeline::new(&script.events, pauses);
    let mut rows: Vec<Row> = entries.iter().flat_map(|entry| timeline.add(entry)).collect();
    rows.extend(timeline.finish());
    rows
}

#[test]
fn rows_cover_every_interval() {
    let script = Script::parse(SCRIPT);
    let pauses = pauses(&script.events, 600_000);
    let sample = Sample { at_us: 250_000, backlog: 100, cpu_percent: 50.0, ..Sample::default() };
    let rows = rows(&script, &pauses, &[sample]);
    assert_eq!(rows.iter().map(|row| row.index).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    let paused: Vec<f64> = rows.iter().map(|row| row.tasks_paused).collect();
    assert_eq!(paused, [0.0, 0.5, 1.0, 0.2, 0.0, 0.0, 0.0]);
    assert_eq!(rows.iter().map(|row| row.learners).collect::<Vec<_>>(), [0, 1, 1, 0, 0, 0, 0]);
    assert_eq!(rows.iter().map(|row| row.restore_records).sum::<u64>(), 500);
    assert_eq!(rows[1].restore_records, 500);
    assert_eq!((rows[0].generation, rows[1].generation), (0, 2));
    assert_eq!(rows[2].sample, Some(sample));
    assert!(rows.iter().all(|row| row.phase == Phase::Steady));
    let longest = rows[3].served.map(|served| served.latency_ms.max).expect("the stall ends here");
    assert!((171.0..171.3).contains(&longest), "{longest}");
}

#[test]
fn csv_has_a_cell_for_every_column() {
    let script = Script::parse(SCRIPT);
    let rows = rows(&script, &[], &[]);
    let mut csv = Vec::new();
    timeline::write_heading(&mut csv).expect("memory");
    let strategy = "learner(revocation=two-phase,max_learners=4)";
    timeline::write_rows(&mut csv, (strategy, 2, 0), script.latency.window_us, &rows[1..3]).expect("memory");
    let csv = String::from_utf8(csv).expect("text");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        lines[1],
        "\"learner(revocation=two-phase,max_learners=4)\",2,0,0.1,steady,60,1.000,1.000,1.000,0.100,,0.000,1,5000,\
         0.500,2,,,,,1"
    );
    let columns = lines[0].split(',').count();
    // The quoted name holds one comma.
    assert!(lines[1..].iter().all(|line| line.split(',').count() == columns + 1));
}

#[test]
fn a_long_run_is_given_out_as_it_goes() {
    let mut timeline = Timeline::new(&[], &[]);
    let mut rows = Vec::new();
    let mut most = 0;
    // A sample each second for an hour; the intervals between have rows too.
    for second in 0..3_600 {
        let more = timeline.add(&Entry::Sample(Sample { at_us: second * 1_000_000, ..Sample::default() }));
        most = most.max(more.len());
        rows.extend(more);
    }
    rows.extend(timeline.finish());
    assert!(most <= 20, "{most}: never many at once");
    assert!(rows.iter().map(|row| row.index).eq(0..=35_990));
}

#[test]
fn a_part_that_comes_late_is_added_to_its_row() {
    let script = Script::parse(SCRIPT);
    let summary = summaries(&script.closed)[0];
    let mut timeline = Timeline::new(&[], &[]);
    timeline.add(&Entry::Served(summary));
    let mut late = summary;
    late.latency_ms.count = 1;
    late.latency_ms.max = 999.0;
    timeline.add(&Entry::Served(late));
    let rows = timeline.finish();
    let served = rows[0].served.expect("served");
    assert_eq!(served.latency_ms.count, summary.latency_ms.count + 1);
    assert_eq!((served.latency_ms.max, served.latency_ms.p50), (999.0, summary.latency_ms.p50));
}
