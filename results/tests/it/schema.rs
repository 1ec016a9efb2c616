//! `result.json`: the schema describes what is written, and what is read back is what was written.

use crate::script::Script;
use results::environment::Environment;
use results::read::{ReadError, read};
use results::schema::{RunFile, SCHEMA, json_schema};

const SCRIPT: &str = "
    tasks 2, duration 5000
    -500   completed 1 join balanced S1=T1,T2
    1000   scripted start S2
    1000   started 2 join
    1001   stopped T2 S1 given-up
    1002   joined S1 2
    1003   joined S2 2
    1003   barrier 2
    1004   completed 2 join balanced S1=T1 S2=T2
    1005   assigned T2 S2 2
    1006   fenced T2 S2 2 lag 100
    1100   replayed T2 I2 100 records, 10000 bytes, work 50
    1100   restored T2 S2 100
    1101   polled T2 S2 2
";

fn result() -> RunFile {
    let script = Script::parse(SCRIPT);
    let runs = [("eager", 1), ("learner", 1), ("eager", 2), ("learner", 2)];
    let runs = runs.map(|(strategy, trial)| script.run(strategy, trial));
    RunFile {
        schema: SCHEMA.to_owned(),
        strategies: vec!["eager".to_owned(), "learner".to_owned()],
        sweep: serde_json::Map::new(),
        title: "Scale up".to_owned(),
        command: vec!["understudy".to_owned(), "run".to_owned(), "scale-up".to_owned()],
        started: "2026-11-29T14:42:35Z".to_owned(),
        scenario: serde_json::Map::new(),
        environment: Environment::default(),
        paired: true,
        incomplete: false,
        warnings: Vec::new(),
        restore_ceiling: None,
        claims: Vec::new(),
        runs: runs.to_vec(),
    }
}

#[test]
fn what_is_written_is_valid_and_reads_back_equal() {
    let result = result();
    let text = result.to_json();
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let schema = json_schema();
    jsonschema::meta::validate(&schema).expect("the schema is a schema");
    jsonschema::validator_for(&schema).expect("a usable schema").validate(&value).expect("a valid result");
    assert_eq!(read("result.json", text.as_bytes()), Ok(result));
}

#[test]
fn the_outline_that_others_rely_on_is_there() {
    let text = result().to_json();
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let metrics = "/runs/0/metrics";
    for (place, keys) in [
        ("", "schema scenario environment runs"),
        ("/runs/0", "strategy trial seed metrics audit"),
        (
            metrics,
            "task_pause_ms stop_the_world_ms time_to_balance_ms service_latency_ms rebalances restore moves",
        ),
        ("/runs/0/metrics/task_pause_ms", "count p50 p99 max sum"),
        ("/runs/0/metrics/service_latency_ms", "p50 p99 p999 max"),
        ("/runs/0/metrics/rebalances", "total by_cause"),
        ("/runs/0/metrics/restore", "records records_per_s mb_per_s discarded_bytes"),
        ("/runs/0/metrics/moves", "actual minimum"),
        ("/runs/0/audit", "expected applied lost doubled stale_appends no_owner_ms passed"),
    ] {
        let object = value.pointer(place).and_then(|part| part.as_object()).expect(place);
        for key in keys.split(' ') {
            assert!(object.contains_key(key), "{place}/{key}");
        }
    }
    assert_eq!(value.pointer("/runs/0/metrics/rebalances/by_cause/join"), Some(&1.into()));
}

#[test]
fn unusable_files_say_what_and_where() {
    let text = result().to_json();
    let cut = &text[..text.len() / 2];
    let cases = [
        ("", "r.json: the file is empty"),
        (" \n", "r.json: the file is empty"),
        (cut, "the file is cut off here"),
        ("{\"schema\": }", "r.json:1:12: this is not JSON: expected value"),
        ("[1]", "r.json: not a result of `understudy run`: the file holds no JSON object"),
        ("{}", "there is no key `schema`"),
        ("{\"schema\": \"latte/v2\"}", "`schema` is \"latte/v2\""),
        (
            "{\"schema\": \"understudy/run/v2\"}",
            "its schema is `understudy/run/v2`, this program reads up to",
        ),
        ("{\"schema\": \"understudy/run/v1\"}", "r.json:1:31: damaged: missing field `scenario`"),
        (&text.replacen("\"trial\": 1", "\"trial\": \"one\"", 1), "damaged: invalid type: string \"one\""),
        (&text.replacen("\"trial\": 2", "\"trial\": 1", 1), "runs[2]: trial 1 of eager is there already"),
        (
            &text.replacen("\"seed\": 2", "\"seed\": 7", 1),
            "runs[3]: trial 2 has seed 2, but seed 7 in runs[2]",
        ),
    ];
    let mut nothing = result();
    nothing.runs.clear();
    let nothing = nothing.to_json();
    let cases = cases.into_iter().chain([(nothing.as_str(), "r.json: runs: there is none")]);
    for (content, message) in cases {
        let error = read("r.json", content.as_bytes()).expect_err(message);
        assert!(error.to_string().contains(message), "{error}\n  should contain\n{message}");
    }
}

#[test]
fn newer_keys_are_passed_over() {
    let text = result().to_json().replacen("\"trial\"", "\"colour\": \"red\",\n      \"trial\"", 1);
    assert_eq!(read("r.json", text.as_bytes()), Ok(result()));
}

#[test]
fn errors_can_be_told_apart() {
    assert!(matches!(read("r", b""), Err(ReadError::Empty { .. })));
    assert!(matches!(read("r", b"{"), Err(ReadError::Cut { line: 1, .. })));
}

/// What was published once stays readable.
#[test]
fn reference_runs_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("runs");
    let mut found = 0;
    for run in std::fs::read_dir(&folder).expect("reference runs") {
        let file = run.expect("a folder").path().join("result.json");
        let name = file.display().to_string();
        let result = read(&name, &std::fs::read(&file).expect(&name)).expect(&name);
        assert!(!result.incomplete && result.runs.iter().all(|run| run.audit.passed), "{name}");
        found += 1;
    }
    assert!(found > 0);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        failure_persistence: None,
        cases: 10_000,
        ..proptest::prelude::ProptestConfig::default()
    })]

    /// A result that is read and written again, as by a sweep that is gone on with, says the same to the last digit.
    #[test]
    fn numbers_survive_reading_and_writing(number in -1e6..1e6_f64) {
        let written = serde_json::to_string(&number).expect("a number");
        let read: f64 = serde_json::from_str(&written).expect("a number");
        proptest::prop_assert_eq!(read.to_bits(), number.to_bits(), "{}", written);
    }
}
