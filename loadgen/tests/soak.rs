//! While a run lasts, an instance that is gone takes everything with it: threads, file handles, databases, the directory
//! that it held, memory. A program of its own, since it counts what the whole process has.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use loadgen::run::{self, Ending, Request, Twins};
use loadgen::scenario;
use loadgen::stop::Stop;
use loadgen::strategies;
use loadgen::watch::{Glance, Stage, Watcher, Which};

/// So often an instance comes and goes.
const CYCLES: u64 = 80;
/// From its start to the next one's.
const CYCLE_MS: u64 = 120;
/// Memory that may come with the moment: memtables, and what the allocator's arenas have not given back. A bound for gross
/// leaks alone; what is held is counted beside it.
const SLACK_KB: u64 = 40 << 10;
/// Stacks that the C library keeps for the next thread, and the heaps of its arenas: two mappings each.
const SLACK_MAPPINGS: u64 = 80;

/// What the process has at a moment.
#[derive(Clone, Copy, Debug)]
struct Held {
    threads: u64,
    /// Directories that are held, the run's own among them, and open databases: each holds a lock file open.
    directories: u64,
    databases: u64,
    mappings: u64,
    rss_kb: u64,
}

impl Held {
    fn now() -> Self {
        let own = Path::new("/proc/self");
        let entries = |folder: &str| fs::read_dir(own.join(folder)).unwrap().flatten();
        // A handle may be closed while its name is read.
        let open: Vec<_> = entries("fd").filter_map(|entry| fs::read_link(entry.path()).ok()).collect();
        let named = |name: &str| open.iter().filter(|path| path.ends_with(name)).count() as u64;
        let status = fs::read_to_string(own.join("status")).unwrap();
        let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        Self {
            threads: entries("task").count() as u64,
            directories: named(".lock"),
            databases: named("LOCK"),
            mappings: fs::read_to_string(own.join("maps")).unwrap().lines().count() as u64,
            rss_kb: rss.trim().trim_end_matches(" kB").parse().unwrap(),
        }
    }

    /// The least of each over a stretch of the run. Whoever is on the way out at one moment is gone at another.
    fn least(of: &[Self]) -> Self {
        let least = |part: fn(&Self) -> u64| of.iter().map(part).min().unwrap();
        Self {
            threads: least(|held| held.threads),
            directories: least(|held| held.directories),
            databases: least(|held| held.databases),
            mappings: least(|held| held.mappings),
            rss_kb: least(|held| held.rss_kb),
        }
    }
}

/// Counts as often as the run is looked at while it is measured.
#[derive(Default)]
struct Counting {
    measured: Mutex<Option<Vec<Held>>>,
}

impl Watcher for Counting {
    fn begins(&self, _: &Which) {}
    fn stage(&self, stage: Stage, _: Option<Duration>) {
        let measured = (stage == Stage::Measure).then(Vec::new);
        let mut held = self.measured.lock().unwrap();
        *held = held.take().or(measured);
    }
    fn scripted(&self, _: Duration, _: &str) {}
    fn glance(&self, _: &Glance) {
        if let Some(held) = self.measured.lock().unwrap().as_mut() {
            held.push(Held::now());
        }
    }
}

/// Two instances stay; a third comes and goes, each time under a new name.
fn scenario_text() -> String {
    let mut text = String::from(
        "title = \"An instance comes and goes\"\ntasks = 6\nwarm_up = \"500ms\"\n[state]\nkeys = 2_000\n\
         [load]\nrate = 3_000\n[group]\nsession_timeout = \"20s\"\nrebalance_timeout = \"20s\"\n\
         max_poll_interval = \"20s\"\nrebalance_delay = \"0ms\"\n\
         [rocksdb]\nwrite_buffer_mb = 1\nblock_cache_mb = 1\n[[instances]]\ncount = 2\n",
    );
    for cycle in 0..CYCLES {
        let (start, leave) = (cycle * CYCLE_MS, cycle * CYCLE_MS + CYCLE_MS / 2);
        text += &format!("[[at]]\ntime = \"{start}ms\"\nstart = {{ instances = 1 }}\n");
        text += &format!("[[at]]\ntime = \"{leave}ms\"\nleave = [\"S{}\"]\n", cycle + 3);
    }
    text
}

#[test]
fn an_instance_that_is_gone_leaves_nothing_in_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("soak.toml");
    fs::write(&file, scenario_text()).unwrap();
    let sets = [format!("duration={}ms", CYCLES * CYCLE_MS + 500)];
    let plan = scenario::load(&file.to_string_lossy(), &sets).unwrap();
    let work = dir.path().join("work");
    fs::create_dir(&work).unwrap();
    let strategies = strategies::parse(&["learner".to_owned()]).unwrap();
    let request = Request {
        plan: &plan,
        strategies: &strategies,
        trials: 1,
        twins: Twins::None,
        done: &[],
        seed: 1,
        work_dir: &work,
    };
    let counting = Counting::default();
    let mut generations = 0;
    let ending = run::run(&request, &counting, &Stop::default(), &mut |finished| {
        assert!(finished.run.audit.passed, "{:?}", finished.run.audit);
        generations = finished.run.generations.len();
        Ok(())
    });
    assert!(matches!(ending, Ending::Complete), "{ending:?}");
    assert!(generations as u64 > CYCLES, "{generations} generations");

    let held = counting.measured.into_inner().unwrap().unwrap();
    // The first instances bring what the process keeps: RocksDB's threads, the allocator's arenas.
    let (early, late) = (&held[held.len() / 5..held.len() / 2], &held[held.len() * 4 / 5..]);
    let (early, late) = (Held::least(early), Held::least(late));
    println!("early: {early:?}\nlate:  {late:?}");
    assert_eq!(
        (late.threads, late.directories, late.databases),
        (early.threads, early.directories, early.databases),
        "threads, directories, databases"
    );
    assert_eq!(
        (late.directories, late.databases),
        (3, 6),
        "the run's and those of the two who stayed, a database for each task"
    );
    assert!(late.mappings <= early.mappings + SLACK_MAPPINGS, "{} mappings of memory", late.mappings);
    assert!(late.rss_kb <= early.rss_kb + SLACK_KB, "{} kB, at first {} kB", late.rss_kb, early.rss_kb);
}
