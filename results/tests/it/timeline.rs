//! The timeline puts latencies, pauses, events and samples on one axis, and writes them as CSV.

use crate::script::Script;
use results::pause::pauses;
use results::phase::Phase;
use results::timeline::{self, Sample};

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

#[test]
fn rows_cover_every_interval() {
    let script = Script::parse(SCRIPT);
    let pauses = pauses(&script.events, 600_000);
    let sample = Sample { at_us: 250_000, backlog: 100, cpu_percent: 50.0, ..Sample::default() };
    let rows = timeline::rows(&script.events, &script.latency, &pauses, &[sample]);
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
    let rows = timeline::rows(&script.events, &script.latency, &[], &[]);
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
