//! The claims of every built-in scenario, judged on made-up results: what is right passes, and the wrong behaviour that
//! a scenario is there to catch fails its claim, and that one alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use loadgen::scenario::{self, BUILTINS, Plan};
use results::claim::{self, Verdict};
use results::schema::RunFile;
use serde_json::{Value, json};

/// A run as it should be: everybody has two tasks, nothing is lost, everything was noticed.
fn run(strategy: &str, active: &Value) -> Value {
    json!({
        "strategy": strategy, "trial": 1, "seed": 1,
        "metrics": {
            "task_pause_ms": {
                "count": 4, "p50": 5.0, "p99": 9.0, "max": 9.0, "sum": 20.0, "mean": 5.0, "given_back": 0,
                "censored": 0, "anatomy": {
                    "detect": 1.0, "revoke": 1.0, "barrier": 1.0, "assign": 1.0, "restore": 3.0, "catch_up": 1.0,
                },
            },
            "recovery_ms": 40.0, "stop_the_world_ms": 0.0,
            "service_latency_ms": { "p50": 1.0, "p99": 5.0, "p999": 8.0, "max": 9.0, "mean": 1.0 },
            "rebalances": { "total": 4, "by_cause": { "join": 2, "crash": 1, "timeout": 1 } },
            "restore": { "records": 10, "bytes": 900, "records_per_s": 5.0, "mb_per_s": 1.0, "discarded_bytes": 0 },
            "moves": { "actual": 4, "minimum": 4 },
            "time_to_balance_ms": 900.0,
            "learners": {
                "started": 4, "ready": 4, "promoted": 4, "dropped": 0, "time_to_ready_ms": 500.0,
                "time_to_promote_ms": 4.0, "lag_at_promotion": 20,
            },
        },
        "audit": {
            "expected": 9, "applied": 9, "lost": 0, "doubled": 0, "stale_appends": 0, "no_owner_ms": 0.0,
            "passed": true,
        },
        "generations": [{
            "started_us": 0, "completed_us": 1, "generation": 5, "causes": ["join"], "balanced": true,
            "active": active,
        }],
        "appends_refused": 1, "compaction": { "preloaded_bytes_before": 9, "preloaded_bytes_after": 1, "count": 1, "bytes_before": 9, "bytes_after": 1 },
    })
}

/// `members` members with the plan's tasks dealt out, those with state first.
fn dealt(plan: &Plan, members: usize) -> Value {
    let mut active: Vec<(String, Vec<String>)> =
        (1..=members).map(|number| (format!("S{number}"), Vec::new())).collect();
    let task = |(number, _): (usize, _)| format!("T{}", number + 1);
    let (with, without): (Vec<_>, Vec<_>) =
        plan.kinds.iter().enumerate().partition(|(_, kind)| !kind.stateless);
    for kind in [with, without] {
        for (seat, numbered) in kind.into_iter().enumerate() {
            active[seat % members].1.push(task(numbered));
        }
    }
    active.into_iter().map(|(member, tasks)| json!({ "member": member, "tasks": tasks })).collect()
}

/// The strategy that a scenario's claims favour: `learner`, with options if it has any there.
fn favoured(strategies: &[String]) -> usize {
    let options = strategies.iter().position(|name| name.starts_with("learner("));
    options.or_else(|| strategies.iter().position(|name| name == "learner")).unwrap()
}

/// A result of the scenario under its own strategies; all others do ten times worse than the favoured one.
fn result(plan: &Plan, members: usize) -> RunFile {
    let mut runs: Vec<Value> =
        plan.strategies.iter().map(|strategy| run(strategy, &dealt(plan, members))).collect();
    let best = favoured(&plan.strategies);
    for (_, other) in runs.iter_mut().enumerate().filter(|(index, _)| *index != best) {
        for figure in
            ["task_pause_ms/max", "task_pause_ms/sum", "task_pause_ms/anatomy/restore", "time_to_balance_ms"]
        {
            let figure = other.pointer_mut(&format!("/metrics/{figure}")).unwrap();
            *figure = json!(figure.as_f64().unwrap() * 10.0);
        }
    }
    serde_json::from_value(json!({
        "schema": "understudy/run/v1",
        "scenario": plan.document,
        "environment": results::environment::Environment::default(),
        "runs": runs,
    }))
    .unwrap()
}

/// Scenario, members at its end, the wrong behaviour, where it shows in the favoured strategy's run and how, and a word
/// of the claim that must catch it.
type Case = (&'static str, usize, &'static str, &'static [(&'static str, &'static str)], &'static str);

const CASES: &[Case] = &[
    (
        "scale-up",
        5,
        "a task is handed over before its copy has caught up",
        &[("/metrics/task_pause_ms/max", "89.0")],
        "at most half",
    ),
    ("scale-up", 5, "tasks wander", &[("/metrics/moves/actual", "6")], "only what balance needs"),
    (
        "scale-down",
        2,
        "the leaver goes before its tasks have been learned",
        &[("/metrics/task_pause_ms/max", "89.0")],
        "at most half",
    ),
    (
        "host-swap",
        6,
        "the old host's tasks go to others first, and then to the newcomer",
        &[("/metrics/moves/actual", "8")],
        "moved, once",
    ),
    (
        "burst",
        8,
        "the first of the newcomers gets half of everything",
        &[("/metrics/moves/actual", "9")],
        "at most once",
    ),
    (
        "autoscaler",
        5,
        "the group never comes to rest",
        &[("/generations/0/balanced", "false")],
        "comes to rest",
    ),
    (
        "rolling-bounce",
        3,
        "the old ones stop before the new ones are ready",
        &[("/metrics/task_pause_ms/max", "80.0")],
        "at most half",
    ),
    (
        "worker-crash",
        2,
        "a task is forgotten with its owner",
        &[("/metrics/task_pause_ms/censored", "1")],
        "runs at the end",
    ),
    (
        "worker-crash",
        2,
        "a crash makes everybody stop",
        &[("/metrics/task_pause_ms/given_back", "3")],
        "go on",
    ),
    (
        "leader-crash",
        4,
        "the new leader begins all learning anew",
        &[("/metrics/learners/dropped", "2")],
        "where it is learned",
    ),
    (
        "leader-crash",
        4,
        "the follow-up dies with the leader",
        &[("/generations/0/balanced", "false")],
        "next leader",
    ),
    (
        "learner-crash",
        3,
        "the newcomer is given tasks that it has not learned",
        &[("/metrics/moves/actual", "2")],
        "does not stay",
    ),
    (
        "standby-failover",
        2,
        "a task goes to somebody without its standby",
        &[("/metrics/task_pause_ms/anatomy/restore", "25.0")],
        "a third",
    ),
    ("zombie", 3, "the log takes what a sleeper appends", &[("/audit/stale_appends", "1")], "old epoch"),
    (
        "zombie",
        3,
        "the sleeper never tries, so that nothing is shown",
        &[("/appends_refused", "0")],
        "is refused",
    ),
    (
        "flapping",
        3,
        "tasks follow everybody who comes",
        &[("/metrics/task_pause_ms/sum", "150.0")],
        "at most half",
    ),
    (
        "scale-down-timeout",
        2,
        "its tasks are begun anew by somebody else",
        &[("/metrics/learners/promoted", "0")],
        "not ready",
    ),
    (
        "scale-down-timeout",
        2,
        "what was learned is thrown away",
        &[("/metrics/restore/discarded_bytes", "9000")],
        "thrown away",
    ),
    (
        "hot-partition",
        4,
        "the learner of the hot task never catches up",
        &[("/metrics/learners/ready", "1")],
        "catch up",
    ),
    (
        "trickle",
        11,
        "one warm-up after another, at every probing",
        &[("/metrics/time_to_balance_ms", "8000.0")],
        "sooner",
    ),
    (
        "many-tasks",
        30,
        "five rounds, in which tasks move more than once",
        &[("/metrics/moves/actual", "9")],
        "each task once",
    ),
    ("far-behind", 2, "a copy that is behind is thrown away", &[("/stores_discarded", "1")], "no copy"),
    (
        "change-of-plan",
        4,
        "learning begins anew with each change",
        &[("/metrics/learners/promoted", "0")],
        "it keeps",
    ),
    (
        "heavy-state",
        3,
        "the hand-over waits for the whole state",
        &[("/metrics/learners/time_to_promote_ms", "20000.0")],
        "half a second",
    ),
    (
        "long-changelog",
        3,
        "every update is replayed, superseded or not",
        &[("/metrics/restore/bytes", "98000000")],
        "a third",
    ),
    (
        "full-restart",
        3,
        "the tasks are dealt out anew, whoever has their state",
        &[("/metrics/restore/records", "1200000")],
        "all state on disk",
    ),
    ("full-restart", 3, "state on disk is taken for damaged", &[("/stores_discarded", "6")], "thrown away"),
    (
        "static-bounce",
        3,
        "each restart is a leave and a join",
        &[("/metrics/rebalances/total", "6")],
        "nobody rebalances",
    ),
    (
        "static-bounce",
        3,
        "everybody stops when one restarts",
        &[("/metrics/task_pause_ms/count", "18")],
        "stands still once",
    ),
    (
        "static-bounce",
        3,
        "who is back begins with nothing",
        &[("/metrics/restore/records", "1200000")],
        "own disk",
    ),
    ("rejoin", 5, "a task bounces for ever", &[("/generations/0/balanced", "false")], "comes to rest"),
    (
        "rejoin",
        5,
        "what is not up yet is forgotten, and its copy with it",
        &[("/stores_discarded", "2")],
        "thrown away",
    ),
    (
        "lost-standby",
        3,
        "a standby that is gone is not replaced",
        &[("/generations/0/standby/2/tasks", "[]")],
        "two standbys",
    ),
    (
        "batched-start",
        6,
        "the first to join gets everything and gives it back",
        &[("/metrics/moves/actual", "10")],
        "nothing moves",
    ),
];

fn failed(plan: &Plan, result: &RunFile) -> Vec<String> {
    let judged = claim::judge(&plan.claims, result);
    judged.iter().filter(|claim| claim.verdict == Verdict::Failed).map(ToString::to_string).collect()
}

/// Every member stands by for all tasks that it does not run.
fn all_others(active: &Value) -> Value {
    let members = active.as_array().unwrap();
    let tasks = |of: &Value| of["tasks"].as_array().unwrap().clone();
    let others = |member: &Value| -> Vec<Value> {
        members.iter().filter(|of| of["member"] != member["member"]).flat_map(tasks).collect()
    };
    members.iter().map(|of| json!({ "member": of["member"], "tasks": others(of) })).collect()
}

/// What a scenario needs beside the general case, for its good run.
fn adapt(name: &str, run: &mut Value) {
    match name {
        // Nothing happens there.
        "batched-start" => {
            run["metrics"]["moves"] = json!({ "actual": 0, "minimum": 0 });
            run["metrics"]["rebalances"] = json!({ "total": 0, "by_cause": {} });
        }
        "learner-crash" => run["metrics"]["moves"] = json!({ "actual": 0, "minimum": 0 }),
        // Nobody notices: but each task stands still once.
        "static-bounce" => {
            run["metrics"]["rebalances"] = json!({ "total": 0, "by_cause": {} });
            run["metrics"]["task_pause_ms"]["count"] = json!(6);
        }
        "lost-standby" => run["generations"][0]["standby"] = all_others(&run["generations"][0]["active"]),
        _ => {}
    }
}

/// The result as it is for this scenario, with changes to the favoured strategy's run.
fn with(plan: &Plan, result: &RunFile, changes: &[(&str, &str)]) -> RunFile {
    let mut value = serde_json::to_value(result).unwrap();
    let runs = value["runs"].as_array_mut().unwrap();
    runs.iter_mut().for_each(|run| adapt(&plan.name, run));
    let run = &mut runs[favoured(&plan.strategies)];
    for (place, new) in changes {
        let figure = run.pointer_mut(place).unwrap_or_else(|| panic!("{}: no {place}", plan.name));
        *figure = serde_json::from_str(new).unwrap();
    }
    serde_json::from_value(value).unwrap()
}

#[test]
fn what_is_right_passes_and_the_wrong_behaviour_fails_its_claim() {
    for (name, members, wrong, changes, caught_by) in CASES {
        let plan = scenario::load(name, &[]).unwrap();
        let good = result(&plan, *members);
        assert_eq!(
            failed(&plan, &with(&plan, &good, &[])),
            Vec::<String>::new(),
            "{name}: what is right fails"
        );
        let caught = failed(&plan, &with(&plan, &good, changes));
        assert!(!caught.is_empty(), "{name} does not notice: {wrong}");
        assert!(caught.iter().all(|claim| claim.contains(caught_by)), "{name}, {wrong}: {caught:?}");
    }
}

#[test]
fn state_piled_up_on_one_member_fails_stateless_mix() {
    let plan = scenario::load("stateless-mix", &[]).unwrap();
    let good = result(&plan, 3);
    assert_eq!(failed(&plan, &good), Vec::<String>::new());
    let mut piled = good;
    // Four tasks each, but the newcomer has stateless ones alone.
    for run in &mut piled.runs {
        let members = run.generations[0].active.iter_mut();
        for (member, tasks) in
            members.zip([["T1", "T2", "T3", "T7"], ["T4", "T5", "T6", "T8"], ["T9", "T10", "T11", "T12"]])
        {
            member.tasks = tasks.map(str::to_owned).to_vec();
        }
    }
    let caught = failed(&plan, &piled);
    assert!(caught.iter().any(|claim| claim.contains("with state")), "{caught:?}");
}

#[test]
fn every_built_in_scenario_explains_itself_claims_something_and_is_tested() {
    for builtin in BUILTINS {
        let plan = scenario::load(builtin.name, &[]).unwrap();
        assert!(plan.description.len() > 150, "{}: a paragraph", builtin.name);
        assert!(!plan.claims.is_empty(), "{} claims nothing", builtin.name);
        assert!(
            plan.warm_up + plan.duration <= std::time::Duration::from_secs(30),
            "{} is long",
            builtin.name
        );
        let tested = CASES.iter().any(|case| case.0 == builtin.name) || builtin.name == "stateless-mix";
        assert!(tested, "{}: no wrong behaviour is known to fail it", builtin.name);
    }
}

#[test]
fn a_comparison_with_a_strategy_that_did_not_run_is_not_judged() {
    let plan = scenario::load("scale-up", &[]).unwrap();
    let mut alone = result(&plan, 5);
    alone.runs.retain(|run| run.strategy == "learner");
    let judged = claim::judge(&plan.claims, &alone);
    assert_eq!(judged.iter().filter(|claim| claim.verdict == Verdict::NotJudged).count(), 1);
    assert!(judged.iter().all(|claim| claim.verdict != Verdict::Failed));
}

#[test]
fn a_number_that_was_not_reached_keeps_no_bound() {
    let plan = scenario::load("trickle", &[]).unwrap();
    let mut slow = result(&plan, 11);
    slow.runs[0].metrics.time_to_balance_ms = None;
    assert!(failed(&plan, &slow).iter().any(|claim| claim.contains("not reached")));
}
