//! Every strategy with standbys and two workers an instance: members come, go and crash, and nothing is lost.

use std::time::Duration;

use engine::event::{Cause, Event, GroupEvent};

use crate::harness::Setup;

fn comes_goes_and_crashes(strategy: &'static str) {
    let session = Duration::from_millis(1_000);
    let bed = Setup { tasks: 8, instances: 2, workers: 2, session, ..Setup::of(strategy) }.start();
    bed.settled(4);
    bed.begin();
    bed.start_instance();
    bed.settled(6);
    let (first, _) = bed.cluster.members().remove(0);
    bed.cluster.leave(&first).unwrap();
    bed.settled(5);
    let (_, instance) = bed.cluster.members().remove(2);
    bed.cluster.crash(&instance).unwrap();
    bed.recording.wait("both sessions to expire", &bed.clock, |events| {
        let crash =
            |event: &Event| matches!(event, Event::Group(GroupEvent::MemberGone { cause: Cause::Crash, .. }));
        events.iter().filter(|(_, event)| crash(event)).count() >= 2
    });
    bed.settled(3);
    bed.audit();
}

#[test]
fn learner_with_standbys() {
    comes_goes_and_crashes("learner(standbys=1)");
}

#[test]
fn eager_with_standbys() {
    comes_goes_and_crashes("eager(standbys=1)");
}

#[test]
fn cooperative_with_standbys() {
    comes_goes_and_crashes("cooperative(standbys=1)");
}

#[test]
fn high_availability_with_standbys() {
    comes_goes_and_crashes("high-availability(standbys=1,probing_interval=300ms)");
}
