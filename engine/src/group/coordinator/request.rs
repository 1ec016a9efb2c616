//! What each kind of request does. Stale and doubled ones are recognised by their stamps and do nothing new.

use assignor::{MemberId, Plan};

use super::roster::{Record, Sync};
use super::round::Phase;
use super::{Coordinator, after};
use crate::clock::Time;
use crate::event::{Cause, GroupEvent};
use crate::group::Fault;
use crate::group::message::{Answer, Ask, CoordinatorEffect, Join, Refusal, Request, Stamp};
use crate::position::Claim;

/// How a request's stamp stands to the last one heard from the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    /// The same call once more: the answer may have been lost.
    Repeated,
    /// A new call.
    New,
    /// Of a new process under the same name.
    Restarted,
}

impl Coordinator {
    /// Handles one request.
    pub(super) fn receive(&mut self, now: Time, request: Request, out: &mut Vec<CoordinatorEffect>) {
        let Request { member, stamp, incarnation, body } = request;
        if incarnation != Some(self.incarnation) {
            // Also the first join of a member: whatever comes later is known to be meant for this coordinator.
            return self.refuse(member, stamp, Refusal::OtherIncarnation, out);
        }
        let fault = self.fault;
        let Some(record) = self.roster.get_mut(&member) else {
            return self.receive_from_outside(now, member, stamp, body, out);
        };
        let age = match (stamp.start.cmp(&record.stamp.start), stamp.call.cmp(&record.stamp.call)) {
            (std::cmp::Ordering::Greater, _) => Age::Restarted,
            (std::cmp::Ordering::Less, _) if record.static_id.is_some() => {
                return self.refuse(member, stamp, Refusal::FencedStaticId, out);
            }
            (std::cmp::Ordering::Equal, std::cmp::Ordering::Greater) => Age::New,
            (std::cmp::Ordering::Equal, _) if takes_for_new(fault, &body) => Age::New,
            (std::cmp::Ordering::Equal, std::cmp::Ordering::Equal) => Age::Repeated,
            _ => return,
        };
        if age != Age::Restarted {
            record.heard = now;
        }
        match (body, age) {
            (Ask::Join(join), Age::Restarted) => self.restarted(now, member, stamp, *join, out),
            (Ask::Join(_), Age::Repeated) => self.join_repeated(member, stamp, out),
            (Ask::Join(join), Age::New) => self.rejoin(member, stamp, *join, out),
            // A new process joins before anything else; without its join it has no place here.
            (_, Age::Restarted) => self.refuse(member, stamp, Refusal::UnknownMember, out),
            (Ask::Sync { claim, plan }, _) => self.sync(now, member, stamp, claim, plan, out),
            (Ask::Heartbeat { claim }, _) => self.heartbeat(member, stamp, claim, out),
            (Ask::Leave { cause }, _) => {
                record.stamp = stamp;
                self.remove(&member, cause, out);
                self.send(member, stamp, Answer::Left, out);
            }
        }
    }

    /// A request of somebody who is not in the group.
    fn receive_from_outside(
        &mut self,
        now: Time,
        member: MemberId,
        stamp: Stamp,
        body: Ask,
        out: &mut Vec<CoordinatorEffect>,
    ) {
        let departed = self.roster.departed(&member);
        if departed.is_some_and(|d| d.fenced && stamp.start <= d.stamp.start) {
            return self.refuse(member, stamp, Refusal::FencedStaticId, out);
        }
        let is_old = departed.is_some_and(|d| stamp <= d.stamp);
        let was_here = departed.is_some_and(|d| d.stamp.start == stamp.start);
        match body {
            Ask::Join(_) if is_old => self.refuse(member, stamp, Refusal::UnknownMember, out),
            // It claims what it had before it was put out: that may have been given away since.
            Ask::Join(join)
                if join.has_claims() && (was_here || join.claims.claim.incarnation == self.incarnation) =>
            {
                self.refuse(member, stamp, Refusal::UnknownMember, out);
            }
            Ask::Join(join) => {
                let holder = join.static_id.as_deref().and_then(|id| self.roster.holder(id));
                let is_older = |holder: &MemberId| {
                    let known = self.roster.get(holder).map(|record| record.claims.claim);
                    join.has_claims() && known.is_some_and(|claim| join.claims.claim < claim)
                };
                match holder {
                    // It was replaced under a former coordinator and has not heard of it.
                    Some(holder) if is_older(&holder) => {
                        self.refuse(member, stamp, Refusal::FencedStaticId, out);
                    }
                    Some(holder) => self.take_over(now, &holder, member, stamp, *join, out),
                    None => self.admit(now, member, stamp, *join, out),
                }
            }
            Ask::Leave { .. } => {
                // A join of the same member may still be on its way.
                self.roster.note_departed(&member, stamp);
                self.send(member, stamp, Answer::Left, out);
            }
            Ask::Sync { .. } | Ask::Heartbeat { .. } => {
                self.refuse(member, stamp, Refusal::UnknownMember, out);
            }
        }
    }

    /// A member that the group does not have joins.
    fn admit(
        &mut self,
        now: Time,
        member: MemberId,
        stamp: Stamp,
        join: Join,
        out: &mut Vec<CoordinatorEffect>,
    ) {
        let cause = join.cause.unwrap_or(Cause::Join);
        self.learn_sizes(&join);
        let standing = self.roster.next_standing();
        self.roster.insert(Record::new(member.clone(), stamp, join, standing, now));
        self.want(cause);
        match &mut self.phase {
            Phase::Empty => self.begin(now, out),
            Phase::Preparing(gathering) => gathering.joined_late(),
            _ => {}
        }
        self.observe_join(member, out);
    }

    /// A member joins again.
    fn rejoin(&mut self, member: MemberId, stamp: Stamp, join: Join, out: &mut Vec<CoordinatorEffect>) {
        self.learn_sizes(&join);
        let cause = join.cause;
        let Some(record) = self.roster.get_mut(&member) else { return };
        record.rejoin(stamp, join);
        if !matches!(self.phase, Phase::Preparing(_)) {
            // Whatever it has lost its way by, it needs a new answer.
            self.want(cause.unwrap_or(Cause::Timeout));
        } else if let Some(cause) = cause {
            self.want(cause);
        }
        self.observe_join(member, out);
    }

    /// A join that was heard before. Either its answer was lost, or the generation that it was part of has not been
    /// completed and it is as good for the next: its sender has been given nothing since.
    fn join_repeated(&mut self, member: MemberId, stamp: Stamp, out: &mut Vec<CoordinatorEffect>) {
        let claim = self.claim();
        let Some(record) = self.roster.get_mut(&member) else { return };
        if !record.joined && record.sync == Sync::Outside {
            record.joined = true;
            if !matches!(self.phase, Phase::Preparing(_)) {
                // The group went on without it (it was away): it would wait for ever.
                self.want(Cause::Timeout);
            }
            return self.observe_join(member, out);
        }
        if record.sync == Sync::Due {
            let view = match &self.phase {
                Phase::Completing { leader, view, .. } if *leader == member => Some(view.clone()),
                _ => None,
            };
            self.send(member, stamp, Answer::Joined { claim, view }, out);
        }
    }

    /// A new process under a name that the group has.
    fn restarted(
        &mut self,
        now: Time,
        member: MemberId,
        stamp: Stamp,
        join: Join,
        out: &mut Vec<CoordinatorEffect>,
    ) {
        if self.roster.get(&member).is_some_and(|r| r.static_id.is_some() && r.static_id == join.static_id) {
            let holder = member.clone();
            return self.take_over(now, &holder, member, stamp, join, out);
        }
        // The old process is gone with all it ran: its session need not be waited for.
        self.remove(&member, Cause::Crash, out);
        self.admit(now, member, stamp, join, out);
    }

    /// A static member is back, or a second process has been given its id: the newer one has the place. In a stable
    /// group that causes no rebalance (KIP-345).
    fn take_over(
        &mut self,
        now: Time,
        holder: &MemberId,
        member: MemberId,
        stamp: Stamp,
        join: Join,
        out: &mut Vec<CoordinatorEffect>,
    ) {
        let claim = self.claim();
        self.learn_sizes(&join);
        let Some(mut record) = self.roster.remove(holder, true) else { return };
        self.follow_up_outlives(holder);
        if *holder != member {
            self.refuse(holder.clone(), record.stamp, Refusal::FencedStaticId, out);
        }
        let wants_out = join.leaving;
        // What it would be given back was planned for the instance that it was on, or for the older process.
        let is_other = join.instance != record.instance || join.has_claims();
        record.take_over(member.clone(), stamp, join);
        record.heard = now;
        match &self.phase {
            Phase::Preparing(_) => {
                record.joined = true;
                self.roster.insert(record);
                self.observe_join(member, out);
            }
            Phase::Completing { leader, .. } if leader == holder => {
                // The leader's plan died with its process.
                record.joined = true;
                record.sync = Sync::Outside;
                self.roster.insert(record);
                self.want(Cause::Join);
                self.observe_join(member, out);
                self.begin(now, out);
            }
            Phase::Completing { .. } | Phase::Stable { .. } if !record.joined && !wants_out && !is_other => {
                // The plan was made without it: it has its tasks back at once, and is planned for after that.
                let was_away = record.sync == Sync::Outside;
                record.sync = Sync::Due;
                record.sync_by = now + self.config.sync_timeout;
                self.roster.insert(record);
                self.send(member, stamp, Answer::Joined { claim, view: None }, out);
                if was_away {
                    self.want(Cause::Join);
                }
            }
            _ => {
                record.joined = true;
                record.sync = Sync::Outside;
                self.roster.insert(record);
                self.want(if wants_out { Cause::Leaving } else { Cause::Join });
                self.observe_join(member, out);
            }
        }
    }

    /// A member asks for its assignment; the leader's request brings the plan.
    fn sync(
        &mut self,
        now: Time,
        member: MemberId,
        stamp: Stamp,
        claim: Claim,
        plan: Option<Box<Plan>>,
        out: &mut Vec<CoordinatorEffect>,
    ) {
        let is_current = claim == self.claim() || self.has(Fault::StalePlanAccepted);
        let Some(record) = self.roster.get_mut(&member) else { return };
        record.stamp = record.stamp.max(stamp);
        if matches!(self.phase, Phase::Preparing(_)) {
            if !record.joined {
                self.call_in(member, stamp, out);
            }
            return;
        }
        if !is_current || record.sync == Sync::Outside {
            return self.refuse(member, stamp, Refusal::StaleGeneration, out);
        }
        match (&self.phase, plan) {
            (Phase::Completing { leader, .. }, Some(plan)) if *leader == member => {
                record.sync = Sync::Asked;
                self.complete(now, *plan, out);
            }
            (Phase::Completing { .. }, _) => record.sync = Sync::Asked,
            _ => self.assign(&member, out),
        }
    }

    fn heartbeat(&mut self, member: MemberId, stamp: Stamp, claim: Claim, out: &mut Vec<CoordinatorEffect>) {
        let current = self.claim();
        let Some(record) = self.roster.get(&member) else { return };
        if record.stamp != stamp {
            // Its newest call has been lost or overtaken; it will be repeated.
            return self.send(member, stamp, Answer::Alive, out);
        }
        if matches!(self.phase, Phase::Preparing(_)) && !record.joined {
            return self.call_in(member, stamp, out);
        }
        // A static member that was away while the group went on, or whose answer has been overtaken by another
        // generation: what it knows is no longer what the group knows.
        let is_current = record.joined || (record.sync != Sync::Outside && claim <= current);
        if is_current {
            self.send(member, stamp, Answer::Alive, out);
        } else {
            self.refuse(member, stamp, Refusal::StaleGeneration, out);
        }
    }

    /// Tells one member that joins are called in.
    fn call_in(&self, member: MemberId, stamp: Stamp, out: &mut Vec<CoordinatorEffect>) {
        let body = Answer::Rejoin { generation: after(self.generation), ready: self.roster.ready() };
        self.send(member, stamp, body, out);
    }

    fn refuse(&self, member: MemberId, stamp: Stamp, why: Refusal, out: &mut Vec<CoordinatorEffect>) {
        self.send(member, stamp, Answer::Refused(why), out);
    }

    fn observe_join(&self, member: MemberId, out: &mut Vec<CoordinatorEffect>) {
        let generation = after(self.generation);
        out.push(CoordinatorEffect::Observed(GroupEvent::Joined { member, generation }));
    }

    fn learn_sizes(&mut self, join: &Join) {
        for (task, bytes) in &join.claims.state_bytes {
            if let Some(task) = self.tasks.get_mut(task) {
                task.state_size = *bytes;
            }
        }
    }
}

/// Whether a planted fault takes an old request for a new one.
fn takes_for_new(fault: Option<Fault>, body: &Ask) -> bool {
    match fault {
        Some(Fault::StaleJoinAccepted) => matches!(body, Ask::Join(_)),
        Some(Fault::StalePlanAccepted) => matches!(body, Ask::Sync { plan: Some(_), .. }),
        _ => false,
    }
}
