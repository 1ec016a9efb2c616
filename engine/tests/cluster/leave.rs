//! Scaling up and down without a crash: nothing is lost, and under `learner` nobody restores while a task stands still.

use engine::event::{Event, TaskEvent};

use crate::harness::{Bed, Setup};

fn scale_up_and_down(strategy: &'static str) -> Bed {
    let bed = Setup { tasks: 5, keys: 20_000, ..Setup::of(strategy) }.start();
    bed.settled(3);
    bed.begin();
    bed.start_instance();
    bed.settled(4);
    let (second, _) = bed.cluster.members().remove(1);
    bed.cluster.leave(&second).unwrap();
    bed.settled(3);
    bed
}

#[test]
fn eager_scales_up_and_down() {
    scale_up_and_down("eager").audit();
}

#[test]
fn learner_scales_up_and_down() {
    for options in [
        "learner",
        "learner(revocation=being-learned)",
        "learner(revocation=two-phase)",
        "learner(promotion=all)",
    ] {
        let bed = scale_up_and_down(options);
        // After the first placement a task is only ever taken over by a copy that had learned it.
        let late = bed.recording.events().into_iter().filter_map(|(_, event)| match event {
            Event::Task(task, TaskEvent::Fenced { lag, member, .. }) => Some((task, member, lag)),
            _ => None,
        });
        for (task, member, lag) in late.skip(bed.tasks.len()) {
            assert!(lag <= 1_000, "{options}: {member} took {task} over with {lag} records to replay");
        }
        bed.audit();
    }
}

#[test]
fn cooperative_scales_up_and_down() {
    scale_up_and_down("cooperative").audit();
}
