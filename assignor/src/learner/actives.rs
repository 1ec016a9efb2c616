//! Who runs each stateful task: the active rules 1 to 3. Rule 4, which counts what is placed already, comes after.

use crate::answer::Seat;
use crate::group::{Claim, Group, LearnerAt};
use crate::plan::Reason;

/// Seats every stateful task whose owner or learner is known; leaves the others, and disputed ones, without an active.
///
/// A promoted learner leaves `learners`: it is the owner now. One that waits for its task to be given up stays.
pub(super) fn seat(group: &Group<'_>, learners: &mut [Option<LearnerAt>], seats: &mut [Seat]) {
    for task in group.tasks_of_kind(true) {
        let able = learners[task].filter(|learner| group.receives(learner.host));
        let owner = group.owner(task);
        seats[task] = match (able, group.claims[task]) {
            (_, Claim::Disputed) => Seat::hand_over(group, task, None, Reason::ConflictingClaims),
            (Some(learner), _) if learner.ready => {
                Seat::hand_over(group, task, Some(learner.host), Reason::LearnerReady)
            }
            (Some(learner), Claim::Nobody) => {
                Seat::hand_over(group, task, Some(learner.host), Reason::LearnerOfLostOwner)
            }
            _ => Seat::hand_over(group, task, owner, Reason::LeastLoaded),
        };
        let active = seats[task].active;
        learners[task] = learners[task].filter(|learner| match active {
            Some(active) => !group.together(active, learner.host),
            None => true,
        });
    }
}
