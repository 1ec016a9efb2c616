//! What a disk does on a bad day: torn tails, flipped bits, short reads, failed writes and syncs, a full disk.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assignor::TaskId;
use engine::error::LogError;
use engine::log::batch::HEADER_BYTES;
use engine::log::faulty::{Fault, FaultyFiles};
use engine::log::io::RealFiles;
use engine::log::{BatchBuilder, FileLog, LogOptions, Resume, TaskLog};
use engine::position::{Claim, Epoch, Generation, Offset};

const SEGMENT_BYTES: u64 = 1_000;

fn open_over(files: &FaultyFiles, folder: &Path, fsync: bool) -> Result<FileLog, LogError> {
    let options = LogOptions { segment_bytes: SEGMENT_BYTES, fsync };
    FileLog::open(&TaskId::from("T1"), folder, options, Arc::new(files.clone()))
}

fn open(folder: &Path) -> Result<FileLog, LogError> {
    open_over(&FaultyFiles::new(Arc::new(RealFiles)), folder, false)
}

fn claim(generation: u64) -> Claim {
    Claim { generation: Generation(generation), ..Claim::default() }
}

fn turn(source_offset: u64) -> BatchBuilder {
    let mut batch = BatchBuilder::default();
    batch.put(b"key", &[source_offset as u8; 100]);
    batch.finish(Resume { source_offset, ..Resume::default() });
    batch
}

/// The source offsets of a log's turns; checks each turn's value on the way.
fn turns(log: &dyn TaskLog) -> Result<Vec<u64>, LogError> {
    let mut reader = log.read(Offset(0))?;
    let mut seen = Vec::new();
    while let Some(batch) = reader.next()? {
        if let Some(resume) = batch.resume() {
            let value = [resume.source_offset as u8; 100];
            assert!(batch.updates().eq([(&b"key"[..], Some(&value[..]))]), "wrong data");
            seen.push(resume.source_offset);
        }
    }
    Ok(seen)
}

/// A log of a fence and `turns` turns in a fresh folder.
fn filled(turns: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).unwrap();
    let epoch = log.fence(claim(1)).unwrap().epoch;
    for nth in 0..turns {
        log.append(epoch, &turn(nth)).unwrap();
    }
    folder
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_cut_of_the_last_segment_opens_at_its_last_whole_batch() {
    let folder = filled(12);
    let paths = segments(folder.path());
    assert_eq!(paths.len(), 2);
    let whole = fs::read(&paths[1]).unwrap();
    let before = turns(&open(folder.path()).unwrap()).unwrap().len() - count(&whole);
    for cut in 0..whole.len() {
        fs::write(&paths[1], &whole[..cut]).unwrap();
        let log = open(folder.path()).unwrap();
        let kept = turns(&log).unwrap();
        assert_eq!(kept.len(), before + cut * count(&whole) / whole.len(), "cut at {cut}");
        assert_eq!(fs::metadata(&paths[1]).unwrap().len(), cut as u64, "opening changes nothing");
        let fenced = log.fence(claim(2)).unwrap();
        log.append(fenced.epoch, &turn(99)).unwrap();
        drop(log);
        let expected: Vec<_> = kept.into_iter().chain([99]).collect();
        assert_eq!(turns(&open(folder.path()).unwrap()).unwrap(), expected, "cut at {cut}");
        segments(folder.path()).into_iter().skip(2).for_each(|path| fs::remove_file(path).unwrap());
    }
}

/// Turns in a segment without fences: all are equally long.
fn count(segment: &[u8]) -> usize {
    segment.len() / turn(0).bytes()
}

#[test]
fn every_flipped_bit_is_a_torn_tail_or_damage_at_its_batch() {
    let folder = filled(12);
    let written: Vec<_> = (0..12).collect();
    for (nth, path) in segments(folder.path()).into_iter().enumerate() {
        let whole = fs::read(&path).unwrap();
        // Every bit of every header, and one of each other byte.
        let fence = if nth == 0 { whole.len() % turn(0).bytes() } else { 0 };
        let bits = (0..whole.len() * 8).filter(|bit| {
            let (byte, bit) = (bit / 8, bit % 8);
            byte.checked_sub(fence).is_none_or(|at| at % turn(0).bytes() < HEADER_BYTES) || bit == byte % 8
        });
        for bit in bits {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bytes).unwrap();
            match open(folder.path()) {
                Ok(log) => {
                    let last = whole.len() - turn(0).bytes();
                    assert!(nth == 1 && bit / 8 >= last, "a flip at {nth}/{bit} went unnoticed");
                    assert_eq!(turns(&log).unwrap(), written[..11]);
                }
                Err(LogError::Damaged { path: found, position, .. }) => {
                    assert_eq!(found, path);
                    let at = (bit / 8) as u64;
                    assert!(position <= at && at < position + turn(0).bytes() as u64, "{position} for {at}");
                }
                Err(other) => panic!("{other}"),
            }
        }
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn damage_behind_the_back_of_an_open_log_is_told_by_readers() {
    let folder = filled(12);
    let log = open(folder.path()).unwrap();
    let path = &segments(folder.path())[0];
    let mut bytes = fs::read(path).unwrap();
    bytes[300] ^= 1;
    fs::write(path, bytes).unwrap();
    assert!(matches!(turns(&log), Err(LogError::Damaged { .. })));
}

#[test]
fn a_missing_segment_is_damage() {
    let folder = filled(30);
    let paths = segments(folder.path());
    fs::remove_file(&paths[1]).unwrap();
    match open(folder.path()).unwrap_err() {
        LogError::Damaged { path, position: 0, .. } => assert_eq!(path, paths[2]),
        other => panic!("{other}"),
    }
}

#[test]
fn a_failed_append_publishes_nothing_and_the_next_goes_on() {
    let faults = [
        Fault::TornWrite { bytes: 0 },
        Fault::TornWrite { bytes: 20 },
        Fault::DiskFull { after: 40 },
        Fault::LateError,
        Fault::FailedSync,
    ];
    for fault in faults {
        for reopened in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let files = FaultyFiles::new(Arc::new(RealFiles));
            let mut log = open_over(&files, folder.path(), true).unwrap();
            let mut epoch = log.fence(claim(1)).unwrap().epoch;
            log.append(epoch, &turn(1)).unwrap();
            let end = log.end();
            files.plan([fault]);
            let mut long = turn(2);
            long.clear();
            long.put(b"key", &[2; 300]);
            long.finish(Resume { source_offset: 2, ..Resume::default() });
            match log.append(epoch, &long).unwrap_err() {
                LogError::Io { source, .. } => {
                    let full = matches!(fault, Fault::DiskFull { .. });
                    assert_eq!(source.kind() == ErrorKind::StorageFull, full);
                }
                other => panic!("{other}"),
            }
            assert_eq!((log.end(), files.left()), (end, 0));
            assert_eq!(turns(&log).unwrap(), [1], "{fault:?}");
            if reopened && fault != Fault::FailedSync {
                log = open_over(&files, folder.path(), true).unwrap();
                assert_eq!(turns(&log).unwrap(), [1], "{fault:?}");
                epoch = log.fence(claim(2)).unwrap().epoch;
            }
            log.append(epoch, &turn(3)).unwrap();
            assert_eq!(turns(&log).unwrap(), [1, 3], "{fault:?}");
            assert_eq!(turns(&open(folder.path()).unwrap()).unwrap(), [1, 3], "{fault:?}");
        }
    }
}

#[test]
fn a_failed_fence_grants_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let files = FaultyFiles::new(Arc::new(RealFiles));
    let log = open_over(&files, folder.path(), false).unwrap();
    let first = log.fence(claim(1)).unwrap();
    files.plan([Fault::TornWrite { bytes: 10 }]);
    assert!(matches!(log.fence(claim(2)), Err(LogError::Io { .. })));
    assert_eq!((log.epoch(), log.end()), (first.epoch, first.end));
    files.plan([Fault::FailedTruncate]);
    assert!(matches!(log.append(first.epoch, &turn(0)), Err(LogError::Io { .. })));
    log.append(first.epoch, &turn(0)).unwrap();
    assert_eq!(log.fence(claim(2)).unwrap().epoch, Epoch(2));
    assert_eq!(turns(&open(folder.path()).unwrap()).unwrap(), [0]);
}

#[test]
fn short_reads_are_read_on_and_failed_ones_told() {
    let folder = filled(20);
    let files = FaultyFiles::new(Arc::new(RealFiles));
    files.plan([1, 3, 40, 200].map(|bytes| Fault::ShortRead { bytes }));
    let log = open_over(&files, folder.path(), false).unwrap();
    files.plan([1, 7, 33, 100].map(|bytes| Fault::ShortRead { bytes }));
    assert_eq!(turns(&log).unwrap(), (0..20).collect::<Vec<_>>());
    assert_eq!(files.left(), 0);
    files.plan([Fault::FailedRead]);
    assert!(matches!(turns(&log), Err(LogError::Io { .. })));
    files.plan([Fault::FailedRead]);
    assert!(matches!(open_over(&files, folder.path(), false), Err(LogError::Io { .. })));
}

#[test]
fn a_real_full_disk_is_told_by_its_kind() {
    // /dev/full answers every write with ENOSPC; a log whose segment is a link to it meets the real error.
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("00000000000000000000.log");
    if !Path::new("/dev/full").exists() || std::os::unix::fs::symlink("/dev/full", &link).is_err() {
        return;
    }
    match open(folder.path()).unwrap().fence(claim(1)) {
        Err(LogError::Io { source, .. }) => assert_eq!(source.kind(), ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    }
}
