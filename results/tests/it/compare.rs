//! Comparisons and gates over made-up trials, from pairing to the exit code's question.

use crate::script::Script;
use results::compare::{self, CompareError, Named, Verdict};
use results::environment::Environment;
use results::gate::{self, Gate, GateError, Limit, Outcome};
use results::report::{compare_text, csv, junit, markdown, text};
use results::schema::{Run, RunFile, SCHEMA};

/// A run whose longest pause is what it is told to be.
fn run(strategy: &str, trial: u32, replica: u32, pause_ms: f64) -> Run {
    let script = format!(
        "tasks 1, duration 9000
        500 scripted start S2
        1000 stopped T1 S1 given-up
        {:.3} polled T1 S2 2",
        1_000.0 + pause_ms
    );
    Run { replica, ..Script::parse(&script).run(strategy, trial) }
}

/// A result with these longest pauses by strategy and trial.
fn result(pauses: &[(&str, &[f64])]) -> RunFile {
    let runs = pauses.iter().flat_map(|(strategy, pauses)| {
        (1..).zip(*pauses).map(move |(trial, pause_ms)| run(strategy, trial, 0, *pause_ms))
    });
    RunFile {
        schema: SCHEMA.to_owned(),
        strategies: Vec::new(),
        sweep: serde_json::Map::new(),
        title: "Made up".to_owned(),
        command: Vec::new(),
        started: String::new(),
        scenario: serde_json::from_str(r#"{"load": {"rate": 1000}}"#).expect("an object"),
        environment: Environment { cpu: "one".to_owned(), ..Environment::default() },
        paired: true,
        incomplete: false,
        warnings: Vec::new(),
        restore_ceiling: None,
        claims: Vec::new(),
        runs: runs.collect(),
    }
}

fn named<'a>(file: &'a str, result: &'a RunFile) -> Named<'a> {
    Named { file, result }
}

const EAGER: [f64; 6] = [1_000.0, 1_010.0, 990.0, 1_005.0, 995.0, 1_000.0];
const SAME: [f64; 6] = [1_003.0, 1_002.0, 995.0, 1_000.0, 1_001.0, 998.0];
const LEARNER: [f64; 6] = [25.0, 26.0, 24.0, 25.0, 25.5, 24.5];

fn outcome(gate: &str, base: &[f64], new: &[f64]) -> Outcome {
    outcome_of(gate, &result(&[("a", base), ("b", new)]))
}

fn outcome_of(gate: &str, result: &RunFile) -> Outcome {
    let comparison = compare::between(named("r", result), "a", "b").expect("comparable");
    gate::evaluate(&[gate::parse(gate).expect(gate)], &[comparison]).expect("evaluable")[0].outcome
}

#[test]
fn strategies_within_one_result() {
    let result = result(&[("eager", &EAGER), ("learner", &LEARNER)]);
    let comparison = compare::between(named("r.json", &result), "eager", "learner").expect("comparable");
    assert_eq!((comparison.base.as_str(), comparison.new.as_str()), ("eager", "learner"));
    let row = comparison.rows.iter().find(|row| row.figure.name == "task_pause_ms.max").expect("there");
    assert_eq!(row.medians, (1_000.0, 25.0));
    assert_eq!(row.estimate.ratio, Some(0.025));
    assert_eq!(row.verdict, Verdict::Better);
    let (low, high) = row.estimate.interval.expect("six pairs");
    assert!(low < 0.025 && 0.025 < high && high - low < 0.001);
}

#[test]
fn gates_fail_only_beyond_the_noise() {
    let limit = "task_pause_ms.max<=+10%";
    assert_eq!(outcome(limit, &EAGER, &SAME), Outcome::Passed);
    assert_eq!(outcome(limit, &EAGER, &EAGER.map(|ms| ms * 1.2)), Outcome::Failed);
    assert_eq!(
        outcome(limit, &EAGER[..3], &EAGER[..3].to_vec().iter().map(|ms| ms * 1.2).collect::<Vec<_>>()),
        Outcome::TooFew
    );
    // A mean over the limit, owed to one wild trial.
    assert_eq!(outcome(limit, &EAGER, &[900.0, 950.0, 1_000.0, 950.0, 990.0, 4_000.0]), Outcome::Noise);
    assert_eq!(outcome("task_pause_ms.max<=0.1x", &EAGER, &LEARNER), Outcome::Passed);
    assert_eq!(outcome("task_pause_ms.max<=-90%", &EAGER, &SAME), Outcome::Failed);
    assert_eq!(outcome("task_pause_ms.max<=30ms", &EAGER, &LEARNER), Outcome::Passed);
    assert_eq!(outcome("task_pause_ms.max<=0.02s", &EAGER, &LEARNER), Outcome::Failed);
    assert_eq!(outcome("task_pause_ms.max>=2x", &EAGER, &SAME), Outcome::Failed);
    assert_eq!(outcome("stop_the_world_ms<=0", &EAGER, &LEARNER), Outcome::Failed);
    assert_eq!(outcome("delayed_records<=0", &EAGER, &LEARNER), Outcome::Passed);
}

#[test]
fn the_noise_floor_of_aa_pairs_holds_a_gate_back() {
    let slower = EAGER.map(|ms| ms * 1.2);
    let mut result = result(&[("a", &EAGER), ("b", &slower)]);
    assert_eq!(outcome_of("task_pause_ms.max<=+10%", &result), Outcome::Failed);
    // Two runs of the very same thing lay 15 % apart: 9 % over a limit proves nothing.
    result.runs.push(run("a", 1, 1, 1_150.0));
    assert_eq!(outcome_of("task_pause_ms.max<=+10%", &result), Outcome::Noise);
    let comparison = compare::between(named("r", &result), "a", "b").expect("comparable");
    let row = comparison.rows.iter().find(|row| row.figure.name == "task_pause_ms.max").expect("there");
    assert!((row.noise_floor.expect("one pair") - 0.15).abs() < 1e-9);
    assert_eq!(row.verdict, Verdict::Worse, "20 % are beyond the floor");
}

#[test]
fn several_gates_are_corrected_for_their_number() {
    // Six trials reach p = 1/64 one-sided: enough for three gates, not for four.
    let result = result(&[("a", &EAGER), ("b", &EAGER.map(|ms| ms * 1.2))]);
    let comparison = [compare::between(named("r", &result), "a", "b").expect("comparable")];
    for (count, expected) in [(1, Outcome::Failed), (3, Outcome::Failed), (4, Outcome::TooFew)] {
        let gates: Vec<Gate> =
            vec!["task_pause_ms.max<=+10%"; count].into_iter().map(|g| gate::parse(g).expect(g)).collect();
        let verdicts = gate::evaluate(&gates, &comparison).expect("evaluable");
        assert!(verdicts.iter().all(|verdict| verdict.outcome == expected), "{count} gates");
    }
}

#[test]
fn gates_parse() {
    let gate = gate::parse("learner(revocation=two-phase): task_pause_ms.p50 <= -12.5%").expect("valid");
    assert_eq!(gate.strategy.as_deref(), Some("learner(revocation=two-phase)"));
    assert_eq!(
        (gate.figure.name, gate.upper, gate.limit),
        ("task_pause_ms.p50", true, Limit::TimesBase(0.875))
    );
    let gate = gate::parse("unavailable_task_seconds<=500ms").expect("valid");
    assert_eq!(gate.limit, Limit::Value(0.5));
    assert_eq!(gate::parse("rebalances.total<=1_000").expect("valid").limit, Limit::Value(1_000.0));
    for (text, message) in [
        ("task_pause_ms.max", "there is no `<=` or `>=`"),
        ("task_pause_ms.max<5", "only `<=` and `>=` are known"),
        ("task_pause_ms.max<=10%", "`10%` needs a sign"),
        ("task_pause_ms.max<=-110%", "less than nothing"),
        ("task_pause_ms.max<=fast", "`fast` is not a limit"),
        ("rebalances.total<=5ms", "`5ms` is a time, which this metric is not"),
        ("task_pause.max<=5", "no metric `task_pause.max`; near it are task_pause_ms.max"),
        ("xyzzy<=5", "no metric `xyzzy`; near it are task_pause_ms.max"),
    ] {
        let error = gate::parse(text).expect_err(text).to_string();
        assert!(error.contains(message), "{error}\n  should contain\n{message}");
    }
}

#[test]
fn unusable_gates_are_errors() {
    let result = result(&[("a", &EAGER), ("b", &EAGER)]);
    let comparison = [compare::between(named("r", &result), "a", "b").expect("comparable")];
    let evaluate = |gate| gate::evaluate(&[gate::parse(gate).expect("valid")], &comparison);
    assert!(matches!(evaluate("c:task_pause_ms.max<=5"), Err(GateError::NoStrategy { .. })));
    assert!(matches!(evaluate("learners.time_to_ready_ms<=5"), Err(GateError::NoValue { .. })));
}

#[test]
fn unlike_results_are_refused_with_what_differs() {
    let base = result(&[("a", &EAGER)]);
    let mut new = base.clone();
    new.scenario = serde_json::from_str(r#"{"load": {"rate": 2000, "slo_ms": 50}}"#).expect("an object");
    new.environment.cpu = "another".to_owned();
    new.environment.commit = Some("what is compared may differ".to_owned());
    new.runs.iter_mut().for_each(|run| run.seed += 100);
    let error =
        compare::results(named("old.json", &base), named("new.json", &new), false).expect_err("unlike");
    let expected = "old.json and new.json are unlike; --allow-unlike compares them all the same:
  scenario.load.rate: 1000 against 2000
  scenario.load.slo_ms: nothing against 50
  environment.cpu: \"one\" against \"another\"
  seed of trial 1: 1 against 101";
    assert!(error.to_string().starts_with(expected), "{error}");
    let comparisons =
        compare::results(named("old.json", &base), named("new.json", &new), true).expect("allowed");
    assert!(comparisons[0].notes.iter().any(|note| note.contains("scenario.load.rate: 1000 against 2000")));
}

#[test]
fn what_cannot_be_paired_is_refused() {
    let base = result(&[("a", &EAGER)]);
    let other = result(&[("b", &EAGER)]);
    assert!(matches!(
        compare::results(named("x", &base), named("y", &other), false),
        Err(CompareError::NothingInCommon { .. })
    ));
    let error = compare::between(named("x", &base), "a", "learner").expect_err("absent");
    assert_eq!(error.to_string(), "x: no strategy `learner`; it has a");
    let mut void = base.clone();
    void.runs[2].audit.passed = false;
    let error = compare::results(named("x", &base), named("y", &void), false).expect_err("void");
    assert_eq!(error.to_string(), "y: trial 3 of a is void, because its audit failed");
    let mut stopped = base.clone();
    stopped.runs.iter_mut().for_each(|run| run.incomplete = true);
    let error =
        compare::results(named("x", &base), named("y", &stopped), false).expect_err("nothing finished");
    assert!(matches!(error, CompareError::NoTrials { .. }));
}

#[test]
fn too_few_trials_are_said() {
    let base = result(&[("a", &EAGER[..2])]);
    let new = result(&[("a", &SAME[..3])]);
    let comparison = &compare::results(named("x", &base), named("y", &new), false).expect("comparable")[0];
    assert_eq!(comparison.pairs, 2);
    assert!(
        comparison.notes.contains(&"2 paired trials can't tell a difference from chance; 6 can".to_owned())
    );
    assert!(comparison.notes.contains(&"1 trials without a finished counterpart are left out".to_owned()));
    assert!(comparison.rows.iter().all(|row| row.verdict == Verdict::TooFew));
}

#[test]
fn a_time_beyond_the_run_counts_as_at_least_what_was_left() {
    let mut result = result(&[("a", &EAGER), ("b", &EAGER)]);
    result.runs.iter_mut().filter(|run| run.strategy == "a").for_each(|run| {
        run.metrics.time_to_balance_ms = Some(100.0);
    });
    let comparison = compare::between(named("r", &result), "a", "b").expect("comparable");
    let row = comparison.rows.iter().find(|row| row.figure.name == "time_to_balance_ms").expect("there");
    assert!(row.cut);
    assert_eq!(row.medians, (100.0, 8_500.0));
    assert_eq!(row.verdict, Verdict::Worse);
}

#[test]
fn reports_of_a_comparison() {
    let result = result(&[("eager", &EAGER), ("learner", &LEARNER)]);
    let comparisons = [compare::between(named("r", &result), "eager", "learner").expect("comparable")];
    let gates: Vec<Gate> = ["task_pause_ms.max<=0.1x", "task_pause_ms.sum<=20ms"]
        .map(|text| gate::parse(text).expect(text))
        .to_vec();
    let verdicts = gate::evaluate(&gates, &comparisons).expect("evaluable");

    let text = compare_text::render(&comparisons, &verdicts, text::Style { width: 120, color: false });
    assert!(text.starts_with("learner against eager, 6 paired trials\n"), "{text}");
    assert!(text.contains("note: no A/A pairs: the noise floor is unknown"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");

    let markdown = markdown::compare(&comparisons, &verdicts);
    assert!(markdown.starts_with("## 1 of 2 gates failed\n\n| gate | base | new |"), "{markdown}");
    assert!(
        markdown.contains("| task\\_pause\\_ms.max&lt;=0.1x | 1.00 s | 25.0 ms | 100 ms |"),
        "{markdown}"
    );
    assert!(markdown.contains("| longest pause | 1.00 s | 25.0 ms | 0.0250 |"), "{markdown}");

    let junit = junit::render(&comparisons, &verdicts);
    assert!(junit.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""), "{junit}");
    assert!(junit.contains("name=\"task_pause_ms.sum&lt;=20ms\""), "{junit}");
    assert!(junit.contains("<failure message=\"exceeded beyond the noise (p = 0.0312)\"/>"), "{junit}");

    let mut table = Vec::new();
    csv::compare(&mut table, &comparisons).expect("memory");
    let table = String::from_utf8(table).expect("text");
    let row = table.lines().find(|line| line.contains(",task_pause_ms.max,")).expect("there");
    assert!(row.starts_with("eager,learner,task_pause_ms.max,6,1000,25,0.025,"), "{row}");
    assert!(row.ends_with(",0.03125,,better"), "{row}");
}

#[test]
fn reports_of_a_run() {
    let mut result = result(&[("eager", &EAGER[..1]), ("learner", &LEARNER[..1])]);
    result.title = "<script>alert(1)</script> | *bold*".to_owned();
    result.command = vec!["understudy".to_owned(), "run".to_owned()];
    result.started = "2026-11-29T14:42:35Z".to_owned();
    result.environment.commit = Some("abc123".to_owned());
    let markdown = markdown::run(&result, None);
    assert!(markdown.starts_with("## &lt;script&gt;alert(1)&lt;/script&gt; \\| \\*bold\\*\n"), "{markdown}");
    assert!(markdown.contains("**learner's longest pause is 1/40 of eager's (25.0 ms against 1.00 s)**"));
    assert!(markdown.contains("Reproduce: `understudy run`"));

    let mut older = result.clone();
    older.started = "2026-11-28T14:42:35Z".to_owned();
    let mut table = Vec::new();
    csv::runs(&mut table, &[&result, &older]).expect("memory");
    let table = String::from_utf8(table).expect("text");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(
        lines[0]
            .starts_with("time,commit,scenario,strategy,trial,replica,seed,audit,sweep,task_pause_ms.max,")
    );
    assert!(lines[1].starts_with("2026-11-28T14:42:35Z,abc123,<script>"), "oldest first: {}", lines[1]);
    assert!(lines[4].contains(",learner,1,0,1,passed,,25,25,25,"), "{}", lines[4]);
}
