//! The engine's events as the results' own, so that neither knows the other.

use assignor::{MemberId, TaskId};
use engine::event::{Cause, Event, GroupEvent, Stop, TaskEvent};
use results::event::{Cause as ResultCause, Stop as ResultStop, What};

/// One event of the engine as results name it; `None` for one that they don't tell.
pub(super) fn what(event: Event) -> Option<What> {
    match event {
        Event::Group(event) => group(event),
        Event::Task(task, event) => Some(of_task(task.to_string(), event)),
    }
}

fn group(event: GroupEvent) -> Option<What> {
    Some(match event {
        GroupEvent::RebalanceStarted { generation, cause: why } => {
            What::RebalanceStarted { generation: generation.0, cause: cause(why) }
        }
        GroupEvent::Joined { member, generation } => {
            What::Joined { member: member.to_string(), generation: generation.0 }
        }
        GroupEvent::BarrierReached { generation } => What::BarrierReached { generation: generation.0 },
        GroupEvent::Completed { generation, causes, balanced, active, standby } => {
            What::GenerationCompleted {
                generation: generation.0,
                causes: causes.into_iter().map(cause).collect(),
                balanced,
                active: by_member(active),
                standby: by_member(standby),
            }
        }
        GroupEvent::MemberGone { member, cause: why } => {
            What::MemberGone { member: member.to_string(), cause: cause(why) }
        }
        // Each task's `TaskAssigned` says when its owner heard.
        GroupEvent::Stable { .. } => return None,
    })
}

fn by_member(tasks: Vec<(MemberId, Vec<TaskId>)>) -> Vec<(String, Vec<String>)> {
    let names = |tasks: Vec<TaskId>| tasks.iter().map(ToString::to_string).collect();
    tasks.into_iter().map(|(member, tasks)| (member.to_string(), names(tasks))).collect()
}

fn of_task(task: String, event: TaskEvent) -> What {
    match event {
        TaskEvent::Stopped { member, why } => {
            What::TaskStopped { task, member: member.to_string(), why: stop(why) }
        }
        TaskEvent::Assigned { member, generation } => {
            What::TaskAssigned { task, member: member.to_string(), generation: generation.0 }
        }
        TaskEvent::Fenced { member, epoch, lag } => {
            What::TaskFenced { task, member: member.to_string(), epoch: epoch.0, lag }
        }
        TaskEvent::Restored { member, records, bytes } => {
            What::RestoreFinished { task, member: member.to_string(), records, bytes }
        }
        TaskEvent::Polled { member, epoch } => {
            What::TaskPolled { task, member: member.to_string(), epoch: epoch.0 }
        }
        TaskEvent::LearnerStarted { member, lag } => {
            What::LearnerStarted { task, member: member.to_string(), lag }
        }
        TaskEvent::LearnerReady { member, lag } => {
            What::LearnerReady { task, member: member.to_string(), lag }
        }
        TaskEvent::LearnerDropped { member, records, bytes } => {
            What::LearnerDropped { task, member: member.to_string(), records, bytes }
        }
        TaskEvent::StandbyStarted { member } => What::StandbyStarted { task, member: member.to_string() },
        TaskEvent::StandbyEnded { member } => What::StandbyEnded { task, member: member.to_string() },
        TaskEvent::Replayed { instance, records, bytes, work } => What::Replayed {
            task,
            instance: instance.to_string(),
            records,
            bytes,
            work_us: u64::try_from(work.as_micros()).unwrap_or(u64::MAX),
        },
        TaskEvent::Compacted { bytes_before, bytes_after } => {
            What::LogCompacted { task, bytes_before, bytes_after }
        }
        TaskEvent::Discarded { instance, bytes } => {
            What::StoreDiscarded { task, instance: instance.to_string(), bytes }
        }
        TaskEvent::AppendRefused { member, epoch } => {
            What::AppendRefused { task, member: member.to_string(), epoch: epoch.0 }
        }
    }
}

fn cause(cause: Cause) -> ResultCause {
    match cause {
        Cause::Join => ResultCause::Join,
        Cause::Leave => ResultCause::Leave,
        Cause::Crash => ResultCause::Crash,
        Cause::LearnerReady => ResultCause::LearnerReady,
        Cause::Leaving => ResultCause::Leaving,
        Cause::FollowUp => ResultCause::FollowUp,
        Cause::Probing => ResultCause::Probing,
        Cause::Timeout => ResultCause::Timeout,
    }
}

fn stop(stop: Stop) -> ResultStop {
    match stop {
        Stop::GivenUp => ResultStop::GivenUp,
        Stop::Left => ResultStop::Left,
        Stop::Crashed => ResultStop::Crashed,
        Stop::Stalled => ResultStop::Stalled,
        Stop::Fenced => ResultStop::Fenced,
    }
}
