//! Changelogs are compacted in the background while members come, go and crash, and copies are restored from them.

use std::collections::BTreeSet;
use std::time::Duration;

use assignor::TaskId;
use engine::config::{CompactionOptions, EngineConfig};
use engine::event::{Event, TaskEvent};
use engine::log::LogOptions;

use crate::harness::{Bed, Setup};

/// Small segments and an impatient compactor: every log is compacted again and again.
fn engine() -> EngineConfig {
    EngineConfig {
        log: LogOptions { segment_bytes: 64 << 10, fsync: false },
        compaction: Some(CompactionOptions {
            interval: Duration::from_millis(5),
            dirty_percent: 10,
            ..CompactionOptions::default()
        }),
        ..EngineConfig::default()
    }
}

/// Waits until every task's changelog has been compacted, to less than it was, since the event with this number.
fn all_compacted_since(bed: &Bed, from: usize) {
    bed.recording.wait("every changelog to be compacted", &bed.clock, |events| {
        let smaller = events[from..].iter().filter_map(|(_, event)| match event {
            Event::Task(task, TaskEvent::Compacted { bytes_before, bytes_after })
                if bytes_after < bytes_before =>
            {
                Some(task.clone())
            }
            _ => None,
        });
        smaller.collect::<BTreeSet<TaskId>>().len() == bed.tasks.len()
    });
}

fn survives(strategy: &'static str) {
    let session = Duration::from_millis(1_000);
    let bed = Setup { keys: 500, session, engine: engine(), ..Setup::of(strategy) }.start();
    bed.begin();
    bed.settled(3);
    all_compacted_since(&bed, 0);

    let events = || bed.recording.events().len();
    let (before, joiner) = (events(), bed.start_instance());
    bed.settled(4);
    all_compacted_since(&bed, before);
    let before = events();
    bed.cluster.crash(&"I1".into()).unwrap();
    bed.settled(3);
    all_compacted_since(&bed, before);
    bed.cluster.leave(&joiner.members[0]).unwrap();
    bed.settled(2);
    bed.audit();
}

#[test]
fn learner_comes_and_goes_while_changelogs_are_compacted() {
    survives("learner(standbys=1)");
}

#[test]
fn eager_comes_and_goes_while_changelogs_are_compacted() {
    survives("eager");
}
