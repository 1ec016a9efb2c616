//! A compacted log makes the same state, from wherever a replay starts and whenever the compaction comes, and is as safe
//! from faults as any other.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use assignor::TaskId;
use engine::log::faulty::{Fault, FaultyFiles};
use engine::log::io::RealFiles;
use engine::log::{BatchBuilder, FileLog, LogOptions, LogReader, Resume, TaskLog};
use engine::position::{Claim, Epoch, Generation, Offset};
use engine::store::Checkpoint;
use proptest::prelude::*;

fn open_over(files: &FaultyFiles, folder: &Path) -> FileLog {
    let options = LogOptions { segment_bytes: 600, fsync: false };
    FileLog::open(&TaskId::from("T1"), folder, options, Arc::new(files.clone())).unwrap()
}

fn open(folder: &Path) -> FileLog {
    open_over(&FaultyFiles::new(Arc::new(RealFiles)), folder)
}

/// What a copy holds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Copy {
    state: BTreeMap<Vec<u8>, Vec<u8>>,
    at: Checkpoint,
    outputs: u64,
}

impl Copy {
    /// Replays until `offset` is reached or the log ends.
    fn read(&mut self, reader: &mut dyn LogReader, until: Offset) {
        while self.at.offset < until {
            let Some(batch) = reader.next().unwrap() else { return };
            for (key, value) in batch.updates() {
                match value {
                    Some(value) => drop(self.state.insert(key.to_vec(), value.to_vec())),
                    None => drop(self.state.remove(key)),
                }
            }
            self.outputs += u64::from(batch.outputs());
            self.at = self.at.after(&batch);
        }
    }

    fn of(log: &dyn TaskLog) -> Self {
        let mut copy = Self::default();
        copy.read(&mut *log.read(Offset(0)).unwrap(), Offset(u64::MAX));
        copy
    }
}

#[derive(Clone, Debug)]
enum Step {
    Turn(Vec<(u8, Option<u8>)>),
    Fence,
    Compact {
        most_keys: usize,
    },
    /// A copy begins to read, and reads up to this share of the log.
    Begin {
        share: f64,
    },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let update = (0_u8..12, proptest::option::weighted(0.8, any::<u8>()));
    prop_oneof![
        8 => proptest::collection::vec(update, 0..6).prop_map(Step::Turn),
        1 => Just(Step::Fence),
        1 => (1_usize..20).prop_map(|most_keys| Step::Compact { most_keys }),
        1 => (0.0..1.0).prop_map(|share| Step::Begin { share }),
        1 => Just(Step::Reopen),
    ]
}

struct Bed {
    folder: tempfile::TempDir,
    log: FileLog,
    epoch: Epoch,
    turns: u64,
    claims: u64,
    /// Copies that are in the middle of the log, with their readers.
    readers: Vec<(Copy, Box<dyn LogReader>)>,
}

impl Bed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = open(folder.path());
        let mut bed = Self { folder, log, epoch: Epoch(0), turns: 0, claims: 0, readers: Vec::new() };
        bed.fence();
        bed
    }

    fn fence(&mut self) {
        self.claims += 1;
        let claim = Claim { generation: Generation(self.claims), ..Claim::default() };
        self.epoch = self.log.fence(claim).unwrap().epoch;
    }

    fn turn(&mut self, updates: &[(u8, Option<u8>)]) {
        self.turns += 1;
        let mut batch = BatchBuilder::default();
        for (key, value) in updates {
            match value {
                Some(value) => batch.put(&[*key], &[*value; 30]),
                None => batch.delete(&[*key]),
            }
        }
        batch.count_outputs(updates.len() as u32);
        batch.finish(Resume { source_offset: self.turns, ..Resume::default() });
        self.log.append(self.epoch, &batch).unwrap();
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Turn(updates) => self.turn(updates),
            Step::Fence => self.fence(),
            Step::Compact { most_keys } => {
                let before = self.log.closed();
                let done = self.log.compact(*most_keys).unwrap();
                assert!(done.bytes_after <= done.bytes_before && done.bytes_before <= before.bytes);
                assert_eq!(before.bytes - self.log.closed().bytes, done.bytes_before - done.bytes_after);
            }
            Step::Begin { share } => {
                let until = Offset((self.log.end().0 as f64 * share) as u64);
                let (mut copy, mut reader) = (Copy::default(), self.log.read(Offset(0)).unwrap());
                copy.read(&mut *reader, until);
                self.readers.push((copy, reader));
            }
            Step::Reopen => {
                let (end, epoch) = (self.log.end(), self.log.epoch());
                self.log = open(self.folder.path());
                assert_eq!((self.log.end(), self.log.epoch()), (end, epoch));
                // Their log is gone; they go on in the new one.
                for (copy, reader) in &mut self.readers {
                    *reader = self.log.read(copy.at.offset).unwrap();
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_replay_ends_in_the_same_state(steps in proptest::collection::vec(step(), 1..80)) {
        let (mut bed, mut plain) = (Bed::new(), Bed::new());
        for step in &steps {
            bed.step(step);
            if matches!(step, Step::Turn(_) | Step::Fence) {
                plain.step(step);
            }
        }
        bed.log.compact(usize::MAX).unwrap();
        let expected = Copy::of(&plain.log);
        prop_assert_eq!(&Copy::of(&bed.log), &expected);
        for (mut copy, mut reader) in std::mem::take(&mut bed.readers) {
            copy.read(&mut *reader, Offset(u64::MAX));
            prop_assert_eq!((&copy.state, copy.at), (&expected.state, expected.at));
        }
        for offset in 0..=bed.log.end().0 {
            prop_assert_eq!(bed.log.epoch_at(Offset(offset)), plain.log.epoch_at(Offset(offset)));
        }
        // An older claim is refused by what was written down, after all that.
        let claim = Claim { generation: Generation(bed.claims.saturating_sub(1)), ..Claim::default() };
        prop_assert!(open(bed.folder.path()).fence(claim).is_err() || bed.claims == 0);
    }
}

#[test]
fn what_is_superseded_goes_and_what_is_new_stays() {
    let mut bed = Bed::new();
    for round in 0..50 {
        bed.turn(&[(1, Some(round)), (2, Some(round))]);
    }
    let before = bed.log.bytes_from(Offset(0));
    let done = bed.log.compact(usize::MAX).unwrap();
    assert!(done.bytes_after * 5 < done.bytes_before, "{done:?}");
    assert_eq!(before - bed.log.bytes_from(Offset(0)), done.bytes_before - done.bytes_after);
    assert_eq!(bed.log.closed().dirty_bytes, 0);
    assert_eq!(Copy::of(&bed.log).state, [(vec![1], vec![49; 30]), (vec![2], vec![49; 30])].into());
    assert_eq!(Copy::of(&bed.log).outputs, 100, "what an audit of outputs goes by is kept");
}

#[test]
fn a_compaction_that_fails_leaves_the_log_as_it_was() {
    let faults = [
        Fault::TornWrite { bytes: 40 },
        Fault::DiskFull { after: 10 },
        Fault::LateError,
        Fault::FailedTruncate,
        Fault::FailedRename,
        Fault::FailedRead,
    ];
    for fault in faults {
        let mut bed = Bed::new();
        let files = FaultyFiles::new(Arc::new(RealFiles));
        bed.log = open_over(&files, bed.folder.path());
        for round in 0..50 {
            bed.turn(&[(1, Some(round)), (2, None)]);
        }
        let before = Copy::of(&bed.log);
        files.plan([fault]);
        let error = bed.log.compact(usize::MAX).unwrap_err();
        assert!(error.to_string().contains(".log"), "{fault:?} names no file: {error}");
        assert_eq!(files.left(), 0);
        assert_eq!(Copy::of(&bed.log), before, "{fault:?}");
        // And it can be tried again, by this process or the next.
        let reopened = open(bed.folder.path());
        assert_eq!(Copy::of(&reopened), before, "{fault:?}");
        let done = reopened.compact(usize::MAX).unwrap();
        assert!(done.bytes_after < done.bytes_before);
        assert_eq!(Copy::of(&open(bed.folder.path())).state, before.state);
    }
}
