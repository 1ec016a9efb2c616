//! The options of `learner`.

use std::sync::Arc;
use std::time::Duration;

use crate::options::{self, OptionDefinition, Range, STANDBYS, Settings, Value};
use crate::registry::Definition;
use crate::strategy::{Promotion, Revocation};

/// The strategy that lets an understudy learn a task before it takes it over.
///
/// ```
/// use assignor::{GroupView, MemberView, Strategy, Task, learner::Learner};
///
/// let task = |name: &str| Task { id: name.into(), stateful: true, state_size: 1 };
/// let mut owner = MemberView::new("S1", "I1");
/// owner.active = vec!["T1".into(), "T2".into()];
/// let view = GroupView {
///     tasks: vec![task("T1"), task("T2")],
///     members: vec![owner, MemberView::new("S2", "I2")],
///     stored: Vec::new(),
/// };
/// let plan = Learner::default().plan(&view)?;
/// assert_eq!(plan.members[&"S1".into()].active.len(), 2, "nothing moves yet");
/// assert_eq!(plan.members[&"S2".into()].learning, ["T1".into()]);
/// # Ok::<(), assignor::ViewError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learner {
    /// What an owner gives up when a rebalance starts: everything that is being learned, what has a ready learner, or
    /// only what it was asked for.
    pub revocation: Revocation,
    /// When learners rejoin.
    pub promotion: Promotion,
    /// A learner is ready at this lag in records or below.
    pub acceptable_lag: u64,
    /// f in learner rule 3; at least 1.
    pub balance_factor: u32,
    /// Learners in flight per group (learner rule 5); `None` is unlimited.
    pub max_learners: Option<u32>,
    /// Standbys per stateful task.
    pub standbys: u32,
    /// How long a leaver waits for its tasks to be taken over.
    pub scale_down_timeout: Duration,
}

const WHEN_READY: &str = "when-ready";
const BEING_LEARNED: &str = "being-learned";
const TWO_PHASE: &str = "two-phase";

impl Learner {
    /// Its name and options.
    pub const DEFINITION: Definition = Definition {
        name: "learner",
        meaning: "a task moves only after a learner has caught up with its state",
        options: &OPTIONS,
        build: |settings| Arc::new(Self::from_settings(settings)),
    };

    /// The strategy with these settings; what they lack has its default.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        let default = Self::default();
        let timeout = settings.time("promotion_timeout").unwrap_or(PROMOTION_TIMEOUT);
        Self {
            revocation: match settings.word("revocation") {
                Some(BEING_LEARNED) => Revocation::BeingLearned,
                Some(TWO_PHASE) => Revocation::OnRequest,
                _ => Revocation::WhenReady,
            },
            promotion: match settings.word("promotion") {
                Some("all") => Promotion::All { timeout },
                _ => Promotion::Each,
            },
            acceptable_lag: settings.number("acceptable_lag").unwrap_or(default.acceptable_lag),
            balance_factor: settings.small_number("balance_factor").unwrap_or(default.balance_factor),
            max_learners: settings.small_number("max_learners"),
            standbys: settings.small_number("standbys").unwrap_or(default.standbys),
            scale_down_timeout: settings.time("scale_down_timeout").unwrap_or(default.scale_down_timeout),
        }
    }

    pub(super) fn describe(&self) -> String {
        let (promotion, timeout) = match self.promotion {
            Promotion::All { timeout } => ("all", timeout),
            Promotion::Each | Promotion::Probing => ("each", PROMOTION_TIMEOUT),
        };
        let revocation = match self.revocation {
            Revocation::BeingLearned | Revocation::Everything => BEING_LEARNED,
            Revocation::WhenReady => WHEN_READY,
            Revocation::OnRequest => TWO_PHASE,
        };
        let values = [
            ("revocation", Value::Word(revocation)),
            ("promotion", Value::Word(promotion)),
            ("promotion_timeout", Value::Time(timeout)),
            ("acceptable_lag", Value::Number(self.acceptable_lag)),
            ("balance_factor", Value::Number(self.balance_factor.into())),
            ("max_learners", self.max_learners.map_or(Value::Unlimited, |most| Value::Number(most.into()))),
            ("standbys", Value::Number(self.standbys.into())),
            ("scale_down_timeout", Value::Time(self.scale_down_timeout)),
        ];
        options::describe(Self::DEFINITION.name, &OPTIONS, &values)
    }
}

impl Default for Learner {
    fn default() -> Self {
        Self {
            revocation: Revocation::WhenReady,
            promotion: Promotion::Each,
            acceptable_lag: 1_000,
            balance_factor: 1,
            max_learners: None,
            standbys: 0,
            scale_down_timeout: Duration::from_secs(25),
        }
    }
}

const PROMOTION_TIMEOUT: Duration = Duration::from_secs(10);

static OPTIONS: [OptionDefinition; 8] = [
    OptionDefinition {
        name: "revocation",
        meaning: "what an owner gives up when a rebalance starts: all that is being learned (one rebalance per \
                  hand-over, but every other one pauses unready tasks), only what has a ready learner, or nothing \
                  until the leader asks for it (an immediate second rebalance hands it over)",
        default: WHEN_READY,
        range: Range::OneOf(&[BEING_LEARNED, WHEN_READY, TWO_PHASE]),
    },
    OptionDefinition {
        name: "promotion",
        meaning: "when learners rejoin: each as soon as it is ready, or all of an instance together",
        default: "each",
        range: Range::OneOf(&["each", "all"]),
    },
    OptionDefinition {
        name: "promotion_timeout",
        meaning: "with promotion = all: how long the first ready learner waits for the others",
        default: "10s",
        range: Range::Time,
    },
    OptionDefinition {
        name: "acceptable_lag",
        meaning: "a learner is ready at this lag, in records, or below",
        default: "1000",
        range: Range::Number { min: 0, max: u64::MAX },
    },
    OptionDefinition {
        name: "balance_factor",
        meaning: "how much fuller than a receiver a donor must be before it gives; 1 balances as well as possible",
        default: "1",
        range: Range::Number { min: 1, max: u32::MAX as u64 },
    },
    OptionDefinition {
        name: "max_learners",
        meaning: "learners in flight per group; the rest wait their turn",
        default: "unlimited",
        range: Range::NumberOrUnlimited { min: 1 },
    },
    STANDBYS,
    OptionDefinition {
        name: "scale_down_timeout",
        meaning: "how long a leaver waits for its tasks to be taken over before it leaves all the same",
        default: "25s",
        range: Range::Time,
    },
];
