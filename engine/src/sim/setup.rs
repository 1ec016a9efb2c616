//! What one run is made of, and how a seed chooses it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use assignor::Strategy;

use super::planted::Planted;
use super::random::Random;
use crate::config::GroupConfig;

/// The timing profile of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Kafka's defaults.
    Kafka,
    /// As short as one machine allows.
    Tight,
}

impl Profile {
    /// The profile's settings.
    #[must_use]
    pub fn config(self) -> GroupConfig {
        match self {
            Self::Kafka => GroupConfig::kafka(),
            Self::Tight => GroupConfig::tight(),
        }
    }
}

/// What goes wrong in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upsets {
    /// Nothing: members only start.
    None,
    /// Members start, leave, crash, stall, are cut off; clocks jump; the coordinator crashes; messages are lost,
    /// doubled, delayed and overtaken.
    Everything,
    /// One process crashes, before the step with this number (a coordinator is started again). Nothing else happens,
    /// but that one member joins and one leaves.
    OneCrash {
        /// The number of the step, from 1.
        before_step: u64,
        /// Whether the coordinator's steps are counted, or the members' and their workers'.
        coordinator: bool,
    },
    /// The machine is so busy that all sessions end at once, and one member crashes meanwhile.
    Starvation,
}

/// What one run is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Everything that is drawn comes from it.
    pub seed: u64,
    /// The strategy, as `assignor::parse` reads it.
    pub strategy: String,
    /// Timing.
    pub profile: Profile,
    /// Instances at the start.
    pub instances: usize,
    /// Workers of each instance.
    pub workers: usize,
    /// Whether members have stable ids.
    pub is_static: bool,
    /// Stateful tasks.
    pub stateful: usize,
    /// Stateless tasks.
    pub stateless: usize,
    /// What goes wrong.
    pub upsets: Upsets,
    /// How long it does; everything after is calm.
    pub upset_for: Duration,
    /// A fault that is planted to see whether it is found.
    pub planted: Option<Planted>,
    /// Whether to keep the trail of events.
    pub trail: bool,
}

impl Setup {
    /// The run that a seed means: any strategy, either profile, any group.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0xfeed);
        let profile = if random.once_in(2) { Profile::Kafka } else { Profile::Tight };
        let strategies = strategies(profile);
        let strategy = random.pick(&strategies).cloned().unwrap_or_default();
        Self {
            seed,
            strategy,
            profile,
            instances: 1 + random.below(4) as usize,
            workers: 1 + random.below(3) as usize / 2,
            is_static: random.once_in(3),
            stateful: 1 + random.below(6) as usize,
            stateless: random.below(3) as usize,
            upsets: Upsets::Everything,
            upset_for: profile.config().heartbeat_interval * (30 + random.below(150) as u32),
            planted: None,
            trail: false,
        }
    }

    /// What does the same run again: a command, if the seed alone says what it is made of.
    #[must_use]
    pub fn replay(&self) -> String {
        let of_seed = Self { planted: self.planted, trail: self.trail, ..Self::of_seed(self.seed) };
        if *self != of_seed {
            return format!("engine::sim::run with {:?}", Self { trail: true, ..self.clone() });
        }
        let plant = self.planted.map_or(String::new(), |fault| format!(" --plant {fault}"));
        format!("cargo run --release -p engine --example simulate -- --seed {}{plant}", self.seed)
    }

    /// The strategy.
    ///
    /// # Errors
    ///
    /// An unknown strategy or option.
    pub fn parse_strategy(&self) -> Result<Arc<dyn Strategy>, assignor::OptionError> {
        assignor::parse(&self.strategy)
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, strategy, profile, instances, workers, stateful, stateless, .. } = self;
        write!(f, "seed {seed}: {strategy}, {profile:?}, {instances} instances of {workers}")?;
        write!(f, ", {stateful}+{stateless} tasks{}", if self.is_static { ", static" } else { "" })
    }
}

/// Every strategy in the shapes that differ in protocol, with times and lags that suit a short run.
#[must_use]
pub fn strategies(profile: Profile) -> Vec<String> {
    let (leave, wait, probe) = match profile {
        Profile::Kafka => ("90s", "20s", "30s"),
        Profile::Tight => ("3s", "500ms", "1s"),
    };
    let lag = "acceptable_lag=20";
    let mut all = Vec::new();
    for definition in assignor::strategies() {
        let name = definition.name;
        match name {
            "learner" => {
                let base = format!("{lag},scale_down_timeout={leave}");
                for more in [
                    "".into(),
                    ",revocation=being-learned".into(),
                    ",revocation=two-phase".into(),
                    format!(",promotion=all,promotion_timeout={wait}"),
                    ",max_learners=1,standbys=1".into(),
                ] {
                    all.push(format!("learner({base}{more})"));
                }
            }
            "high-availability" => {
                all.push(format!("high-availability({lag},probing_interval={probe})"));
                all.push(format!("high-availability({lag},probing_interval={probe},standbys=1)"));
            }
            "eager" => {
                all.push("eager".into());
                all.push("eager(placement=round-robin,standbys=1)".into());
            }
            "cooperative" => {
                all.push("cooperative".into());
                all.push("cooperative(standbys=1)".into());
            }
            other => all.push(other.into()),
        }
    }
    all
}
