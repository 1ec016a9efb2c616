//! Copies in memory: what is moved, crashes or is started again is replayed from the changelog, and nothing is lost or
//! doubled.

use std::time::Duration;

use engine::cluster::Farewell;
use engine::config::{EngineConfig, StoreKind};
use engine::event::{Event, TaskEvent};

use crate::harness::{Bed, Setup};

fn in_memory(strategy: &'static str) -> Setup {
    let engine = EngineConfig { store: StoreKind::Memory, ..EngineConfig::default() };
    Setup { engine, session: Duration::from_secs(1), ..Setup::of(strategy) }
}

fn restored(bed: &Bed) -> u64 {
    let events = bed.recording.events();
    let records = events.iter().filter_map(|(_, event)| match event {
        Event::Task(_, TaskEvent::Restored { records, .. }) => Some(*records),
        _ => None,
    });
    records.sum()
}

fn survives_whatever_comes(strategy: &'static str) {
    let bed = in_memory(strategy).start();
    bed.begin();
    bed.settled(3);
    let newcomer = bed.start_instance();
    bed.settled(4);
    bed.cluster.crash(&"I1".into()).unwrap();
    bed.settled(3);
    bed.cluster.leave(&newcomer.members[0]).unwrap();
    bed.settled(2);
    assert!(!bed.cluster.state_dir(&"I2".into()).exists(), "nothing of it is on disk");
    bed.audit();
}

#[test]
fn under_learner() {
    survives_whatever_comes("learner");
}

#[test]
fn under_eager() {
    survives_whatever_comes("eager");
}

#[test]
fn under_cooperative_with_standbys() {
    survives_whatever_comes("cooperative(standbys=1)");
}

/// An instance that was down has nothing left: its tasks' whole changelogs are replayed.
#[test]
fn a_restart_replays_everything() {
    let bed = Setup { instances: 1, ..in_memory("eager") }.start();
    bed.begin();
    bed.settled(1);
    let (before, from) = (restored(&bed), bed.recording.events().len());
    bed.cluster.restart(&"I1".into(), Farewell::Leave, Duration::ZERO).unwrap();
    bed.polled_since(&bed.tasks, from);
    let preloaded = 4 * 2_000 * 2;
    assert!(restored(&bed) - before >= preloaded, "{} records replayed", restored(&bed) - before);
    bed.audit();
}
