//! Results read back: compared, gated, reported; and refused where they are damaged or unlike.

use std::fs;
use std::path::Path;

use crate::common::{assert_code, result, small, stderr, stdout, understudy};
use serde_json::{Value, json};

/// A real result in `dir/one`, and from it results of eight trials: `base`, `same`, and `slow`, whose pauses are half
/// as long again.
fn results() -> tempfile::TempDir {
    let dir = small();
    let args = ["run", "small.toml", "--strategy", "eager,learner", "--set", "duration=1s", "--out", "one"];
    assert_code(&understudy(dir.path(), &args), 0);
    let one = result(&dir.path().join("one"));
    for (name, factor) in [("base", 1.0), ("same", 1.0), ("slow", 1.5)] {
        write(dir.path(), name, &trials(&one, factor));
    }
    dir
}

fn write(dir: &Path, name: &str, content: &Value) {
    fs::create_dir_all(dir.join(name)).unwrap();
    fs::write(dir.join(name).join("result.json"), content.to_string()).unwrap();
}

/// Eight trials out of one; pauses differ a little from trial to trial, and by `factor`.
fn trials(one: &Value, factor: f64) -> Value {
    let mut many = one.clone();
    let runs = one["runs"].as_array().unwrap();
    let copies = (1..=8).flat_map(|trial| {
        runs.iter().map(move |run| {
            let mut run = run.clone();
            run["trial"] = json!(trial);
            run["metrics"]["task_pause_ms"]["max"] = json!((100.0 + f64::from(trial)) * factor);
            run
        })
    });
    many["runs"] = Value::Array(copies.collect());
    many
}

#[test]
fn gates_fail_beyond_the_noise_and_only_there() {
    let dir = results();
    let compare = |args: &[&str]| understudy(dir.path(), &[&["compare"], args].concat());
    let gate = ["--gate", "task_pause_ms.max<=+10%"];

    assert_code(&compare(&[&["base", "same"], &gate[..]].concat()), 0);
    let slow = compare(&[&["base", "slow"], &gate[..]].concat());
    assert_code(&slow, 1);
    assert!(stdout(&slow).contains("exceeded"), "{}", stdout(&slow));
    // One trial proves nothing, and that is said.
    let one = compare(&["one", "--between", "eager,learner", "--gate", "task_pause_ms.max<=-90%"]);
    assert!(stdout(&one).contains("too few trials"), "{}", stdout(&one));

    for (format, mark) in [("markdown", "|"), ("junit", "<testsuite"), ("csv", "task_pause_ms.max")] {
        let output = compare(&[&["base", "slow", "--format", format], &gate[..]].concat());
        assert_code(&output, 1);
        assert!(stdout(&output).contains(mark), "{format}: {}", stdout(&output));
    }
    for format in ["text", "markdown", "csv"] {
        let output = understudy(dir.path(), &["report", "one", "--format", format, "--out", "report"]);
        assert_code(&output, 0);
        let report = fs::read_to_string(dir.path().join("report")).unwrap();
        assert!(report.contains("eager") && report.contains("learner"), "{format}: {report}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_by_name() {
    let dir = results();
    let whole = fs::read_to_string(dir.path().join("one/result.json")).unwrap();
    let mut newer = result(&dir.path().join("one"));
    newer["schema"] = json!("understudy/run/v9");
    let mut other_seed = result(&dir.path().join("one"));
    for run in other_seed["runs"].as_array_mut().unwrap() {
        run["seed"] = json!(99);
    }
    for (name, pointer, value) in [
        ("nothing", "/runs", json!([])),
        ("load", "/scenario/load/rate", json!(1)),
        ("mixed", "/runs/1/seed", json!(99)),
    ] {
        let mut changed = result(&dir.path().join("one"));
        *changed.pointer_mut(pointer).unwrap() = value;
        write(dir.path(), name, &changed);
    }
    write(dir.path(), "newer", &newer);
    write(dir.path(), "seed", &other_seed);
    write(dir.path(), "foreign", &json!({ "hello": "world" }));
    for (name, content) in [("cut", &whole[..whole.len() / 2]), ("empty", "")] {
        write(dir.path(), name, &Value::Null);
        fs::write(dir.path().join(name).join("result.json"), content).unwrap();
    }
    for (args, says) in [
        (&["compare", "one", "nowhere"][..], "nowhere"),
        (&["compare", "one", "cut"], "cut/result.json"),
        (&["compare", "one", "empty"], "empty"),
        (&["compare", "one", "foreign"], "foreign/result.json"),
        (&["compare", "one", "newer"], "v9"),
        (&["compare", "one", "seed"], "seed"),
        (&["compare", "one"], "--between"),
        (&["compare", "one", "--between", "eager"], "two strategies"),
        (&["compare", "one", "--between", "eager,nobody"], "nobody"),
        (&["compare", "one", "one", "--gate", "task_pause_ms.max"], "gate"),
        (&["compare", "one", "one", "--gate", "nonsense<=3"], "nonsense"),
        (&["report", "one", "--out", "no/such/folder/report"], "no/such/folder"),
        (&["report", "cut"], "cut/result.json"),
        (&["report", "nothing"], "nothing/result.json: runs: there is none"),
        (&["compare", "one", "nothing"], "nothing/result.json: runs: there is none"),
        (&["compare", "one", "load"], "scenario.load.rate: 3000 against 1"),
        (&["compare", "one", "mixed"], "mixed/result.json: runs[1]: trial 1 has seed 99"),
    ] {
        let output = understudy(dir.path(), args);
        assert_code(&output, 2);
        assert!(stderr(&output).contains(says), "{args:?} should say {says}: {}", stderr(&output));
    }
}
