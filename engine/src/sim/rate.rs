//! How fast the machines are: rebalances of a group in which nothing but rebalances happens.

use std::collections::{BTreeMap, VecDeque};

use assignor::{Copy, MemberId, Task, TaskId};

use crate::clock::Time;
use crate::config::GroupConfig;
use crate::event::{Cause, GroupEvent};
use crate::group::message::{
    CoordinatorEffect, CoordinatorEvent, Inventory, MemberEffect, MemberEvent, Reply, Request,
};
use crate::group::{Coordinator, Member, MemberConfig};
use crate::position::Incarnation;

struct Disk;

impl Inventory for Disk {
    fn lag(&self, _: &TaskId) -> Option<u64> {
        Some(0)
    }
    fn stored(&self) -> Vec<Copy> {
        Vec::new()
    }
    fn state_bytes(&self, _: &TaskId) -> Option<u64> {
        Some(1)
    }
    fn instance_ready(&self, _: u64) -> bool {
        true
    }
}

enum Message {
    Up(Request),
    Down(MemberId, Reply),
}

struct Bench {
    coordinator: Coordinator,
    members: BTreeMap<MemberId, Member>,
    wire: VecDeque<Message>,
    completed: u64,
}

impl Bench {
    fn member(&mut self, now: Time, id: &MemberId, event: MemberEvent) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let Some(member) = self.members.get_mut(id) else { return };
            let mut effects = Vec::new();
            member.step(now, event, &Disk, &mut effects);
            for effect in effects {
                match effect {
                    MemberEffect::Send(request) => self.wire.push_back(Message::Up(request)),
                    MemberEffect::Stop { tasks, .. } => events.push_back(MemberEvent::Stopped { tasks }),
                    _ => {}
                }
            }
        }
    }

    fn coordinator(&mut self, now: Time, event: CoordinatorEvent) {
        let mut effects = Vec::new();
        self.coordinator.step(now, event, &mut effects);
        for effect in effects {
            match effect {
                CoordinatorEffect::Send { to, reply } => self.wire.push_back(Message::Down(to, reply)),
                CoordinatorEffect::Observed(GroupEvent::Completed { .. }) => self.completed += 1,
                CoordinatorEffect::Observed(_) => {}
            }
        }
    }

    fn deliver_all(&mut self, now: Time) {
        while let Some(message) = self.wire.pop_front() {
            match message {
                Message::Up(request) => self.coordinator(now, CoordinatorEvent::Received(request)),
                Message::Down(to, reply) => self.member(now, &to, MemberEvent::Received(reply)),
            }
        }
    }
}

/// Completes at least `rebalances` generations of a group of this size under a built-in strategy, as fast as it can,
/// and says how many they were. Every message is sent, every view made and every plan computed.
#[must_use]
pub fn rebalances(strategy: &str, members: usize, tasks: usize, rebalances: u64) -> u64 {
    let Ok(strategy) = assignor::parse(strategy) else { return 0 };
    let config = GroupConfig { initial_members: members, ..GroupConfig::tight() };
    let task = |n| Task { id: format!("T{n}").into(), stateful: true, state_size: 1 };
    let tasks = (1..=tasks).map(task).collect();
    let mut bench = Bench {
        coordinator: Coordinator::new(config.clone(), tasks, Incarnation(1)),
        members: BTreeMap::new(),
        wire: VecDeque::new(),
        completed: 0,
    };
    for n in 1..=members {
        let id = MemberId::from(format!("S{n}"));
        let member = MemberConfig {
            id: id.clone(),
            instance: format!("I{n}").into(),
            static_id: None,
            capacity: 1,
            start: 0,
        };
        bench.members.insert(id.clone(), Member::new(member, strategy.clone(), &config));
        bench.member(Time::ZERO, &id, MemberEvent::Start);
    }
    bench.deliver_all(Time::ZERO);
    while bench.completed < rebalances {
        let before = bench.completed;
        bench.coordinator.rebalance(Cause::Probing);
        bench.coordinator(Time::ZERO, CoordinatorEvent::Tick);
        bench.deliver_all(Time::ZERO);
        if bench.completed == before {
            break;
        }
    }
    bench.completed
}
