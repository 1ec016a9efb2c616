//! Claims and conditions of a scenario, in real runs.

use crate::common::{assert_code, result, small, stderr, stdout, understudy};

#[test]
fn a_failed_claim_is_shown_written_down_and_told_by_the_exit_code() {
    let dir = small();
    let claim = "claim=[{says=\"a hundred tasks move\",metric=\"moves.actual\",at_least=100}]";
    let args = ["run", "small.toml", "--strategy", "learner", "--set", claim, "--out", "out"];
    let output = understudy(dir.path(), &args);
    assert_code(&output, 1);
    assert!(stderr(&output).contains("a claim of the scenario failed"), "{}", stderr(&output));
    for part in ["FAILED: 1 of 1", "claim failed: learner: a hundred tasks move", "claimed at least 100"] {
        assert!(stdout(&output).contains(part), "{part} is not in\n{}", stdout(&output));
    }
    let result = result(&dir.path().join("out"));
    assert_eq!(result["claims"][0]["verdict"], "failed");
    assert_eq!(result["claims"][0]["strategy"], "learner");
    assert_eq!(result["runs"][0]["audit"]["passed"], true, "the run itself is fine");
}

#[test]
fn an_event_waits_for_its_condition_and_the_result_is_not_paired() {
    let dir = small();
    // The newcomer is asked to leave as soon as it has begun to learn; `generation(99)` never comes.
    let events = "at=[{time=\"300ms\",start={instances=1}},\
                  {after=\"learning(S3)\",deadline=\"1500ms\",leave=[\"S3\"]},\
                  {after=\"generation(99)\",deadline=\"1700ms\",start={instances=1}}]";
    let args = ["run", "small.toml", "--strategy", "learner", "--set", events, "--out", "out"];
    assert_code(&understudy(dir.path(), &args), 0);
    let result = result(&dir.path().join("out"));
    assert_eq!(result["paired"], false);
    let run = &result["runs"][0];
    let learning = run["metrics"]["learners"]["started"].as_u64().unwrap();
    assert!(learning >= 1, "{run}");
    let acts = run["membership"].as_array().unwrap();
    assert_eq!(acts.len(), 3, "{acts:?}");
    assert!(acts[1]["at_us"].as_i64() > acts[0]["at_us"].as_i64(), "{acts:?}");
    assert!(acts[1]["at_us"].as_i64() < Some(1_500_000), "it did not wait for its deadline: {acts:?}");
    assert_eq!(acts[2]["at_us"].as_i64(), Some(1_700_000), "{acts:?}");
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("`generation(99)` had not come about"), "{warnings}");
}

#[test]
fn every_processor_passes_its_audit_through_a_hand_over() {
    for (processor, store) in [
        ("window", "rocksdb"),
        ("join", "rocksdb"),
        ("map", "rocksdb"),
        ("count", "memory"),
        ("window", "memory"),
        ("join", "memory"),
    ] {
        let dir = small();
        let (processor, store) = (format!("state.processor={processor}"), format!("state.store={store}"));
        let mut args = vec![
            "run",
            "small.toml",
            "--strategy",
            "learner",
            "--out",
            "out",
            "--set",
            &processor,
            "--set",
            &store,
        ];
        // Windows that close while the run lasts, and events that come out of order, some of them late.
        for set in ["state.window=100ms", "state.windows_kept=3", "state.disorder=350ms"] {
            args.extend(["--set", set]);
        }
        assert_code(&understudy(dir.path(), &args), 0);
        let run = &result(&dir.path().join("out"))["runs"][0];
        assert_eq!(run["audit"]["passed"], true, "{processor}: {run}");
        let ceiling = &result(&dir.path().join("out"))["restore_ceiling"];
        assert_eq!(
            ceiling.is_null(),
            store.ends_with("memory"),
            "a bulk load is compared with restores alike"
        );
        let preloaded = if processor.ends_with("map") { 0 } else { 3 * 2_000 };
        assert_eq!(run["audit"]["applied"], preloaded + 6_900, "{processor}: {}", run["audit"]);
        assert_eq!(run["metrics"]["moves"]["actual"], 1, "{processor}");
    }
}

#[test]
fn tasks_of_several_kinds_share_the_load_by_weight() {
    let dir = small();
    let path = dir.path().join("small.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let kinds = "[[task]]\nweight = 8\n[[task]]\ncount = 2\nstateless = true\n[[instances]]";
    std::fs::write(&path, text.replace("tasks = 3\n", "").replacen("[[instances]]", kinds, 1)).unwrap();
    assert_code(&understudy(dir.path(), &["run", "small.toml", "--strategy", "learner", "--out", "out"]), 0);
    let run = &result(&dir.path().join("out"))["runs"][0];
    assert_eq!(run["audit"]["passed"], true, "{run}");
    // One task of three has state, and is preloaded. The tasks' phases cost at most a record each.
    let live = run["audit"]["applied"].as_u64().unwrap() - 2_000;
    assert!(live.abs_diff(6_900) <= 3, "{}", run["audit"]);
}
