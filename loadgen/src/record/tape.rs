//! What is written down while a run goes on, so that it takes no memory however long it lasts: the interval log as it
//! will be read, and entries of the timeline, which is put together when the run is over.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use engine::clock::Time;
use hdrhistogram::serialization::V2DeflateSerializer;
use results::event::Event;
use results::interval_log::{Beginning, Clock, IntervalLog};
use results::latency::summaries;
use results::schema::Run;
use results::timeline::{self, Entry, Timeline};

use super::Recorder;
use crate::error::Error;

const LOG: &str = "latency.hlog";
const ENTRIES: &str = "timeline.entries";
const TIMELINE: &str = "timeline.csv";

/// The files of a run that has not begun.
#[derive(Debug)]
pub struct Reels {
    dir: PathBuf,
    log: BufWriter<File>,
    entries: BufWriter<File>,
    serializer: Serializer,
}

/// HdrHistogram's serializer has no `Debug`.
struct Serializer(V2DeflateSerializer);

impl std::fmt::Debug for Serializer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Serializer")
    }
}

impl Reels {
    /// Makes the files in `dir`.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn create(dir: &Path) -> Result<Self, Error> {
        let create = |name: &str| {
            let path = dir.join(name);
            File::create(&path).map(BufWriter::new).map_err(Error::io(path))
        };
        Ok(Self {
            dir: dir.to_owned(),
            log: create(LOG)?,
            entries: create(ENTRIES)?,
            serializer: Serializer(V2DeflateSerializer::new()),
        })
    }

    /// Begins to write; `name` tells the run in the log's head.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn begin(&mut self, name: &str, beginning: Beginning) -> Result<Tape<'_>, Error> {
        let Self { dir, log, entries, serializer: Serializer(serializer) } = self;
        let log = IntervalLog::begin(log, serializer, Clock::Latency, name, beginning)
            .map_err(Error::io(dir.join(LOG)))?;
        Ok(Tape { dir, log, entries })
    }

    /// Ends writing.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn end(mut self) -> Result<Written, Error> {
        let flushed = self.log.flush().and_then(|()| self.entries.flush());
        flushed.map_err(Error::io(&self.dir))?;
        Ok(Written { dir: self.dir })
    }
}

/// A run that is being written down.
#[derive(Debug)]
pub struct Tape<'a> {
    dir: &'a Path,
    log: IntervalLog<'a, BufWriter<File>>,
    entries: &'a mut BufWriter<File>,
}

impl Tape<'_> {
    /// Writes down what is over by `now`, and a look at the process.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn advance(&mut self, recorder: &Recorder, now: Time, look: Option<Entry>) -> Result<(), Error> {
        let closed = recorder.close(now);
        let logged = closed.iter().try_for_each(|interval| self.log.write(interval));
        logged.map_err(Error::io(self.dir.join(LOG)))?;
        let served = summaries(&closed).into_iter().map(Entry::Served);
        let mut entries = served.chain(recorder.take_replayed()).chain(look);
        let written = entries.try_for_each(|entry| {
            serde_json::to_writer(&mut *self.entries, &entry)?;
            self.entries.write_all(b"\n")
        });
        written.map_err(Error::io(self.dir.join(ENTRIES)))
    }
}

/// The files of a run that is over.
#[derive(Debug)]
pub struct Written {
    dir: PathBuf,
}

impl Written {
    /// The interval log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.dir.join(LOG)
    }

    /// Puts the timeline together: its lines, without a heading.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn timeline(
        &self,
        run: &Run,
        window_us: Option<(i64, i64)>,
        events: &[Event],
    ) -> Result<PathBuf, Error> {
        let path = self.dir.join(TIMELINE);
        let id = (run.strategy.as_str(), run.trial, run.replica);
        let write = || -> io::Result<()> {
            let mut out = BufWriter::new(File::create(&path)?);
            let mut timeline = Timeline::new(events, &run.pauses);
            for line in BufReader::new(File::open(self.dir.join(ENTRIES))?).lines() {
                let entry: Entry = serde_json::from_str(&line?)?;
                timeline::write_rows(&mut out, id, window_us, &timeline.add(&entry))?;
            }
            timeline::write_rows(&mut out, id, window_us, &timeline.finish())?;
            out.flush()
        };
        write().map_err(Error::io(&path))?;
        Ok(path)
    }
}
