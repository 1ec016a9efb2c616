//! An answer takes a task that its member had not given up, and has it follow that task at once.

use assignor::{Assignment, Copy, TaskId};
use engine::clock::Time;
use engine::config::GroupConfig;
use engine::group::message::{Answer, Ask, Inventory, MemberEffect, MemberEvent, Refusal, Reply, Request};
use engine::group::{Member, MemberConfig};
use engine::position::{Claim, Generation, Incarnation};

/// Every copy has caught up.
struct Disk;

impl Inventory for Disk {
    fn lag(&self, _: &TaskId) -> Option<u64> {
        Some(0)
    }
    fn stored(&self) -> Vec<Copy> {
        Vec::new()
    }
    fn state_bytes(&self, _: &TaskId) -> Option<u64> {
        None
    }
    fn instance_ready(&self, _: u64) -> bool {
        true
    }
}

/// A member, and what it said last.
struct Bench {
    member: Member,
    last: Request,
}

impl Bench {
    /// Takes a step; what it does, sending aside.
    fn step(&mut self, event: MemberEvent) -> Vec<MemberEffect> {
        let mut out = Vec::new();
        self.member.step(Time::ZERO, event, &Disk, &mut out);
        out.retain(|effect| {
            if let MemberEffect::Send(request) = effect {
                self.last = request.clone();
                return false;
            }
            true
        });
        out
    }

    fn answer(&mut self, body: Answer) -> Vec<MemberEffect> {
        let reply = Reply { stamp: self.last.stamp, incarnation: Incarnation(1), body };
        self.step(MemberEvent::Received(reply))
    }

    /// It has joined; the next generation gives it this.
    fn given(&mut self, generation: u64, assignment: Assignment) -> Vec<MemberEffect> {
        let claim = Claim { incarnation: Incarnation(1), generation: Generation(generation) };
        assert!(matches!(self.last.body, Ask::Join(_)), "{:?}", self.last);
        self.answer(Answer::Joined { claim, view: None });
        self.answer(Answer::Assigned { claim, assignment })
    }
}

/// A member that runs T1 and keeps it at its second join.
fn running() -> Bench {
    let config =
        MemberConfig { id: "S1".into(), instance: "I1".into(), static_id: None, capacity: 1, start: 1 };
    let member = Member::new(config, assignor::parse("learner").unwrap(), &GroupConfig::tight());
    let nothing = Request {
        member: "S1".into(),
        stamp: Default::default(),
        incarnation: None,
        body: Ask::Heartbeat { claim: Claim::default() },
    };
    let mut bench = Bench { member, last: nothing };
    bench.step(MemberEvent::Start);
    bench.answer(Answer::Refused(Refusal::OtherIncarnation));
    let runs = bench.given(1, Assignment { active: vec!["T1".into()], ..Assignment::default() });
    assert!(matches!(runs[..], [MemberEffect::Run { .. }]), "{runs:?}");
    assert_eq!(bench.answer(Answer::Rejoin { generation: Generation(2), ready: Vec::new() }), []);
    bench
}

fn t1() -> Vec<TaskId> {
    vec!["T1".into()]
}

#[test]
fn its_copy_is_followed_when_the_task_has_stopped() {
    for (learning, standby) in [(t1(), Vec::new()), (Vec::new(), t1())] {
        let follows = |effect: &MemberEffect| match effect {
            MemberEffect::Learn { .. } => !learning.is_empty(),
            MemberEffect::StandBy { .. } => !standby.is_empty(),
            _ => false,
        };
        let part =
            Assignment { learning: learning.clone(), standby: standby.clone(), ..Assignment::default() };
        // It stops first; a learner whose task still runs here has not caught up with anything.
        let mut bench = running();
        let taken = bench.given(2, part.clone());
        assert!(matches!(taken[..], [MemberEffect::Stop { .. }]), "{taken:?}");
        let stopped = bench.step(MemberEvent::Stopped { tasks: t1() });
        assert!(follows(&stopped[0]), "{stopped:?}");
        // Its worker had been fenced before it could stop.
        let mut bench = running();
        bench.given(2, part.clone());
        let fenced = bench.step(MemberEvent::Fenced { task: "T1".into() });
        assert!(follows(&fenced[0]), "{fenced:?}");
        assert!(fenced.iter().all(|e| !matches!(e, MemberEffect::Close { .. })), "{fenced:?}");
        assert!(bench.step(MemberEvent::Stopped { tasks: t1() }).is_empty());
        // It is named once when the member joins again.
        let mut stopped = running();
        stopped.given(2, part.clone());
        stopped.step(MemberEvent::Stopped { tasks: t1() });
        for mut bench in [stopped, bench] {
            bench.answer(Answer::Rejoin { generation: Generation(3), ready: Vec::new() });
            let Ask::Join(join) = &bench.last.body else { panic!("{:?}", bench.last) };
            let claims = &join.claims;
            assert_eq!(claims.active.len() + claims.revoked.len(), 0, "{claims:?}");
            assert_eq!(claims.learners.len() + claims.standbys.len(), 1, "{claims:?}");
        }
    }
}
