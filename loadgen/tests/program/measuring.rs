//! A small real run: what it writes is what independent readers read, and nothing else is left.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::common::{assert_code, base64, below, result, small, stdout, understudy};
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;

#[test]
fn a_run_writes_files_that_independent_readers_read() {
    let dir = small();
    let args =
        ["run", "small.toml", "--strategy", "eager,learner", "--seed", "7", "--trials", "2", "--out", "out"];
    let output = understudy(dir.path(), &args);
    assert_code(&output, 0);
    let out = dir.path().join("out");
    let names: Vec<_> = below(&out).iter().map(|path| path.to_string_lossy().into_owned()).collect();
    assert_eq!(
        names,
        [
            "latency-eager-1.hlog",
            "latency-eager-2.hlog",
            "latency-learner-1.hlog",
            "latency-learner-2.hlog",
            "report.html",
            "result.json",
            "timeline.csv"
        ]
    );

    let result = result(&out);
    let schema: Value =
        serde_json::from_str(&stdout(&understudy(dir.path(), &["schema", "result"]))).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");

    assert_eq!(result["runs"].as_array().unwrap().len(), 4);
    assert_eq!(result["incomplete"], false);
    let environment = &result["environment"];
    for key in ["understudy", "profile", "rustc", "os", "rocksdb"] {
        assert!(environment[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {environment}");
    }
    assert_eq!(environment["rocksdb_options"]["write_buffer_size"], (32 << 20).to_string());
    assert!(result["restore_ceiling"]["records_per_s"].as_f64() > Some(0.0));
    assert_eq!(result["scenario"]["state"]["keys"], 2_000);
    for run in result["runs"].as_array().unwrap() {
        assert_eq!(run["audit"]["passed"], true, "{run}");
        // Preloaded, and 2.3 s of 3,000 records/s: a whole number a task, so no phase matters.
        assert_eq!(run["audit"]["applied"], 3 * 2_000 + 6_900, "{}", run["audit"]);
        assert_eq!(run["audit"]["stale_appends"], 0);
        assert!(run["metrics"]["service_latency_ms"]["p50"].as_f64().unwrap() > 0.0);
        assert_eq!(
            run["metrics"]["moves"]["actual"], 1,
            "two workers have three tasks; one goes to the third"
        );
        assert_eq!(run["metrics"]["moves"]["minimum"], 1);
        let name = format!("latency-{}-{}.hlog", run["strategy"].as_str().unwrap(), run["trial"]);
        same_percentiles(&out.join(name), run);
    }
    let table = stdout(&output);
    for part in ["eager", "learner", "audit", "out/result.json", "out/report.html", "latency p99 over"] {
        assert!(table.contains(part), "{part} is not in\n{table}");
    }
    let timeline = std::fs::read_to_string(out.join("timeline.csv")).unwrap();
    assert_eq!(timeline.lines().filter(|line| line.starts_with("strategy,")).count(), 1);
    assert!(timeline.lines().count() > 4 * 20, "a line each 100 ms of every run");
}

/// The log, read by HdrHistogram's own reader, says what `result.json` says.
fn same_percentiles(path: &Path, run: &Value) {
    let text = std::fs::read(path).unwrap();
    let mut sum = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000, 3).unwrap();
    for entry in IntervalLogIterator::new(&text) {
        if let LogEntry::Interval(interval) = entry.unwrap()
            && interval.tag().is_some_and(|tag| tag.as_str() != "warm-up")
        {
            let bytes = base64(interval.encoded_histogram());
            let histogram: hdrhistogram::Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            sum.add(&histogram).unwrap();
        }
    }
    let figures = &run["metrics"]["service_latency_ms"];
    assert_eq!(sum.len(), figures["count"].as_u64().unwrap());
    for (quantile, name) in [(0.5, "p50"), (0.99, "p99"), (0.999, "p999")] {
        let logged = sum.value_at_quantile(quantile) as f64 / 1_000.0;
        assert!((logged - figures[name].as_f64().unwrap()).abs() < 1e-9, "{name}: {logged} {figures}");
    }
}

#[test]
fn a_recorded_load_is_played_and_audited() {
    let dir = small();
    let mut text = String::from("time,key,bytes\n");
    for nth in 0..3_000 {
        text.push_str(&format!("{:.4},word{},{}\n", f64::from(nth) / 2_000.0, nth * nth % 97, nth % 13));
    }
    std::fs::write(dir.path().join("words.csv"), text).unwrap();
    // From the root: such a path may name a user, and goes nowhere.
    let absolute = |file: &str| dir.path().join(file).to_string_lossy().into_owned();
    let load = format!("load.file={}", absolute("words.csv"));
    let args = ["run", &absolute("small.toml"), "--set", &load, "--out", "out"];
    assert_code(&understudy(dir.path(), &args), 0);
    let text = std::fs::read_to_string(dir.path().join("out/result.json")).unwrap();
    assert!(text.contains("words.csv") && !text.contains(&*dir.path().to_string_lossy()));
    for run in result(&dir.path().join("out"))["runs"].as_array().unwrap() {
        assert_eq!(run["audit"]["passed"], true);
        let keys: std::collections::BTreeSet<u32> = (0..3_000).map(|nth| nth * nth % 97).collect();
        assert_eq!(run["audit"]["applied"], 3_000 + keys.len());
    }
}

#[test]
fn a_crash_ends_in_a_passed_audit() {
    let dir = small();
    let sets = [
        "at.0={time=\"300ms\",crash=[\"S2\"]}",
        "duration=4s",
        "group.session_timeout=2s",
        "group.rebalance_timeout=5s",
        "group.sync_timeout=5s",
    ];
    let mut args = vec!["run", "small.toml", "--out", "out"];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    assert_code(&understudy(dir.path(), &args), 0);
    for run in result(&dir.path().join("out"))["runs"].as_array().unwrap() {
        assert_eq!(run["audit"]["passed"], true, "{}", run["audit"]);
        assert_eq!(run["membership"][0]["action"], "crash");
        // A busy machine may cost others their sessions too.
        assert!(run["metrics"]["rebalances"]["by_cause"]["crash"].as_u64() >= Some(1), "{}", run["metrics"]);
    }
}

#[test]
fn results_go_to_a_folder_named_after_time_and_scenario() {
    let dir = small();
    assert_code(
        &understudy(dir.path(), &["run", "small.toml", "--strategy", "eager", "--set", "duration=1s"]),
        0,
    );
    let runs = below(&dir.path().join("understudy-runs"));
    assert!(runs[0].to_string_lossy().ends_with("Z-small"), "{runs:?}");
    let file = dir.path().join("understudy-runs").join(&runs[0]).join("result.json");
    let _: Value = serde_json::from_reader(BufReader::new(File::open(file).unwrap())).unwrap();
}
