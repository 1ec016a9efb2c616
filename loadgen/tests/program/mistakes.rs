//! Unusable input: a message that names the place and the remedy, exit code 2, and nothing left behind.

use crate::common::{assert_code, below, small, stderr, understudy};

/// The claim of `small.toml`.
const CLAIM: &str = "metric = \"audit.stale_appends\"\nexactly = 0";

/// Each case: what is changed in `small.toml` (from, to), and what the message must contain.
const FILES: &[(&str, &str, &[&str])] = &[
    ("keys = 2_000", "kyes = 2_000", &["small.toml:7:1", "unknown key `kyes`", "did you mean `keys`?"]),
    ("rate = 3_000", "rate = 0", &["small.toml:11:8", "at least 1"]),
    ("rate = 3_000", "rate = -5", &["small.toml:11:8", "at least 1"]),
    ("rate = 3_000", "rate = \"fast\"", &["small.toml:11:8", "must be a whole number", "rate = 1"]),
    ("rate = 3_000", "rate = 1e30", &["beyond reason", "at most 50_000_000", "because"]),
    ("keys = 2_000", "keys = 1_000_000_000_000", &["small.toml:7:8", "at most 100_000_000", "because"]),
    ("tasks = 3", "tasks = 99_999_999_999_999_999_999_999", &["at most 1_000", "because"]),
    ("tasks = 3", "", &["lacks `tasks`", "tasks = 5"]),
    ("tasks = 3", "tasks = 3\nrate = 5", &["unknown key `rate`", "did you mean `load.rate`?"]),
    ("[[instances]]\ncount = 2\n", "", &["starts no instances", "[[instances]]"]),
    ("count = 2", "count = 0", &["small.toml:22:9", "at least 1"]),
    (
        "time = \"400ms\"",
        "time = \"30s\"",
        &["small.toml:25:8", "after the end of the run", "ends at 2s", "duration"],
    ),
    ("time = \"400ms\"", "time = 3", &["needs a unit", "\"3s\""]),
    ("time = \"400ms\"", "time = \"3 days\"", &["not a time", "\"days\" is not a unit", "ms, s, min, h"]),
    ("time = \"400ms\"\n", "", &["[[at]] lacks `time`"]),
    ("start = { instances = 1 }", "", &["says when, but not what", "leave"]),
    (
        "start = { instances = 1 }",
        "leave = [\"S1\", \"S2\", \"S3\"]",
        &["3 are to leave", "2 members", "name fewer"],
    ),
    ("start = { instances = 1 }", "leave = [\"S1\", \"S2\"]", &["nobody would be left"]),
    ("start = { instances = 1 }", "leave = [\"S7\"]", &["`S7` is not in the group", "S1 on I1; S2 on I2"]),
    ("start = { instances = 1 }", "crash = [\"I1\", \"S1\"]", &["S1 has crashed at 400ms"]),
    ("start = { instances = 1 }", "stall = { member = \"S1\" }", &["`stall` lacks `lasting`"]),
    (
        "start = { instances = 1 }",
        "restart = { instance = \"I7\" }",
        &["small.toml:26:24", "there is no instance `I7`", "are: I1, I2"],
    ),
    (
        "start = { instances = 1 }",
        "restart = { instance = \"S2\" }",
        &["small.toml:26:24", "it is a member: a restart takes its instance, I2"],
    ),
    (
        "start = { instances = 1 }",
        "restart = { instance = \"I1\", static = true }",
        &["small.toml:26:39", "the members of I1 are not static", "start it with `static = true`"],
    ),
    (
        "start = { instances = 1 }",
        "restart = { instance = \"I1\", static = \"yes\" }",
        &["small.toml:26:39", "`static` must be true or false"],
    ),
    ("start = { instances = 1 }", "restart = { static = true }", &["`restart` lacks `instance`"]),
    (
        "start = { instances = 1 }",
        "restart = { instance = \"I1\", down = 3 }",
        &["small.toml:26:37", "`down` needs a unit"],
    ),
    ("count = 2", "count = 2\nstatic = 1", &["small.toml:23:10", "`static` must be true or false"]),
    ("time = \"400ms\"", "after = \"ready(S1)\"", &["needs a `deadline`", "deadline = \"10s\""]),
    (
        "time = \"400ms\"",
        "after = \"soon\"\ndeadline = \"1s\"",
        &["not a condition", "ready(S4), learning(S4)"],
    ),
    (
        "time = \"400ms\"",
        "after = \"ready(S9)\"\ndeadline = \"1s\"",
        &["`S9` is not in the group", "S1 on I1"],
    ),
    ("time = \"400ms\"", "after = \"balanced\"\ndeadline = \"9s\"", &["as late as 9s", "ends at 2s"]),
    ("time = \"400ms\"", "time = \"1s\"\nafter = \"balanced\"", &["a `time` or a condition, not both"]),
    ("tasks = 3", "tasks = 3\nstrategies = [\"eagre\"]", &["did you mean `eager`?", "understudy list"]),
    (
        CLAIM,
        "metric = \"moves.actul\"\nexactly = 0",
        &["no metric `moves.actul`", "did you mean `moves.actual`?"],
    ),
    (CLAIM, "metric = \"moves.actual\"", &["[[claim]] has no bound", "at_most, at_least, exactly"]),
    (CLAIM, "metric = \"moves.actual\"\nat_most = 1\nat_least = 1", &["two bounds"]),
    (
        "keys = \"zipf(0.99)\"",
        "keys = \"zipf(x)\"",
        &["small.toml:12:8", "\"x\" is not a number", "zipf(0.99)"],
    ),
    ("keys = \"zipf(0.99)\"", "keys = \"gauss\"", &["\"gauss\" is not known", "uniform, sequential"]),
    (
        "keys = \"zipf(0.99)\"",
        "file = \"nowhere.csv\"",
        &["nowhere.csv can't be read", "relative to the scenario file"],
    ),
    ("value_bytes = 50", "processor = \"jion\"", &["did you mean `join`?", "count, window, join, map"]),
    (
        "[[instances]]",
        "[[task]]\nstateless = true\n[[instances]]",
        &["both `tasks` and [[task]]", "keep one"],
    ),
    (
        "[group]",
        "[rocksdb]\noptions = \"max_opne_files=5\"\n[group]",
        &["RocksDB does not understand", "max_opne_files"],
    ),
    ("rate = 3_000", "file = \"a.csv\"\nfiles = [\"b.csv\"]", &["a `file` or `files`, not both"]),
    ("rate = 3_000", "speed = 0", &["`speed` is too small", "at least 0.001"]),
    ("rate = 3_000", "speed = -1.5", &["`speed` is too small", "at least 0.001"]),
    ("rate = 3_000", "speed = 1e9", &["`speed` is beyond reason", "at most 1000000", "a tenth of a second"]),
    ("rate = 3_000", "speed = inf", &["`speed` is beyond reason"]),
    ("rate = 3_000", "speed = nan", &["`speed` must be a number, not NaN"]),
    ("rate = 3_000", "rate = nan", &["`rate` must be a whole number, not NaN"]),
    ("tasks = 3", "tasks = = 3", &["small.toml:2:9", "this is not TOML"]),
    (
        "title = \"A small scale-up for tests\"",
        "title = \"unfinished",
        &["small.toml:1:", "this is not TOML"],
    ),
];

#[test]
fn mistakes_in_a_file_are_shown_in_place() {
    for (from, to, parts) in FILES {
        let dir = small();
        let path = dir.path().join("small.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(&path, text.replace(from, to)).unwrap();
        let output = understudy(dir.path(), &["run", "small.toml"]);
        assert_code(&output, 2);
        for part in *parts {
            assert!(stderr(&output).contains(part), "{to}: {part} is not in\n{}", stderr(&output));
        }
        assert_eq!(
            below(dir.path()),
            ["small.toml".as_ref() as &std::path::Path],
            "{to}: something was left"
        );
    }
}

/// Each case: arguments, and what the message must contain.
const ARGUMENTS: &[(&[&str], &[&str])] = &[
    (&["run"], &["SCENARIO"]),
    (&["run", "scale-upp"], &["no scenario `scale-upp`", "did you mean `scale-up`?"]),
    (&["run", "missing.toml"], &["missing.toml can't be read", "understudy list"]),
    (&["run", "small.toml", "small.toml"], &["named twice"]),
    (&["run", "small.toml", "--set", "load.rate=0"], &["--set:1:11", "at least 1"]),
    (&["run", "small.toml", "--set", "state.kyes=1"], &["--set:1:7", "did you mean `keys`?"]),
    (&["run", "small.toml", "--set", "at.3.time=1s"], &["`3` is not an item", "counted from 0"]),
    (&["run", "small.toml", "--set", "tasks.x=1"], &["`x` is set inside a whole number"]),
    (&["run", "small.toml", "--set", "tasks"], &["key=value", "state.keys=50_000"]),
    (
        &["run", "small.toml", "--strategy", "lerner"],
        &["unknown strategy `lerner`", "did you mean `learner`?"],
    ),
    (&["run", "small.toml", "--strategy", "learner(max_lerners=1)"], &["did you mean `max_learners`?"]),
    (&["run", "small.toml", "--strategy", "learner(max_learners=0)"], &["cannot be `0`", "at least 1"]),
    (&["run", "small.toml", "--strategy", "learner(max_learners=1"], &["parenthesis", "quote it"]),
    (&["run", "small.toml", "--strategy", "eager,,learner"], &["nothing between two commas"]),
    (&["run", "small.toml", "--strategy", "eager,eager"], &["eager twice"]),
    (&["run", "small.toml", "--trials", "0"], &["--trials", "1..=1000"]),
    (&["run", "small.toml", "--out", "small.toml"], &["small.toml", "can't be written", "--out"]),
    (&["run", "small.toml", "--out", "small.toml/results"], &["can't be written", "--out"]),
    (
        &[
            "run",
            "small.toml",
            "--set",
            "state.keys=100_000_000",
            "--set",
            "state.updates_per_key=1000",
            "--set",
            "tasks=1000",
        ],
        &["of disk", "state.keys"],
    ),
    (&["run", "small.toml", "--sweep", "state.kyes=1,2"], &["--sweep:1:7", "did you mean `keys`?"]),
    (&["run", "small.toml", "--sweep", "state.keys=1000,0"], &["--sweep:1:17", "at least 1"]),
    (&["run", "small.toml", "--sweep", "state.keys=many,1"], &["--sweep:1:12", "must be a whole number"]),
    (&["run", "small.toml", "--sweep", "state.keys=1000"], &["--sweep:1:12", "two values or more"]),
    (&["run", "small.toml", "--sweep", "state.keys=1,,2"], &["--sweep:1:14", "no value here"]),
    (&["run", "small.toml", "--sweep", "state.keys"], &["--sweep:1:1", "key=value,value"]),
    (&["run", "small.toml", "--sweep", "state.keys=1e3,1_000"], &["`state.keys` has one value twice"]),
    (
        &["run", "small.toml", "--sweep", "tasks=1,2", "--sweep", "tasks=3,4"],
        &["--sweep:1:1", "`tasks` is swept twice"],
    ),
    (
        &["run", "small.toml", "--sweep", "tasks=1,2", "--set", "tasks=3"],
        &["--sweep:1:1", "`tasks` is both set and swept"],
    ),
    (&["run", "small.toml", "--aa=some"], &["--aa", "turns"]),
    (&["schema", "nothing"], &["scenario", "result"]),
    (&["rum"], &["run"]),
];

#[test]
fn mistakes_in_arguments_name_the_remedy() {
    for (args, parts) in ARGUMENTS {
        let dir = small();
        let output = understudy(dir.path(), args);
        assert_code(&output, 2);
        for part in *parts {
            assert!(stderr(&output).contains(part), "{args:?}: {part} is not in\n{}", stderr(&output));
        }
        assert_eq!(
            below(dir.path()),
            ["small.toml".as_ref() as &std::path::Path],
            "{args:?}: something was left"
        );
    }
}

#[test]
fn a_folder_that_holds_a_result_is_refused() {
    for file in ["result.json", "timeline.csv", "latency-eager-1.hlog"] {
        let dir = small();
        std::fs::create_dir(dir.path().join("out")).unwrap();
        std::fs::write(dir.path().join("out").join(file), "mine").unwrap();
        let output = understudy(dir.path(), &["run", "small.toml", "--out", "out"]);
        assert_code(&output, 2);
        assert!(stderr(&output).contains("already holds a result"), "{}", stderr(&output));
        assert_eq!(std::fs::read_to_string(dir.path().join("out").join(file)).unwrap(), "mine");
        assert_eq!(below(&dir.path().join("out")).len(), 1);
    }
}

#[test]
fn one_unusable_scenario_of_two_keeps_both_from_starting() {
    let dir = small();
    let output = understudy(dir.path(), &["run", "small.toml", "nope.toml", "--out", "out"]);
    assert_code(&output, 2);
    assert!(!dir.path().join("out").exists());
}

#[test]
fn a_broken_or_empty_recorded_load_is_named() {
    let dir = small();
    std::fs::write(dir.path().join("load.csv"), "time,key,bytes\n0.1,a,1\n0.2,b\n").unwrap();
    let output =
        understudy(dir.path(), &["run", "small.toml", "--set", "load.file=load.csv", "--out", "out"]);
    assert_code(&output, 2);
    assert!(stderr(&output).contains("load.csv:3"), "{}", stderr(&output));
    std::fs::write(dir.path().join("load.csv"), "time,key,bytes\n").unwrap();
    let output =
        understudy(dir.path(), &["run", "small.toml", "--set", "load.file=load.csv", "--out", "out"]);
    assert_code(&output, 2);
    assert!(stderr(&output).contains("load.csv has no records"), "{}", stderr(&output));
    assert!(!dir.path().join("out").exists());
}
