//! The simulator over many seeds, one crash before any step, and the planted faults that show that it would find
//! something if there were something to find.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::sim::{
    Check, Failure, Outcome, Planted, Profile, SeamFault, Setup, Upsets, rebalances, run, strategies,
};

const SEEDS: u64 = 2_000;

/// Runs setups on all cores; results in their order.
fn run_all(setups: &[Setup]) -> Vec<Result<Outcome, Box<Failure>>> {
    let next = AtomicU64::new(0);
    let results = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(setup) = setups.get(at as usize) else { return };
                    let result = run(setup);
                    results.lock().unwrap().insert(at, result);
                }
            });
        }
    });
    results.into_inner().unwrap().into_values().collect()
}

/// The first failure, once more with its trail.
fn with_trail(setups: &[Setup], results: &[Result<Outcome, Box<Failure>>]) -> Option<String> {
    let at = results.iter().position(Result::is_err)?;
    let again = run(&Setup { trail: true, ..setups[at].clone() });
    Some(again.unwrap_err().to_string())
}

#[test]
fn two_thousand_seeds() {
    let setups: Vec<_> = (0..SEEDS).map(Setup::of_seed).collect();
    for profile in [Profile::Kafka, Profile::Tight] {
        for strategy in strategies(profile) {
            let is_this = |s: &&Setup| s.profile == profile && s.strategy == strategy;
            assert!(
                setups.iter().filter(is_this).count() > 20,
                "{strategy} under {profile:?} is hardly tried"
            );
        }
    }
    let results = run_all(&setups);
    if let Some(failure) = with_trail(&setups, &results) {
        panic!("{failure}");
    }
    let mut total = Outcome::default();
    results.into_iter().for_each(|outcome| total += outcome.unwrap());
    println!("{SEEDS} seeds: {total:?}");
    assert!(total.crashes > SEEDS && total.refused > 100, "the runs are too peaceful: {total:?}");
}

#[test]
fn one_seed_is_one_run() {
    for seed in [1, 2, 3] {
        let setup = Setup {
            trail: true,
            planted: Some(Planted::Seam(SeamFault::ResumeForgotten)),
            ..Setup::of_seed(seed)
        };
        assert_eq!(run(&setup), run(&setup));
    }
}

/// A crash of any one member before a step, under `learner`: no task is without an owner for longer than a session,
/// a rebalance and the replay. The coordinator too is crashed before steps of its own.
#[test]
fn one_crash_before_any_step() {
    let mut setups = Vec::new();
    for profile in [Profile::Kafka, Profile::Tight] {
        let learners = strategies(profile).into_iter().filter(|s| s.starts_with("learner"));
        for (n, strategy) in learners.enumerate() {
            let setup = |before_step, coordinator| Setup {
                strategy: strategy.clone(),
                profile,
                instances: 3,
                workers: 1,
                is_static: n == 1,
                stateful: 5,
                stateless: 1,
                upsets: Upsets::OneCrash { before_step, coordinator },
                upset_for: profile.config().heartbeat_interval * 150,
                ..Setup::of_seed(n as u64)
            };
            let whole = run(&setup(u64::MAX, false)).unwrap();
            let upset_for = setup(0, false).upset_for;
            let share = upset_for.as_secs_f64() / whole.lasted.as_secs_f64();
            let steps = |all: u64| (all as f64 * share) as u64;
            // One step in thirteen of the first strategy's run, forty of each other's: kinds of steps come round again.
            let stride = |all: u64| if n == 0 { 13 } else { (all / 40).max(1) };
            let (members, coordinators) = (steps(whole.steps), steps(whole.coordinator_steps));
            setups.extend((1..members).step_by(stride(members) as usize).map(|s| setup(s, false)));
            setups.extend((1..coordinators).step_by(stride(coordinators) as usize).map(|s| setup(s, true)));
        }
    }
    let results = run_all(&setups);
    if let Some(failure) = with_trail(&setups, &results) {
        panic!("{failure}");
    }
    let longest = |profile: Profile| {
        let of = setups.iter().zip(&results).filter(|(setup, _)| setup.profile == profile);
        of.map(|(_, r)| r.as_ref().unwrap().longest_gap).max().unwrap_or(Duration::ZERO)
    };
    let (kafka, tight) = (longest(Profile::Kafka), longest(Profile::Tight));
    println!("{} runs; longest time without an owner: kafka {kafka:?}, tight {tight:?}", setups.len());
}

/// Each planted fault is found within 2,000 seeds, by a checker whose rule it breaks.
#[test]
fn planted_faults_are_found() {
    let mut found = Vec::new();
    let mut missed = Vec::new();
    for fault in Planted::all() {
        let failure = (0..SEEDS).find_map(|seed| {
            let setup = Setup { planted: Some(fault), ..Setup::of_seed(seed) };
            run(&setup).err()
        });
        match failure {
            Some(failure) => found.push((fault.to_string(), failure.seed, failure.violation.check)),
            None => missed.push(fault.to_string()),
        }
    }
    for (fault, seed, check) in &found {
        println!("{fault}: seed {seed}, {check}");
    }
    assert!(missed.is_empty(), "not found within {SEEDS} seeds: {missed:?}");
    for (fault, _, check) in found {
        assert!(expected(&fault).contains(&check), "{fault} was found by {check}");
    }
}

/// The checkers whose rule a fault breaks.
fn expected(fault: &str) -> &'static [Check] {
    use Check::{
        AwayTakesNothing, BalancedAndQuiet, FencesAscend, NoOldEpoch, NothingLostOrDoubled,
        OneWriterPerEpoch, OwnershipMovesSafely, PlansAreValid, ReadyBeforeHandOver,
    };
    match fault {
        "StaleJoinAccepted" => &[OwnershipMovesSafely, BalancedAndQuiet],
        "StalePlanAccepted" => &[PlansAreValid, OwnershipMovesSafely, AwayTakesNothing],
        // It claims what it has lost: twice, or beside the new owner.
        "StaleAssignmentAccepted" => {
            &[PlansAreValid, OwnershipMovesSafely, BalancedAndQuiet, OneWriterPerEpoch]
        }
        "KeepsWhatItLost" => &[OwnershipMovesSafely, ReadyBeforeHandOver],
        "JoinBeforeStopped" | "AwayForgotten" => &[OwnershipMovesSafely],
        "ReadyTooSoon" => &[ReadyBeforeHandOver],
        "AwayUnseen" => &[AwayTakesNothing],
        "FollowUpLostWithLeader" | "FollowUpForgotten" | "SessionsNeverEnd" => &[BalancedAndQuiet],
        "FenceSkipped" => &[OneWriterPerEpoch],
        "OlderFenceGranted" => &[FencesAscend],
        "EndReadBeforeFence" | "CopyAheadKept" | "ResumeForgotten" => &[NothingLostOrDoubled],
        "OldEpochAccepted" => &[NoOldEpoch],
        other => panic!("{other} is not in the table"),
    }
}

/// Printed, not asserted: machines differ.
#[test]
#[expect(clippy::disallowed_methods, reason = "measures real time")]
fn rebalances_per_second() {
    for strategy in ["eager", "cooperative", "learner"] {
        let began = std::time::Instant::now();
        let done = rebalances(strategy, 8, 16, 2_000);
        let rate = done as f64 / began.elapsed().as_secs_f64();
        println!("{strategy}: {rate:.0} simulated rebalances per second (8 members, 16 tasks)");
        assert!(done >= 2_000, "{strategy}");
    }
}
