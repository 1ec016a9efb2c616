//! Logs against a model: whatever is appended, fenced, torn and reopened, a reader sees exactly what was published.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::path::Path;
use std::sync::Arc;

use assignor::TaskId;
use engine::error::LogError;
use engine::log::io::RealFiles;
use engine::log::{BatchBuilder, FileLog, LogOptions, MemLog, Resume, TaskLog};
use engine::position::{Claim, Epoch, Generation, Offset};
use proptest::prelude::*;

type Update = (Vec<u8>, Option<Vec<u8>>);

#[derive(Clone, Debug)]
enum Action {
    Append { updates: Vec<Update>, source_offset: u64 },
    AppendUnder { back: u64 },
    Fence { generation: u64 },
    Tear { updates: Vec<Update>, bytes: usize },
    Reopen,
    Read { from: u64 },
}

fn updates() -> impl Strategy<Value = Vec<Update>> {
    let value = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40));
    proptest::collection::vec(("[a-c]{0,3}".prop_map(String::into_bytes), value), 0..8)
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (updates(), any::<u64>()).prop_map(|(updates, source_offset)| Action::Append { updates, source_offset }),
        1 => (1_u64..3).prop_map(|back| Action::AppendUnder { back }),
        2 => (0_u64..6).prop_map(|generation| Action::Fence { generation }),
        2 => (updates(), 0_usize..200).prop_map(|(updates, bytes)| Action::Tear { updates, bytes }),
        2 => Just(Action::Reopen),
        2 => (0_u64..100).prop_map(|from| Action::Read { from }),
    ]
}

/// What a batch should read back as: base offset, epoch, updates, resume (`None` for a fence).
type Expected = (u64, Epoch, Vec<Update>, Option<Resume>);

#[derive(Default)]
struct Model {
    batches: Vec<Expected>,
    end: u64,
    epoch: Epoch,
    claim: Option<Claim>,
}

impl Model {
    fn push(&mut self, updates: Vec<Update>, resume: Option<Resume>) {
        let base = self.end;
        self.end += updates.len() as u64 + 1;
        self.batches.push((base, self.epoch, updates, resume));
    }
}

fn build(updates: &[Update], resume: Resume) -> BatchBuilder {
    let mut batch = BatchBuilder::default();
    for (key, value) in updates {
        match value {
            Some(value) => batch.put(key, value),
            None => batch.delete(key),
        }
    }
    batch.finish(resume);
    batch
}

fn check(log: &dyn TaskLog, model: &Model, from: u64) {
    assert_eq!((log.end(), log.epoch()), (Offset(model.end), model.epoch));
    for offset in 0..=model.end {
        let before = model.batches.iter().rev().find(|batch| batch.0 < offset);
        assert_eq!(log.epoch_at(Offset(offset)), Some(before.map_or(Epoch(0), |batch| batch.1)));
    }
    assert_eq!(log.epoch_at(Offset(model.end + 1)), None);
    let mut reader = match log.read(Offset(from)) {
        Ok(reader) => reader,
        Err(LogError::OutOfRange { .. }) => return assert!(from > model.end),
        Err(other) => panic!("{other}"),
    };
    let ends = |batch: &Expected| batch.0 + batch.2.len() as u64 + 1;
    let mut expected = model.batches.iter().filter(|batch| ends(batch) > from);
    while let Some(batch) = reader.next().unwrap() {
        let updates = batch.updates().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))).collect();
        let found = (batch.base().0, batch.epoch(), updates, batch.resume());
        assert_eq!(Some(&found), expected.next());
    }
    assert_eq!(expected.next(), None);
}

/// Runs the actions; `reopen` gives the log anew as after a restart.
fn run(actions: Vec<Action>, mut log: Box<dyn TaskLog>, reopen: impl Fn() -> Option<Box<dyn TaskLog>>) {
    let mut model = Model::default();
    for action in actions {
        match action {
            Action::Append { updates, source_offset } => {
                let resume = Resume { source_offset, epoch: model.epoch, ..Resume::default() };
                log.append(model.epoch, &build(&updates, resume)).unwrap();
                model.push(updates, Some(resume));
            }
            Action::AppendUnder { back } => {
                let Some(old) = model.epoch.0.checked_sub(back) else { continue };
                let refused = log.append(Epoch(old), &build(&[], Resume::default()));
                assert!(matches!(refused, Err(LogError::Fenced { .. })));
            }
            Action::Fence { generation } => {
                let claim = Claim { generation: Generation(generation), ..Claim::default() };
                match log.fence(claim) {
                    Err(LogError::StaleClaim { .. }) => assert!(model.claim > Some(claim)),
                    Err(other) => panic!("{other}"),
                    Ok(fenced) => {
                        assert!(model.claim <= Some(claim));
                        model.claim = Some(claim);
                        model.epoch = Epoch(model.epoch.0 + 1);
                        model.push(Vec::new(), None);
                        assert_eq!((fenced.epoch, fenced.end), (model.epoch, Offset(model.end)));
                    }
                }
            }
            Action::Tear { updates, bytes } => {
                log.append_torn(model.epoch, &build(&updates, Resume::default()), bytes).unwrap();
            }
            Action::Reopen => log = reopen().unwrap_or(log),
            Action::Read { from } => check(&*log, &model, from),
        }
    }
    check(&*log, &model, 0);
}

fn open(folder: &Path, segment_bytes: u64) -> Box<dyn TaskLog> {
    let options = LogOptions { segment_bytes, fsync: false };
    Box::new(FileLog::open(&TaskId::from("T1"), folder, options, Arc::new(RealFiles)).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn files_hold_what_was_published(
        actions in proptest::collection::vec(action(), 1..40),
        segment_bytes in 1_u64..1_000,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let reopen = || Some(open(folder.path(), segment_bytes));
        run(actions, open(folder.path(), segment_bytes), reopen);
    }

    #[test]
    fn memory_holds_what_was_published(actions in proptest::collection::vec(action(), 1..40)) {
        run(actions, Box::new(MemLog::new(&TaskId::from("T1"))), || None);
    }
}
