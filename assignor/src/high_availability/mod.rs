//! `high-availability`: the strategy that Kafka Streams ships, as far as its outline goes.
//!
//! It keeps nothing in mind: sorted tasks are dealt over sorted instances whatever they hold (`dealt`), and what is
//! then missing where is moved towards those that have it, a few warm-ups at a time (`movements`), until a probing
//! rebalance finds the warm-ups caught up. Instances are its clients; inside one, tasks stay with the worker that had
//! them and are evened out (`workers`).
//!
//! Kafka's own evens out pairwise, which is quadratic in the number of clients, and looks at every client for every
//! task. The same rules are applied here through ordered trees, and only copies that exist are looked at.

mod dealt;
mod lags;
mod movements;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use crate::answer::{Answer, Seat};
use crate::group::Group;
use crate::options::{self, OptionDefinition, Range, STANDBYS, Settings, Value};
use crate::plan::{FollowUp, Plan};
use crate::registry::Definition;
use crate::strategy::{Conduct, Leave, Promotion, Resume, Revocation, Strategy};
use crate::view::{GroupView, ViewError};

use dealt::Copies;
use lags::Lags;

/// The strategy of Kafka Streams: placement by lag, warm-ups, probing rebalances.
///
/// ```
/// use assignor::{FollowUp, GroupView, MemberView, Strategy, Task, high_availability::HighAvailability};
/// let task = |name: &str| Task { id: name.into(), stateful: true, state_size: 1 };
/// let mut owner = MemberView::new("S1", "I1");
/// owner.active = vec!["0_0".into(), "0_1".into()];
/// let view = GroupView {
///     tasks: vec![task("0_0"), task("0_1")],
///     members: vec![owner, MemberView::new("S2", "I2")],
///     stored: Vec::new(),
/// };
/// let strategy = HighAvailability::default();
/// let plan = strategy.plan(&view)?;
/// assert_eq!(plan.members[&"S2".into()].learning, ["0_1".into()], "dealt to S2, which warms up first");
/// assert_eq!(plan.follow_up, FollowUp::After(strategy.probing_interval));
/// # Ok::<(), assignor::ViewError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HighAvailability {
    /// A copy is caught up at this lag in records or below.
    pub acceptable_lag: u64,
    /// Extra copies that may warm up at one time, in the whole group.
    pub max_warmups: u64,
    /// Time between probing rebalances while a movement is outstanding.
    pub probing_interval: Duration,
    /// Standbys per stateful task.
    pub standbys: u32,
}

static OPTIONS: [OptionDefinition; 4] = [
    OptionDefinition {
        name: "acceptable_lag",
        meaning: "a copy is caught up at this lag, in records, or below",
        default: "10000",
        range: Range::Number { min: 0, max: u64::MAX },
    },
    OptionDefinition {
        name: "max_warmups",
        meaning: "extra copies that may warm up at one time, in the whole group",
        default: "2",
        range: Range::Number { min: 1, max: u64::MAX },
    },
    OptionDefinition {
        name: "probing_interval",
        meaning: "time between probing rebalances while a movement is outstanding",
        default: "10min",
        range: Range::Time,
    },
    STANDBYS,
];

impl HighAvailability {
    /// Its name and options.
    pub const DEFINITION: Definition = Definition {
        name: "high-availability",
        meaning: "what Kafka Streams ships: tasks are dealt anew, and warm-ups move them, found ready by probing",
        options: &OPTIONS,
        build: |settings| Arc::new(Self::from_settings(settings)),
    };

    /// The strategy with these settings; what they lack has its default.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        let default = Self::default();
        Self {
            acceptable_lag: settings.number("acceptable_lag").unwrap_or(default.acceptable_lag),
            max_warmups: settings.number("max_warmups").unwrap_or(default.max_warmups),
            probing_interval: settings.time("probing_interval").unwrap_or(default.probing_interval),
            standbys: settings.small_number("standbys").unwrap_or(default.standbys),
        }
    }
}

impl Default for HighAvailability {
    fn default() -> Self {
        Self {
            acceptable_lag: 10_000,
            max_warmups: 2,
            probing_interval: Duration::from_secs(600),
            standbys: 0,
        }
    }
}

impl Strategy for HighAvailability {
    fn name(&self) -> String {
        let values = [
            ("acceptable_lag", Value::Number(self.acceptable_lag)),
            ("max_warmups", Value::Number(self.max_warmups)),
            ("probing_interval", Value::Time(self.probing_interval)),
            ("standbys", Value::Number(self.standbys.into())),
        ];
        options::describe(Self::DEFINITION.name, &OPTIONS, &values)
    }

    fn conduct(&self) -> Conduct {
        Conduct {
            revocation: Revocation::OnRequest,
            promotion: Promotion::Probing,
            leave: Leave::AtOnce,
            resume: Resume::EachTask,
            acceptable_lag: self.acceptable_lag,
        }
    }

    fn plan(&self, view: &GroupView) -> Result<Plan, ViewError> {
        let group = Group::read(view)?;
        let mut seats = vec![Seat::NOBODY; group.tasks.len()];
        let (mut standbys, mut otherwise) = (Vec::new(), FollowUp::None);
        if group.somebody_stays() {
            let lags = Lags::read(&group, self.acceptable_lag);
            let mut copies = Copies::deal(&group, self.standbys);
            if movements::move_towards_caught_up(&group, &lags, &mut copies, self.max_warmups) > 0 {
                otherwise = FollowUp::After(self.probing_interval);
            }
            copies.deal_stateless(&group);
            standbys = workers::seat(&group, &copies, &mut seats);
        }
        Ok(Answer { group: &group, seats, standbys, even: true, otherwise }.into_plan())
    }
}
