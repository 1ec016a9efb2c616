//! Where a task without a living owner goes (the active rule 4 of `learner`, and of every sticky strategy).

use std::cmp::Reverse;

use crate::group::{CopyAt, Group};
use crate::plan::Reason;
use crate::ratio::Ratio;
use crate::scales::{Copies, Scales};

/// Finds a home for tasks that nobody owns, one after the other.
pub(crate) struct Homes<'a, 'v> {
    pub(crate) group: &'a Group<'v>,
    /// Tasks that each present leaver has, for the case that nobody can receive.
    leavers: Vec<(usize, i64)>,
}

impl<'a, 'v> Homes<'a, 'v> {
    /// `load` tells how many tasks a member has.
    pub(crate) fn new(group: &'a Group<'v>, load: impl Fn(usize) -> i64) -> Self {
        let present_leavers = (0..group.members.len()).filter(|&member| {
            let member = group.members[member];
            member.leaving && !member.away
        });
        let leavers = if (0..group.members.len()).any(|member| group.receives(member)) {
            Vec::new()
        } else {
            present_leavers.map(|member| (member, load(member))).collect()
        };
        Self { group, leavers }
    }

    /// The home of a task: a standby of it (lowest lag), else an instance that has it stored (lowest lag), else the
    /// receiver that balance would pick, else the least loaded present leaver.
    pub(crate) fn find(&mut self, scales: &Scales, task: usize) -> Option<(usize, Reason)> {
        self.standby(scales, task)
            .map(|member| (member, Reason::StandbyOfLostOwner))
            .or_else(|| self.stored(scales, task).map(|member| (member, Reason::StoredCopy)))
            .or_else(|| self.receiver(scales, task).map(|member| (member, Reason::LeastLoaded)))
    }

    /// The home of a task without state.
    pub(crate) fn receiver(&mut self, scales: &Scales, task: usize) -> Option<usize> {
        let copies = Copies::of(self.group, task, None);
        scales.receiver(self.group, &copies).or_else(|| self.leaver())
    }

    fn standby(&self, scales: &Scales, task: usize) -> Option<usize> {
        let present = self.group.standbys[task].iter().filter(|copy| self.group.receives(copy.at));
        present.min_by_key(|copy| (copy.lag, scales.room(copy.at), copy.at)).map(|copy| copy.at)
    }

    fn stored(&self, scales: &Scales, task: usize) -> Option<usize> {
        let open = |copy: &&CopyAt| scales.instances.is_open(copy.at);
        let copies = self.group.stored[task].iter().filter(open);
        let best = copies.min_by_key(|copy| (copy.lag, scales.instances.room(copy.at), copy.at))?;
        scales.worker(self.group, best.at, &Copies::of(self.group, task, None))
    }

    fn leaver(&mut self) -> Option<usize> {
        let per_capacity = |&(member, load): &(usize, i64)| {
            (Ratio::new(load, i64::from(self.group.members[member].capacity)), Reverse(Reverse(member)))
        };
        let least = (0..self.leavers.len()).min_by_key(|&place| per_capacity(&self.leavers[place]))?;
        self.leavers[least].1 += 1;
        Some(self.leavers[least].0)
    }
}
