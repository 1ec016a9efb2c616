//! The contract of every task log, run over the file form and the in-memory form alike.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::sync::Arc;

use assignor::TaskId;
use engine::clock::Time;
use engine::error::LogError;
use engine::log::{
    BatchBuilder, FileLogs, Kind, LogDirectory, LogOptions, LogReader, MemLogs, Resume, TaskLog,
};
use engine::position::{Claim, Epoch, Generation, Incarnation, Offset};

/// Runs `check` on an empty log of each form.
fn on_both(check: impl Fn(&dyn LogDirectory, Arc<dyn TaskLog>)) {
    let task = TaskId::from("T1");
    let folder = tempfile::tempdir().unwrap();
    // Segments of a few batches, so that every check crosses some.
    let files = FileLogs::new(folder.path(), LogOptions { segment_bytes: 300, fsync: false });
    for logs in [&files as &dyn LogDirectory, &MemLogs::default()] {
        check(logs, logs.log(&task).unwrap());
    }
}

fn claim(incarnation: u64, generation: u64) -> Claim {
    Claim { incarnation: Incarnation(incarnation), generation: Generation(generation) }
}

fn turn(source_offset: u64) -> BatchBuilder {
    let mut batch = BatchBuilder::default();
    batch.put(b"key", &source_offset.to_le_bytes());
    batch.delete(b"gone");
    batch.finish(Resume { source_offset, stream_time: Time(1), epoch: Epoch(1) });
    batch
}

/// Base offset, kind and epoch of what a reader returns.
fn read(reader: &mut dyn LogReader) -> Vec<(u64, Kind, Epoch)> {
    let mut seen = Vec::new();
    while let Some(batch) = reader.next().unwrap() {
        seen.push((batch.base().0, batch.kind(), batch.epoch()));
    }
    seen
}

#[test]
fn a_new_log_is_empty() {
    on_both(|_, log| {
        assert_eq!((log.end(), log.epoch()), (Offset(0), Epoch(0)));
        assert_eq!((log.epoch_at(Offset(0)), log.epoch_at(Offset(1))), (Some(Epoch(0)), None));
        assert_eq!(log.bytes_from(Offset(0)), 0);
        assert!(log.read(Offset(0)).unwrap().next().unwrap().is_none());
        assert!(matches!(log.read(Offset(1)), Err(LogError::OutOfRange { .. })));
    });
}

#[test]
fn batches_come_back_whole_in_order_and_without_gaps() {
    on_both(|_, log| {
        let epoch = log.fence(claim(1, 1)).unwrap().epoch;
        let mut from_the_start = log.read(Offset(0)).unwrap();
        assert_eq!(read(&mut *from_the_start).len(), 1);
        for nth in 0..50 {
            assert_eq!(log.append(epoch, &turn(nth)).unwrap(), Offset(4 + 3 * nth));
        }
        let expected: Vec<_> = (0..50).map(|nth| (1 + 3 * nth, Kind::Turn, epoch)).collect();
        assert_eq!(read(&mut *from_the_start), expected, "a reader at the end goes on with what comes");
        let mut reader = log.read(Offset(1 + 3 * 20)).unwrap();
        let batch = reader.next().unwrap().unwrap();
        assert_eq!(batch.resume().unwrap().source_offset, 20);
        let value = 20_u64.to_le_bytes();
        let updates: Vec<_> = batch.updates().collect();
        assert_eq!(updates, [(&b"key"[..], Some(&value[..])), (b"gone", None)]);
        for offset in 0..=151 {
            let first = read(&mut *log.read(Offset(offset)).unwrap()).first().map(|batch| batch.0);
            let expected = if offset == 0 { 0 } else { (offset - 1) / 3 * 3 + 1 };
            assert_eq!(first, (offset < 151).then_some(expected), "from {offset}");
        }
        assert_eq!(log.bytes_from(log.end()), 0);
        assert!(log.bytes_from(Offset(0)) > 50 * 60);
        assert!(log.bytes_from(Offset(100)) < log.bytes_from(Offset(1)));
    });
}

#[test]
fn a_fence_shuts_older_epochs_out() {
    on_both(|_, log| {
        let first = log.fence(claim(1, 1)).unwrap();
        log.append(first.epoch, &turn(1)).unwrap();
        let second = log.fence(claim(1, 2)).unwrap();
        assert_eq!(second.end, Offset(5), "the fence itself takes an offset");
        assert!(second.epoch > first.epoch);
        match log.append(first.epoch, &turn(2)).unwrap_err() {
            LogError::Fenced { epoch, newest, .. } => {
                assert_eq!((epoch, newest), (first.epoch, second.epoch));
            }
            other => panic!("{other}"),
        }
        assert_eq!(log.end(), second.end);
        log.append(second.epoch, &turn(2)).unwrap();
        let epochs: Vec<_> = (0..=8).map(|at| log.epoch_at(Offset(at)).unwrap().0).collect();
        assert_eq!(epochs, [0, 1, 1, 1, 1, 2, 2, 2, 2]);
        let mut reader = log.read(Offset(4)).unwrap();
        assert_eq!(reader.next().unwrap().unwrap().claim(), Some(claim(1, 2)));
    });
}

#[test]
fn an_older_claim_is_refused_and_an_equal_one_granted_again() {
    on_both(|_, log| {
        let first = log.fence(claim(2, 5)).unwrap();
        for older in [claim(2, 4), claim(1, 9)] {
            match log.fence(older).unwrap_err() {
                LogError::StaleClaim { granted, .. } => assert_eq!(granted, claim(2, 5)),
                other => panic!("{other}"),
            }
        }
        assert_eq!((log.end(), log.epoch()), (first.end, first.epoch), "a refused fence leaves nothing");
        let again = log.fence(claim(2, 5)).unwrap();
        assert!(again.epoch > first.epoch);
        assert!(matches!(log.append(first.epoch, &turn(0)), Err(LogError::Fenced { .. })));
        log.fence(claim(3, 0)).unwrap();
    });
}

#[test]
fn everybody_gets_the_same_log() {
    on_both(|logs, log| {
        let other = logs.log(&TaskId::from("T1")).unwrap();
        let epoch = log.fence(claim(1, 1)).unwrap().epoch;
        other.append(epoch, &turn(1)).unwrap();
        assert_eq!(log.end(), other.end());
        assert_eq!(logs.log(&TaskId::from("T2")).unwrap().end(), Offset(0));
    });
}

#[test]
fn what_no_log_takes_is_refused_whole() {
    on_both(|_, log| {
        let epoch = log.fence(claim(1, 1)).unwrap().epoch;
        let mut batch = BatchBuilder::default();
        batch.put(b"fine", b"");
        batch.put(&vec![b'k'; 1 << 16], b"");
        batch.finish(Resume::default());
        assert!(matches!(log.append(epoch, &batch), Err(LogError::TooLarge { .. })));
        assert_eq!(log.end(), Offset(1));
        log.append(epoch, &turn(1)).unwrap();
    });
}

#[test]
fn readers_keep_up_with_a_writer_on_another_thread() {
    on_both(|_, log| {
        let epoch = log.fence(claim(1, 1)).unwrap().epoch;
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for nth in 0..2_000 {
                    log.append(epoch, &turn(nth)).unwrap();
                }
            });
            let mut reader = log.read(Offset(1)).unwrap();
            let mut next = 0;
            while next < 2_000 {
                if let Some(batch) = reader.next().unwrap() {
                    assert_eq!((batch.base().0, batch.resume().unwrap().source_offset), (1 + 3 * next, next));
                    next += 1;
                }
            }
            writer.join().unwrap();
        });
    });
}
