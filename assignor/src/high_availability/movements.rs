//! From the dealt placement to one that can run now: tasks stay with those that have caught up, and warm-ups start
//! where they were dealt, while the budget lasts.

use super::dealt::{Copies, is_kept_away};
use super::lags::Lags;
use crate::group::Group;
use crate::meter;

/// Moves actives, then standbys, from where they were dealt to where they can be now. Returns how many movements are
/// outstanding; while there are any, a probing rebalance is due.
pub(super) fn move_towards_caught_up(
    group: &Group<'_>,
    lags: &Lags,
    copies: &mut Copies,
    max_warmups: u64,
) -> usize {
    let mut desk = Desk { lags, copies, budget: max_warmups };
    let mut outstanding = Vec::new();
    for task in group.tasks_of_kind(true).filter(|&task| !is_kept_away(group, task)) {
        if let Some(dealt) = desk.copies.active[task].filter(|&at| lags.is_behind_another(task, at)) {
            outstanding.push((lags.caught_up(task).count(), task, dealt));
        }
    }
    outstanding.sort_unstable();
    meter::count_sort(outstanding.len());
    for &(_, task, dealt) in &outstanding {
        desk.move_active(task, dealt);
    }
    outstanding.len() + desk.move_standbys(group)
}

struct Desk<'a> {
    lags: &'a Lags,
    copies: &'a mut Copies,
    /// Warm-ups that may still start.
    budget: u64,
}

impl Desk<'_> {
    /// Keeps a task, dealt to an instance that is behind, at the best of those that are further.
    fn move_active(&mut self, task: usize, dealt: usize) {
        // A caught-up standby changes places with it for free.
        let standbys = |at: &usize| self.copies.standbys[task].contains(at);
        if let Some(at) = self.least_loaded(self.lags.caught_up(task).filter(standbys)) {
            self.swap(task, dealt, at);
        } else if let Some(at) = self.least_loaded(self.lags.caught_up(task)) {
            self.run_at_and_warm_up(task, dealt, at);
        } else if let Some((_, at)) = self.lags.copies(task).next() {
            if self.copies.standbys[task].contains(&at) {
                self.swap(task, dealt, at);
            } else {
                self.run_at_and_warm_up(task, dealt, at);
            }
        }
    }

    fn least_loaded(&self, instances: impl Iterator<Item = usize>) -> Option<usize> {
        instances.min_by_key(|&at| (self.copies.held.fullness(at), at))
    }

    fn swap(&mut self, task: usize, dealt: usize, at: usize) {
        self.copies.active[task] = Some(at);
        for standby in &mut self.copies.standbys[task] {
            if *standby == at {
                *standby = dealt;
            }
        }
    }

    fn run_at_and_warm_up(&mut self, task: usize, dealt: usize, at: usize) {
        self.copies.active[task] = Some(at);
        self.copies.held.add(at, 1);
        if self.budget > 0 {
            self.budget -= 1;
            self.copies.warmup[task] = Some(dealt);
        } else {
            self.copies.held.add(dealt, -1);
        }
    }

    /// The same for standbys: one that is behind gets a stand-in on an instance that is further and has no copy, and
    /// warms up beside it while the budget lasts.
    fn move_standbys(&mut self, group: &Group<'_>) -> usize {
        let mut behind = Vec::new();
        for task in group.tasks_of_kind(true) {
            for &at in &self.copies.standbys[task] {
                if self.lags.is_behind_another(task, at) {
                    behind.push((self.lags.caught_up(task).count(), task, at));
                }
            }
        }
        behind.sort_unstable();
        meter::count_sort(behind.len());
        let mut moved = 0;
        for (_, task, dealt) in behind {
            let lag = self.lags.of(task, dealt);
            let free = |at: &usize| !self.copies.has(task, *at);
            let stand_in = self.least_loaded(self.lags.caught_up(task).filter(free)).or_else(|| {
                let further = self.lags.copies(task).take_while(|&(other, _)| other < lag);
                further.map(|(_, at)| at).find(free)
            });
            let Some(stand_in) = stand_in else { continue };
            moved += 1;
            self.copies.standbys[task].push(stand_in);
            self.copies.held.add(stand_in, 1);
            if self.budget > 0 {
                self.budget -= 1;
            } else {
                self.copies.standbys[task].retain(|&at| at != dealt);
                self.copies.held.add(dealt, -1);
            }
        }
        moved
    }
}
