//! From decisions to a plan: safe hand-over, what each member is told, and a reason for every change.
//!
//! This is the one place where a task changes hands, so every strategy moves ownership safely or not at all.

use crate::group::{Claim, Group};
use crate::ids::MemberId;
use crate::meter;
use crate::plan::{Assignment, Change, FollowUp, Move, Plan, Reason};

/// What becomes of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    /// Who runs it after this answer.
    pub(crate) active: Option<usize>,
    /// Its owner is asked to give it up, for this member.
    pub(crate) asked_for: Option<usize>,
    /// Who learns it.
    pub(crate) learner: Option<usize>,
    /// Why it moves or is asked back.
    pub(crate) why: Reason,
    /// Why it is learned.
    pub(crate) why_learned: Reason,
}

impl Seat {
    /// Nobody runs the task: what it is before anything is decided, and when the whole group goes.
    pub(crate) const NOBODY: Self = Self {
        active: None,
        asked_for: None,
        learner: None,
        why: Reason::OwnerLeaves,
        why_learned: Reason::OwnerLeaves,
    };

    /// The task goes to `to` as far as that is safe: at once if its owner gave it up at this join or nobody owns it;
    /// else it stays, and is asked back unless its owner is away. A disputed task goes to nobody for this round.
    pub(crate) fn hand_over(group: &Group<'_>, task: usize, to: Option<usize>, why: Reason) -> Self {
        let mut seat = Self { active: to, why, why_learned: why, ..Self::NOBODY };
        match group.claims[task] {
            Claim::Disputed => {
                seat.active = None;
                seat.why = Reason::ConflictingClaims;
            }
            Claim::Kept(owner) => {
                seat.active = Some(owner);
                if !group.members[owner].away {
                    seat.asked_for = to.filter(|&to| to != owner);
                }
            }
            Claim::GivenUp(_) | Claim::Nobody => {}
        }
        seat
    }
}

/// Everything that a plan is made of.
#[derive(Debug)]
pub(crate) struct Answer<'a, 'v> {
    pub(crate) group: &'a Group<'v>,
    /// One per task.
    pub(crate) seats: Vec<Seat>,
    /// The members that stand by for each task, lowest first; may be left empty as a whole.
    pub(crate) standbys: Vec<Vec<usize>>,
    /// Nothing waits for a learner to be allowed, and no move would improve the balance.
    pub(crate) even: bool,
    /// When to rebalance again if nothing is asked back or disputed.
    pub(crate) otherwise: FollowUp,
}

impl Answer<'_, '_> {
    /// Writes the plan.
    pub(crate) fn into_plan(self) -> Plan {
        let group = self.group;
        // Names and lists side by side from the start: a map takes them over as they are.
        let mut told: Vec<(MemberId, Assignment)> =
            group.members.iter().map(|member| (member.id.clone(), Assignment::default())).collect();
        self.tell_seats(&mut told);
        self.tell_standbys(&mut told);
        self.tell_revoked(&mut told);
        meter::count(group.tasks.len() + group.members.len());
        let (follow_up, balanced, moves) = (self.follow_up(), self.quiet(), self.moves());
        Plan { members: told.into_iter().collect(), moves, follow_up, balanced }
    }

    /// Who runs what, gives it up and learns it.
    fn tell_seats(&self, told: &mut [(MemberId, Assignment)]) {
        for (task, seat) in self.seats.iter().enumerate() {
            let id = || self.group.tasks[task].id.clone();
            if let Some(active) = seat.active {
                let owner = &mut told[active].1;
                owner.active.push(id());
                if seat.asked_for.is_some() {
                    owner.give_up.push(id());
                }
                if seat.learner.is_some() {
                    owner.being_learned.push(id());
                }
            }
            if let Some(host) = seat.learner {
                told[host].1.learning.push(id());
            }
        }
    }

    /// Who follows what: there may be many times more of these than tasks, so each list is made at its size.
    fn tell_standbys(&self, told: &mut [(MemberId, Assignment)]) {
        let mut follows = vec![Vec::new(); if self.standbys.is_empty() { 0 } else { told.len() }];
        for (task, hosts) in self.standbys.iter().enumerate() {
            hosts.iter().for_each(|&host| follows[host].push(task));
            meter::count(hosts.len());
        }
        for ((_, told), follows) in told.iter_mut().zip(follows) {
            told.standby = follows.into_iter().map(|task| self.group.tasks[task].id.clone()).collect();
        }
    }

    /// What was given up at this join and does not come back.
    fn tell_revoked(&self, told: &mut [(MemberId, Assignment)]) {
        for (member, revoked) in self.group.revoked.iter().enumerate() {
            let gone = revoked.iter().copied().filter(|&task| self.seats[task].active != Some(member));
            let mut gone: Vec<usize> = gone.collect();
            gone.sort_unstable();
            told[member].1.revoked = gone.into_iter().map(|task| self.group.tasks[task].id.clone()).collect();
        }
    }

    fn follow_up(&self) -> FollowUp {
        let unfinished = self
            .seats
            .iter()
            .zip(&self.group.claims)
            .any(|(seat, claim)| seat.asked_for.is_some() || *claim == Claim::Disputed);
        if unfinished && self.group.somebody_stays() { FollowUp::Immediate } else { self.otherwise }
    }

    /// Balanced and at rest: nothing is learned, asked back or disputed, and no leaver still has a task.
    fn quiet(&self) -> bool {
        let group = self.group;
        if !group.somebody_stays() {
            return true;
        }
        self.even
            && self.otherwise == FollowUp::None
            && self.seats.iter().all(|seat| {
                seat.learner.is_none()
                    && seat.asked_for.is_none()
                    && seat.active.is_some_and(|active| !group.members[active].leaving)
            })
    }

    /// Every change against the view, in task order.
    fn moves(&self) -> Vec<Move> {
        let standbys: usize = self.standbys.iter().map(Vec::len).sum();
        let mut moves = Vec::with_capacity(standbys);
        for task in 0..self.seats.len() {
            let mut log = Log { group: self.group, task, moves: &mut moves };
            log.active(&self.seats[task]);
            log.learners(&self.seats[task]);
            log.standbys(&self.seats[task], self.standbys.get(task).map_or(&[], Vec::as_slice));
        }
        meter::count(moves.len());
        moves
    }
}

/// Writes down what changes for one task.
struct Log<'a, 'v> {
    group: &'a Group<'v>,
    task: usize,
    moves: &'a mut Vec<Move>,
}

impl Log<'_, '_> {
    fn push(&mut self, change: Change, from: Option<usize>, to: Option<usize>, reason: Reason) {
        let name = |member: usize| self.group.members[member].id.clone();
        let task = self.group.tasks[self.task].id.clone();
        self.moves.push(Move { task, change, from: from.map(name), to: to.map(name), reason });
    }

    fn active(&mut self, seat: &Seat) {
        let owner = self.group.owner(self.task);
        if seat.active != owner || self.group.claims[self.task] == Claim::Disputed {
            self.push(Change::Active, owner, seat.active, seat.why);
        } else if seat.asked_for.is_some() {
            self.push(Change::GiveUp, owner, seat.asked_for, seat.why);
        }
    }

    fn learners(&mut self, seat: &Seat) {
        let known = &self.group.learners[self.task];
        let stays = known.iter().any(|learner| Some(learner.host) == seat.learner);
        // One that goes makes room for one that starts: that is one learner that moves on.
        let goes = |host: usize| Some(host) != seat.learner && Some(host) != seat.active;
        let mut going: Vec<usize> =
            known.iter().map(|learner| learner.host).filter(|&host| goes(host)).collect();
        if let Some(host) = seat.learner.filter(|_| !stays) {
            let from = if going.is_empty() { None } else { Some(going.remove(0)) };
            self.push(Change::Learner, from, Some(host), seat.why_learned);
        }
        for host in going {
            self.push(Change::Learner, Some(host), None, Reason::NotWanted);
        }
    }

    fn standbys(&mut self, seat: &Seat, chosen: &[usize]) {
        let known = &self.group.standbys[self.task];
        for &host in chosen {
            if known.binary_search_by_key(&host, |copy| copy.at).is_err() {
                self.push(Change::Standby, None, Some(host), Reason::StandbyWanted);
            }
        }
        for copy in known {
            let promoted = seat.active == Some(copy.at) || seat.learner == Some(copy.at);
            if !promoted && chosen.binary_search(&copy.at).is_err() {
                self.push(Change::Standby, Some(copy.at), None, Reason::NotWanted);
            }
        }
    }
}
