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
/// Seeds beyond those that once found a fault.
const FINDS: [u64; 7] = [16_123, 30_165, 30_398, 60_253, 117_777, 159_972, 192_469];

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
    let setups: Vec<_> = (0..SEEDS).chain(FINDS).map(Setup::of_seed).collect();
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

#[test]
fn a_failure_says_how_to_do_it_again() {
    let planted = Some(Planted::Seam(SeamFault::ResumeForgotten));
    let of_seed = Setup { planted, ..Setup::of_seed(0) };
    assert!(of_seed.replay().ends_with("--example simulate -- --seed 0 --plant ResumeForgotten"));
    assert!(run(&of_seed).unwrap_err().to_string().contains(&of_seed.replay()));
    let scripted = one_crash(Profile::Tight, 17, false);
    assert!(scripted.replay().contains("before_step: 17"), "a seed alone does not say what it is made of");
}

/// A crash of any one member before any step, under `learner`: no task is without an owner for longer than a session,
/// a rebalance and the replay. Every step of a small group is tried, in which one member joins and one leaves.
#[test]
fn one_crash_before_any_step() {
    let mut setups = Vec::new();
    for profile in [Profile::Kafka, Profile::Tight] {
        let setup = |before_step| Setup {
            strategy: learners(profile).remove(0),
            instances: 2,
            stateful: 3,
            stateless: 0,
            upset_for: profile.config().heartbeat_interval * 110,
            ..one_crash(profile, before_step, false)
        };
        let whole = run(&setup(u64::MAX)).unwrap();
        setups.extend((1..=whole.member_steps).map(setup));
    }
    assert_owned(&setups);
}

/// The same under every form of `learner`, with larger groups and static members, before some of the steps. The
/// coordinator too is crashed before steps of its own.
#[test]
fn one_crash_before_many_steps() {
    let mut setups = Vec::new();
    for profile in [Profile::Kafka, Profile::Tight] {
        for (n, strategy) in learners(profile).into_iter().enumerate() {
            let setup = |before_step, coordinator| Setup {
                strategy: strategy.clone(),
                is_static: n == 1,
                seed: n as u64,
                ..one_crash(profile, before_step, coordinator)
            };
            let whole = run(&setup(u64::MAX, false)).unwrap();
            // About so many of each: kinds of steps come round again.
            let stride = |all: u64| (all / 60).max(1) as usize;
            let (members, coordinators) = (whole.member_steps, whole.coordinator_steps);
            setups.extend((1..members).step_by(stride(members)).map(|s| setup(s, false)));
            setups.extend((1..coordinators).step_by(stride(coordinators)).map(|s| setup(s, true)));
        }
    }
    assert_owned(&setups);
}

/// A machine without time for anybody: all sessions end at once, one member does not come back, and the others do not
/// wait for it.
#[test]
fn all_sessions_end_at_once() {
    let mut setups = Vec::new();
    for profile in [Profile::Kafka, Profile::Tight] {
        for strategy in strategies(profile) {
            setups.extend((0..6).map(|seed| Setup {
                strategy: strategy.clone(),
                seed,
                is_static: seed % 3 == 0,
                upsets: Upsets::Starvation,
                ..one_crash(profile, 0, false)
            }));
        }
    }
    assert_owned(&setups);
}

fn learners(profile: Profile) -> Vec<String> {
    strategies(profile).into_iter().filter(|s| s.starts_with("learner")).collect()
}

fn one_crash(profile: Profile, before_step: u64, coordinator: bool) -> Setup {
    Setup {
        profile,
        instances: 3,
        workers: 1,
        is_static: false,
        stateful: 5,
        stateless: 1,
        upsets: Upsets::OneCrash { before_step, coordinator },
        upset_for: profile.config().heartbeat_interval * 150,
        ..Setup::of_seed(0)
    }
}

/// Nothing is broken in any of these runs, the longest time without an owner included.
fn assert_owned(setups: &[Setup]) {
    let results = run_all(setups);
    if let Some(failure) = with_trail(setups, &results) {
        panic!("{failure}");
    }
    let longest = |profile: Profile| {
        let of = setups.iter().zip(&results).filter(|(setup, _)| setup.profile == profile);
        of.map(|(_, r)| r.as_ref().unwrap().longest_gap).max().unwrap_or(Duration::ZERO)
    };
    let crashed = results.iter().filter(|r| r.as_ref().unwrap().crashes > 0).count();
    assert_eq!(crashed, setups.len(), "each run has its crash");
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
