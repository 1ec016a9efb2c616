//! Metrics of where the tasks are: moves, time to balance, imbalance.

use std::collections::{BTreeMap, BTreeSet};

use super::RunInput;
use crate::event::{Action, What};
use crate::pause::Pause;

/// The tasks that changed owner from time 0 on, once per change, in the order of the changes. An owner is who a
/// completed generation gives the task to; a generation that gives it to nobody leaves its last owner in mind.
pub(super) fn moves<'a>(input: &RunInput<'a>) -> Vec<&'a str> {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    let mut moved = Vec::new();
    for event in input.events {
        let What::GenerationCompleted { active, .. } = &event.what else { continue };
        for (member, tasks) in active {
            for task in tasks {
                let before = owners.insert(task, member);
                if event.at_us >= 0 && before.is_some_and(|before| before != member) {
                    moved.push(task.as_str());
                }
            }
        }
    }
    moved
}

/// From a scripted event to the first moment at which the newest generation reflects the event, is balanced and
/// quiet by its plan's own verdict, and no task is paused. `None` if the run ended before.
///
/// A generation reflects a start when all new members are in it, and a leave or a crash when the members in question
/// have no active task in it, a restart when all members are in it who are then there. A stall, and a restart of static
/// members, the group may never notice: they are over when what those members had at the event has stopped and runs
/// again, wherever that is.
pub(super) fn time_to_balance_us(
    input: &RunInput<'_>,
    pauses: &[Pause],
    event_us: i64,
    action: Action,
    members: &[String],
) -> Option<u64> {
    // The newest generation at the event (a stall that nobody notices), then each that completes after it.
    let generations: Vec<(i64, bool)> = input
        .events
        .iter()
        .filter_map(|event| match &event.what {
            What::GenerationCompleted { active, balanced, .. } => {
                Some((event.at_us, *balanced && reflects(active, action, members)))
            }
            _ => None,
        })
        .collect();
    let at_event = generations.partition_point(|&(at_us, _)| at_us < event_us);
    let event_or_return_us = match action {
        Action::Restart | Action::Stall => return_us(input, pauses, event_us, members)?,
        _ => event_us,
    };
    for (index, &(at_us, good)) in generations.iter().enumerate().skip(at_event.saturating_sub(1)) {
        let until_us = generations.get(index + 1).map_or(input.end_us, |next| next.0);
        if good && let Some(quiet_us) = first_unpaused_us(pauses, at_us.max(event_or_return_us), until_us) {
            return Some(quiet_us.abs_diff(event_us));
        }
    }
    None
}

/// When everything that these members had at the event runs again, after its first pause that was not over then. `None`
/// if something does not.
fn return_us(input: &RunInput<'_>, pauses: &[Pause], event_us: i64, members: &[String]) -> Option<i64> {
    let newest = input.events.iter().rev().find_map(|event| match &event.what {
        What::GenerationCompleted { active, .. } if event.at_us < event_us => Some(active),
        _ => None,
    });
    let of_members = newest.into_iter().flatten().filter(|(member, _)| members.contains(member));
    let mut back_us = event_us;
    for task in of_members.flat_map(|(_, tasks)| tasks) {
        match pauses.iter().find(|pause| pause.task == *task && pause.end_us > event_us) {
            Some(pause) if pause.censored => return None,
            Some(pause) => back_us = back_us.max(pause.end_us),
            // It has not stopped: the run was over before it could.
            None => {}
        }
    }
    Some(back_us)
}

fn reflects(active: &[(String, Vec<String>)], action: Action, members: &[String]) -> bool {
    let tasks_of = |member: &String| active.iter().find(|(name, _)| name == member).map(|(_, tasks)| tasks);
    match action {
        Action::Start | Action::Restart => members.iter().all(|member| tasks_of(member).is_some()),
        Action::Leave | Action::Crash => {
            members.iter().all(|member| tasks_of(member).is_none_or(Vec::is_empty))
        }
        Action::Stall => true,
    }
}

/// The first moment from `from_us` to `until_us` at which no pause is open. Pauses are sorted by their starts.
fn first_unpaused_us(pauses: &[Pause], from_us: i64, until_us: i64) -> Option<i64> {
    let mut at_us = from_us;
    for pause in pauses {
        if pause.start_us > at_us {
            break;
        }
        if pause.end_us > at_us || (pause.censored && pause.end_us >= at_us) {
            if pause.censored {
                return None;
            }
            at_us = pause.end_us;
        }
    }
    (at_us <= until_us).then_some(at_us)
}

/// Integral over [0, duration) of the difference between the highest and the lowest number of active tasks, over
/// members that are up and staying, in task-microseconds.
///
/// A started member counts from its start with nothing, because it is there and idle; one that was asked to leave or
/// was crashed counts no longer.
pub(super) fn imbalance_task_us(input: &RunInput<'_>) -> u64 {
    let mut loads: BTreeMap<&str, u64> = BTreeMap::new();
    let mut gone: BTreeSet<&str> = BTreeSet::new();
    let (mut total, mut since_us) = (0, 0);
    for event in input.events {
        let at_us = event.at_us.clamp(0, input.duration_us);
        total += at_us.abs_diff(since_us) * spread(&loads);
        since_us = at_us;
        match &event.what {
            What::Scripted { action: Action::Start | Action::Restart, members } => {
                for member in members {
                    gone.remove(member.as_str());
                    loads.entry(member).or_default();
                }
            }
            What::Scripted { action: Action::Leave | Action::Crash, members } => {
                gone.extend(members.iter().map(String::as_str));
            }
            What::GenerationCompleted { active, .. } => {
                // A started member that has not joined yet stays in view.
                loads.values_mut().for_each(|load| *load = 0);
                for (member, tasks) in active {
                    loads.insert(member, tasks.len() as u64);
                }
            }
            What::MemberGone { member, .. } => {
                loads.remove(member.as_str());
            }
            _ => continue,
        }
        loads.retain(|member, _| !gone.contains(member));
    }
    total + input.duration_us.abs_diff(since_us) * spread(&loads)
}

fn spread(loads: &BTreeMap<&str, u64>) -> u64 {
    match (loads.values().max(), loads.values().min()) {
        (Some(highest), Some(lowest)) => highest - lowest,
        _ => 0,
    }
}
