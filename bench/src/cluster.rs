//! A whole application on real threads, without load: what a rebalance takes when there is nothing to move.

use std::sync::Arc;
use std::time::Duration;

use assignor::{MemberId, TaskId};
use engine::clock::{Clock as _, RealClock, Time};
use engine::cluster::{Cluster, ClusterConfig, Parts, TaskSpec};
use engine::config::{EngineConfig, GroupConfig};
use engine::event::{Event, GroupEvent, Observer, Served, TaskEvent};
use engine::source::{KeyDistribution, SyntheticLoad, SyntheticSources};
use engine::task::NeverBreaks;
use parking_lot::{Condvar, Mutex};

/// Longer than anything is waited for; reached only by a hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// How large it is.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Stateful tasks.
    pub tasks: usize,
    /// Instances at the start.
    pub instances: usize,
    /// Workers of each, that is, members.
    pub workers: u32,
}

/// What has happened so far.
#[derive(Debug, Default)]
struct Seen {
    generation: u64,
    balanced: bool,
    /// When everybody had heard of that generation.
    stable: Option<Time>,
    polls: usize,
}

/// Follows the group, and wakes whoever waits for it.
#[derive(Debug, Default)]
pub struct Watcher {
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl Observer for Watcher {
    fn event(&self, at: Time, event: Event) {
        let mut seen = self.seen.lock();
        match event {
            Event::Group(GroupEvent::Completed { generation, balanced, .. }) => {
                *seen = Seen { generation: generation.0, balanced, stable: None, polls: seen.polls };
            }
            Event::Group(GroupEvent::Stable { .. }) => seen.stable = Some(at),
            Event::Task(_, TaskEvent::Polled { .. }) => seen.polls += 1,
            _ => return,
        }
        self.changed.notify_all();
    }

    fn served(&self, _served: Served<'_>) {}
}

impl Watcher {
    /// First polls of tasks by a new owner, so far.
    pub fn polls(&self) -> usize {
        self.seen.lock().polls
    }

    fn generation(&self) -> u64 {
        self.seen.lock().generation
    }

    /// Waits until something holds, and says when everybody had last heard of a generation.
    fn wait(&self, clock: &RealClock, what: &str, holds: impl Fn(&Seen) -> bool) -> Time {
        let deadline = clock.instant(clock.now() + PATIENCE);
        let mut seen = self.seen.lock();
        while !holds(&seen) {
            assert!(
                !self.changed.wait_until(&mut seen, deadline).timed_out(),
                "in vain for {what}: {seen:?}"
            );
        }
        seen.stable.unwrap_or_default()
    }
}

/// A running application.
pub struct Bed {
    cluster: Cluster,
    clock: Arc<RealClock>,
    /// What it has done.
    pub watcher: Arc<Watcher>,
    _folder: tempfile::TempDir,
}

impl Bed {
    /// Starts one, with the strategy `learner` and the profile `tight`, and waits until all tasks run.
    ///
    /// # Panics
    ///
    /// If a folder or thread can't be had.
    #[must_use]
    pub fn start(shape: Shape) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ids: Vec<TaskId> = (1..=shape.tasks).map(|nth| TaskId::from(format!("T{nth}"))).collect();
        let spec = |id: &TaskId| TaskSpec { id: id.clone(), stateful: true, state_bytes: 0 };
        let config = ClusterConfig {
            tasks: ids.iter().map(spec).collect(),
            group: GroupConfig {
                initial_members: shape.instances * shape.workers as usize,
                // What is measured is the work, not the wait for others.
                rebalance_delay: Duration::ZERO,
                ..GroupConfig::tight()
            },
            strategy: assignor::parse("learner").expect("a strategy"),
            engine: EngineConfig::default(),
            dir: folder.path().to_owned(),
        };
        let (clock, watcher) = (Arc::new(RealClock::start()), Arc::new(Watcher::default()));
        let parts = Parts {
            clock: Arc::clone(&clock),
            sources: Arc::new(idle(ids)),
            observer: Arc::clone(&watcher) as Arc<dyn Observer>,
            breaker: Arc::new(NeverBreaks),
        };
        let cluster = Cluster::open(config, parts).expect("a cluster");
        for _ in 0..shape.instances {
            cluster.start(shape.workers, 1).expect("an instance");
        }
        watcher.wait(&clock, "the start", |seen| {
            seen.balanced && seen.stable.is_some() && seen.polls >= shape.tasks
        });
        Self { cluster, clock, watcher, _folder: folder }
    }

    /// Starts one more member and waits until everybody has heard of it.
    ///
    /// # Panics
    ///
    /// If it can't be started.
    pub fn join_idle(&self) -> MemberId {
        let before = self.watcher.generation();
        let started = self.cluster.start(1, 1).expect("an instance");
        self.settled_after(before, "a join");
        started.members[0].clone()
    }

    /// Has a member leave; how long it takes until everybody has heard the answer.
    ///
    /// # Panics
    ///
    /// If it isn't there.
    pub fn leave(&self, member: &MemberId) -> Duration {
        let (before, start) = (self.watcher.generation(), self.clock.now());
        self.cluster.leave(member).expect("a member");
        self.settled_after(before, "a leave").since(start)
    }

    fn settled_after(&self, generation: u64, what: &str) -> Time {
        self.watcher.wait(&self.clock, what, |seen| {
            seen.generation > generation && seen.balanced && seen.stable.is_some()
        })
    }

    /// Stops it.
    ///
    /// # Panics
    ///
    /// If a thread of it has failed.
    pub fn stop(self) {
        self.cluster.stop().expect("a clean stop");
    }
}

/// Sources in which nothing arrives.
fn idle(tasks: Vec<TaskId>) -> SyntheticSources {
    SyntheticSources::new(&SyntheticLoad {
        seed: 1,
        tasks: tasks.into_iter().map(|task| (task, 1.0)).collect(),
        stateless: Vec::new(),
        rate: 1.0,
        keys: 1,
        distribution: KeyDistribution::Uniform,
        record_bytes: 16,
        updates_per_key: 0,
    })
}
