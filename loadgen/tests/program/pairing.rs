//! Equal seeds: both strategies meet the same arrivals and the same membership events.

use crate::common::{assert_code, result, small, understudy};
use assignor::TaskId;
use engine::clock::Time;
use engine::source::Records;
use loadgen::scenario::{self, Plan};
use loadgen::workload::{self, Workload};

fn plan() -> Plan {
    scenario::load(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/small.toml"), &[]).unwrap()
}

/// Every arrival of a run that begins at `begin`: task, key, and intended time after the beginning.
fn arrivals(plan: &Plan, seed: u64, begin: Time) -> Vec<(TaskId, Vec<u8>, u64)> {
    let workload = Workload::new(plan, seed).unwrap();
    workload.begin(begin);
    workload.end(begin + plan.warm_up + plan.duration);
    let sources = workload.sources();
    let mut all = Vec::new();
    for task in workload::tasks(plan) {
        let mut records = Records::default();
        let mut source = sources.open(&task, sources.preloaded(&task)).unwrap();
        source.poll(Time::NEVER, usize::MAX, &mut records).unwrap();
        all.extend(
            (0..records.len())
                .map(|index| (task.clone(), records.key(index).to_vec(), records.times[index].0 - begin.0)),
        );
    }
    all
}

#[test]
fn one_seed_is_one_load_whenever_it_begins() {
    let plan = plan();
    let first = arrivals(&plan, 1, Time(1_000_000));
    // 2.3 s at 2,000 records/s; each task's phase decides whether a last one fits.
    assert_eq!(first.len(), 6_900);
    assert!(first == arrivals(&plan, 1, Time(987_654_321)), "the same seed gives the same arrivals");
    assert!(first != arrivals(&plan, 2, Time(1_000_000)), "another seed gives others");
}

#[test]
fn both_strategies_meet_the_same_records_and_events() {
    let dir = small();
    let args =
        ["run", "small.toml", "--strategy", "eager,learner", "--seed", "3", "--trials", "2", "--out", "out"];
    assert_code(&understudy(dir.path(), &args), 0);
    let result = result(&dir.path().join("out"));
    let runs = result["runs"].as_array().unwrap();
    for trial in [1, 2] {
        let pair: Vec<_> = runs.iter().filter(|run| run["trial"] == trial).collect();
        assert_eq!(pair.len(), 2);
        assert_ne!(pair[0]["strategy"], pair[1]["strategy"]);
        assert_eq!(pair[0]["seed"], pair[1]["seed"]);
        assert_eq!(pair[0]["membership"], pair[1]["membership"]);
        assert_eq!(pair[0]["membership"][0]["at_us"], 400_000);
        // The audit recomputes each record from the seed and finds it in the state: same records, all applied.
        assert_eq!(pair[0]["audit"]["expected"], pair[1]["audit"]["expected"]);
        assert_eq!(pair[0]["audit"]["passed"], true);
        assert_eq!(pair[1]["audit"]["passed"], true);
    }
}
