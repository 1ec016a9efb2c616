//! What the leader is told: the group's records as the assignor's view.

use std::collections::BTreeMap;

use assignor::{Copy, GroupView, InstanceId, MemberView, StoredView, Task, TaskId};

use super::roster::{Record, Roster};

/// The view of the generation that is being formed. Members whose join is not in are away.
pub(super) fn view(tasks: &BTreeMap<TaskId, Task>, roster: &Roster) -> GroupView {
    let members = roster.iter().map(|record| member(tasks, record)).collect();
    let mut stored: BTreeMap<InstanceId, BTreeMap<TaskId, u64>> = BTreeMap::new();
    for record in roster.iter() {
        let copies = stored.entry(record.instance.clone()).or_default();
        for copy in record.claims.stored.iter().filter(|c| tasks.contains_key(&c.task)) {
            let lag = copies.entry(copy.task.clone()).or_insert(copy.lag);
            *lag = (*lag).min(copy.lag);
        }
    }
    // A copy that one worker of an instance still saw on disk may since have been opened by another.
    for record in roster.iter() {
        if let Some(copies) = stored.get_mut(&record.instance) {
            let claims = &record.claims;
            let open = claims.active.iter().chain(&claims.revoked);
            let open = open.chain(claims.learners.iter().map(|l| &l.task));
            for task in open.chain(claims.standbys.iter().map(|c| &c.task)) {
                copies.remove(task);
            }
        }
    }
    let copies =
        |copies: BTreeMap<TaskId, u64>| copies.into_iter().map(|(task, lag)| Copy { task, lag }).collect();
    let stored = stored.into_iter().filter(|(_, c)| !c.is_empty());
    GroupView {
        tasks: tasks.values().cloned().collect(),
        members,
        stored: stored.map(|(instance, c)| StoredView { instance, copies: copies(c) }).collect(),
    }
}

/// One member. Names of tasks that the group does not have (a member of another version) are left out: the view
/// has to be one that a group can be in.
fn member(tasks: &BTreeMap<TaskId, Task>, record: &Record) -> MemberView {
    let known = |task: &TaskId| tasks.contains_key(task);
    let claims = &record.claims;
    let pick = |list: &[TaskId]| list.iter().filter(|t| known(t)).cloned().collect();
    MemberView {
        id: record.id.clone(),
        instance: record.instance.clone(),
        capacity: record.capacity.max(1),
        leaving: record.leaving,
        away: !record.joined,
        generation: Roster::rank(claims.claim),
        active: pick(&claims.active),
        revoked: pick(&claims.revoked),
        learners: claims.learners.iter().filter(|l| known(&l.task)).cloned().collect(),
        standbys: claims.standbys.iter().filter(|c| known(&c.task)).cloned().collect(),
    }
}
