//! Sweeps: the keys that differ are found, and a table for each shows what they do.

use crate::script::Script;
use results::report::{sweep_table, text::Style};
use results::schema::{Run, RunFile, SCHEMA};
use results::sweep::sweeps;

/// Under `eager` pauses grow with the state, under `learner` they don't.
fn result(keys: u64, profile: &str) -> RunFile {
    let run = |strategy: &str, pause_ms: u64| -> Run {
        let script = format!(
            "tasks 1, duration 99000
            1000 stopped T1 S1 given-up
            {} polled T1 S2 2",
            1_000 + pause_ms
        );
        Script::parse(&script).run(strategy, 1)
    };
    let slow = if profile == "kafka" { 100 } else { 0 };
    let file = serde_json::json!({
        "schema": SCHEMA,
        "scenario": { "title": "same", "state": { "keys": keys }, "group": { "profile": profile } },
        "environment": results::environment::Environment::default(),
        "runs": [run("eager", keys / 100 + slow), run("learner", 50 + slow)],
    });
    serde_json::from_value(file).expect("a result")
}

#[test]
fn one_table_per_swept_key() {
    let results = [(100_000, "kafka"), (1_000_000, "tight"), (100_000, "tight"), (1_000_000, "kafka")]
        .map(|(keys, profile)| result(keys, profile));
    let sweeps = sweeps(&results.iter().collect::<Vec<_>>());
    assert_eq!(
        sweeps.iter().map(|sweep| sweep.key.as_str()).collect::<Vec<_>>(),
        ["group.profile", "state.keys"]
    );
    let by_keys: Vec<_> = sweeps[1]
        .rows
        .iter()
        .map(|row| (row.strategy.as_str(), row.others[0].as_str(), row.value.as_str(), row.growth))
        .collect();
    assert_eq!(
        by_keys,
        [
            ("eager", "kafka", "100000", Some(1.0)),
            ("eager", "kafka", "1000000", Some(10_100.0 / 1_100.0)),
            ("eager", "tight", "100000", Some(1.0)),
            ("eager", "tight", "1000000", Some(10.0)),
            ("learner", "kafka", "100000", Some(1.0)),
            ("learner", "kafka", "1000000", Some(1.0)),
            ("learner", "tight", "100000", Some(1.0)),
            ("learner", "tight", "1000000", Some(1.0)),
        ]
    );
    let text = sweep_table::text(&sweeps, Style { width: 140, color: false });
    assert!(text.starts_with("group.profile\n"), "{text}");
    let row = text.lines().rfind(|line| line.contains("eager") && line.contains("tight")).expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..7], ["eager", "tight", "1000000", "10.0", "s", "×10.00", "10.0"], "{text}");
    let markdown = sweep_table::markdown(&sweeps);
    assert!(
        markdown
            .contains("### state.keys\n\n| strategy | group.profile | state.keys | longest pause | growth |")
    );
    assert!(markdown.contains("| eager | tight | 1000000 | 10.0 s | ×10.00 | 10.0 s |"), "{markdown}");
}

#[test]
fn narrow_terminals_get_several_tables_and_no_broken_word() {
    let results = [result(100_000, "tight"), result(1_000_000, "tight")];
    let sweeps = sweeps(&results.iter().collect::<Vec<_>>());
    let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let whole = sweep_table::text(&sweeps, Style { width: 200, color: false });
    for width in [40, 60, 80, 100] {
        let text = sweep_table::text(&sweeps, Style { width, color: false });
        assert!(text.lines().all(|line| line.chars().count() <= width.into()), "{width}\n{text}");
        let kept = words(&text);
        let figures = words(&whole).into_iter().filter(|word| !word.contains(['─', '═']));
        for word in figures {
            assert!(kept.contains(&word), "{word} at {width}\n{text}");
        }
    }
}

#[test]
fn strategies_keep_the_order_in_which_they_were_asked_for() {
    let mut result = result(100_000, "tight");
    assert_eq!(result.strategies(), ["eager", "learner"], "that of the runs");
    result.strategies = ["learner", "cooperative", "eager"].map(str::to_owned).to_vec();
    assert_eq!(result.strategies(), ["learner", "eager"]);
}

#[test]
fn alike_results_are_no_sweep() {
    let result = result(100_000, "tight");
    assert!(sweeps(&[&result, &result]).is_empty());
    assert!(sweeps(&[]).is_empty());
}

#[test]
fn a_run_that_was_stopped_is_no_row() {
    let whole = result(100_000, "tight");
    let mut stopped = result(1_000_000, "tight");
    stopped.runs[1].incomplete = true;
    let sweeps = sweeps(&[&whole, &stopped]);
    let rows: Vec<_> = sweeps[0].rows.iter().map(|row| (row.strategy.as_str(), row.value.as_str())).collect();
    assert_eq!(rows, [("eager", "100000"), ("eager", "1000000"), ("learner", "100000")]);
}

#[test]
fn what_is_said_to_be_swept_counts_alone() {
    let mut results = [result(100_000, "tight"), result(1_000_000, "kafka")];
    for (result, keys) in results.iter_mut().zip([100_000, 1_000_000]) {
        result.sweep.insert("state.keys".to_owned(), keys.into());
    }
    let sweeps = sweeps(&results.iter().collect::<Vec<_>>());
    let keys: Vec<&str> = sweeps.iter().map(|sweep| sweep.key.as_str()).collect();
    assert_eq!(keys, ["state.keys"], "the profile differs too, but nobody swept it");
}
