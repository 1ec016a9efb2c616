//! Faults that are planted to see whether the checker finds them.

use assignor::{FollowUp, GroupView, Plan, TaskId};

use super::group::{ONE_ACTIVE, ONE_LEARNER, REST, SERVED};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A task whose learner is ready changes owner although its owner has not given it up.
    TakesWhatIsKept,
    /// A task that is handed over reaches nobody, and the group is called balanced.
    LosesTheHandedOver,
    /// A second learner of a task that is being learned.
    LearnsTwice,
    /// The leader never hears that a learner is ready.
    NeverPromotes,
    /// A member does what an answer of an older generation says, after it has joined a newer rebalance.
    ListensToOldAnswers,
}

impl Fault {
    pub(crate) const ALL: [Self; 5] = [
        Self::TakesWhatIsKept,
        Self::LosesTheHandedOver,
        Self::LearnsTwice,
        Self::NeverPromotes,
        Self::ListensToOldAnswers,
    ];

    /// The strategy under which it shows, and the property that it breaks.
    pub(crate) fn shows_as(self) -> (&'static str, &'static str) {
        match self {
            Self::TakesWhatIsKept => ("learner(revocation=two-phase)", ONE_ACTIVE),
            Self::LosesTheHandedOver => ("learner", SERVED),
            Self::LearnsTwice => ("learner", ONE_LEARNER),
            Self::NeverPromotes => ("learner", REST),
            Self::ListensToOldAnswers => ("learner(revocation=being-learned)", ONE_ACTIVE),
        }
    }

    /// What the leader does not get to see.
    pub(crate) fn blind(self, view: &mut GroupView) {
        if self == Self::NeverPromotes {
            for learner in view.members.iter_mut().flat_map(|member| &mut member.learners) {
                learner.ready = false;
            }
        }
    }

    /// What it answers instead.
    pub(crate) fn spoil(self, view: &GroupView, plan: &mut Plan) {
        match self {
            Self::TakesWhatIsKept => {
                let asked: Vec<_> = plan.members.values().flat_map(|told| told.give_up.clone()).collect();
                for told in plan.members.values_mut() {
                    let taken = told.learning.iter().filter(|task| asked.contains(task)).cloned();
                    told.active.extend(taken.collect::<Vec<_>>());
                    told.active.retain(|task| !told.give_up.contains(task));
                    told.learning.retain(|task| !asked.contains(task));
                    told.give_up.clear();
                }
            }
            Self::LosesTheHandedOver => {
                let learned = |task: &TaskId| {
                    view.members.iter().any(|member| {
                        member.learners.iter().any(|learner| learner.task == *task && learner.ready)
                    })
                };
                for (id, told) in &mut plan.members {
                    let owned =
                        |task: &TaskId| view.members.iter().any(|m| m.id == *id && m.active.contains(task));
                    told.active.retain(|task| !learned(task) || owned(task));
                }
                plan.follow_up = FollowUp::None;
            }
            Self::LearnsTwice => {
                let learned: Vec<_> = plan.members.values().flat_map(|told| told.learning.clone()).collect();
                let idle = plan.members.values_mut().find(|told| {
                    told.learning.is_empty() && learned.iter().all(|task| !told.active.contains(task))
                });
                if let (Some(idle), Some(task)) = (idle, learned.first()) {
                    idle.learning.push(task.clone());
                }
            }
            Self::NeverPromotes | Self::ListensToOldAnswers => {}
        }
    }
}
