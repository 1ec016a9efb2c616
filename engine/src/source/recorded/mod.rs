//! A recorded load: lines `time,key,bytes` of a file, played at its own speed or a multiple of it, once or over and
//! over.
//!
//! The time is in seconds, with a fraction if need be (`12.25`), and never goes back; only differences to the first
//! line's count, so that epoch seconds are fine. The key is any text without a comma, the bytes are the payload's
//! size. A first line that is not a record is taken for a header; empty lines are skipped. Files whose names end in
//! `.gz` or `.zst` are decompressed.
//!
//! A record of a single file goes to the task that the hash of its key picks; of several files, each is one task's.
//! What is preloaded are the task's keys in order of appearance, `updates_per_key` times over, so that every record
//! finds its key in the state.
//!
//! The file is read once, and its records are put on disk in a form that can be read at any place (`tape`): memory is
//! needed for the keys, each once, as the state needs it too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assignor::TaskId;

use super::{KeyMap, Records, Source, Sources, Span, hash};
use crate::clock::Time;
use crate::error::SourceError;

mod lines;
mod pace;
mod tape;

use pace::Pace;
use tape::{Entry, Recorder, Tape};

/// What is to be played, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedLoad {
    /// One file whose records are spread over the tasks by key, or as many as there are tasks, each for one.
    pub files: Vec<PathBuf>,
    /// The tasks, whose order decides who gets which keys, or which file.
    pub tasks: Vec<TaskId>,
    /// Those of them that have nothing preloaded, because they have no state.
    pub stateless: Vec<TaskId>,
    /// Preloaded updates of every key.
    pub updates_per_key: u64,
    /// So many times as fast as it was recorded, to the millionth.
    pub speed: f64,
    /// Whether it begins anew when it has come to its end.
    pub looping: bool,
    /// Whether lines that are no records are passed over, and counted.
    pub skip_broken: bool,
}

/// Lines that are no records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokenLines {
    /// How many.
    pub count: u64,
    /// File, number and what is wrong, of the first few.
    pub first: Vec<(PathBuf, u64, String)>,
}

/// So many broken lines are told one by one.
const TOLD: usize = 5;

/// The inputs of all tasks. Clones share the span that [`begin`](Self::begin) and [`end`](Self::end) set.
#[derive(Clone, Debug)]
pub struct RecordedSources(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    span: Span,
    pace: Pace,
    /// After this time in the recording it begins anew; `None` if it doesn't.
    period: Option<u64>,
    broken: BrokenLines,
    tasks: BTreeMap<TaskId, Arc<Recording>>,
}

/// The records of one task, and its keys, each once.
#[derive(Debug)]
struct Recording {
    tape: Tape,
    preloaded: u64,
    key_ends: Vec<usize>,
    key_bytes: Vec<u8>,
}

impl Recording {
    fn key(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.key_ends[number - 1] };
        &self.key_bytes[start..self.key_ends[number]]
    }
}

impl RecordedSources {
    /// Reads everything once.
    ///
    /// # Errors
    ///
    /// I/O errors; [`SourceError::Line`] for a line that is not a record, or whose time is before the line above's,
    /// unless such lines are to be passed over; [`SourceError::Files`] for a number of files that fits no tasks.
    pub fn load(load: &RecordedLoad) -> Result<Self, SourceError> {
        let by_key = load.files.len() == 1;
        if !by_key && load.files.len() != load.tasks.len() {
            return Err(SourceError::Files { files: load.files.len(), tasks: load.tasks.len() });
        }
        let mut loader = Loader::new(load)?;
        for (number, file) in load.files.iter().enumerate() {
            loader.file(file, if by_key { None } else { Some(number) })?;
        }
        loader.finish(load)
    }

    /// Sets the moment at which the first record arrives. Until then none is due, and the next one is due at
    /// [`Time::NEVER`].
    pub fn begin(&self, at: Time) {
        self.0.span.set_begin(at);
    }

    /// Sets the moment from which no record arrives any more.
    pub fn end(&self, at: Time) {
        self.0.span.set_end(at);
    }

    /// Records of one round, and how long it plays in nanoseconds; without end if it begins anew.
    #[must_use]
    pub fn extent(&self) -> (u64, u64) {
        let tapes = self.0.tasks.values().map(|recording| &recording.tape);
        let records = tapes.clone().map(Tape::len).sum();
        let lasts = tapes.map(Tape::last).max().unwrap_or(0);
        (records, if self.0.period.is_some() && records > 0 { u64::MAX } else { self.0.pace.played(lasts) })
    }

    /// The lines that were passed over.
    #[must_use]
    pub fn broken(&self) -> &BrokenLines {
        &self.0.broken
    }
}

/// Takes lines apart and spreads them over tasks.
struct Loader {
    tasks: Vec<TaskRecorder>,
    skip_broken: bool,
    broken: BrokenLines,
    /// Of the file that is being read.
    first: Option<u64>,
    latest: u64,
}

struct TaskRecorder {
    tape: Recorder,
    /// Keys and their numbers.
    known: KeyMap<u32>,
    key_ends: Vec<usize>,
    key_bytes: Vec<u8>,
}

fn spool(source: std::io::Error) -> SourceError {
    SourceError::Io { path: std::env::temp_dir(), source }
}

impl Loader {
    fn new(load: &RecordedLoad) -> Result<Self, SourceError> {
        let recorder = |_| {
            let tape = Recorder::new().map_err(spool)?;
            Ok(TaskRecorder { tape, known: KeyMap::default(), key_ends: Vec::new(), key_bytes: Vec::new() })
        };
        let tasks = load.tasks.iter().map(recorder).collect::<Result<_, SourceError>>()?;
        let broken = BrokenLines::default();
        Ok(Self { tasks, skip_broken: load.skip_broken, broken, first: None, latest: 0 })
    }

    /// Reads a file, for one task or for whom the keys pick.
    fn file(&mut self, path: &Path, task: Option<usize>) -> Result<(), SourceError> {
        let io = |source| SourceError::Io { path: path.to_owned(), source };
        let mut file = lines::open(path).map_err(io)?;
        (self.first, self.latest) = (None, 0);
        let (mut line, mut number) = (Vec::new(), 0);
        while lines::next(&mut *file, &mut line).map_err(io)? {
            number += 1;
            if line.is_empty() || self.tasks.is_empty() {
                continue;
            }
            match self.take(&line, task) {
                Ok(taken) => taken?,
                Err(_) if number == 1 => {}
                Err(what) => {
                    self.broken.count += 1;
                    if self.broken.first.len() < TOLD {
                        self.broken.first.push((path.to_owned(), number, what));
                    }
                }
            }
        }
        match self.broken.first.first() {
            Some((path, line, what)) if !self.skip_broken => Err(SourceError::Line {
                path: path.clone(),
                line: *line,
                what: what.clone(),
                more: self.broken.count - 1,
            }),
            _ => Ok(()),
        }
    }

    /// Takes a line in, or says what is wrong with it; the inner error is the disk's.
    fn take(&mut self, line: &[u8], task: Option<usize>) -> Result<Result<(), SourceError>, String> {
        let (time, key, bytes) = lines::record(line)?;
        let first = *self.first.get_or_insert(time);
        if time < self.latest.max(first) {
            return Err("its time is before the line above's: sort the file by time".to_owned());
        }
        self.latest = time;
        let task = task.unwrap_or_else(|| (hash(key) % self.tasks.len() as u64) as usize);
        let task = &mut self.tasks[task];
        let key = task.number(key).ok_or("more than 2³² keys")?;
        Ok(task.tape.push(Entry { time: time - first, key, bytes }).map_err(spool))
    }

    fn finish(self, load: &RecordedLoad) -> Result<RecordedSources, SourceError> {
        let mut tasks = BTreeMap::new();
        for (task, recorder) in load.tasks.iter().zip(self.tasks) {
            let updates = if load.stateless.contains(task) { 0 } else { load.updates_per_key };
            let TaskRecorder { tape, key_ends, key_bytes, .. } = recorder;
            let (tape, preloaded) = (tape.finish().map_err(spool)?, key_ends.len() as u64 * updates);
            tasks.insert(task.clone(), Arc::new(Recording { tape, preloaded, key_ends, key_bytes }));
        }
        let records: u64 = tasks.values().map(|recording| recording.tape.len()).sum();
        let lasts = tasks.values().map(|recording| recording.tape.last()).max().unwrap_or(0);
        // The last record is followed by the first at the recording's mean distance.
        let period = load.looping.then(|| (lasts + lasts / records.saturating_sub(1).max(1)).max(1));
        let (span, pace, broken) = (Span::default(), Pace::new(load.speed), self.broken);
        Ok(RecordedSources(Arc::new(Shared { span, pace, period, broken, tasks })))
    }
}

impl TaskRecorder {
    /// The number of a key, given to it if it is new.
    fn number(&mut self, key: &[u8]) -> Option<u32> {
        if let Some(&number) = self.known.get(key) {
            return Some(number);
        }
        let number = u32::try_from(self.known.len()).ok()?;
        self.known.insert(key.into(), number);
        self.key_bytes.extend_from_slice(key);
        self.key_ends.push(self.key_bytes.len());
        Some(number)
    }
}

impl Shared {
    /// Time of the live record `nth` after the beginning, given its time on the tape.
    fn time(&self, round: u64, recorded: u64) -> u64 {
        let rounds = self.period.unwrap_or(0).saturating_mul(round);
        self.pace.played(rounds.saturating_add(recorded))
    }

    /// Live records of a task that arrive until `now`.
    fn live(&self, recording: &Recording, now: Time) -> std::io::Result<u64> {
        let (Some(begin), false) = (self.span.begin(), recording.tape.len() == 0) else { return Ok(0) };
        let last = Time(self.span.end().0.saturating_sub(1)).min(now);
        if last < begin {
            return Ok(0);
        }
        let place = self.pace.reached(last.0 - begin.0);
        let (rounds, place) = match self.period {
            Some(period) => (place / period, place % period),
            None => (0, place),
        };
        Ok(rounds.saturating_mul(recording.tape.len()).saturating_add(recording.tape.within(place)?))
    }
}

impl Sources for RecordedSources {
    fn open(&self, task: &TaskId, offset: u64) -> Result<Box<dyn Source>, SourceError> {
        let recording = self.0.tasks.get(task).cloned();
        Ok(Box::new(RecordedSource {
            shared: Arc::clone(&self.0),
            recording,
            position: offset,
            page: (0, Vec::new()),
        }))
    }

    fn preloaded(&self, task: &TaskId) -> u64 {
        self.0.tasks.get(task).map_or(0, |recording| recording.preloaded)
    }

    fn due(&self, task: &TaskId, now: Time) -> u64 {
        let Some(recording) = self.0.tasks.get(task) else { return 0 };
        // Whoever polls the task next is told what is wrong with the disk.
        recording.preloaded.saturating_add(self.0.live(recording, now).unwrap_or(0))
    }
}

struct RecordedSource {
    shared: Arc<Shared>,
    recording: Option<Arc<Recording>>,
    position: u64,
    /// A page of the tape: the number of its first record, and its records.
    page: (u64, Vec<Entry>),
}

impl RecordedSource {
    /// Round and entry of the live record `nth`; `None` if there are no more.
    fn entry(&mut self, nth: u64) -> std::io::Result<Option<(u64, Entry)>> {
        let Some(recording) = &self.recording else { return Ok(None) };
        let len = recording.tape.len();
        if len == 0 || (nth >= len && self.shared.period.is_none()) {
            return Ok(None);
        }
        let (round, place) = (nth / len, nth % len);
        if !(self.page.0..self.page.0 + self.page.1.len() as u64).contains(&place) {
            self.page = recording.tape.page(place)?;
        }
        Ok(self.page.1.get((place - self.page.0) as usize).map(|entry| (round, *entry)))
    }

    fn due(&self, now: Time) -> std::io::Result<u64> {
        let Some(recording) = &self.recording else { return Ok(0) };
        Ok(recording.preloaded.saturating_add(self.shared.live(recording, now)?))
    }
}

impl Source for RecordedSource {
    fn poll(&mut self, now: Time, max: usize, out: &mut Records) -> Result<(), SourceError> {
        let Some(recording) = self.recording.clone() else { return Ok(()) };
        let due = self.due(now).map_err(spool)?.min(self.position.saturating_add(max as u64));
        for offset in self.position..due.min(recording.preloaded) {
            let key = recording.key((offset % recording.key_ends.len() as u64) as usize);
            out.push(offset, Time::ZERO, key, 0);
        }
        let begin = self.shared.span.begin().unwrap_or_default();
        for offset in self.position.max(recording.preloaded)..due {
            let Some((round, entry)) = self.entry(offset - recording.preloaded).map_err(spool)? else {
                break;
            };
            let time = Time(begin.0.saturating_add(self.shared.time(round, entry.time)));
            out.push(offset, time, recording.key(entry.key as usize), entry.bytes);
        }
        self.position = self.position.max(due);
        // What comes next is at hand, so that it is known when it is due.
        if let Some(nth) = self.position.checked_sub(recording.preloaded) {
            self.entry(nth).map_err(spool)?;
        }
        Ok(())
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn next_due(&self) -> Option<Time> {
        let recording = self.recording.as_ref()?;
        let Some(nth) = self.position.checked_sub(recording.preloaded) else { return Some(Time::ZERO) };
        let len = recording.tape.len();
        if len == 0 || (nth >= len && self.shared.period.is_none()) {
            return None;
        }
        let Some(begin) = self.shared.span.begin() else { return Some(Time::NEVER) };
        let (round, place) = (nth / len, nth % len);
        // Off the page at hand: the next poll reads on, and finds out.
        let recorded = place
            .checked_sub(self.page.0)
            .and_then(|at| self.page.1.get(at as usize))
            .map_or_else(|| recording.tape.start_before(place), |entry| entry.time);
        let next = Time(begin.0.saturating_add(self.shared.time(round, recorded)));
        (next < self.shared.span.end()).then_some(next)
    }

    fn backlog(&self, now: Time) -> u64 {
        self.due(now).unwrap_or(0).saturating_sub(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A load of one file for so many tasks.
    fn of(file: &Path, tasks: usize) -> RecordedLoad {
        RecordedLoad {
            files: vec![file.to_owned()],
            tasks: (1..=tasks).map(|nth| TaskId::from(format!("T{nth}"))).collect(),
            stateless: Vec::new(),
            updates_per_key: 0,
            speed: 1.0,
            looping: false,
            skip_broken: false,
        }
    }

    fn written(bytes: &[u8], ending: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::Builder::new().suffix(ending).tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn load(text: &str, tasks: usize, updates_per_key: u64) -> Result<RecordedSources, SourceError> {
        let file = written(text.as_bytes(), ".csv");
        RecordedSources::load(&RecordedLoad { updates_per_key, ..of(file.path(), tasks) })
    }

    /// Everything that a task's source has until `until`, with its time.
    fn play(sources: &RecordedSources, task: &str, until: Time) -> Vec<(u64, String)> {
        let mut source = sources.open(&task.into(), 0).unwrap();
        let mut out = Records::default();
        while source.backlog(until) > 0 {
            source.poll(until, 3, &mut out).unwrap();
        }
        let key = |at| String::from_utf8(out.key(at).to_vec()).unwrap();
        (0..out.len()).map(|at| (out.times[at].0, key(at))).collect()
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn speed_scales_the_times_and_looping_begins_anew() {
        let file = written(b"5,a,1\n5.1,b,1\n5.2,c,1\n", ".csv");
        let fast = RecordedLoad { speed: 2.0, looping: true, ..of(file.path(), 1) };
        let sources = RecordedSources::load(&fast).unwrap();
        sources.begin(Time(0));
        assert_eq!(sources.extent(), (3, u64::MAX));
        // 100 ms apart, the last and the first of the next round too; at twice the speed, 50 ms.
        let expected: Vec<_> =
            (0..7).map(|nth| (nth * 50 * MS, ["a", "b", "c"][nth as usize % 3].to_owned())).collect();
        assert_eq!(play(&sources, "T1", Time(300 * MS)), expected);
        let mut source = sources.open(&"T1".into(), 6).unwrap();
        assert_eq!(source.next_due(), Some(Time(300 * MS)));
        sources.end(Time(301 * MS));
        let mut out = Records::default();
        source.poll(Time::NEVER, 100, &mut out).unwrap();
        assert_eq!((out.len(), source.next_due()), (1, None), "the end of the run is the end of the loop");
    }

    #[test]
    fn due_and_next_due_agree_at_odd_speeds() {
        let text: String =
            (0..10_000).map(|nth| format!("{}.{:03},k{},1\n", nth / 7, nth % 7, nth % 11)).collect();
        let file = written(text.as_bytes(), ".csv");
        for (speed, looping) in [(0.3, false), (3.7, true), (1.0, true), (1e6, true), (1e9, true)] {
            let sources =
                RecordedSources::load(&RecordedLoad { speed, looping, ..of(file.path(), 1) }).unwrap();
            sources.begin(Time(77));
            let task = "T1".into();
            for offset in [0, 1, 13, 4_095, 4_096, 4_097, 9_999] {
                let mut source = sources.open(&task, offset).unwrap();
                let mut out = Records::default();
                source.poll(Time(u64::MAX / 4), 1, &mut out).unwrap();
                let time = out.times[0];
                assert!(sources.due(&task, time) > offset, "{speed} {offset}");
                assert!(sources.due(&task, Time(time.0 - 1)) <= offset, "{speed} {offset}");
                let said = sources.open(&task, offset).unwrap().next_due().unwrap();
                assert!(said <= time, "said to be due later than it is");
            }
        }
    }

    #[test]
    fn compressed_files_are_read_frame_by_frame() {
        let text =
            |from: u32| (from..from + 500).map(|nth| format!("{nth},k{},1\n", nth % 50)).collect::<String>();
        let gzip = |text: &str| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let zstd = |text: &str| {
            ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
        };
        let plain = load(&(text(0) + &text(500)), 1, 1).unwrap();
        plain.begin(Time::ZERO);
        let expected = play(&plain, "T1", Time(u64::MAX - 1));
        assert_eq!(expected.len(), 50 + 1_000);
        // Two members or frames each, as compressors that work in parallel write them.
        for (bytes, ending) in [
            ([gzip(&text(0)), gzip(&text(500))].concat(), ".csv.gz"),
            ([zstd(&text(0)), zstd(&text(500))].concat(), ".csv.zst"),
        ] {
            let file = written(&bytes, ending);
            let sources =
                RecordedSources::load(&RecordedLoad { updates_per_key: 1, ..of(file.path(), 1) }).unwrap();
            sources.begin(Time::ZERO);
            assert_eq!(play(&sources, "T1", Time(u64::MAX - 1)), expected, "{ending}");
            let cut = written(&bytes[..bytes.len() - 30], ending);
            assert!(
                matches!(RecordedSources::load(&of(cut.path(), 1)), Err(SourceError::Io { path, .. }) if path == cut.path()),
                "a file that was cut short: {ending}"
            );
        }
    }

    #[test]
    fn each_of_several_files_is_one_task_s() {
        let (one, two) = (written(b"1,a,1\n3,b,1\n", ".csv"), written(b"0,a,1\n1,c,1\n1,c,1\n", ".csv"));
        let files = vec![one.path().to_owned(), two.path().to_owned()];
        let sources =
            RecordedSources::load(&RecordedLoad { files: files.clone(), ..of(one.path(), 2) }).unwrap();
        sources.begin(Time::ZERO);
        let keys = |task| {
            play(&sources, task, Time(u64::MAX - 1)).into_iter().map(|(_, key)| key).collect::<String>()
        };
        assert_eq!((keys("T1"), keys("T2")), ("ab".to_owned(), "acc".to_owned()));
        let error = RecordedSources::load(&RecordedLoad { files, ..of(one.path(), 3) }).unwrap_err();
        assert!(error.to_string().contains("2 files for 3 tasks"), "{error}");
    }

    #[test]
    fn broken_lines_are_counted_and_the_first_are_told() {
        let text: String = (0..100)
            .map(|nth| if nth % 10 == 3 { "x\n".to_owned() } else { format!("{nth},k,1\n") })
            .collect();
        match load(&text, 1, 0).unwrap_err() {
            SourceError::Line { line, more, .. } => assert_eq!((line, more), (4, 9)),
            other => panic!("{other}"),
        }
        let file = written(text.as_bytes(), ".csv");
        let sources =
            RecordedSources::load(&RecordedLoad { skip_broken: true, ..of(file.path(), 1) }).unwrap();
        let lines: Vec<u64> = sources.broken().first.iter().map(|(_, line, _)| *line).collect();
        assert_eq!((sources.broken().count, lines), (10, vec![4, 14, 24, 34, 44]));
        assert_eq!(sources.extent().0, 90);
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
