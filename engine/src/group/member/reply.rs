//! What each of the coordinator's answers does to a member. What it no longer waits for is ignored.

use assignor::{Assignment, GroupView, TaskId};

use super::{Member, Phase, Then};
use crate::clock::Time;
use crate::event::{Cause, Stop};
use crate::group::Fault;
use crate::group::message::{Answer, Ask, Exit, Inventory, MemberEffect, Refusal, Reply, Request, Stamp};
use crate::position::{Claim, Generation};

impl Member {
    /// Handles one reply.
    pub(super) fn receive(
        &mut self,
        now: Time,
        reply: Reply,
        inventory: &dyn Inventory,
        out: &mut Vec<MemberEffect>,
    ) {
        let Reply { stamp, incarnation, body } = reply;
        if stamp.start != self.config.start || self.incarnation.is_some_and(|known| incarnation < known) {
            return;
        }
        if incarnation > self.incarnation.unwrap_or_default() {
            // Only a refusal can come from a coordinator that it has not spoken to.
            let is_first = self.incarnation.replace(incarnation).is_none();
            return self.meet(now, is_first, inventory, out);
        }
        match body {
            Answer::Alive => {}
            Answer::Rejoin { generation, ready } => self.called_in(now, generation, &ready, inventory, out),
            Answer::Joined { claim, view } => {
                if self.waits_for(stamp, |ask| matches!(ask, Ask::Join(_))) {
                    self.sync(now, claim, view, out);
                }
            }
            Answer::Assigned { claim, assignment } => {
                let any = self.has(Fault::StaleAssignmentAccepted) && matches!(self.phase, Phase::Steady);
                if any || self.waits_for(stamp, |ask| matches!(ask, Ask::Sync { .. })) {
                    self.assigned(now, claim, &assignment, inventory, out);
                }
            }
            Answer::Left => {
                if matches!(&self.phase, Phase::Farewell(request, _) if request.stamp == stamp) {
                    self.end(Exit::Left, out);
                }
            }
            Answer::Refused(refusal) => self.refused(now, stamp, refusal, inventory, out),
        }
    }

    /// Whether a call of this kind is under way and `stamp` is its.
    fn waits_for(&self, stamp: Stamp, kind: impl Fn(&Ask) -> bool) -> bool {
        matches!(&self.phase, Phase::Calling(request) if request.stamp == stamp && kind(&request.body))
    }

    /// A coordinator that it has not spoken to before: it keeps what it has and joins that one.
    fn meet(&mut self, now: Time, is_first: bool, inventory: &dyn Inventory, out: &mut Vec<MemberEffect>) {
        match &self.phase {
            Phase::Idle | Phase::Barred | Phase::Done | Phase::Stopping(_) => {}
            Phase::Farewell(request, until) => {
                let (body, until) = (request.body.clone(), *until);
                self.call(now, body, out);
                if let Phase::Calling(request) = &self.phase {
                    self.phase = Phase::Farewell(request.clone(), until);
                }
            }
            Phase::Calling(_) if is_first => self.join(now, Some(Cause::Join), inventory, out),
            Phase::Calling(_) | Phase::Steady => {
                self.leaving_told = false;
                self.rejoin(now, &[], Some(Cause::Join), inventory, out);
            }
        }
    }

    /// Joins are called in for `generation`.
    fn called_in(
        &mut self,
        now: Time,
        generation: Generation,
        ready: &[TaskId],
        inventory: &dyn Inventory,
        out: &mut Vec<MemberEffect>,
    ) {
        let (held, known) = (self.held.claim, self.incarnation.unwrap_or_default());
        if held.incarnation == known && generation <= held.generation {
            return;
        }
        match &self.phase {
            Phase::Steady => self.rejoin(now, ready, None, inventory, out),
            // The generation that it waits for was given up.
            Phase::Calling(Request { body: Ask::Sync { claim, .. }, .. })
                if claim.generation < generation =>
            {
                self.rejoin(now, ready, None, inventory, out);
            }
            // It is about to join; what has become ready since is given up with the rest.
            Phase::Stopping(Then::Join { cause }) => {
                let cause = *cause;
                self.rejoin(now, ready, cause, inventory, out);
            }
            _ => {}
        }
    }

    /// Its join is in a generation. The leader plans; everybody asks for its assignment.
    fn sync(&mut self, now: Time, claim: Claim, view: Option<Box<GroupView>>, out: &mut Vec<MemberEffect>) {
        let plan = match view.map(|view| self.strategy.plan(&view)) {
            None => None,
            Some(Ok(plan)) => Some(Box::new(plan)),
            Some(Err(error)) => {
                out.push(MemberEffect::Failed { error });
                None
            }
        };
        self.call(now, Ask::Sync { claim, plan }, out);
    }

    fn assigned(
        &mut self,
        now: Time,
        claim: Claim,
        assignment: &Assignment,
        inventory: &dyn Inventory,
        out: &mut Vec<MemberEffect>,
    ) {
        self.held.settle(claim, assignment, out);
        self.phase = Phase::Steady;
        self.tell_again = now + self.session_timeout;
        if self.leave_by.is_none() {
            return;
        }
        if assignment.active.is_empty() {
            // Everything has been taken over; it needs no further answer to go.
            self.when_stopped(now, Then::Leave { cause: Cause::Leave }, inventory, out);
        } else if !self.leaving_told {
            self.rejoin(now, &[], Some(Cause::Leaving), inventory, out);
        }
    }

    fn refused(
        &mut self,
        now: Time,
        stamp: Stamp,
        refusal: Refusal,
        inventory: &dyn Inventory,
        out: &mut Vec<MemberEffect>,
    ) {
        match refusal {
            // It has met that coordinator by now.
            Refusal::OtherIncarnation => {}
            Refusal::FencedStaticId => {
                if !matches!(self.phase, Phase::Idle | Phase::Done) {
                    self.held.stop_all(Stop::Fenced, out);
                    self.when_stopped(now, Then::Exit { why: Exit::Fenced }, inventory, out);
                }
            }
            Refusal::StaleGeneration => {
                let is_news = stamp.call == self.call;
                let may = matches!(
                    &self.phase,
                    Phase::Steady | Phase::Calling(Request { body: Ask::Sync { .. }, .. })
                );
                if is_news && may {
                    self.rejoin(now, &[], None, inventory, out);
                }
            }
            Refusal::UnknownMember => {
                if stamp.call < self.fresh {
                    return;
                }
                match &self.phase {
                    Phase::Idle | Phase::Barred | Phase::Done => {}
                    Phase::Farewell(..) => self.end(Exit::Left, out),
                    Phase::Stopping(Then::Afresh | Then::Exit { .. }) => {}
                    Phase::Stopping(_) | Phase::Calling(_) | Phase::Steady => {
                        if !self.has(Fault::KeepsWhatItLost) {
                            self.held.stop_all(Stop::Fenced, out);
                        }
                        self.when_stopped(now, Then::Afresh, inventory, out);
                    }
                }
            }
        }
    }
}
