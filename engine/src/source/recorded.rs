//! A recorded load: lines `time,key,bytes` of a file, played at its own speed.
//!
//! The time is in seconds, with a fraction if need be (`12.25`), and never goes back; only differences to the first
//! line's count, so that epoch seconds are fine. The key is any text without a comma, the bytes are the payload's
//! size. A first line that is not a record is taken for a header; empty lines are skipped. A record goes to the task
//! that the hash of its key picks. What is preloaded are the task's keys in order of appearance, `updates_per_key`
//! times over, so that every record of the file finds its key in the state.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use assignor::TaskId;

use super::{KeyMap, Records, Source, Sources, Span, hash};
use crate::clock::Time;
use crate::error::SourceError;

/// The inputs of all tasks from one file. Clones share the span that [`begin`](Self::begin) and [`end`](Self::end)
/// set.
#[derive(Clone, Debug)]
pub struct RecordedSources(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    span: Span,
    updates_per_key: u64,
    tasks: BTreeMap<TaskId, Arc<Recording>>,
}

/// The records of one task, 16 bytes each, and its keys, each once.
#[derive(Debug, Default)]
struct Recording {
    /// From the first record of the file, in ns.
    times: Vec<u64>,
    keys: Vec<u32>,
    sizes: Vec<u32>,
    key_ends: Vec<usize>,
    key_bytes: Vec<u8>,
}

impl Recording {
    fn key(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.key_ends[index - 1] };
        &self.key_bytes[start..self.key_ends[index]]
    }

    fn preloaded(&self, updates_per_key: u64) -> u64 {
        self.key_ends.len() as u64 * updates_per_key
    }
}

impl RecordedSources {
    /// Reads the file at `path` for `tasks`, whose order decides who gets which keys.
    ///
    /// # Errors
    ///
    /// I/O errors; [`SourceError::Line`] for a line that is not a record, or whose time is before the line above's.
    pub fn load(path: &Path, tasks: &[TaskId], updates_per_key: u64) -> Result<Self, SourceError> {
        let io = |source| SourceError::Io { path: path.to_owned(), source };
        let lines = BufReader::with_capacity(1 << 20, File::open(path).map_err(io)?);
        let mut loader = Loader::new(tasks.len());
        for (nth, line) in lines.lines().enumerate() {
            let line = line.map_err(io)?;
            loader.line(&line, nth == 0).map_err(|what| SourceError::Line {
                path: path.to_owned(),
                line: nth as u64 + 1,
                what,
            })?;
        }
        let recordings = loader.recordings.into_iter().map(Arc::new);
        let tasks = tasks.iter().cloned().zip(recordings).collect();
        Ok(Self(Arc::new(Shared { span: Span::default(), updates_per_key, tasks })))
    }

    /// Sets the moment at which the file's first record arrives. Until then none is due, and the next one is due at
    /// [`Time::NEVER`].
    pub fn begin(&self, at: Time) {
        self.0.span.set_begin(at);
    }

    /// Sets the moment from which no record arrives any more.
    pub fn end(&self, at: Time) {
        self.0.span.set_end(at);
    }

    /// Records in the file, and how long it plays in nanoseconds.
    #[must_use]
    pub fn extent(&self) -> (u64, u64) {
        let recordings = self.0.tasks.values();
        let records = recordings.clone().map(|recording| recording.times.len() as u64).sum();
        (records, recordings.filter_map(|recording| recording.times.last().copied()).max().unwrap_or(0))
    }
}

/// Takes lines apart and spreads them over tasks.
struct Loader {
    recordings: Vec<Recording>,
    /// Each task's keys and their numbers.
    known: Vec<KeyMap<u32>>,
    first: Option<u64>,
    latest: u64,
}

impl Loader {
    fn new(tasks: usize) -> Self {
        let recordings = (0..tasks).map(|_| Recording::default()).collect();
        Self { recordings, known: vec![KeyMap::default(); tasks], first: None, latest: 0 }
    }

    fn line(&mut self, line: &str, may_be_header: bool) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() || self.recordings.is_empty() {
            return Ok(());
        }
        let (time, key, bytes) = match record(line) {
            Ok(record) => record,
            Err(_) if may_be_header => return Ok(()),
            Err(what) => return Err(what),
        };
        let first = *self.first.get_or_insert(time);
        if time < self.latest.max(first) {
            return Err("its time is before the line above's: sort the file by time".to_owned());
        }
        self.latest = time;
        let task = (hash(key) % self.recordings.len() as u64) as usize;
        let (recording, known) = (&mut self.recordings[task], &mut self.known[task]);
        let number = match known.get(key) {
            Some(&number) => number,
            None => {
                let number = u32::try_from(known.len()).map_err(|_| "more than 2³² keys".to_owned())?;
                known.insert(key.into(), number);
                recording.key_bytes.extend_from_slice(key);
                recording.key_ends.push(recording.key_bytes.len());
                number
            }
        };
        recording.times.push(time - first);
        recording.keys.push(number);
        recording.sizes.push(bytes);
        Ok(())
    }
}

/// Time in ns, key and bytes of a line.
fn record(line: &str) -> Result<(u64, &[u8], u32), String> {
    let mut fields = line.split(',');
    let (Some(time), Some(key), Some(bytes), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err("expected three fields: time,key,bytes".to_owned());
    };
    let time = nanos(time.trim()).ok_or_else(|| format!("`{time}` is not a time in seconds"))?;
    let key = key.trim().as_bytes();
    if key.is_empty() || key.len() > usize::from(u16::MAX) {
        return Err("a key has 1 to 65,535 bytes".to_owned());
    }
    let bytes = bytes.trim().parse().map_err(|_| format!("`{bytes}` is not a number of bytes"))?;
    Ok((time, key, bytes))
}

/// Decimal seconds as nanoseconds, without the rounding of floating point.
fn nanos(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(9)];
    let scale = 10_u64.pow(9 - fraction.len() as u32);
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()? * scale };
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

impl Shared {
    /// Live records of a task that arrive until `now`.
    fn live(&self, recording: &Recording, now: Time) -> u64 {
        let Some(begin) = self.span.begin() else { return 0 };
        let last = Time(self.span.end().0.saturating_sub(1)).min(now);
        if last < begin {
            return 0;
        }
        recording.times.partition_point(|&time| time <= last.0 - begin.0) as u64
    }
}

impl Sources for RecordedSources {
    fn open(&self, task: &TaskId, offset: u64) -> Result<Box<dyn Source>, SourceError> {
        let recording = self.0.tasks.get(task).cloned().unwrap_or_default();
        Ok(Box::new(RecordedSource { shared: Arc::clone(&self.0), recording, position: offset }))
    }

    fn preloaded(&self, task: &TaskId) -> u64 {
        self.0.tasks.get(task).map_or(0, |recording| recording.preloaded(self.0.updates_per_key))
    }

    fn due(&self, task: &TaskId, now: Time) -> u64 {
        self.preloaded(task) + self.0.tasks.get(task).map_or(0, |recording| self.0.live(recording, now))
    }
}

struct RecordedSource {
    shared: Arc<Shared>,
    recording: Arc<Recording>,
    position: u64,
}

impl RecordedSource {
    fn preloaded(&self) -> u64 {
        self.recording.preloaded(self.shared.updates_per_key)
    }
}

impl Source for RecordedSource {
    fn poll(&mut self, now: Time, max: usize, out: &mut Records) -> Result<(), SourceError> {
        let (recording, preloaded) = (&*self.recording, self.preloaded());
        let due = preloaded + self.shared.live(recording, now);
        let due = due.min(self.position.saturating_add(max as u64));
        for offset in self.position..due.min(preloaded) {
            out.push(
                offset,
                Time::ZERO,
                recording.key((offset % recording.key_ends.len() as u64) as usize),
                0,
            );
        }
        let begin = self.shared.span.begin().unwrap_or_default();
        for offset in self.position.max(preloaded)..due {
            let nth = (offset - preloaded) as usize;
            let time = Time(begin.0 + recording.times[nth]);
            out.push(offset, time, recording.key(recording.keys[nth] as usize), recording.sizes[nth]);
        }
        self.position = self.position.max(due);
        Ok(())
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn next_due(&self) -> Option<Time> {
        let Some(nth) = self.position.checked_sub(self.preloaded()) else { return Some(Time::ZERO) };
        let &time = self.recording.times.get(nth as usize)?;
        let Some(begin) = self.shared.span.begin() else { return Some(Time::NEVER) };
        let next = Time(begin.0.saturating_add(time));
        (next < self.shared.span.end()).then_some(next)
    }

    fn backlog(&self, now: Time) -> u64 {
        (self.preloaded() + self.shared.live(&self.recording, now)).saturating_sub(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn load(text: &str, tasks: usize, updates_per_key: u64) -> Result<RecordedSources, SourceError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let tasks: Vec<_> = (1..=tasks).map(|nth| TaskId::from(format!("T{nth}"))).collect();
        RecordedSources::load(file.path(), &tasks, updates_per_key)
    }

    #[test]
    fn a_file_is_played_at_its_own_speed_from_its_first_time_on() {
        let text = "time,key,bytes\n1000.5,a,10\n\n1000.5,b,20\n1001,a,30\n1002.000000001,c,40\n";
        let sources = load(text, 1, 2).unwrap();
        let task = "T1".into();
        let mut source = sources.open(&task, 0).unwrap();
        let mut out = Records::default();
        source.poll(Time::NEVER, 100, &mut out).unwrap();
        let keys: Vec<_> = (0..out.len()).map(|at| out.key(at)).collect();
        assert_eq!(keys, [b"a", b"b", b"c", b"a", b"b", b"c"], "each key twice, and no live record yet");
        sources.begin(Time(7));
        assert_eq!((source.next_due(), source.backlog(Time(7))), (Some(Time(7)), 2));
        out.clear();
        source.poll(Time::NEVER, 100, &mut out).unwrap();
        assert_eq!(out.times, [7, 7, 500_000_007, 1_500_000_008].map(Time));
        assert_eq!((&out.offsets[..], &out.sizes[..]), (&[6, 7, 8, 9][..], &[10, 20, 30, 40][..]));
        assert_eq!((source.next_due(), sources.extent()), (None, (4, 1_500_000_001)));
        sources.end(Time(500_000_007));
        assert_eq!(sources.due(&task, Time::NEVER), 8, "a record at the end is no longer part");
    }

    #[test]
    fn each_key_belongs_to_one_task() {
        let text: String = (0..1_000).map(|nth| format!("{nth},k{},1\n", nth % 100)).collect();
        let sources = load(&text, 4, 0).unwrap();
        sources.begin(Time::ZERO);
        let (mut owner, mut total) = (BTreeMap::new(), 0);
        for task in ["T1", "T2", "T3", "T4"] {
            let mut out = Records::default();
            sources.open(&task.into(), 0).unwrap().poll(Time::NEVER, 10_000, &mut out).unwrap();
            total += out.len();
            for at in 0..out.len() {
                assert_eq!(*owner.entry(out.key(at).to_vec()).or_insert(task), task);
            }
        }
        assert_eq!((total, owner.len()), (1_000, 100));
    }

    #[test]
    fn a_broken_line_is_named() {
        for (text, line, part) in [
            ("1,a,1\n2,b\n", 2, "three fields"),
            ("t,k,b\nx,b,1\n", 2, "`x` is not a time"),
            ("1,a,1\n1,,1\n", 2, "1 to 65,535"),
            ("1,a,1\n1,a,-1\n", 2, "`-1` is not a number"),
            ("2,a,1\n1.9,a,1\n", 2, "before the line above's"),
            ("0,a,1\n1e3,a,1\n", 2, "`1e3` is not a time"),
        ] {
            match load(text, 1, 0).unwrap_err() {
                SourceError::Line { line: found, what, .. } => {
                    assert_eq!(found, line);
                    assert!(what.contains(part), "{what}");
                }
                other => panic!("{other}"),
            }
        }
    }
}
