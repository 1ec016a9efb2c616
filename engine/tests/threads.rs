//! Threads of a real cluster run on the cores that they are pinned to, and only those, and with the slices that they ask
//! for: as the operating system says. A program of its own, with a single test, since it looks at all threads of the
//! process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use assignor::TaskId;
use engine::clock::{Clock as _, RealClock, Time};
use engine::cluster::{Cluster, ClusterConfig, Parts, TaskSpec};
use engine::config::{EngineConfig, GroupConfig};
use engine::event::Unobserved;
use engine::pin::Pinning;
use engine::source::{KeyDistribution, SyntheticLoad, SyntheticSources};
use engine::task::{CommitOptions, NeverBreaks};

/// What the operating system says of threads.
#[derive(Clone, Debug, Default)]
struct Threads {
    /// The cores that they may run on; of several threads with one name, those of any.
    cores: BTreeMap<String, Vec<usize>>,
    /// Nanoseconds of their slices; empty where the system doesn't tell.
    slices: BTreeMap<String, u64>,
}

fn look() -> Threads {
    let mut threads = Threads::default();
    for thread in fs::read_dir("/proc/self/task").unwrap().flatten() {
        // A thread may end while it is looked at.
        let Ok(name) = fs::read_to_string(thread.path().join("comm")) else { continue };
        let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
        let name = name.trim().to_owned();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        let mut cores = ranges(list.trim());
        let known = threads.cores.entry(name.clone()).or_default();
        cores.retain(|core| !known.contains(core));
        known.extend(cores);
        let schedule = fs::read_to_string(thread.path().join("sched")).unwrap_or_default();
        let slice = schedule.lines().find(|line| line.starts_with("se.slice"));
        let nanos = slice.and_then(|line| line.rsplit(':').next()?.trim().parse().ok());
        threads.slices.extend(nanos.map(|nanos| (name, nanos)));
    }
    threads
}

/// `0-2,5` is 0, 1, 2 and 5.
fn ranges(list: &str) -> Vec<usize> {
    let bounds = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        from.parse::<usize>().unwrap()..=to.parse().unwrap()
    };
    list.split(',').flat_map(bounds).collect()
}

/// Two instances serve some records; then, what their threads may use.
fn threads_of(pinning: Pinning, short_slices: bool) -> Threads {
    let dir = tempfile::tempdir().unwrap();
    let tasks: Vec<TaskId> = (1..=4).map(|nth| TaskId::from(format!("T{nth}"))).collect();
    let sources = SyntheticSources::new(&SyntheticLoad {
        seed: 1,
        tasks: tasks.iter().map(|task| (task.clone(), 1.0)).collect(),
        stateless: Vec::new(),
        rate: 20_000.0,
        keys: 1_000,
        distribution: KeyDistribution::Uniform,
        record_bytes: 50,
        updates_per_key: 0,
    });
    let clock = Arc::new(RealClock::start());
    let config = ClusterConfig {
        tasks: tasks.into_iter().map(|id| TaskSpec { id, stateful: true, state_bytes: 1 }).collect(),
        group: GroupConfig {
            session_timeout: Duration::from_secs(30),
            initial_members: 2,
            ..GroupConfig::tight()
        },
        strategy: assignor::parse("eager").unwrap(),
        // Every turn is written to the store.
        engine: EngineConfig {
            pinning,
            short_slices,
            commit: CommitOptions { updates: 0, ..CommitOptions::default() },
            ..EngineConfig::default()
        },
        dir: dir.path().to_owned(),
    };
    let parts = Parts {
        clock: clock.clone(),
        sources: Arc::new(sources.clone()),
        observer: Arc::new(Unobserved),
        breaker: Arc::new(NeverBreaks),
    };
    let cluster = Cluster::open(config, parts).unwrap();
    sources.begin(clock.now());
    for _ in 0..2 {
        cluster.start(1, 1).unwrap();
    }
    while cluster.status().served < 2_000 {
        assert!(cluster.failure().is_none() && clock.now() < Time::ZERO + Duration::from_secs(60));
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let threads = look();
    cluster.stop().unwrap();
    threads
}

#[test]
fn threads_run_where_they_are_pinned_and_with_the_slices_they_ask_for() {
    pinned();
    slices();
}

fn pinned() {
    // The test's own thread is free, and so is what it starts.
    let all = threads_of(Pinning::Free, true).cores["S1"].clone();
    let (last, others) = all.split_last().unwrap();

    let workers = threads_of(Pinning::Workers, true).cores;
    let mut cores = [workers["S1"].clone(), workers["S2"].clone()].concat();
    cores.sort_unstable();
    cores.dedup();
    assert_eq!(cores.len(), all.len().min(2), "a core each, as far as there are cores: {workers:?}");
    for free in ["I1", "I1 restorer", "coordinator", "rocksdb:low", "rocksdb:high"] {
        assert_eq!(workers[free], all, "{free}");
    }

    let apart = threads_of(Pinning::Apart, true).cores;
    if others.is_empty() {
        assert_eq!((&apart["S1"], &apart["I1 restorer"]), (&all, &all), "a single core is everybody's");
        return;
    }
    for restorer in ["I1 restorer", "I2 restorer"] {
        assert_eq!(apart[restorer], [*last], "{restorer}");
    }
    for worker in ["S1", "S2"] {
        assert!(apart[worker].len() == 1 && others.contains(&apart[worker][0]), "{worker}: {apart:?}");
    }
    for free in ["I1", "coordinator", "rocksdb:low", "rocksdb:high"] {
        assert_eq!(apart[free], all, "{free}");
    }
}

/// Those that others wait for have shorter ones than those that work for hours, which keep the system's.
fn slices() {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    if (numbers.next(), numbers.next()) < (Some(6), Some(12)) {
        return;
    }
    let plain = threads_of(Pinning::Free, false).slices;
    let Some(&usual) = plain.get("S1") else { return };
    assert!(plain.values().all(|&slice| slice == usual), "{plain:?}");
    let short = threads_of(Pinning::Free, true).slices;
    for (names, slice) in [
        (&["I1", "I2", "coordinator"][..], 100_000),
        (&["S1", "S2"][..], 300_000),
        (&["I1 restorer", "I2 restorer", "rocksdb:low", "rocksdb:high"][..], usual),
    ] {
        for &name in names {
            assert_eq!(short[name], slice, "{name}: {short:?}");
        }
    }
}
