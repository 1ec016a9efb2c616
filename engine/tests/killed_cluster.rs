//! A whole application, coordinator, instances and all, killed with SIGKILL at random moments and started again in its
//! directory: its group forms anew, copies on disk are reused, and in the end every record has been applied exactly once.
//!
//! The test starts itself as that process.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use assignor::TaskId;
use engine::audit::audit;
use engine::clock::{Clock as _, RealClock, Time};
use engine::cluster::{Cluster, ClusterConfig, Parts, TaskSpec};
use engine::config::{EngineConfig, GroupConfig};
use engine::error::{Error, StoreError};
use engine::event::{Event, Observer, Served, TaskEvent, Unobserved};
use engine::preload::preload;
use engine::source::{KeyDistribution, SyntheticLoad, SyntheticSources, mix};
use engine::store::{RocksOptions, RocksStores, StoreDirectory as _};
use engine::task::{CommitOptions, NeverBreaks};
use parking_lot::{Condvar, Mutex};

/// Set for the process that is to be killed: the folder that it works in.
const FOLDER: &str = "UNDERSTUDY_TEST_FOLDER";
const TASKS: usize = 4;
const INSTANCES: usize = 2;
const KILLS: u64 = 50;
/// Records of all tasks together: more than all lives serve.
const RECORDS: u64 = 1_000_000;

fn tasks() -> Vec<TaskId> {
    (1..=TASKS).map(|nth| TaskId::from(format!("T{nth}"))).collect()
}

/// All records are due within the first 10 ms of each life.
fn sources() -> SyntheticSources {
    let sources = SyntheticSources::new(&SyntheticLoad {
        seed: 5,
        tasks: tasks().into_iter().map(|task| (task, 1.0)).collect(),
        stateless: Vec::new(),
        rate: RECORDS as f64 * 100.0,
        keys: 5_000,
        distribution: KeyDistribution::Uniform,
        record_bytes: 50,
        updates_per_key: 1,
    });
    sources.begin(Time::ZERO);
    sources.end(Time(10_000_000));
    sources
}

/// Small memtables and short commits, so that there is something on disk whenever the end comes.
fn open(folder: &Path, sources: &SyntheticSources, observer: Arc<dyn Observer>) -> Result<Cluster, Error> {
    let spec = |id| TaskSpec { id, stateful: true, state_bytes: 1 };
    let engine = EngineConfig {
        rocks: RocksOptions { write_buffer_bytes: 64 << 10, ..RocksOptions::default() },
        commit: CommitOptions { updates: 200, ..CommitOptions::default() },
        ..EngineConfig::default()
    };
    let config = ClusterConfig {
        tasks: tasks().into_iter().map(spec).collect(),
        // Nobody's session ends because a machine is busy.
        group: GroupConfig {
            session_timeout: Duration::from_secs(30),
            initial_members: INSTANCES,
            ..GroupConfig::tight()
        },
        strategy: assignor::parse("learner").unwrap(),
        engine,
        dir: folder.join("application"),
    };
    let clock = Arc::new(RealClock::start());
    let parts = Parts { clock, sources: Arc::new(sources.clone()), observer, breaker: Arc::new(NeverBreaks) };
    Cluster::open(config, parts)
}

/// How far behind each task's copy was when it was taken over.
#[derive(Default)]
struct TakenOver {
    at: Mutex<BTreeMap<TaskId, u64>>,
    changed: Condvar,
}

impl Observer for TakenOver {
    fn event(&self, _: Time, event: Event) {
        let Event::Task(task, event) = event else { return };
        match event {
            TaskEvent::Discarded { .. } => panic!("a valid copy of {task} is not used"),
            TaskEvent::Fenced { lag, .. } => {
                self.at.lock().insert(task, lag);
                self.changed.notify_all();
            }
            _ => {}
        }
    }

    fn served(&self, _: Served<'_>) {}
}

/// The process: the application goes on from what is on disk, and serves on and on.
#[test]
#[ignore = "is started by the test below"]
fn process() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = PathBuf::from(folder);
    let life = lives(&folder);
    let taken = Arc::new(TakenOver::default());
    let cluster = open(&folder, &sources(), taken.clone()).unwrap();
    let end = |task: &TaskId| cluster.logs().log(task).unwrap().end().0;
    let ends: BTreeMap<TaskId, u64> = tasks().into_iter().map(|task| (task.clone(), end(&task))).collect();
    for _ in 0..INSTANCES {
        cluster.start(1, 1).unwrap();
    }
    let mut at = taken.at.lock();
    while at.len() < TASKS {
        taken.changed.wait_for(&mut at, Duration::from_millis(100));
        assert!(cluster.failure().is_none(), "the application failed");
    }
    let reused = at.iter().filter(|(task, lag)| **lag < ends[*task]);
    fs::write(folder.join("lives").join(life.to_string()), format!("{}.", reused.count())).unwrap();
    drop(at);
    loop {
        assert!(cluster.failure().is_none(), "the application failed");
        std::thread::park_timeout(Duration::from_millis(1));
    }
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

/// Waits until the process has taken its tasks over; how many of them from a copy on disk.
fn alive(folder: &Path, life: u64, child: &mut Child) -> usize {
    let (_keep, nothing) = crossbeam_channel::bounded::<()>(0);
    for _ in 0..60_000 {
        if let Ok(reused) = fs::read_to_string(folder.join("lives").join(life.to_string()))
            && let Some(reused) = reused.strip_suffix('.')
        {
            return reused.parse().unwrap();
        }
        assert!(child.try_wait().unwrap().is_none(), "the process of life {life} ended by itself");
        let _pause = nothing.recv_timeout(Duration::from_millis(1));
    }
    panic!("the process of life {life} does not come up");
}

#[test]
fn killed_at_random_moments_the_application_goes_on_from_what_is_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("lives")).unwrap();
    let sources = sources();
    let cluster = open(folder.path(), &sources, Arc::new(Unobserved)).unwrap();
    for task in tasks() {
        let log = cluster.logs().log(&task).unwrap();
        let mut processor = EngineConfig::default().processor.make();
        preload(&task, &*log, &sources, &mut *processor, &mut |_| true).unwrap();
    }
    cluster.stop().unwrap();

    let (_keep, nothing) = crossbeam_channel::bounded::<()>(0);
    let (mut taken, mut reused) = (0, 0);
    for life in 0..KILLS {
        let number = lives(folder.path());
        let mut child = start(folder.path());
        // Every fourth is killed while it is still coming up.
        if !life.is_multiple_of(4) {
            reused += alive(folder.path(), number, &mut child);
            taken += TASKS;
        }
        if life == 1 {
            let error = open(folder.path(), &sources, Arc::new(Unobserved)).map(drop).unwrap_err();
            assert!(matches!(error, Error::Store(StoreError::Held { .. })), "{error}");
        }
        let _moment = nothing.recv_timeout(Duration::from_micros(mix(life) % 100_000));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // Not all: a life may end before it has flushed anything.
    assert!(reused > taken / 4, "of {taken} tasks taken over, {reused} from what was on disk");
    finish_and_audit(folder.path(), &sources);
}

/// Goes on once more, here, until everything is served, and compares every key with what the source says.
fn finish_and_audit(folder: &Path, sources: &SyntheticSources) {
    let clock = RealClock::start();
    let cluster = open(folder, sources, Arc::new(Unobserved)).unwrap();
    for _ in 0..INSTANCES {
        cluster.start(1, 1).unwrap();
    }
    let status = || cluster.status();
    while status().running < TASKS || status().backlog > 0 {
        assert!(cluster.failure().is_none(), "the application failed");
        assert!(clock.now() < Time::ZERO + Duration::from_secs(120), "{:?}", status());
        std::thread::park_timeout(Duration::from_millis(10));
    }
    let owners = cluster.owners();
    let dirs: BTreeMap<_, _> =
        owners.iter().map(|(task, instance)| (task.clone(), cluster.state_dir(instance))).collect();
    cluster.stop().unwrap();
    let mut applied = 0;
    for task in tasks() {
        let stores = RocksStores::new(&dirs[&task], &RocksOptions::default()).unwrap();
        let found = audit(&task, sources, &*stores.open(&task).unwrap()).unwrap();
        assert!(found.passed(), "{task}: {found:?}");
        applied += found.applied;
    }
    assert!(applied >= RECORDS, "{applied} records");
}
