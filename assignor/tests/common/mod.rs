//! Helpers that the tests share: seeded randomness, groups in a line, loads.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod world;

use assignor::{GroupView, MemberView, Plan, Task, TaskId};

/// SplitMix64: one seed, one sequence, on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.next() % (high - low + 1) as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for place in (1..things.len()).rev() {
            things.swap(place, self.between(0, place));
        }
    }
}

pub(crate) fn stateful(name: impl Into<TaskId>, state_size: u64) -> Task {
    Task { id: name.into(), stateful: true, state_size }
}

pub(crate) fn stateless(name: impl Into<TaskId>) -> Task {
    Task { id: name.into(), stateful: false, state_size: 0 }
}

/// Tasks T1…, dealt over members S1…, each an instance of its own.
pub(crate) fn dealt(tasks: usize, members: usize) -> GroupView {
    let tasks: Vec<Task> = (1..=tasks).map(|n| stateful(format!("T{n}"), 1)).collect();
    let mut view = GroupView { members: (1..=members).map(member).collect(), tasks, stored: Vec::new() };
    for (place, task) in view.tasks.iter().enumerate() {
        view.members[place % members].active.push(task.id.clone());
    }
    view
}

/// Member `S<number>` on instance `I<number>`.
pub(crate) fn member(number: usize) -> MemberView {
    MemberView::new(format!("S{number}"), format!("I{number}"))
}

/// How many tasks each member runs, in order of member.
pub(crate) fn loads(plan: &Plan) -> Vec<usize> {
    plan.members.values().map(|told| told.active.len()).collect()
}

/// Gives everything up, as a group does whose every move is safe.
pub(crate) fn give_all_up(view: &mut GroupView) {
    for member in &mut view.members {
        member.revoked.append(&mut member.active);
    }
}
