//! A strategy of your own, running in the engine: it thinks aloud.
//!
//! It lets `learner` decide and tells every move with its reason, which is all that the seam asks for: a name, a
//! conduct, and a pure function from the leader's view to a plan. Three instances start, then a fourth.
//!
//! ```text
//! cargo run --release -p engine --example own_strategy
//! ```

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use assignor::{Conduct, GroupView, Plan, Strategy, TaskId, ViewError};
use engine::clock::{Clock, RealClock};
use engine::cluster::{Cluster, ClusterConfig, Parts, TaskSpec};
use engine::config::{EngineConfig, GroupConfig};
use engine::event::Unobserved;
use engine::source::{KeyDistribution, SyntheticLoad, SyntheticSources};
use engine::task::NeverBreaks;

/// Decides as another strategy does, and says so.
#[derive(Debug)]
struct Aloud(Arc<dyn Strategy>);

impl Strategy for Aloud {
    fn name(&self) -> String {
        format!("aloud-{}", self.0.name())
    }

    fn conduct(&self) -> Conduct {
        self.0.conduct()
    }

    fn plan(&self, view: &GroupView) -> Result<Plan, ViewError> {
        let plan = self.0.plan(view)?;
        println!("{} members:", view.members.len());
        for change in &plan.moves {
            println!("  {change}");
        }
        Ok(plan)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let tasks: Vec<TaskId> = (1..=5).map(|n| TaskId::from(format!("T{n}"))).collect();
    let sources = SyntheticSources::new(&SyntheticLoad {
        seed: 1,
        tasks: tasks.iter().map(|task| (task.clone(), 1.0)).collect(),
        stateless: Vec::new(),
        rate: 5_000.0,
        keys: 1_000,
        distribution: KeyDistribution::Zipf(0.99),
        record_bytes: 100,
        updates_per_key: 0,
    });
    let clock = Arc::new(RealClock::start());
    let config = ClusterConfig {
        tasks: tasks.into_iter().map(|id| TaskSpec { id, stateful: true, state_bytes: 100_000 }).collect(),
        group: GroupConfig { initial_members: 3, ..GroupConfig::tight() },
        strategy: Arc::new(Aloud(assignor::parse("learner")?)),
        engine: EngineConfig::default(),
        dir: dir.path().to_owned(),
    };
    let parts = Parts {
        clock: clock.clone(),
        sources: Arc::new(sources.clone()),
        observer: Arc::new(Unobserved),
        breaker: Arc::new(NeverBreaks),
    };
    let cluster = Cluster::open(config, parts)?;
    for _ in 0..3 {
        cluster.start(1, 1)?;
    }
    sources.begin(clock.now());
    wait(&cluster, 3)?;
    cluster.start(1, 1)?;
    wait(&cluster, 4)?;
    println!("{} records served", cluster.status().served);
    Ok(cluster.stop()?)
}

/// Waits until every task runs in a balanced group, on so many instances.
fn wait(cluster: &Cluster, instances: usize) -> Result<(), Box<dyn Error>> {
    let (_keep, nothing) = crossbeam_channel::bounded::<()>(0);
    loop {
        let status = cluster.status();
        let on: BTreeSet<_> = cluster.owners().into_values().collect();
        if status.balanced && status.running == 5 && on.len() == instances {
            return Ok(());
        }
        if let Some(failure) = cluster.failure() {
            return Err(failure.into());
        }
        let _timeout = nothing.recv_timeout(Duration::from_millis(10));
    }
}
