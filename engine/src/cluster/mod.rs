//! A running application on threads and real time: a coordinator, instances, and what a script can do to them.
//!
//! | thread | what it does |
//! | --- | --- |
//! | `coordinator` | drives the coordinator's machine (`broker`) |
//! | `compactor` | compacts changelogs, if so set |
//! | `I1` … | drives the machines of an instance's members (the private room `instance`) |
//! | `S1` … | runs a member's active tasks |
//! | `I1 restorer` … | replays changelogs into an instance's copies |
//! | `I1 restart` … | waits for an instance to go down, and starts it again |
//!
//! | module | what it holds |
//! | --- | --- |
//! | `roster` | every instance that was started, and who of its members is there |
//! | `launch`, `restart` | starting an instance, and starting it again |
//! | `homes` | where the copies of each instance are kept |
//! | `broker`, `router` | the coordinator's thread, and the way of its replies |
//! | `status` | a look at the whole |

mod broker;
mod compactor;
mod homes;
mod launch;
mod restart;
mod roster;
mod router;
mod status;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use assignor::{InstanceId, MemberId, Strategy, Task, TaskId};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use parking_lot::Mutex;

use crate::board::Board;
use crate::clock::{Clock as _, RealClock};
use crate::config::{EngineConfig, GroupConfig};
use crate::error::Error;
use crate::event::Observer;
use crate::group::coordinator::Coordinator;
use crate::instance::{self, Shared, ToInstance};
use crate::log::{FileLogs, LogDirectory};
use crate::pin::{Pinning, Pins};
use crate::position::Incarnation;
use crate::source::Sources;
use crate::store;
use crate::task::Breaker;

use homes::Homes;
pub use homes::Remains;
use launch::Launcher;
pub use launch::Membership;
pub use restart::Farewell;
use roster::Roster;
use router::Router;
pub use status::{ReplayStatus, Status};

/// One task of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSpec {
    /// Its name.
    pub id: TaskId,
    /// Whether it has a store.
    pub stateful: bool,
    /// Its state's size in bytes, as strategies weigh it.
    pub state_bytes: u64,
}

/// What an application is made of.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// Its tasks.
    pub tasks: Vec<TaskSpec>,
    /// Timing of its group.
    pub group: GroupConfig,
    /// Who decides.
    pub strategy: Arc<dyn Strategy>,
    /// The engine's own settings.
    pub engine: EngineConfig,
    /// Where its logs (`logs/`) and state (`state/I1/` …) lie.
    pub dir: PathBuf,
}

/// The seams that a caller fills.
pub struct Parts {
    /// Real time.
    pub clock: Arc<RealClock>,
    /// The tasks' inputs.
    pub sources: Arc<dyn Sources>,
    /// Who watches.
    pub observer: Arc<dyn Observer>,
    /// What breaks, and when ([`crate::task::NeverBreaks`]: nothing).
    pub breaker: Arc<dyn Breaker>,
}

/// What [`Cluster::start`] started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The instance.
    pub instance: InstanceId,
    /// Its members.
    pub members: Vec<MemberId>,
}

/// A running application.
pub struct Cluster {
    config: ClusterConfig,
    launcher: Launcher,
    logs: Arc<FileLogs>,
    coordinator: JoinHandle<()>,
    roster: Arc<Mutex<Roster>>,
    /// Instances that are being started again.
    restarts: Mutex<Vec<JoinHandle<()>>>,
    /// Disconnected when the cluster is being stopped.
    closing: (Sender<()>, Receiver<()>),
    /// Ends when the sender is dropped.
    compactor: Option<(Sender<()>, JoinHandle<()>)>,
    /// Keeps other processes out of the directory.
    _held: Arc<File>,
}

impl Cluster {
    /// Opens the logs and starts the coordinator; nobody is in the group yet. In the directory of an earlier cluster, however
    /// that ended, instances of the same names go on from what it left.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`](crate::error::StoreError::Held) if another process uses the directory; a log that cannot be
    /// opened.
    pub fn open(config: ClusterConfig, parts: Parts) -> Result<Self, Error> {
        let held = store::hold(&config.dir)?;
        let pins = Pins::new(config.engine.pinning)?;
        if config.engine.pinning != Pinning::Free || config.engine.short_slices {
            store::start_background_threads(&config.engine.rocks)?;
        }
        let logs = Arc::new(FileLogs::new(&config.dir.join("logs"), config.engine.log));
        let mut task_logs = Vec::new();
        for spec in &config.tasks {
            task_logs.push((spec.id.clone(), logs.log(&spec.id)?));
        }
        let shared = Arc::new(Shared {
            clock: parts.clock,
            sources: parts.sources,
            observer: parts.observer,
            breaker: parts.breaker,
            pins,
            board: Board::new(config.tasks.iter().map(|spec| spec.id.clone())),
            engine: config.engine.clone(),
            group: config.group.clone(),
            conduct: config.strategy.conduct(),
            strategy: config.strategy.clone(),
            stateless: config
                .tasks
                .iter()
                .filter(|spec| !spec.stateful)
                .map(|spec| spec.id.clone())
                .collect(),
            state_bytes: config.tasks.iter().map(|spec| (spec.id.clone(), spec.state_bytes)).collect(),
        });
        let tasks = config.tasks.iter().map(|spec| Task {
            id: spec.id.clone(),
            stateful: spec.stateful,
            state_size: spec.state_bytes,
        });
        // The coordinator lives in this process: an earlier one has taken all of its members with it.
        let incarnation = Incarnation::after(task_logs.iter().filter_map(|(_, log)| log.claim()));
        let machine = Coordinator::new(config.group.clone(), tasks.collect(), incarnation).alone();
        let router = Arc::new(Router::default());
        let (requests, inbox) = unbounded();
        let (threads, routes) = (shared.clone(), router.clone());
        let coordinator = instance::spawn("coordinator".into(), &shared, move || {
            broker::run(machine, &threads, &routes, &inbox)
        });
        let compactor = config.engine.compaction.map(|options| {
            let (keep, ended) = unbounded();
            let (threads, logs) = (shared.clone(), task_logs.clone());
            let work = move || compactor::run(&threads, &logs, options, &ended);
            (keep, instance::spawn("compactor".into(), &shared, work))
        });
        let homes = Arc::new(Homes::new(config.dir.join("state"), &config.engine));
        let launcher = Launcher { shared, task_logs, router, requests, homes };
        Ok(Self {
            config,
            launcher,
            logs,
            coordinator,
            roster: Arc::default(),
            restarts: Mutex::default(),
            closing: bounded(0),
            compactor,
            _held: held,
        })
    }

    /// The application's logs, e.g. to be preloaded before the first instance starts.
    #[must_use]
    pub fn logs(&self) -> Arc<dyn LogDirectory> {
        self.logs.clone()
    }

    /// Where an instance keeps its copies, if they are on disk.
    #[must_use]
    pub fn state_dir(&self, instance: &InstanceId) -> PathBuf {
        self.launcher.homes.folder(instance)
    }

    /// Where an instance's copies can be looked at once the cluster is stopped.
    #[must_use]
    pub fn remains(&self, instance: &InstanceId) -> Remains {
        self.launcher.homes.remains(instance)
    }

    /// Starts an instance with so many workers, each of this capacity. Instances are named I1, I2, … and members
    /// S1, S2, … in the order of their start.
    ///
    /// # Errors
    ///
    /// A state directory that cannot be opened.
    pub fn start(&self, workers: u32, capacity: u32) -> Result<Started, Error> {
        self.start_as(workers, capacity, Membership::Dynamic)
    }

    /// Starts an instance as [`Cluster::start`] does, with or without stable ids.
    ///
    /// # Errors
    ///
    /// A state directory that cannot be opened.
    pub fn start_as(&self, workers: u32, capacity: u32, membership: Membership) -> Result<Started, Error> {
        let mut roster = self.roster.lock();
        roster.reap(&self.launcher);
        let spec = roster.name(workers, capacity, membership);
        let started = Started { instance: spec.id.clone(), members: spec.members.clone() };
        let handle = self.launcher.launch(&spec)?;
        roster.add(spec, handle);
        Ok(started)
    }

    /// Takes an instance down, unless it has crashed or left already, and starts it again on its state directory once
    /// that is free, `down` later. Returns at once, with the names of those who will be there: static members keep
    /// theirs. What is done to them before they are back is an error.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if no instance has this name, [`Error::Down`] if it is being started again already.
    pub fn restart(
        &self,
        instance: &InstanceId,
        farewell: Farewell,
        down: Duration,
    ) -> Result<Started, Error> {
        let closing = self.closing.1.clone();
        let (started, thread) =
            restart::restart(&self.launcher, &self.roster, closing, instance, farewell, down)?;
        let mut restarts = self.restarts.lock();
        for done in restarts.extract_if(.., |thread| thread.is_finished()) {
            drop(done.join());
        }
        restarts.push(thread);
        Ok(started)
    }

    /// The living members with their instances: not asked to leave, not crashed.
    #[must_use]
    pub fn members(&self) -> Vec<(MemberId, InstanceId)> {
        self.roster.lock().living()
    }

    /// Asks a member to leave; how it goes is the strategy's conduct.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if no living member has this name, [`Error::Down`] if its instance is being started again.
    pub fn leave(&self, member: &MemberId) -> Result<(), Error> {
        self.roster.lock().send(member, ToInstance::Leave { member: member.clone() }, true)
    }

    /// Crashes a member: its thread stops at once, nothing is flushed or said, its session has to expire.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if no living member has this name, [`Error::Down`] if its instance is being started again.
    pub fn crash_member(&self, member: &MemberId) -> Result<(), Error> {
        self.roster.lock().send(member, ToInstance::CrashMember { member: member.clone() }, true)?;
        self.launcher.router.remove(member);
        Ok(())
    }

    /// Crashes an instance with all its members.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if no instance has this name, [`Error::Down`] if it is being started again.
    pub fn crash(&self, instance: &InstanceId) -> Result<(), Error> {
        let mut roster = self.roster.lock();
        let handle = &roster.instance_at_hand(instance)?.handle;
        handle.crashed.store(true, Ordering::Release);
        drop(handle.sender.send(ToInstance::Crashed));
        let members = handle.members.clone();
        for member in &members {
            self.launcher.router.remove(member);
        }
        roster.lose(&members);
        Ok(())
    }

    /// Makes a member do and say nothing for a while.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if no living member has this name, [`Error::Down`] if its instance is being started again.
    pub fn stall(&self, member: &MemberId, lasting: Duration) -> Result<(), Error> {
        let until = self.launcher.shared.clock.now() + lasting;
        self.roster.lock().send(member, ToInstance::Stall { member: member.clone(), until }, false)
    }

    /// What is going on right now. Whoever looks also clears up after instances that have ended since the last look.
    #[must_use]
    pub fn status(&self) -> Status {
        let mut roster = self.roster.lock();
        roster.reap(&self.launcher);
        status::take(&self.launcher.shared, roster.instances.values().map(|entry| &entry.handle))
    }

    /// Whether the run is poisoned: a thread panicked, a log or a store failed. Taken once, to be reported.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.launcher.shared.board.take_failure()
    }

    /// Who polled each task last: where an audit finds its final copy.
    #[must_use]
    pub fn owners(&self) -> BTreeMap<TaskId, InstanceId> {
        let owner = |spec: &TaskSpec| Some((spec.id.clone(), self.launcher.shared.board.owner(&spec.id)?.1));
        self.config.tasks.iter().filter_map(owner).collect()
    }

    /// Stops everything: workers finish their turns, copies are flushed and closed, all threads are joined.
    ///
    /// # Errors
    ///
    /// The failure that poisoned the run, if it has not been taken.
    pub fn stop(self) -> Result<(), Error> {
        let Self { launcher, coordinator, roster, restarts, closing, compactor, .. } = self;
        {
            let mut roster = roster.lock();
            roster.stopping = true;
            for entry in roster.instances.values() {
                drop(entry.handle.sender.send(ToInstance::Shutdown));
            }
        }
        drop(closing);
        for restart in restarts.into_inner() {
            drop(restart.join());
        }
        for entry in roster.lock().instances.values_mut() {
            entry.handle.join();
        }
        if let Some((keep, thread)) = compactor {
            drop(keep);
            drop(thread.join());
        }
        // The coordinator ends when nobody can send it requests any more.
        let Launcher { shared, requests, .. } = launcher;
        drop((requests, roster));
        drop(coordinator.join());
        shared.board.take_failure().map_or(Ok(()), Err)
    }
}
