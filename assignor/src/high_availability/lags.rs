//! How far each instance is behind on each task.

use crate::group::Group;
use crate::meter;

/// How far behind an instance is. Smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lag {
    /// One of its workers runs the task.
    Running,
    /// It has a copy, this many records behind.
    Records(u64),
}

/// It has nothing: behind by everything.
const NOTHING: Lag = Lag::Records(u64::MAX);

/// The copies of each task, by instance.
pub(super) struct Lags {
    acceptable: u64,
    /// Per task (lag, instance), best first; instances that have nothing are not listed.
    copies: Vec<Vec<(Lag, usize)>>,
}

impl Lags {
    pub(super) fn read(group: &Group<'_>, acceptable: u64) -> Self {
        let open: Vec<bool> =
            group.workers.iter().map(|workers| workers.iter().any(|&m| group.receives(m))).collect();
        let mut copies = vec![Vec::new(); group.tasks.len()];
        for task in group.tasks_of_kind(true) {
            let list: &mut Vec<(Lag, usize)> = &mut copies[task];
            list.extend(group.owner(task).map(|owner| (Lag::Running, group.instance_of[owner])));
            list.extend(group.learners[task].iter().map(|learner| {
                let lag = if learner.ready { learner.lag.min(acceptable) } else { learner.lag };
                (Lag::Records(lag), group.instance_of[learner.host])
            }));
            list.extend(
                group.standbys[task].iter().map(|copy| (Lag::Records(copy.lag), group.instance_of[copy.at])),
            );
            list.extend(group.stored[task].iter().map(|copy| (Lag::Records(copy.lag), copy.at)));
            list.retain(|&(lag, instance)| lag != NOTHING && open[instance]);
            list.sort_unstable();
            meter::count_sort(list.len());
        }
        Self { acceptable, copies }
    }

    /// The lag of an instance on a task.
    pub(super) fn of(&self, task: usize, instance: usize) -> Lag {
        let copies = self.copies[task].iter();
        meter::count(self.copies[task].len());
        copies.filter(|&&(_, at)| at == instance).map(|&(lag, _)| lag).min().unwrap_or(NOTHING)
    }

    /// Whether this lag is as good as none.
    pub(super) fn accepts(&self, lag: Lag) -> bool {
        match lag {
            Lag::Running => true,
            Lag::Records(records) => records <= self.acceptable,
        }
    }

    /// The copies of a task with their instances, best first.
    pub(super) fn copies(&self, task: usize) -> impl Iterator<Item = (Lag, usize)> + '_ {
        meter::count(self.copies[task].len());
        self.copies[task].iter().copied()
    }

    /// The instances that have caught up on a task, in no order that matters, with repeats.
    pub(super) fn caught_up(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        self.copies(task).filter(|&(lag, _)| self.accepts(lag)).map(|(_, instance)| instance)
    }

    /// Whether the instance has not caught up on the task while another is further.
    pub(super) fn is_behind_another(&self, task: usize, instance: usize) -> bool {
        let lag = self.of(task, instance);
        !self.accepts(lag) && self.copies[task].first().is_some_and(|&(best, _)| best < lag)
    }
}
