//! Which of the learners under way count.

use crate::group::{Claim, Group, LearnerAt};

/// For each task, the one learner that stays under way, before it is known who runs the task from now on.
///
/// A learner goes when its host leaves, or when the task's owner keeps the task on the same instance (learner
/// rule 1). Of several, the ready one stays, then the lower lag, then the lower host. A task without a living owner
/// needs a host that is here: one that is away only counts when there is no other.
pub(super) fn under_way(group: &Group<'_>) -> Vec<Option<LearnerAt>> {
    let chosen = |task: usize| {
        let claim = group.claims[task];
        let stays = |learner: &&LearnerAt| {
            let beside_owner = matches!(claim, Claim::Kept(owner) if group.together(owner, learner.host));
            !group.members[learner.host].leaving && !beside_owner
        };
        let order = |learner: &&LearnerAt| {
            let cannot_take_over = claim == Claim::Nobody && group.members[learner.host].away;
            (cannot_take_over, !learner.ready, learner.lag, learner.host)
        };
        group.learners[task].iter().filter(stays).min_by_key(order).copied()
    };
    (0..group.tasks.len()).map(chosen).collect()
}
