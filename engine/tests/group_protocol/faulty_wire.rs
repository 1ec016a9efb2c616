//! Lost, doubled and late messages do no harm.

use std::cell::RefCell;
use std::rc::Rc;

use engine::config::GroupConfig;
use engine::group::message::{Answer, Ask, MemberEvent};

use crate::group::{Group, Message, millis, prompt, secs};

fn start(group: &mut Group) {
    for id in ["S1", "S2", "S3"] {
        group.start(id);
    }
    group.pass(secs(1));
}

fn group(strategy: &str) -> Group {
    Group::of(GroupConfig { initial_members: 3, ..prompt() }, strategy, 6)
}

/// Each kind of message is lost the first two times it is sent: the group forms all the same, a few heartbeats later.
#[test]
fn any_message_may_be_lost() {
    type Kind = fn(&Message) -> bool;
    let kinds: [(&str, Kind); 6] = [
        ("join", |m| matches!(m, Message::Up(r) if matches!(r.body, Ask::Join(_)))),
        ("sync", |m| matches!(m, Message::Up(r) if matches!(r.body, Ask::Sync { .. }))),
        ("leave", |m| matches!(m, Message::Up(r) if matches!(r.body, Ask::Leave { .. }))),
        ("joined", |m| matches!(m, Message::Down(_, r) if matches!(r.body, Answer::Joined { .. }))),
        ("assigned", |m| matches!(m, Message::Down(_, r) if matches!(r.body, Answer::Assigned { .. }))),
        ("rejoin", |m| matches!(m, Message::Down(_, r) if matches!(r.body, Answer::Rejoin { .. }))),
    ];
    for (name, kind) in kinds {
        let mut group = group("eager");
        let mut left = 6;
        group.rule = Some(Box::new(move |message| {
            let is_lost = kind(message) && left > 0;
            left -= usize::from(is_lost);
            usize::from(!is_lost)
        }));
        start(&mut group);
        group.start("S4");
        group.pass(secs(1));
        group.event("S2", MemberEvent::Leave);
        group.pass(secs(1));
        assert!(!group.take_log().contains("crash"), "{name}: nobody was silent");
        assert_eq!(group.coordinator.members().count(), 3, "{name}");
        group.assert_each_task_runs_once();
    }
}

/// Every message is delivered twice: nothing happens twice.
#[test]
fn every_message_may_be_doubled() {
    for strategy in ["eager", "learner", "learner(revocation=two-phase)"] {
        let (mut once, mut twice) = (group(strategy), group(strategy));
        twice.rule = Some(Box::new(|_| 2));
        for group in [&mut once, &mut twice] {
            start(group);
            group.start("S4");
            group.pass(millis(500));
            let learning: Vec<_> = group.seat("S4").learning.iter().cloned().collect();
            for task in learning {
                group.lag("S4", task.as_str(), 0);
            }
            group.pass(millis(500));
            group.event("S2", MemberEvent::Leave);
            group.pass(secs(30));
            group.assert_each_task_runs_once();
        }
        assert_eq!(once.take_log(), twice.take_log(), "{strategy}");
    }
}

/// Every message that was ever sent arrives once more, much later and in the wrong order.
#[test]
fn old_messages_are_recognised() {
    for strategy in ["eager", "learner"] {
        let mut group = group(strategy);
        let sent = Rc::new(RefCell::new(Vec::new()));
        let keeps = sent.clone();
        group.rule = Some(Box::new(move |message| {
            keeps.borrow_mut().push(message.clone());
            1
        }));
        start(&mut group);
        group.start("S4");
        group.pass(secs(1));
        group.event("S4", MemberEvent::Leave);
        group.pass(secs(30));
        group.crash("S3");
        group.pass(secs(5));
        let before = group.running();
        group.take_log();
        let old: Vec<_> = sent.borrow_mut().drain(..).rev().collect();
        for message in old {
            group.deliver(message);
        }
        group.pass(secs(5));
        group.expect("");
        assert_eq!(group.running(), before);
        group.assert_each_task_runs_once();
    }
}
