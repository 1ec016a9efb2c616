//! Sweeps: every combination once, gone on with where they were left, refused where that would mix unlike runs; and
//! A/A twins.

use std::fs;
use std::path::Path;

use crate::common::{assert_code, below, result, small, stderr, stdout, understudy};
use serde_json::{Value, json};

const SWEEP: &[&str] = &[
    "run",
    "small.toml",
    "--strategy",
    "eager,learner",
    "--set",
    "duration=1s",
    "--sweep",
    "state.keys=1e3,2_000",
    "--out",
    "out",
];
const CELLS: [&str; 2] = ["state.keys=1000", "state.keys=2000"];

fn rewrite(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

#[test]
fn a_sweep_is_gone_on_with_where_it_was_left() {
    let dir = small();
    let first = understudy(dir.path(), SWEEP);
    assert_code(&first, 0);
    let table = stdout(&first);
    assert!(table.contains("\nstate.keys\n"), "a table for the swept key\n{table}");
    let out = dir.path().join("out");
    let names: Vec<String> = below(&out).iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let of_cell = |cell: &str| {
        let files =
            ["latency-eager-1.hlog", "latency-learner-1.hlog", "report.html", "result.json", "timeline.csv"];
        [vec![cell.to_owned()], files.map(|file| format!("{cell}/{file}")).to_vec()].concat()
    };
    let own = |file: &str| vec![file.to_owned()];
    let expected = [own("report.html"), of_cell(CELLS[0]), of_cell(CELLS[1]), own("sweep.json")];
    assert_eq!(names, expected.concat());
    assert!(table.contains("report:  out/report.html"), "where the page of all cells is\n{table}");
    for (cell, keys) in CELLS.iter().zip([1_000, 2_000]) {
        let result = result(&out.join(cell));
        assert_eq!(result["sweep"], json!({ "state.keys": keys }));
        assert_eq!(result["scenario"]["state"]["keys"], keys);
    }

    // As if it had been stopped in the second run of the second cell, whose result has not been written.
    let left = out.join(CELLS[1]).join("result.json");
    rewrite(&left, |result| {
        result["incomplete"] = json!(true);
        result["runs"].as_array_mut().unwrap().truncate(1);
    });
    let kept = result(&out.join(CELLS[1]))["runs"][0].clone();
    let whole = fs::read(out.join(CELLS[0]).join("result.json")).unwrap();
    let second = understudy(dir.path(), SWEEP);
    assert_code(&second, 0);
    assert!(stderr(&second).contains("state.keys=1000\nfinished"), "{}", stderr(&second));
    assert!(stderr(&second).contains("[1/1]"), "one run is left to make: {}", stderr(&second));
    assert_eq!(fs::read(out.join(CELLS[0]).join("result.json")).unwrap(), whole);
    let gone_on = result(&out.join(CELLS[1]));
    assert_eq!(gone_on["runs"][0], kept);
    assert_eq!((&gone_on["incomplete"], gone_on["runs"].as_array().unwrap().len()), (&json!(false), 2));
    let timeline = fs::read_to_string(out.join(CELLS[1]).join("timeline.csv")).unwrap();
    let keys: Vec<String> =
        timeline.lines().map(|line| line.split(',').take(4).collect::<Vec<_>>().join(",")).collect();
    let mut distinct = keys.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(keys.len(), distinct.len(), "no interval of a run is there twice");

    assert_code(&understudy(dir.path(), SWEEP), 0);
    reads_as_one(dir.path());
    refused_if_unlike(dir.path());
}

/// `report` and `compare` take the folder for all of its cells.
fn reads_as_one(dir: &Path) {
    for (args, parts) in [
        (&["report", "out"][..], &["\nstate.keys\n", "2000"][..]),
        (&["report", "out", "--format", "markdown"], &["### state.keys"]),
        (&["report", "out/sweep.json", "--format", "csv"], &["small", "eager", "passed,state.keys=1000,"]),
        (&["compare", "out", "out"], &["state.keys=1000", "state.keys=2000"]),
        (&["compare", "out", "--between", "eager,learner"], &["state.keys=1000", "state.keys=2000"]),
    ] {
        let output = understudy(dir, args);
        assert_code(&output, 0);
        for part in parts {
            assert!(stdout(&output).contains(part), "{args:?}: {part} is not in\n{}", stdout(&output));
        }
    }
    let mixed = understudy(dir, &["compare", "out", "out/state.keys=1000"]);
    assert_code(&mixed, 2);
    assert!(stderr(&mixed).contains("one is a sweep"), "{}", stderr(&mixed));
}

/// Nothing is touched, and what differs is said.
fn refused_if_unlike(dir: &Path) {
    let out = dir.join("out");
    let refused = |args: &[&str], part: &str| {
        let output = understudy(dir, args);
        assert_code(&output, 2);
        assert!(stderr(&output).contains(part), "{args:?}: {part} is not in\n{}", stderr(&output));
    };
    refused(&[SWEEP, &["--seed", "9"]].concat(), "seed: 1 against 9");
    refused(&[SWEEP, &["--trials", "2"]].concat(), "trials: 1 against 2");
    refused(&[SWEEP, &["--set", "load.rate=1000"]].concat(), "scenario.load.rate: 3000 against 1000");
    refused(&[SWEEP, &["--sweep", "load.slo_ms=10,20"]].concat(), "cells:");
    refused(&["run", "small.toml", "--out", "out"], "sweep.json");
    let file = out.join(CELLS[0]).join("result.json");
    let whole = fs::read_to_string(&file).unwrap();
    rewrite(&file, |result| result["environment"]["cores"] = json!(999));
    refused(SWEEP, "environment.cores: 999 against");
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    refused(SWEEP, "state.keys=1000/result.json:");
    refused(&["report", "out"], "state.keys=1000/result.json:");
    rewrite(&out.join("sweep.json"), |sweep| sweep["schema"] = json!("understudy/sweep/v9"));
    refused(SWEEP, "understudy/sweep/v9");
}

#[test]
fn twins_are_kept_apart_and_give_the_noise_floor() {
    let dir = small();
    let args =
        ["run", "small.toml", "--strategy", "eager", "--aa=all", "--set", "duration=1s", "--out", "out"];
    assert_code(&understudy(dir.path(), &args), 0);
    let result = result(&dir.path().join("out"));
    let mut replicas: Vec<u64> =
        result["runs"].as_array().unwrap().iter().map(|run| run["replica"].as_u64().unwrap()).collect();
    replicas.sort_unstable();
    assert_eq!(replicas, [0, 1]);
    assert_eq!(result["runs"][0]["seed"], result["runs"][1]["seed"]);
    assert!(result["command"].as_array().unwrap().contains(&json!("--aa=all")), "{}", result["command"]);
    for file in ["latency-eager-1.hlog", "latency-eager-1-aa.hlog"] {
        assert!(dir.path().join("out").join(file).exists(), "{file}");
    }
    let csv = stdout(&understudy(dir.path(), &["compare", "out", "out", "--format", "csv"]));
    let pauses = csv.lines().find(|line| line.contains(",task_pause_ms.max,")).unwrap();
    let floor = pauses.split(',').nth(10).unwrap();
    assert!(floor.parse::<f64>().is_ok(), "the noise floor is a number: {pauses}");
    let text = stdout(&understudy(dir.path(), &["compare", "out", "out"]));
    assert!(!text.contains("no A/A pairs"), "{text}");
}
