//! `eager`: everything stops at every rebalance; tasks that move are restored afterwards.

use std::sync::Arc;

use crate::dealing;
use crate::options::{self, OptionDefinition, Range, STANDBYS, Settings, Value};
use crate::plan::Plan;
use crate::registry::Definition;
use crate::restoring;
use crate::strategy::{Conduct, Leave, Promotion, Resume, Revocation, Strategy};
use crate::view::{GroupView, ViewError};

/// How `eager` chooses owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Each task stays where it was, except for the moves that balance needs.
    #[default]
    Sticky,
    /// Sorted tasks over sorted members, whatever they had.
    RoundRobin,
}

/// The strategy under which every member gives up everything at every join, and a worker runs again when all its
/// replays are done.
///
/// ```
/// use assignor::{Strategy, Revocation};
/// let eager = assignor::parse("eager(placement=round-robin)")?;
/// assert_eq!(eager.conduct().revocation, Revocation::Everything);
/// # Ok::<(), assignor::OptionError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eager {
    /// How owners are chosen.
    pub placement: Placement,
    /// Standbys per stateful task.
    pub standbys: u32,
}

const STICKY: &str = "sticky";
const ROUND_ROBIN: &str = "round-robin";

static OPTIONS: [OptionDefinition; 2] = [
    OptionDefinition {
        name: "placement",
        meaning: "sticky keeps each task where it was but for the moves that balance needs; round-robin deals \
                  sorted tasks over sorted members, whatever they had",
        default: STICKY,
        range: Range::OneOf(&[STICKY, ROUND_ROBIN]),
    },
    STANDBYS,
];

impl Eager {
    /// Its name and options.
    pub const DEFINITION: Definition = Definition {
        name: "eager",
        meaning: "every member gives up everything at every rebalance, and restores what it did not have",
        options: &OPTIONS,
        build: |settings| Arc::new(Self::from_settings(settings)),
    };

    /// The strategy with these settings; what they lack has its default.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        let placement = match settings.word("placement") {
            Some(ROUND_ROBIN) => Placement::RoundRobin,
            _ => Placement::Sticky,
        };
        Self { placement, standbys: settings.small_number("standbys").unwrap_or(0) }
    }
}

impl Strategy for Eager {
    fn name(&self) -> String {
        let placement = match self.placement {
            Placement::Sticky => STICKY,
            Placement::RoundRobin => ROUND_ROBIN,
        };
        let values =
            [("placement", Value::Word(placement)), ("standbys", Value::Number(self.standbys.into()))];
        options::describe(Self::DEFINITION.name, &OPTIONS, &values)
    }

    fn conduct(&self) -> Conduct {
        Conduct {
            revocation: Revocation::Everything,
            promotion: Promotion::Each,
            leave: Leave::AtOnce,
            resume: Resume::AllTogether,
            acceptable_lag: 0,
        }
    }

    fn plan(&self, view: &GroupView) -> Result<Plan, ViewError> {
        let place = match self.placement {
            Placement::Sticky => restoring::sticky,
            Placement::RoundRobin => dealing::place,
        };
        restoring::plan(view, self.standbys, place)
    }
}
