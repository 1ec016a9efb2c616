//! A group that plays by its answers.

use std::collections::{BTreeMap, BTreeSet};

use super::{Event, SettleError};
use crate::balance::{Seat, minimum_moves};
use crate::group::Group;
use crate::ids::{InstanceId, MemberId, TaskId};
use crate::plan::{Assignment, Plan};
use crate::strategy::{Conduct, Revocation};
use crate::view::{Copy, GroupView, Learner, MemberView, ViewError};

/// The group between two rounds, and what it has cost so far.
pub(super) struct Played {
    view: GroupView,
    /// What each member was told last.
    told: BTreeMap<MemberId, Assignment>,
    /// Who ran each task last, even if that one is gone.
    owner: BTreeMap<TaskId, MemberId>,
    sizes: BTreeMap<TaskId, u64>,
    moves: u64,
    restored: u64,
}

impl Played {
    pub(super) fn new(view: &GroupView) -> Result<Self, ViewError> {
        Group::read(view)?;
        let mut owner = BTreeMap::new();
        for member in &view.members {
            for task in member.active.iter().chain(&member.revoked) {
                owner.insert(task.clone(), member.id.clone());
            }
        }
        let stateful = view.tasks.iter().filter(|task| task.stateful);
        Ok(Self {
            view: view.clone(),
            told: BTreeMap::new(),
            owner,
            sizes: stateful.map(|task| (task.id.clone(), task.state_size)).collect(),
            moves: 0,
            restored: 0,
        })
    }

    pub(super) fn view(&self) -> GroupView {
        self.view.clone()
    }

    /// Moves of tasks, and restored state.
    pub(super) fn cost(&self) -> (u64, u64) {
        (self.moves, self.restored)
    }

    pub(super) fn happen(&mut self, event: &Event, leavers_wait: bool) -> Result<(), SettleError> {
        let members = &mut self.view.members;
        match event {
            Event::Join { member, instance, capacity } => {
                if members.iter().any(|known| known.id == *member) {
                    return Err(SettleError::AlreadyThere(member.clone()));
                }
                let mut new = MemberView::new(member.clone(), instance.clone());
                new.capacity = *capacity;
                members.push(new);
            }
            Event::Leave { member } | Event::Crash { member } => {
                let Some(place) = members.iter().position(|known| known.id == *member) else {
                    return Err(SettleError::NotThere(member.clone()));
                };
                if leavers_wait && matches!(event, Event::Leave { .. }) {
                    members[place].leaving = true;
                } else {
                    members.remove(place);
                }
            }
        }
        Ok(())
    }

    /// The fewest moves that balance needs now, stateful and stateless tasks each for themselves.
    pub(super) fn minimum_moves(&self) -> u64 {
        [true, false].into_iter().map(|stateful| self.minimum_moves_of(stateful)).sum()
    }

    fn minimum_moves_of(&self, stateful: bool) -> u64 {
        let counted = self.view.tasks.iter().filter(|task| task.stateful == stateful);
        let mut loads: BTreeMap<&MemberId, u64> = BTreeMap::new();
        for owner in counted.filter_map(|task| self.owner.get(&task.id)) {
            *loads.entry(owner).or_default() += 1;
        }
        // Away members neither give nor receive.
        let here = self.view.members.iter().filter(|member| !member.away);
        let mut seats: Vec<Seat> = here
            .map(|member| Seat {
                load: loads.remove(&member.id).unwrap_or(0),
                capacity: member.capacity,
                stays: !member.leaving,
            })
            .collect();
        let away: Vec<&MemberId> =
            self.view.members.iter().filter(|member| member.away).map(|member| &member.id).collect();
        // What is left belongs to members that are gone.
        loads.retain(|owner, _| !away.contains(owner));
        seats.extend(loads.into_values().map(|load| Seat { load, capacity: 1, stays: false }));
        minimum_moves(&seats, 1)
    }

    /// What members give up when a rebalance starts.
    pub(super) fn give_up(&mut self, conduct: &Conduct) {
        let ready: BTreeSet<TaskId> = self
            .view
            .members
            .iter()
            .filter(|member| member.receives())
            .flat_map(|member| &member.learners)
            .filter(|learner| learner.ready)
            .map(|learner| learner.task.clone())
            .collect();
        for member in self.view.members.iter_mut().filter(|member| !member.away) {
            let told = self.told.get(&member.id);
            let asked = |task: &TaskId| told.is_some_and(|told| told.give_up.contains(task));
            let learned = |task: &TaskId| told.is_some_and(|told| told.being_learned.contains(task));
            let (revoked, active) =
                std::mem::take(&mut member.active).into_iter().partition(|task| match conduct.revocation {
                    Revocation::Everything => true,
                    Revocation::BeingLearned => learned(task) || asked(task),
                    Revocation::WhenReady => ready.contains(task) || asked(task),
                    Revocation::OnRequest => asked(task),
                });
            member.active = active;
            member.revoked.extend::<Vec<TaskId>>(revoked);
        }
    }

    /// Members do as they are told; those that leave and have nothing left stop.
    pub(super) fn follow(&mut self, plan: &Plan) {
        let before = self.copies();
        for member in &mut self.view.members {
            let told = plan.members.get(&member.id).cloned().unwrap_or_default();
            let here = |task: &TaskId| before.contains(&(member.instance.clone(), task.clone()));
            for task in &told.active {
                let before = self.owner.insert(task.clone(), member.id.clone());
                self.moves += u64::from(before.is_some_and(|before| before != member.id));
            }
            for task in told.active.iter().chain(&told.learning).chain(&told.standby) {
                if !here(task) {
                    self.restored = self.restored.saturating_add(self.sizes.get(task).copied().unwrap_or(0));
                }
            }
            let known = std::mem::take(&mut member.learners);
            member.learners = told
                .learning
                .iter()
                .map(|task| match known.iter().find(|learner| learner.task == *task) {
                    Some(learner) => learner.clone(),
                    None => Learner { task: task.clone(), lag: u64::MAX, ready: false },
                })
                .collect();
            member.standbys.retain(|copy| told.standby.contains(&copy.task));
            for task in &told.standby {
                if member.standbys.iter().all(|copy| copy.task != *task) {
                    let lag = if here(task) { 0 } else { u64::MAX };
                    member.standbys.push(Copy { task: task.clone(), lag });
                }
            }
            member.active.clone_from(&told.active);
            member.revoked.clear();
            self.told.insert(member.id.clone(), told);
        }
        self.view.members.retain(|member| !member.leaving || member.away || !member.active.is_empty());
    }

    /// Every copy catches up.
    pub(super) fn catch_up(&mut self) {
        for member in self.view.members.iter_mut().filter(|member| !member.away) {
            for learner in &mut member.learners {
                learner.lag = 0;
                learner.ready = true;
            }
            for copy in &mut member.standbys {
                copy.lag = 0;
            }
        }
    }

    pub(super) fn has_unready_learners(&self) -> bool {
        let present = self.view.members.iter().filter(|member| !member.away);
        present.flat_map(|member| &member.learners).any(|learner| !learner.ready)
    }

    /// Which instance has some state of which task.
    fn copies(&self) -> BTreeSet<(InstanceId, TaskId)> {
        let mut copies = BTreeSet::new();
        for member in &self.view.members {
            let learned = member.learners.iter().map(|learner| &learner.task);
            let followed = member.standbys.iter().map(|copy| &copy.task);
            for task in member.active.iter().chain(&member.revoked).chain(learned).chain(followed) {
                copies.insert((member.instance.clone(), task.clone()));
            }
        }
        for stored in &self.view.stored {
            copies.extend(stored.copies.iter().map(|copy| (stored.instance.clone(), copy.task.clone())));
        }
        copies
    }
}
