//! Reads a `timeline.csv` back. Columns are known by their names: further ones are passed over, and one that is
//! missing leaves its figure out.

use thiserror::Error;

use crate::phase::Phase;

/// The timeline of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The strategy with its options.
    pub strategy: String,
    /// Which trial, from 1.
    pub trial: u32,
    /// 0, or 1 for the second run of an A/A pair.
    pub replica: u32,
    /// One point per 100 ms, in the order of their times.
    pub points: Vec<Point>,
}

/// One interval. What was not served or not sampled is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Start of the interval, in seconds since the end of the warm-up.
    pub time_s: f64,
    /// What the run was doing.
    pub phase: Phase,
    /// Median latency in milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile of latency in milliseconds.
    pub p99_ms: Option<f64>,
    /// Largest latency in milliseconds.
    pub max_ms: Option<f64>,
    /// Records that had arrived and were not served.
    pub backlog: Option<f64>,
    /// Tasks paused, averaged over the interval.
    pub tasks_paused: Option<f64>,
    /// Changelog megabytes replayed per second.
    pub restore_mb_per_s: Option<f64>,
    /// CPU time in per cent of one core.
    pub cpu_percent: Option<f64>,
    /// Resident memory in megabytes.
    pub rss_mb: Option<f64>,
}

/// Why a file is not a usable timeline.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TimelineError {
    /// Not CSV, or lines of different lengths.
    #[error("{file}: {source}; move the file away to report without it")]
    Csv {
        /// The file.
        file: String,
        /// The reader's words; they name the line.
        source: csv::Error,
    },
    /// A column that every timeline has is missing.
    #[error(
        "{file}: not a timeline of `understudy run`: there is no column `{column}`; move it away to report without it"
    )]
    Foreign {
        /// The file.
        file: String,
        /// The column.
        column: &'static str,
    },
    /// A cell holds something else.
    #[error("{file}:{line}: `{cell}` is no {what}; move the file away to report without it")]
    Cell {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// What is there.
        cell: String,
        /// What is expected.
        what: &'static str,
    },
}

/// Parses the content of a file; `file` is its name for messages. Runs come in the order in which they begin.
///
/// # Errors
/// [`TimelineError`] names file and line.
pub fn read(file: &str, content: &[u8]) -> Result<Vec<Timeline>, TimelineError> {
    let broken = |source| TimelineError::Csv { file: file.to_owned(), source };
    let mut reader = csv::Reader::from_reader(content);
    let headings = reader.headers().map_err(broken)?.clone();
    let column = |name: &str| headings.iter().position(|heading| heading == name);
    let needed = |name: &'static str| {
        column(name).ok_or_else(|| TimelineError::Foreign { file: file.to_owned(), column: name })
    };
    let (strategy, trial, time) = (needed("strategy")?, needed("trial")?, needed("time_s")?);
    let (replica, phase) = (column("replica"), column("phase"));
    let figures = [
        "latency_p50_ms",
        "latency_p99_ms",
        "latency_max_ms",
        "backlog",
        "tasks_paused",
        "restore_mb_per_s",
        "cpu_percent",
        "rss_mb",
    ]
    .map(column);
    let mut timelines: Vec<Timeline> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let cells = Cells { file, record: &record };
        let whole = |at| cells.parsed::<u32>(at, "whole number").map(Option::unwrap_or_default);
        let id = (record.get(strategy).unwrap_or_default(), whole(trial)?, replica.map_or(Ok(0), whole)?);
        let mut values = [None; 8];
        for (value, at) in values.iter_mut().zip(figures) {
            *value = at.map_or(Ok(None), |at| cells.number(at))?;
        }
        let [p50_ms, p99_ms, max_ms, backlog, tasks_paused, restore_mb_per_s, cpu_percent, rss_mb] = values;
        let point = Point {
            time_s: cells.number(time)?.ok_or_else(|| cells.wrong(time, "time"))?,
            phase: phase.and_then(|at| record.get(at)).map_or_else(Phase::default, named),
            p50_ms,
            p99_ms,
            max_ms,
            backlog,
            tasks_paused,
            restore_mb_per_s,
            cpu_percent,
            rss_mb,
        };
        // A run's rows stand together, so the last timeline is nearly always the one.
        let same = |of: &&mut Timeline| (of.strategy.as_str(), of.trial, of.replica) == id;
        match timelines.iter_mut().rev().find(same) {
            Some(timeline) => timeline.points.push(point),
            None => timelines.push(Timeline {
                strategy: id.0.to_owned(),
                trial: id.1,
                replica: id.2,
                points: vec![point],
            }),
        }
    }
    Ok(timelines)
}

fn named(name: &str) -> Phase {
    Phase::ALL.into_iter().find(|phase| phase.name() == name).unwrap_or_default()
}

struct Cells<'a> {
    file: &'a str,
    record: &'a csv::StringRecord,
}

impl Cells<'_> {
    fn number(&self, at: usize) -> Result<Option<f64>, TimelineError> {
        let number = self.parsed::<f64>(at, "number")?;
        match number {
            Some(number) if !number.is_finite() => Err(self.wrong(at, "number")),
            _ => Ok(number),
        }
    }

    fn parsed<T: std::str::FromStr>(
        &self,
        at: usize,
        what: &'static str,
    ) -> Result<Option<T>, TimelineError> {
        match self.record.get(at) {
            None | Some("") => Ok(None),
            Some(cell) => cell.parse().map(Some).map_err(|_| self.wrong(at, what)),
        }
    }

    fn wrong(&self, at: usize, what: &'static str) -> TimelineError {
        TimelineError::Cell {
            file: self.file.to_owned(),
            line: self.record.position().map_or(0, csv::Position::line),
            cell: self.record.get(at).unwrap_or_default().to_owned(),
            what,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Percentiles;
    use crate::latency::IntervalSummary;
    use crate::timeline::{Row, Sample, write_heading, write_rows};

    #[test]
    fn what_was_written_is_read_back() {
        let latency_ms = Percentiles { count: 7, p50: 1.25, p99: 20.0, max: 21.5, ..Percentiles::default() };
        let served =
            IntervalSummary { index: -3, phase: Phase::Rebalance, latency_ms, service_ms: latency_ms };
        let sample = Sample { backlog: 12, cpu_percent: 55.5, rss_bytes: 2_000_000, ..Sample::default() };
        let rows = [
            Row {
                index: -3,
                phase: Phase::Rebalance,
                served: Some(served),
                tasks_paused: 2.5,
                ..Row::default()
            },
            Row { index: -2, restore_bytes: 50_000, sample: Some(sample), ..Row::default() },
        ];
        let mut text = Vec::new();
        write_heading(&mut text).unwrap();
        write_rows(&mut text, ("learner(a=1,b=\"2\")", 3, 1), None, &rows).unwrap();
        write_rows(&mut text, ("eager", 3, 0), None, &rows[..1]).unwrap();
        let read = read("t.csv", &text).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(
            (read[0].strategy.as_str(), read[0].trial, read[0].replica),
            ("learner(a=1,b=\"2\")", 3, 1)
        );
        let [first, second] = read[0].points[..] else { panic!("two rows") };
        assert_eq!((first.time_s, first.phase), (-0.3, Phase::Rebalance));
        assert_eq!((first.p50_ms, first.p99_ms, first.max_ms), (Some(1.25), Some(20.0), Some(21.5)));
        assert_eq!((first.tasks_paused, first.cpu_percent), (Some(2.5), None));
        assert_eq!((second.p99_ms, second.restore_mb_per_s), (None, Some(0.5)));
        assert_eq!((second.backlog, second.cpu_percent, second.rss_mb), (Some(12.0), Some(55.5), Some(2.0)));
    }

    #[test]
    fn a_file_that_is_none_says_where() {
        let cases = [
            ("a,b\n1,2\n", "no column `strategy`"),
            ("strategy,trial,time_s\neager,one,0\n", "t.csv:2: `one` is no whole number"),
            ("strategy,trial,time_s\neager,1,\n", "t.csv:2: `` is no time"),
            ("strategy,trial,time_s,cpu_percent\neager,1,0,NaN\n", "`NaN` is no number"),
            ("strategy,trial,time_s\neager,1\n", "line: 2"),
        ];
        for (text, said) in cases {
            let error = read("t.csv", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        assert_eq!(read("t.csv", b"strategy,trial,time_s\n").unwrap(), []);
    }
}
