//! What a strategy would do with a group: an event, then round after round until nothing is left to do.
//!
//! The model has no clock and no load. An immediate follow-up comes before anything else; then all learners turn
//! ready together, which opens the next round; under a strategy that probes, all copies have caught up by the next
//! probing rebalance. A copy that is dropped is forgotten. So the figures compare strategies, they predict no times.

mod group;

use crate::ids::{InstanceId, MemberId};
use crate::plan::{FollowUp, Plan};
use crate::strategy::{Leave, Strategy};
use crate::view::{GroupView, ViewError};

use group::Played;

/// Something that happens to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A member starts.
    Join {
        /// Its name.
        member: MemberId,
        /// Its instance.
        instance: InstanceId,
        /// Its capacity; at least 1.
        capacity: u32,
    },
    /// A member is asked to leave; how it goes is up to the strategy's [`Conduct`](crate::Conduct).
    Leave {
        /// Its name.
        member: MemberId,
    },
    /// A member is gone without a word.
    Crash {
        /// Its name.
        member: MemberId,
    },
}

/// Why a round took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The event.
    Event,
    /// The answer before asked for it.
    FollowUp,
    /// Learners turned ready.
    LearnerReady,
    /// A probing rebalance.
    Probing,
}

/// One round of a forecast.
#[derive(Clone, Debug)]
pub struct Round {
    /// Why it took place.
    pub cause: Cause,
    /// The leader's answer.
    pub plan: Plan,
}

/// What a strategy would do.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The strategy with its options.
    pub strategy: String,
    /// How often a task changed owner. One that had no owner to begin with does not count.
    pub moves: u64,
    /// The fewest moves that balance needed, from the formula of [`balance`](crate::balance), member by member.
    pub minimum_moves: u64,
    /// State that copies had to read from changelogs, in the unit of the view's state sizes: all of a task's state
    /// where a copy started from nothing.
    pub restored: u64,
    /// Every round, the first one's answer first.
    pub rounds: Vec<Round>,
    /// Whether the group came to rest; if not, the rounds end at a bound.
    pub settled: bool,
}

impl Forecast {
    /// How many rebalances it took to settle.
    #[must_use]
    pub fn rebalances(&self) -> usize {
        self.rounds.len()
    }

    /// How many of them had this cause.
    #[must_use]
    pub fn rebalances_by(&self, cause: Cause) -> usize {
        self.rounds.iter().filter(|round| round.cause == cause).count()
    }
}

/// An event that cannot happen to the group, or a group that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettleError {
    /// The group makes no sense.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A member joins that is there already.
    #[error("member {0} cannot join: it is in the group")]
    AlreadyThere(MemberId),
    /// A member leaves that is not there.
    #[error("member {0} cannot leave: it is not in the group")]
    NotThere(MemberId),
}

/// Plays `events`, which all happen at once, and then rounds until the group is at rest.
///
/// Without events the group only rebalances, which shows what the strategy would change about it.
///
/// # Errors
///
/// [`SettleError`] if an event cannot happen to the group, or the group makes no sense.
///
/// ```
/// use assignor::settle::{Event, settle};
/// use assignor::{GroupView, MemberView, Task};
/// let mut owner = MemberView::new("S1", "I1");
/// owner.active = (1..=4).map(|n| format!("T{n}").into()).collect();
/// let tasks = owner.active.iter().cloned().map(|id| Task { id, stateful: true, state_size: 10 }).collect();
/// let view = GroupView { tasks, members: vec![owner], stored: Vec::new() };
///
/// let joins = [Event::Join { member: "S2".into(), instance: "I2".into(), capacity: 1 }];
/// let forecast = settle(&view, &joins, &*assignor::parse("learner")?)?;
/// assert_eq!((forecast.moves, forecast.rebalances(), forecast.restored), (2, 2, 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn settle(view: &GroupView, events: &[Event], strategy: &dyn Strategy) -> Result<Forecast, SettleError> {
    let conduct = strategy.conduct();
    let mut group = Played::new(view)?;
    for event in events {
        group.happen(event, matches!(conduct.leave, Leave::AfterHandOver { .. }))?;
    }
    let minimum_moves = group.minimum_moves();
    let mut rounds: Vec<Round> = Vec::new();
    let mut cause = Cause::Event;
    // Each round of the slowest strategy hands over at least one task, and asks for it in the round before.
    let bound = 100 + 4 * view.tasks.len() * (1 + view.members.len().min(8));
    let settled = loop {
        group.give_up(&conduct);
        let plan = strategy.plan(&group.view())?;
        group.follow(&plan);
        let next = match plan.follow_up {
            FollowUp::Immediate => Some(Cause::FollowUp),
            FollowUp::After(_) => Some(Cause::Probing),
            FollowUp::None => group.has_unready_learners().then_some(Cause::LearnerReady),
        };
        rounds.push(Round { cause, plan });
        match next {
            None => break true,
            Some(_) if rounds.len() >= bound => break false,
            Some(next) => cause = next,
        }
        if cause != Cause::FollowUp {
            group.catch_up();
        }
    };
    let (moves, restored) = group.cost();
    Ok(Forecast { strategy: strategy.name(), moves, minimum_moves, restored, rounds, settled })
}
