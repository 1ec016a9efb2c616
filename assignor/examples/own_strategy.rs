//! A strategy of one's own, through the same seam as the built-in ones: named, with an option, checked, forecast.
//!
//! `pinned` never moves a task from a living owner; a lost one goes to the member with the fewest tasks. It shows what
//! standing still costs in balance: `cargo run --release -p assignor --example own_strategy`.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use assignor::settle::{Event, settle};
use assignor::{
    Assignment, Conduct, Definition, FollowUp, GroupView, Leave, MemberId, MemberView, OptionDefinition,
    Plan, Promotion, Range, Registry, Resume, Revocation, Strategy, Task, TaskId, ViewError, validate,
};

#[derive(Debug)]
struct Pinned {
    /// Tasks that a member may have; a lost task that finds everybody full goes to the emptiest all the same.
    most: u64,
}

static OPTIONS: [OptionDefinition; 1] = [OptionDefinition {
    name: "most",
    meaning: "tasks that a member should have at most",
    default: "100",
    range: Range::Number { min: 1, max: 1_000_000 },
}];

const PINNED: Definition = Definition {
    name: "pinned",
    meaning: "a task stays where it is for as long as its owner lives",
    options: &OPTIONS,
    build: |settings| Arc::new(Pinned { most: settings.number("most").unwrap_or(100) }),
};

impl Strategy for Pinned {
    fn name(&self) -> String {
        format!("pinned(most={})", self.most)
    }

    fn conduct(&self) -> Conduct {
        Conduct {
            revocation: Revocation::OnRequest,
            promotion: Promotion::Each,
            leave: Leave::AtOnce,
            resume: Resume::EachTask,
            acceptable_lag: 0,
        }
    }

    fn plan(&self, view: &GroupView) -> Result<Plan, ViewError> {
        let mut members: BTreeMap<MemberId, Assignment> = BTreeMap::new();
        let mut owned: BTreeMap<TaskId, MemberId> = BTreeMap::new();
        for member in &view.members {
            let told = members.entry(member.id.clone()).or_default();
            for task in member.active.iter().chain(&member.revoked) {
                told.active.push(task.clone());
                owned.insert(task.clone(), member.id.clone());
            }
        }
        let mut lost: Vec<&Task> = view.tasks.iter().filter(|task| !owned.contains_key(&task.id)).collect();
        lost.sort_by(|a, b| a.id.cmp(&b.id));
        for task in lost {
            let room = |told: &Assignment| (told.active.len() as u64 >= self.most, told.active.len());
            if let Some((_, told)) = members.iter_mut().min_by_key(|(id, told)| (room(told), (*id).clone())) {
                told.active.push(task.id.clone());
            }
        }
        members.values_mut().for_each(|told| told.active.sort());
        let balanced = members.values().all(|told| told.active.len() as u64 <= self.most);
        Ok(Plan { members, moves: Vec::new(), follow_up: FollowUp::None, balanced })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut registry = Registry::built_in();
    registry.add(PINNED);

    let tasks: Vec<Task> =
        (1..=12).map(|n| Task { id: format!("T{n}").into(), stateful: true, state_size: 10 }).collect();
    let mut view = GroupView { tasks, ..GroupView::default() };
    view.members = (1..=3).map(|n| MemberView::new(format!("S{n}"), format!("I{n}"))).collect();
    for (place, task) in view.tasks.iter().enumerate() {
        view.members[place % 3].active.push(task.id.clone());
    }

    let joins = [Event::Join { member: "S4".into(), instance: "I4".into(), capacity: 1 }];
    println!("12 tasks on 3 members; S4 joins");
    for text in ["pinned(most=5)", "learner", "cooperative", "high-availability"] {
        let strategy = registry.parse(text)?;
        validate(&view, &strategy.plan(&view)?)?;
        let forecast = settle(&view, &joins, &*strategy)?;
        let loads = |plan: &Plan| plan.members.values().map(|told| told.active.len()).collect::<Vec<_>>();
        println!(
            "{:<20} {} moves, {} rebalances, {} restored, then {:?} tasks each",
            forecast.strategy,
            forecast.moves,
            forecast.rebalances(),
            forecast.restored,
            forecast.rounds.last().map(|round| loads(&round.plan)).unwrap_or_default()
        );
    }
    Ok(())
}
