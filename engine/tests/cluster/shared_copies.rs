//! Workers of one instance share its copies: a successor in the same instance waits until the one before it has let go.

use std::time::Duration;

use engine::event::{Cause, Event, GroupEvent, TaskEvent};

use crate::harness::{Bed, Setup};

const SESSION: Duration = Duration::from_millis(1_000);

fn one_instance() -> Bed {
    let bed = Setup { instances: 1, workers: 2, session: SESSION, ..Setup::of("learner") }.start();
    bed.settled(2);
    bed.begin();
    bed
}

fn wait_until_out(bed: &Bed) {
    bed.recording.wait("a session to expire", &bed.clock, |events| {
        let out =
            |event: &Event| matches!(event, Event::Group(GroupEvent::MemberGone { cause: Cause::Crash, .. }));
        events.iter().any(|(_, event)| out(event))
    });
}

/// The one who stalls past its session still has its copies open when the other takes its tasks over.
#[test]
fn a_zombie_in_the_same_instance() {
    let bed = one_instance();
    let (first, _) = bed.cluster.members().remove(0);
    bed.cluster.stall(&first, Duration::from_millis(2_500)).unwrap();
    wait_until_out(&bed);
    bed.recording.wait("a refused append", &bed.clock, |events| {
        events.iter().any(|(_, event)| matches!(event, Event::Task(_, TaskEvent::AppendRefused { .. })))
    });
    bed.settled(2);
    bed.audit();
}

/// The one that crashes takes what it had not flushed with it.
#[test]
fn a_crash_in_the_same_instance() {
    let bed = one_instance();
    let (first, _) = bed.cluster.members().remove(0);
    bed.cluster.crash_member(&first).unwrap();
    wait_until_out(&bed);
    bed.settled(1);
    bed.audit();
}
