//! Nothing is left behind by a run: threads, file handles, folders. A program of its own, since it counts what the whole
//! process has.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::fs;
use std::path::Path;

use loadgen::run::{self, Ending, Request, Twins};
use loadgen::scenario;
use loadgen::stop::Stop;
use loadgen::strategies;
use loadgen::watch::Unwatched;

/// Entries of a folder of the process's own.
fn count(folder: &str) -> usize {
    fs::read_dir(Path::new("/proc/self").join(folder)).unwrap().count()
}

/// A short run with a start, a leave and a crash under two strategies.
fn run_once(dir: &Path) {
    fs::write(dir.join("small.toml"), include_str!("program/small.toml")).unwrap();
    let sets = [
        "at=[{time=\"200ms\",start={instances=1}},{time=\"500ms\",leave=[\"S1\"]},{time=\"800ms\",crash=[\"S2\"]}]",
        "duration=2s",
        "group.session_timeout=1s",
    ];
    let sets = sets.map(str::to_owned);
    let plan = scenario::load(&dir.join("small.toml").to_string_lossy(), &sets).unwrap();
    let work = dir.join("work");
    fs::create_dir(&work).unwrap();
    let strategies = strategies::parse(&["eager,learner(standbys=1)".to_owned()]).unwrap();
    let request = Request {
        plan: &plan,
        strategies: &strategies,
        trials: 1,
        twins: Twins::None,
        done: &[],
        seed: 1,
        work_dir: &work,
    };
    let mut audits = Vec::new();
    let ending = run::run(&request, &Unwatched, &Stop::default(), &mut |finished| {
        audits.push(finished.run.audit.passed);
        Ok(())
    });
    assert!(matches!(ending, Ending::Complete));
    assert_eq!(audits, [true, true]);
    let left: Vec<_> = fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["preloaded"], "of the runs' folders nothing is left; the template is the request's");
    fs::remove_dir_all(&work).unwrap();
}

#[test]
fn threads_file_handles_and_folders_are_released_after_each_run() {
    let dir = tempfile::tempdir().unwrap();
    // The first run starts what the process keeps: RocksDB's own threads, for one.
    run_once(dir.path());
    let before = (count("task"), count("fd"));
    for _ in 0..3 {
        run_once(dir.path());
        assert_eq!((count("task"), count("fd")), before, "threads and file handles");
    }
}
