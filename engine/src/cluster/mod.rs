//! A running application on threads and real time: a coordinator, instances, and what a script can do to them.
//!
//! | thread | what it does |
//! | --- | --- |
//! | `coordinator` | drives the coordinator's machine (`broker`) |
//! | `I1` … | drives the machines of an instance's members (the private room `instance`) |
//! | `S1` … | runs a member's active tasks |
//! | `I1 restorer` … | replays changelogs into an instance's copies |

mod broker;
mod router;
mod status;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use assignor::{InstanceId, MemberId, Strategy, Task, TaskId};
use crossbeam_channel::{Sender, unbounded};
use parking_lot::Mutex;

use crate::board::Board;
use crate::clock::{Clock as _, RealClock};
use crate::config::{EngineConfig, GroupConfig};
use crate::error::Error;
use crate::event::Observer;
use crate::group::coordinator::Coordinator;
use crate::group::message::Request;
use crate::instance::{self, InstanceHandle, InstanceParts, Shared, ToInstance};
use crate::log::{FileLogs, LogDirectory, TaskLog};
use crate::position::Incarnation;
use crate::source::Sources;
use crate::store::{RocksStores, StoreDirectory};
use crate::task::Breaker;

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
    shared: Arc<Shared>,
    logs: Arc<FileLogs>,
    task_logs: Vec<(TaskId, Arc<dyn TaskLog>)>,
    router: Arc<Router>,
    requests: Sender<Request>,
    coordinator: JoinHandle<()>,
    instances: Mutex<Roster>,
}

/// Every instance that was ever started; names are never used again.
#[derive(Default)]
struct Roster {
    instances: BTreeMap<InstanceId, InstanceHandle>,
    /// Who has been told to go or crashed; not counted among the living.
    gone: Vec<MemberId>,
    members: usize,
}

impl Cluster {
    /// Opens the logs and starts the coordinator; nobody is in the group yet.
    ///
    /// # Errors
    ///
    /// A log that cannot be opened.
    pub fn open(config: ClusterConfig, parts: Parts) -> Result<Self, Error> {
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
            board: Board::new(config.tasks.iter().map(|spec| spec.id.clone())),
            engine: config.engine.clone(),
            group: config.group.clone(),
            conduct: config.strategy.conduct(),
            strategy: config.strategy.clone(),
            state_bytes: config.tasks.iter().map(|spec| (spec.id.clone(), spec.state_bytes)).collect(),
        });
        let tasks = config.tasks.iter().map(|spec| Task {
            id: spec.id.clone(),
            stateful: spec.stateful,
            state_size: spec.state_bytes,
        });
        let machine = Coordinator::new(config.group.clone(), tasks.collect(), Incarnation(1));
        let router = Arc::new(Router::default());
        let (requests, inbox) = unbounded();
        let (threads, routes) = (shared.clone(), router.clone());
        let coordinator = instance::spawn("coordinator".into(), &shared, move || {
            broker::run(machine, &threads, &routes, &inbox)
        });
        let instances = Mutex::default();
        Ok(Self { config, shared, logs, task_logs, router, requests, coordinator, instances })
    }

    /// The application's logs, e.g. to be preloaded before the first instance starts.
    #[must_use]
    pub fn logs(&self) -> Arc<dyn LogDirectory> {
        self.logs.clone()
    }

    /// Where an instance keeps its copies.
    #[must_use]
    pub fn state_dir(&self, instance: &InstanceId) -> PathBuf {
        self.config.dir.join("state").join(instance.as_str())
    }

    /// Starts an instance with so many workers, each of this capacity. Instances are named I1, I2, … and members
    /// S1, S2, … in the order of their start.
    ///
    /// # Errors
    ///
    /// A state directory that cannot be opened.
    pub fn start(&self, workers: u32, capacity: u32) -> Result<Started, Error> {
        let mut roster = self.instances.lock();
        let id = InstanceId::from(format!("I{}", roster.instances.len() + 1));
        let first = roster.members + 1;
        let members: Vec<MemberId> =
            (first..first + workers as usize).map(|n| MemberId::from(format!("S{n}"))).collect();
        let stores: Arc<dyn StoreDirectory> =
            Arc::new(RocksStores::new(&self.state_dir(&id), &self.config.engine.rocks)?);
        let channel = unbounded();
        for member in &members {
            self.router.add(member.clone(), channel.0.clone());
        }
        let handle = instance::start(InstanceParts {
            id: id.clone(),
            members: members.clone(),
            capacity,
            shared: self.shared.clone(),
            logs: self.task_logs.clone(),
            stores,
            coordinator: self.requests.clone(),
            channel,
        });
        roster.members += members.len();
        roster.instances.insert(id.clone(), handle);
        Ok(Started { instance: id, members })
    }

    /// The living members with their instances: not asked to leave, not crashed.
    #[must_use]
    pub fn members(&self) -> Vec<(MemberId, InstanceId)> {
        let roster = self.instances.lock();
        let all = roster.instances.iter().flat_map(|(instance, handle)| {
            handle.members.iter().map(|member| (member.clone(), instance.clone()))
        });
        let mut living: Vec<_> = all.filter(|(member, _)| !roster.gone.contains(member)).collect();
        living.sort();
        living
    }

    /// Asks a member to leave; how it goes is the strategy's conduct.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if no living member has this name.
    pub fn leave(&self, member: &MemberId) -> Result<(), Error> {
        self.send(member, ToInstance::Leave { member: member.clone() }, true)
    }

    /// Crashes a member: its thread stops at once, nothing is flushed or said, its session has to expire.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if no living member has this name.
    pub fn crash_member(&self, member: &MemberId) -> Result<(), Error> {
        self.router.remove(member);
        self.send(member, ToInstance::CrashMember { member: member.clone() }, true)
    }

    /// Crashes an instance with all its members.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if no instance has this name.
    pub fn crash(&self, instance: &InstanceId) -> Result<(), Error> {
        let mut roster = self.instances.lock();
        let Some(handle) = roster.instances.get(instance) else {
            return Err(Error::Unknown { what: "instance", name: instance.to_string() });
        };
        handle.crashed.store(true, Ordering::Release);
        drop(handle.sender.send(ToInstance::Crashed));
        let members = handle.members.clone();
        for member in members {
            self.router.remove(&member);
            roster.gone.push(member);
        }
        Ok(())
    }

    /// Makes a member do and say nothing for a while.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if no living member has this name.
    pub fn stall(&self, member: &MemberId, lasting: Duration) -> Result<(), Error> {
        let until = self.shared.clock.now() + lasting;
        self.send(member, ToInstance::Stall { member: member.clone(), until }, false)
    }

    fn send(&self, member: &MemberId, message: ToInstance, goes: bool) -> Result<(), Error> {
        let mut roster = self.instances.lock();
        let living = !roster.gone.contains(member);
        let handle = roster.instances.values().find(|handle| living && handle.members.contains(member));
        let Some(handle) = handle else {
            return Err(Error::Unknown { what: "member", name: member.to_string() });
        };
        // An instance that has just ended has nobody left to do this to.
        drop(handle.sender.send(message));
        if goes {
            roster.gone.push(member.clone());
        }
        Ok(())
    }

    /// What is going on right now.
    #[must_use]
    pub fn status(&self) -> Status {
        let roster = self.instances.lock();
        status::take(&self.shared, roster.instances.values())
    }

    /// Whether the run is poisoned: a thread panicked, a log or a store failed. Taken once, to be reported.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.shared.board.take_failure()
    }

    /// Who polled each task last: where an audit finds its final copy.
    #[must_use]
    pub fn owners(&self) -> BTreeMap<TaskId, InstanceId> {
        let owner = |spec: &TaskSpec| Some((spec.id.clone(), self.shared.board.owner(&spec.id)?.1));
        self.config.tasks.iter().filter_map(owner).collect()
    }

    /// Stops everything: workers finish their turns, copies are flushed and closed, all threads are joined.
    ///
    /// # Errors
    ///
    /// The failure that poisoned the run, if it has not been taken.
    pub fn stop(self) -> Result<(), Error> {
        let mut instances = self.instances.into_inner().instances;
        for handle in instances.values() {
            drop(handle.sender.send(ToInstance::Shutdown));
        }
        for handle in instances.values_mut() {
            handle.join();
        }
        // The coordinator ends when nobody can send it requests any more.
        drop(self.requests);
        drop(instances);
        drop(self.coordinator.join());
        self.shared.board.take_failure().map_or(Ok(()), Err)
    }
}
