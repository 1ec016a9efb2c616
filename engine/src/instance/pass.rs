//! Whose turn it is: a worker's tasks take turns, each one a pass, also where its capacity has it wait in mid-pass.

use assignor::TaskId;

use crate::clock::Time;

/// A pass over a worker's tasks that may be broken off, and is gone on with where it was.
#[derive(Debug, Default)]
pub(super) struct Pass {
    began: Time,
    /// Those that have not had their turn, the next one last.
    left: Vec<TaskId>,
}

impl Pass {
    /// Begins one over all of `tasks`, unless another is not over.
    pub(super) fn begin<'a>(&mut self, now: Time, tasks: impl DoubleEndedIterator<Item = &'a TaskId>) {
        if self.is_over() {
            self.began = now;
            self.left = tasks.rev().cloned().collect();
        }
    }

    /// When it began.
    pub(super) fn began(&self) -> Time {
        self.began
    }

    /// Whether everybody has had a turn.
    pub(super) fn is_over(&self) -> bool {
        self.left.is_empty()
    }

    /// Whose turn it is; it counts as taken.
    pub(super) fn next(&mut self) -> Option<TaskId> {
        self.left.pop()
    }

    /// Has a task go first: one that stood still until now.
    pub(super) fn prefer(&mut self, task: &TaskId) {
        self.left.push(task.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_turn_however_often_a_pass_is_broken_off() {
        let tasks: Vec<TaskId> = ["T1", "T2", "T3"].map(TaskId::from).to_vec();
        let mut pass = Pass::default();
        let mut turns = Vec::new();
        for now in 0..6 {
            // One turn, then the capacity is used up.
            pass.begin(Time(now), tasks.iter());
            turns.extend(pass.next());
        }
        assert_eq!(turns, [tasks.clone(), tasks.clone()].concat());
        assert_eq!(pass.began(), Time(3));
    }

    #[test]
    fn who_stood_still_goes_first() {
        let tasks: Vec<TaskId> = ["T1", "T2", "T3"].map(TaskId::from).to_vec();
        let mut pass = Pass::default();
        pass.begin(Time(0), tasks[..2].iter());
        pass.next();
        pass.prefer(&tasks[2]);
        assert_eq!([pass.next(), pass.next()], [Some(tasks[2].clone()), Some(tasks[1].clone())]);
        assert!(pass.is_over());
    }
}
