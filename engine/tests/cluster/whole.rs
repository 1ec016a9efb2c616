//! A whole cluster in the directory of an earlier one: its coordinator comes after the earlier one's, its instances go on
//! from what they find, and nothing is lost or doubled.

use engine::cluster::Membership;
use engine::event::{Event, TaskEvent};
use engine::position::Incarnation;

use crate::harness::{Bed, Setup};

/// Records replayed by restores of active tasks, and copies thrown away.
fn replayed(bed: &Bed) -> (u64, usize) {
    let events = bed.recording.events();
    let restored = events.iter().filter_map(|(_, event)| match event {
        Event::Task(_, TaskEvent::Restored { records, .. }) => Some(*records),
        _ => None,
    });
    let discarded =
        events.iter().filter(|(_, event)| matches!(event, Event::Task(_, TaskEvent::Discarded { .. })));
    (restored.sum(), discarded.count())
}

fn reuses_everything(strategy: &'static str, membership: Membership) {
    let mut bed = Setup { tasks: 6, membership, ..Setup::of(strategy) }.start();
    bed.begin();
    bed.settled(3);
    for life in 2..=4 {
        bed = bed.opened_again();
        bed.settled(3);
        // What was being served when it stopped was flushed and closed: nothing but its own fences is left to read.
        let (records, discarded) = replayed(&bed);
        assert_eq!(discarded, 0, "{strategy}, life {life}: copies thrown away");
        assert!(records < 100, "{strategy}, life {life}: {records} records replayed");
        for task in &bed.tasks {
            let claim = bed.cluster.logs().log(task).unwrap().claim().unwrap();
            assert_eq!(claim.incarnation, Incarnation(life), "{strategy}: {task}");
        }
    }
    bed.audit();
}

#[test]
fn learner_goes_on_in_an_earlier_clusters_directory() {
    reuses_everything("learner", Membership::Dynamic);
}

#[test]
fn eager_goes_on_in_an_earlier_clusters_directory() {
    reuses_everything("eager", Membership::Dynamic);
}

#[test]
fn static_members_go_on_in_an_earlier_clusters_directory() {
    reuses_everything("high-availability", Membership::Static);
}
