//! A small cluster that records its events and can be waited on, and its audit.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assignor::{InstanceId, MemberId, TaskId};
use engine::audit::audit;
use engine::clock::{Clock, RealClock, Time};
use engine::cluster::{Cluster, ClusterConfig, Membership, Parts, Started, TaskSpec};
use engine::config::{EngineConfig, GroupConfig};
use engine::event::{Event, GroupEvent, Observer, Served, TaskEvent};
use engine::preload::preload;
use engine::source::{KeyDistribution, Sources as _, SyntheticLoad, SyntheticSources};
use engine::task::{Breaker, NeverBreaks};
use parking_lot::{Condvar, Mutex};

/// Longer than anything a test waits for; reached only by a hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps every event and wakes whoever waits for one.
#[derive(Default)]
pub(crate) struct Recording {
    events: Mutex<Vec<(Time, Event)>>,
    served: Mutex<BTreeMap<TaskId, usize>>,
    changed: Condvar,
}

impl Observer for Recording {
    fn event(&self, at: Time, event: Event) {
        self.events.lock().push((at, event));
        self.changed.notify_all();
    }

    fn served(&self, served: Served<'_>) {
        *self.served.lock().entry(served.task.clone()).or_default() += served.intended.len();
    }
}

impl Recording {
    /// Waits until `holds` of all events so far.
    pub(crate) fn wait(
        &self,
        what: &str,
        clock: &RealClock,
        mut holds: impl FnMut(&[(Time, Event)]) -> bool,
    ) {
        let deadline = clock.instant(clock.now() + PATIENCE);
        let mut events = self.events.lock();
        while !holds(&events) {
            assert!(
                !self.changed.wait_until(&mut events, deadline).timed_out(),
                "waited in vain for: {what}; events: {:#?}",
                events.iter().rev().take(40).collect::<Vec<_>>(),
            );
        }
    }

    /// Records served so far, by task.
    pub(crate) fn served(&self) -> BTreeMap<TaskId, usize> {
        self.served.lock().clone()
    }

    pub(crate) fn events(&self) -> Vec<(Time, Event)> {
        self.events.lock().clone()
    }
}

/// A cluster with everything a test looks at.
pub(crate) struct Bed {
    pub(crate) cluster: Cluster,
    pub(crate) clock: Arc<RealClock>,
    pub(crate) recording: Arc<Recording>,
    pub(crate) sources: SyntheticSources,
    pub(crate) tasks: Vec<TaskId>,
    setup: Setup,
    dir: tempfile::TempDir,
}

/// What a test's cluster is made of. Sessions are long unless a test waits for one to expire.
pub(crate) struct Setup {
    pub(crate) strategy: &'static str,
    pub(crate) tasks: usize,
    /// Preloaded keys per task, two updates each.
    pub(crate) keys: u64,
    pub(crate) instances: usize,
    pub(crate) workers: u32,
    pub(crate) membership: Membership,
    pub(crate) session: Duration,
    pub(crate) breaker: Arc<dyn Breaker>,
    pub(crate) engine: EngineConfig,
}

impl Setup {
    pub(crate) fn of(strategy: &'static str) -> Self {
        Self {
            strategy,
            tasks: 4,
            keys: 2_000,
            instances: 3,
            workers: 1,
            membership: Membership::Dynamic,
            session: Duration::from_secs(20),
            breaker: Arc::new(NeverBreaks),
            engine: EngineConfig::default(),
        }
    }

    fn task_ids(&self) -> Vec<TaskId> {
        (1..=self.tasks).map(|n| TaskId::from(format!("T{n}"))).collect()
    }

    fn sources(&self) -> SyntheticSources {
        SyntheticSources::new(&SyntheticLoad {
            seed: 7,
            tasks: self.task_ids().into_iter().map(|task| (task, 1.0)).collect(),
            stateless: Vec::new(),
            rate: 20_000.0,
            keys: self.keys,
            distribution: KeyDistribution::Uniform,
            record_bytes: 100,
            updates_per_key: 2,
        })
    }

    fn config(&self, dir: &Path) -> ClusterConfig {
        let spec = |id| TaskSpec { id, stateful: true, state_bytes: self.keys * 116 };
        ClusterConfig {
            tasks: self.task_ids().into_iter().map(spec).collect(),
            group: GroupConfig {
                session_timeout: self.session,
                initial_members: self.instances * self.workers as usize,
                ..GroupConfig::tight()
            },
            strategy: assignor::parse(self.strategy).unwrap(),
            engine: self.engine.clone(),
            dir: dir.to_path_buf(),
        }
    }

    /// Preloads every task's changelog and starts the instances.
    pub(crate) fn start(self) -> Bed {
        let (dir, sources) = (tempfile::tempdir().unwrap(), self.sources());
        let clock = Arc::new(RealClock::start());
        let recording = Arc::new(Recording::default());
        let cluster = self.open(dir.path(), &clock, &sources, &recording);
        let tasks = self.task_ids();
        for task in &tasks {
            let log = cluster.logs().log(task).unwrap();
            preload(task, &*log, &sources, &mut *self.engine.processor.make(), &mut |_| true).unwrap();
        }
        let bed = Bed { cluster, clock, recording, sources, tasks, setup: self, dir };
        bed.start_instances();
        bed
    }

    fn open(
        &self,
        dir: &Path,
        clock: &Arc<RealClock>,
        sources: &SyntheticSources,
        recording: &Arc<Recording>,
    ) -> Cluster {
        let parts = Parts {
            clock: clock.clone(),
            sources: Arc::new(sources.clone()),
            observer: recording.clone(),
            breaker: self.breaker.clone(),
        };
        Cluster::open(self.config(dir), parts).unwrap()
    }
}

impl Bed {
    pub(crate) fn start_instance(&self) -> Started {
        self.cluster.start_as(self.setup.workers, 1, self.setup.membership.clone()).unwrap()
    }

    fn start_instances(&self) {
        for _ in 0..self.setup.instances {
            self.start_instance();
        }
    }

    /// Stops the whole cluster and opens another one in its directory. Its events begin anew.
    pub(crate) fn opened_again(self) -> Self {
        let Self { cluster, clock, sources, tasks, setup, dir, .. } = self;
        cluster.stop().unwrap();
        let recording = Arc::new(Recording::default());
        let cluster = setup.open(dir.path(), &clock, &sources, &recording);
        let bed = Self { cluster, clock, recording, sources, tasks, setup, dir };
        bed.start_instances();
        bed
    }

    /// Waits until each of these tasks has been polled since the event with this number.
    pub(crate) fn polled_since(&self, tasks: &[TaskId], from: usize) {
        self.recording.wait("tasks to be polled again", &self.clock, |events| {
            let polls = |task: &TaskId| {
                events[from..].iter().any(
                    |(_, event)| matches!(event, Event::Task(of, TaskEvent::Polled { .. }) if of == task),
                )
            };
            tasks.iter().all(polls)
        });
    }

    /// The tasks that the instance polled last.
    pub(crate) fn tasks_of(&self, instance: &InstanceId) -> Vec<TaskId> {
        let owners = self.cluster.owners();
        owners.into_iter().filter(|(_, owner)| owner == instance).map(|(task, _)| task).collect()
    }

    /// Records arrive from now on.
    pub(crate) fn begin(&self) {
        self.sources.begin(self.clock.now());
    }

    /// Waits until the newest generation is balanced and quiet with `members` members, and every task is polled.
    pub(crate) fn settled(&self, members: usize) {
        self.recording.wait("a balanced, running group", &self.clock, |events| {
            let last = events.iter().rev().find_map(|(_, event)| match event {
                Event::Group(GroupEvent::RebalanceStarted { .. }) => Some(false),
                Event::Group(GroupEvent::Completed { balanced, active, .. }) => {
                    let staying = active.iter().filter(|(_, tasks)| !tasks.is_empty()).count();
                    Some(*balanced && staying == members)
                }
                _ => None,
            });
            last == Some(true)
                && polled(events).values().all(|polled| *polled)
                && polled(events).len() == self.tasks.len()
        });
    }

    /// Ends the load, waits until everything is served, stops, and checks every key of every task.
    pub(crate) fn audit(self) {
        self.sources.end(self.clock.now());
        let deadline = self.clock.now() + PATIENCE;
        while self.cluster.status().backlog > 0 {
            assert!(self.clock.now() < deadline, "backlog is not served: {:?}", self.cluster.status());
            if let Some(failure) = self.cluster.failure() {
                panic!("the run failed: {failure}");
            }
            std::thread::yield_now();
        }
        let due: Vec<u64> = self.tasks.iter().map(|task| self.sources.due(task, self.clock.now())).collect();
        let owners: BTreeMap<TaskId, InstanceId> = self.cluster.owners();
        let remains: BTreeMap<TaskId, _> =
            owners.iter().map(|(task, instance)| (task.clone(), self.cluster.remains(instance))).collect();
        self.cluster.stop().unwrap();
        for (task, due) in self.tasks.iter().zip(due) {
            let store = remains[task].open().unwrap().open(task).unwrap();
            let audit = audit(task, &self.sources, &*store).unwrap();
            assert_eq!((audit.lost, audit.doubled), (0, 0), "{task}: {audit:?}");
            assert_eq!(audit.expected, due, "{task} has not reached the end of its source: {audit:?}");
        }
    }

    /// Members that stopped tasks with a crash.
    pub(crate) fn crashed(&self) -> Vec<MemberId> {
        let events = self.recording.events();
        let mut members: Vec<MemberId> = events
            .iter()
            .filter_map(|(_, event)| match event {
                Event::Task(_, TaskEvent::Stopped { member, why: engine::event::Stop::Crashed }) => {
                    Some(member.clone())
                }
                _ => None,
            })
            .collect();
        members.dedup();
        members
    }
}

/// Whether each task that was ever polled is being polled now.
fn polled(events: &[(Time, Event)]) -> BTreeMap<TaskId, bool> {
    let mut polled = BTreeMap::new();
    for (_, event) in events {
        match event {
            Event::Task(task, TaskEvent::Polled { .. }) => drop(polled.insert(task.clone(), true)),
            Event::Task(task, TaskEvent::Stopped { .. }) => drop(polled.insert(task.clone(), false)),
            _ => {}
        }
    }
    polled
}
