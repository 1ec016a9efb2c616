//! A task whose owner dies before, in or after any step of any turn ends with every record applied exactly once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use assignor::TaskId;
use engine::audit::{audit, audit_outputs, audit_state};
use engine::clock::Time;
use engine::config::ProcessorKind;
use engine::log::{FileLogs, LogDirectory, LogOptions, MemLogs};
use engine::position::{Claim, Generation};
use engine::preload::preload;
use engine::restore::{Replay, ReplayOptions};
use engine::source::{KeyDistribution, Sources, SyntheticLoad, SyntheticSources};
use engine::store::{MemStores, RocksOptions, RocksStores, StoreDirectory};
use engine::task::processor::WindowOptions;
use engine::task::{ActiveTask, Breaker, NeverBreaks, Parts, Step, TurnError, When, Why, open_copy, resume};

const SECOND: u64 = 1_000_000_000;

/// Breaks at one place, the `nth` time the task comes by.
#[derive(Debug)]
struct BreaksAt {
    step: Step,
    when: When,
    left: AtomicU32,
}

impl BreaksAt {
    fn new(step: Step, when: When, nth: u32) -> Self {
        Self { step, when, left: AtomicU32::new(nth) }
    }
}

impl Breaker for BreaksAt {
    fn breaks(&self, _: &TaskId, step: Step, when: When) -> bool {
        (step, when) == (self.step, self.when) && self.left.fetch_sub(1, Ordering::Relaxed) == 0
    }
}

fn task() -> TaskId {
    TaskId::from("T1")
}

fn sources(updates_per_key: u64) -> SyntheticSources {
    let sources = SyntheticSources::new(&SyntheticLoad {
        seed: 11,
        tasks: vec![(task(), 1.0)],
        stateless: Vec::new(),
        rate: 1_000.0,
        keys: 50,
        distribution: KeyDistribution::Zipf(0.99),
        record_bytes: 10,
        updates_per_key,
    });
    sources.begin(Time::ZERO);
    sources.end(Time(SECOND));
    sources
}

const COUNT: ProcessorKind = ProcessorKind::Count { value_bytes: 24 };

/// Takes the task over in a new generation, from whatever copy the directory holds.
fn take_over(
    logs: &dyn LogDirectory,
    stores: &dyn StoreDirectory,
    sources: &dyn Sources,
    generation: u64,
) -> ActiveTask {
    take_over_as(COUNT, logs, stores, sources, generation)
}

fn take_over_as(
    kind: ProcessorKind,
    logs: &dyn LogDirectory,
    stores: &dyn StoreDirectory,
    sources: &dyn Sources,
    generation: u64,
) -> ActiveTask {
    let log = logs.log(&task()).unwrap();
    let claim = Claim { generation: Generation(generation), ..Claim::default() };
    let fenced = log.fence(claim).unwrap();
    let opened = open_copy(stores, &*log, &task()).unwrap();
    assert!(opened.discarded.is_none(), "{:?}", opened.discarded);
    let processor = kind.make();
    let copy = Replay::new(log, opened.store, ReplayOptions::default());
    resume(Parts { task: task(), copy, processor }, fenced, sources).unwrap()
}

/// Runs turns of 7 records until nothing is due, or until the breaker strikes.
fn run(active: &mut ActiveTask, breaker: &dyn Breaker) -> bool {
    loop {
        match active.turn(Time(SECOND), 7, breaker) {
            Ok(turn) if turn.records == 0 => return true,
            Ok(_) => {}
            Err(TurnError::Broken { .. }) => return false,
            Err(other) => panic!("{other}"),
        }
    }
}

/// Crashes at each place in turn, on one log and one state directory; then finishes and audits.
fn crash_everywhere(
    kind: ProcessorKind,
    logs: &dyn LogDirectory,
    stores: &dyn StoreDirectory,
    updates_per_key: u64,
) {
    let sources = sources(updates_per_key);
    preload(&task(), &*logs.log(&task()).unwrap(), &sources, &mut *kind.make(), &mut |_| true).unwrap();
    let mut generation = 0;
    let places = Step::ALL.into_iter().flat_map(|step| When::ALL.map(|when| (step, when)));
    for (step, when) in places {
        for nth in [0, 3] {
            generation += 1;
            let mut active = take_over_as(kind, logs, stores, &sources, generation);
            let breaker = BreaksAt::new(step, when, nth);
            assert!(!run(&mut active, &breaker), "{when:?} {step:?} was not reached");
            // Every third owner gets to close its store first: its successor replays next to nothing.
            if generation.is_multiple_of(3) {
                active.into_store().close().unwrap();
            }
        }
    }
    let mut active = take_over_as(kind, logs, stores, &sources, generation + 1);
    assert!(run(&mut active, &NeverBreaks));
    let store = active.into_store();
    let audit = match kind {
        ProcessorKind::Map => audit_outputs(&task(), &sources, &*logs.log(&task()).unwrap()),
        kind => audit_state(kind, &task(), &sources, &*store),
    };
    let audit = audit.unwrap();
    assert!(audit.passed(), "{kind:?}: {audit:?}");
    assert_eq!(audit.expected, sources.due(&task(), Time::NEVER));
}

#[test]
fn in_files_and_rocksdb_every_record_is_applied_exactly_once() {
    let folder = tempfile::tempdir().unwrap();
    let logs = FileLogs::new(&folder.path().join("logs"), LogOptions { segment_bytes: 2_000, fsync: false });
    let stores = RocksStores::new(&folder.path().join("state"), &RocksOptions::default()).unwrap();
    crash_everywhere(COUNT, &logs, &stores, 2);
}

#[test]
fn in_memory_every_record_is_applied_exactly_once() {
    crash_everywhere(COUNT, &MemLogs::default(), &MemStores::default(), 0);
}

/// What these keep depends on the order of records, so that a record that is lost, doubled or out of its place shows.
#[test]
fn windows_joins_and_maps_come_out_the_same_however_often_they_crash() {
    let ms = Duration::from_millis;
    // Windows that close under way, and events that come out of order, some of them late.
    let options = WindowOptions { size: ms(50), kept: 3, disorder: ms(200) };
    for kind in [
        ProcessorKind::Window { options, value_bytes: 24 },
        ProcessorKind::Join { table_every: 4, value_bytes: 24 },
    ] {
        crash_everywhere(kind, &MemLogs::default(), &MemStores::default(), 2);
    }
    crash_everywhere(ProcessorKind::Map, &MemLogs::default(), &MemStores::default(), 0);
}

#[test]
fn logs_reopened_after_each_crash_lose_nothing_either() {
    let folder = tempfile::tempdir().unwrap();
    let stores = MemStores::default();
    let sources = sources(0);
    let options = LogOptions { segment_bytes: 1_500, fsync: true };
    let mut generation = 0;
    for when in When::ALL {
        for nth in 0..4 {
            generation += 1;
            let logs = FileLogs::new(folder.path(), options);
            let mut active = take_over(&logs, &stores, &sources, generation);
            assert!(!run(&mut active, &BreaksAt::new(Step::Append, when, nth)));
        }
    }
    let mut active = take_over(&FileLogs::new(folder.path(), options), &stores, &sources, generation + 1);
    assert!(run(&mut active, &NeverBreaks));
    assert!(audit(&task(), &sources, &*active.into_store()).unwrap().passed());
}

#[test]
fn a_fenced_owner_stops_having_changed_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let files = FileLogs::new(folder.path(), LogOptions::default());
    for logs in [&files as &dyn LogDirectory, &MemLogs::default()] {
        let (stores, other) = (MemStores::default(), MemStores::default());
        let sources = sources(0);
        let mut zombie = take_over(logs, &stores, &sources, 1);
        zombie.turn(Time(SECOND / 2), 100, &NeverBreaks).unwrap();
        let mut heir = take_over(logs, &other, &sources, 2);
        let end = logs.log(&task()).unwrap().end();
        let at = zombie.checkpoint();
        assert!(matches!(zombie.turn(Time(SECOND), 100, &NeverBreaks), Err(TurnError::Fenced { .. })));
        assert_eq!((logs.log(&task()).unwrap().end(), zombie.checkpoint()), (end, at));
        assert!(run(&mut heir, &NeverBreaks));
        assert!(audit(&task(), &sources, &*heir.into_store()).unwrap().passed());
    }
}

#[test]
fn a_copy_that_is_no_prefix_of_the_log_is_thrown_away() {
    let (logs, other, stores) = (MemLogs::default(), MemLogs::default(), MemStores::default());
    let sources = sources(0);
    let mut active = take_over(&logs, &stores, &sources, 1);
    assert!(run(&mut active, &NeverBreaks));
    active.into_store().close().unwrap();
    // Another log of the same name is shorter, then as long but written under another epoch.
    let log = other.log(&task()).unwrap();
    log.fence(Claim::default()).unwrap();
    let opened = open_copy(&stores, &*log, &task()).unwrap();
    assert!(matches!(opened.discarded.unwrap().why, Why::BeyondEnd { .. }));
    assert_eq!(opened.store.checkpoint().offset.0, 0);
    drop(opened.store);

    let mut active = take_over(&logs, &stores, &sources, 2);
    assert!(run(&mut active, &NeverBreaks));
    active.into_store().close().unwrap();
    for _ in 0..5 {
        log.fence(Claim::default()).unwrap();
    }
    let mut twin = take_over(&other, &MemStores::default(), &sources, 3);
    assert!(run(&mut twin, &NeverBreaks));
    let opened = open_copy(&stores, &*log, &task()).unwrap();
    assert!(matches!(opened.discarded.unwrap().why, Why::OtherEpoch { .. }));
}

#[test]
fn the_audit_tells_a_loss_from_a_doubling_even_where_they_cancel() {
    let (logs, stores) = (MemLogs::default(), MemStores::default());
    let sources = sources(0);
    let mut active = take_over(&logs, &stores, &sources, 1);
    assert!(run(&mut active, &NeverBreaks));
    let mut store = active.into_store();
    let mut state = BTreeMap::new();
    store.scan(&mut |key, value| drop(state.insert(key.to_vec(), value.to_vec()))).unwrap();
    let (key, value) = state.first_key_value().unwrap();
    let mut forged = value.clone();
    forged[8] ^= 1; // The sum, not the count: as if one record were lost and another doubled.
    let to = store.checkpoint();
    store.write(&mut [(&key[..], Some(&forged[..]))].into_iter(), to).unwrap();
    let found = audit(&task(), &sources, &*store).unwrap();
    assert_eq!((found.lost, found.doubled, found.passed()), (1, 1, false));
    store.write(&mut [(&key[..], None)].into_iter(), to).unwrap();
    let found = audit(&task(), &sources, &*store).unwrap();
    assert!(found.lost > 0 && found.doubled == 0 && !found.passed());
}
