//! Groups to plan for, of any size, the same on every machine.

use assignor::{GroupView, MemberView, Task};

/// A group: how many of what.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Stateful tasks.
    pub tasks: usize,
    /// Instances.
    pub instances: usize,
    /// Workers of each.
    pub workers: usize,
}

impl Shape {
    /// The group with every task dealt round robin over its workers: balanced and at rest.
    #[must_use]
    pub fn at_rest(self) -> GroupView {
        let mut view = self.cold();
        let members = view.members.len().max(1);
        for (place, task) in view.tasks.iter().enumerate() {
            view.members[place % members].active.push(task.id.clone());
        }
        view
    }

    /// The group before it has any tasks.
    #[must_use]
    pub fn cold(self) -> GroupView {
        let tasks = (0..self.tasks)
            // Sizes vary, so that smallest-first has something to sort; the multiplier spreads them.
            .map(|n| Task {
                id: format!("0_{n}").into(),
                stateful: true,
                state_size: 1 + (n as u64 * 7_919) % 1_000,
            })
            .collect();
        // Worker by worker, so that dealing in order of members fills instances evenly.
        let members = (0..self.workers)
            .flat_map(|worker| (0..self.instances).map(move |instance| (instance, worker)))
            .enumerate()
            .map(|(number, (instance, _))| MemberView::new(format!("S{number}"), format!("I{instance}")))
            .collect();
        GroupView { tasks, members, stored: Vec::new() }
    }

    /// The group at rest, and one instance more.
    #[must_use]
    pub fn after_one_join(self) -> GroupView {
        let mut view = self.at_rest();
        let first = view.members.len();
        for worker in 0..self.workers {
            view.members
                .push(MemberView::new(format!("S{}", first + worker), format!("I{}", self.instances)));
        }
        view
    }

    /// The group at rest, its first member leaving.
    #[must_use]
    pub fn after_one_leave(self) -> GroupView {
        let mut view = self.at_rest();
        if let Some(member) = view.members.first_mut() {
            member.leaving = true;
        }
        view
    }
}
