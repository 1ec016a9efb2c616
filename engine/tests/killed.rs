//! A whole process, killed with SIGKILL at random moments and started again on its directories: what is on disk is
//! reused, and in the end every record has been applied exactly once.
//!
//! The test starts itself as that process.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use assignor::TaskId;
use engine::audit::audit;
use engine::clock::Time;
use engine::error::StoreError;
use engine::log::{FileLogs, LogDirectory, LogOptions, TaskLog};
use engine::position::{Claim, Incarnation};
use engine::preload::preload;
use engine::restore::{Replay, ReplayOptions};
use engine::source::{KeyDistribution, Sources, SyntheticLoad, SyntheticSources, mix};
use engine::store::{RocksOptions, RocksStores, Store, StoreDirectory};
use engine::task::processor::{Count, PerKey};
use engine::task::{CommitOptions, NeverBreaks, Parts, open_copy, resume};

/// Set for the process that is to be killed: the folder that it works in.
const FOLDER: &str = "UNDERSTUDY_TEST_FOLDER";
const TASKS: u64 = 3;
const KILLS: u64 = 50;

fn tasks() -> Vec<TaskId> {
    (1..=TASKS).map(|nth| TaskId::from(format!("T{nth}"))).collect()
}

/// All records are due at once, and there are more than any process lives to serve.
fn sources() -> SyntheticSources {
    let sources = SyntheticSources::new(&SyntheticLoad {
        seed: 5,
        tasks: tasks().into_iter().map(|task| (task, 1.0)).collect(),
        stateless: Vec::new(),
        rate: 1_000_000.0,
        keys: 5_000,
        distribution: KeyDistribution::Uniform,
        record_bytes: 50,
        updates_per_key: 1,
    });
    sources.begin(Time::ZERO);
    sources.end(Time(3_000_000_000));
    sources
}

fn logs(folder: &Path) -> FileLogs {
    FileLogs::new(&folder.join("logs"), LogOptions { segment_bytes: 1 << 20, fsync: false })
}

/// Small memtables, so that there is something on disk whenever the end comes.
fn stores(folder: &Path) -> Result<RocksStores, StoreError> {
    let options = RocksOptions { write_buffer_bytes: 64 << 10, ..RocksOptions::default() };
    RocksStores::new(&folder.join("state"), &options)
}

/// The process: takes every task over from what is on disk and serves on and on.
#[test]
#[ignore = "is started by the tests below"]
fn process() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let incarnation = lives(folder);
    let (sources, logs, stores) = (sources(), logs(folder), stores(folder).unwrap());
    let mut active = Vec::new();
    let mut reused = Vec::new();
    for task in tasks() {
        let log = logs.log(&task).unwrap();
        let claim = Claim { incarnation: Incarnation(incarnation), ..Claim::default() };
        let fenced = log.fence(claim).unwrap();
        let opened = open_copy(&stores, &*log, &task).unwrap();
        assert!(opened.discarded.is_none(), "a valid copy is not used: {:?}", opened.discarded);
        reused.push(opened.store.checkpoint().offset.0.to_string());
        let mut task = resume(parts(task, log, opened.store), fenced, &sources).unwrap();
        task.set_commit(CommitOptions { updates: 200, backlog_updates: 200, ..CommitOptions::default() });
        active.push(task);
    }
    fs::write(folder.join("lives").join(incarnation.to_string()), reused.join(" ")).unwrap();
    loop {
        for task in &mut active {
            task.turn(Time::NEVER, 100, &NeverBreaks).unwrap();
        }
    }
}

/// A folder with preloaded changelogs.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("lives")).unwrap();
    let (logs, sources) = (logs(folder.path()), sources());
    for task in tasks() {
        let log = logs.log(&task).unwrap();
        preload(&task, &*log, &sources, &mut PerKey::new(Count::new(64)), &mut |_| true).unwrap();
    }
    folder
}

/// Lives that have come up so far. One that was killed too early leaves nothing.
fn lives(folder: &Path) -> u64 {
    fs::read_dir(folder.join("lives")).unwrap().count() as u64
}

fn start(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .spawn()
        .unwrap()
}

/// Waits until the process has taken its tasks over.
fn alive(folder: &Path, life: u64, child: &mut Child) -> String {
    let (_keep, nothing) = crossbeam_channel::bounded::<()>(0);
    for _ in 0..60_000 {
        if let Ok(reused) = fs::read_to_string(folder.join("lives").join(life.to_string()))
            && reused.split(' ').count() as u64 == TASKS
        {
            return reused;
        }
        assert!(child.try_wait().unwrap().is_none(), "the process of life {life} ended by itself");
        let _pause = nothing.recv_timeout(Duration::from_millis(1));
    }
    panic!("the process of life {life} does not come up");
}

#[test]
fn killed_at_random_moments_it_goes_on_from_what_is_on_disk() {
    let folder = prepared();
    let (_keep, nothing) = crossbeam_channel::bounded::<()>(0);
    let mut lives_with_state = 0;
    for life in 0..KILLS {
        let number = lives(folder.path());
        let mut child = start(folder.path());
        // Every fourth is killed while it is still coming up.
        if !life.is_multiple_of(4) {
            let reused = alive(folder.path(), number, &mut child);
            lives_with_state += u64::from(reused.split(' ').any(|offset| offset != "0"));
        }
        let _moment = nothing.recv_timeout(Duration::from_micros(mix(life) % 30_000));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(lives_with_state > KILLS / 2, "state on disk was reused in {lives_with_state} lives only");
    finish_and_audit(folder.path());
}

fn parts(task: TaskId, log: Arc<dyn TaskLog>, store: Box<dyn Store>) -> Parts {
    let copy = Replay::new(log, store, ReplayOptions::default());
    Parts { task, copy, processor: Box::new(PerKey::new(Count::new(64))) }
}

/// Takes over once more, here, and compares every key with what the source says.
fn finish_and_audit(folder: &Path) {
    let (sources, logs, stores) = (sources(), logs(folder), stores(folder).unwrap());
    for task in tasks() {
        let log = logs.log(&task).unwrap();
        let claim = Claim { incarnation: Incarnation(u64::MAX), ..Claim::default() };
        let fenced = log.fence(claim).unwrap();
        let opened = open_copy(&stores, &*log, &task).unwrap();
        assert!(opened.discarded.is_none(), "{:?}", opened.discarded);
        let mut active = resume(parts(task.clone(), log, opened.store), fenced, &sources).unwrap();
        for _ in 0..20 {
            active.turn(Time::NEVER, 100, &NeverBreaks).unwrap();
        }
        let served = active.checkpoint().resume.source_offset - sources.preloaded(&task);
        assert!(served > 10_000, "{task} has served {served} records in all its lives");
        let found = audit(&task, &sources, &*active.into_store()).unwrap();
        assert!(found.passed(), "{task}: {found:?}");
    }
}

#[test]
fn a_state_directory_that_another_process_holds_is_a_typed_error() {
    let folder = prepared();
    let mut child = start(folder.path());
    alive(folder.path(), 0, &mut child);
    let error = stores(folder.path()).unwrap_err();
    assert!(matches!(&error, StoreError::Held { path } if path.ends_with("state")), "{error}");
    assert!(error.to_string().contains("another process"), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    // It goes with the process, however that ended; and within one process the directory is not exclusive.
    let first = stores(folder.path()).unwrap();
    let second = stores(folder.path()).unwrap();
    assert_eq!(first.tasks().unwrap(), second.tasks().unwrap());
    let copy = first.open(&tasks()[0]).unwrap();
    assert!(second.open(&tasks()[0]).is_err(), "a copy is open at most once");
    drop(copy);
}

#[test]
fn a_copy_with_damaged_files_is_thrown_away_and_replayed_anew() {
    let folder = prepared();
    let (logs, sources) = (logs(folder.path()), sources());
    let task = tasks().remove(0);
    let log = logs.log(&task).unwrap();
    for file in ["CURRENT", "MANIFEST", "sst"] {
        let stores = Arc::new(stores(folder.path()).unwrap());
        let fenced = log.fence(Claim::default()).unwrap();
        let opened = open_copy(&*stores, &*log, &task).unwrap();
        let parts = |store| parts(task.clone(), log.clone(), store);
        let mut active = resume(parts(opened.store), fenced, &sources).unwrap();
        active.turn(Time::NEVER, 500, &NeverBreaks).unwrap();
        active.into_store().close().unwrap();
        damage(&folder.path().join("state"), file);

        let fenced = log.fence(Claim::default()).unwrap();
        let opened = open_copy(&*stores, &*log, &task).unwrap();
        // A manifest that is broken off is an older version of the database, which is a prefix of the log too.
        assert!(opened.discarded.is_some() || file == "MANIFEST", "damage in {file} went unnoticed");
        let active = resume(parts(opened.store), fenced, &sources).unwrap();
        let found = audit(&task, &sources, &*active.into_store()).unwrap();
        assert!(found.passed() && found.applied > 0, "{file}: {found:?}");
    }
}

/// Overwrites the middle of every file below `folder` whose name has `part` in it.
fn damage(folder: &Path, part: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            damage(&path, part);
        } else if path.file_name().unwrap().to_string_lossy().contains(part) {
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle..].fill(0xee);
            fs::write(&path, bytes).unwrap();
        }
    }
}
