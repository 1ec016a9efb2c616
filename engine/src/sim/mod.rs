//! A deterministic simulation of the whole: the same coordinator, members, strategies and hand-over code as on real
//! threads, over logs and stores in memory, on virtual time, with one seeded generator that decides what goes wrong.
//!
//! Messages are lost, doubled, delayed and overtaken; members start, leave, crash, stall, hang, are cut off, come
//! back; clocks jump; the coordinator crashes and starts again; the power goes. After every step checkers look for
//! broken rules ([`Check`]); in the end the group must balance and fall quiet, and every record must be in the state
//! of its task exactly once. One seed is one run, step for step.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `setup` | what a run is made of, and how a seed chooses it |
//! | `world` | the run: machines, storage, what is going to happen |
//! | `schedule`, `random`, `network` | virtual time, chance, messages |
//! | `drive`, `seat` | a member's machine and what its driver does |
//! | `work`, `node` | workers, and an instance's copies and restorer, with the engine's own hand-over code |
//! | `upset` | what goes wrong |
//! | `checkers`, `witness`, `look` | what must hold after every step, in the logs, and in the end |
//! | `planted` | faults that show whether the checkers find faults |
//! | `rate` | how fast the machines are |
//! | `trail` | what happened, for a person |

mod checkers;
mod drive;
mod look;
mod network;
mod node;
mod planted;
mod random;
mod rate;
mod schedule;
mod seat;
mod setup;
mod trail;
mod upset;
mod witness;
mod work;
mod world;

pub use checkers::{Check, Violation};
pub use planted::{Planted, SeamFault};
pub use rate::rebalances;
pub use setup::{Profile, Setup, Upsets, strategies};
pub use world::Outcome;

use std::fmt;

use world::World;

/// A run that broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What the run was.
    pub setup: String,
    /// Its seed.
    pub seed: u64,
    /// How to do it again.
    pub replay: String,
    /// What was broken.
    pub violation: Violation,
    /// What led there, if it was kept.
    pub trail: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trail {
            writeln!(f, "{line}")?;
        }
        let Violation { check, what } = &self.violation;
        writeln!(f, "{}", self.setup)?;
        writeln!(f, "broken: {check}: {what}")?;
        write!(f, "replay: {}", self.replay)
    }
}

/// Does one run.
///
/// # Errors
///
/// The first rule that it broke, boxed for its size.
pub fn run(setup: &Setup) -> Result<Outcome, Box<Failure>> {
    let fails = |violation, trail| {
        let (seed, replay) = (setup.seed, setup.replay());
        Box::new(Failure { setup: setup.to_string(), seed, replay, violation, trail })
    };
    let strategy = setup.parse_strategy().map_err(|error| {
        let violation = Violation { check: Check::PlansAreValid, what: error.to_string() };
        fails(violation, Vec::new())
    })?;
    let mut world = World::new(setup.clone(), strategy);
    world.limit_gaps();
    match world.run() {
        Ok(()) => Ok(world.outcome),
        Err(violation) => {
            world.trail.note(world.now, || format!("broken: {}: {}", violation.check, violation.what));
            Err(fails(violation, world.trail.into_lines()))
        }
    }
}
