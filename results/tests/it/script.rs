//! A run as a text: settings, load, events, and after `=>` the numbers that must come out.
//!
//! An event is a time, a kind, and its fields in the order of the event's declaration. All times are milliseconds
//! with up to three decimals, so a text reads like the metrics that come of it.
//!
//! ```text
//! tasks 2, duration 5000, slo 50, window 1000..5000
//! load T1 1000/s 0..5000 latency 2
//! load T2 1000/s 0..5000 latency 2 stall 1001..1501
//! 1000      scripted start S4
//! 1000.25   started 2 join
//! 1001      stopped T1 S1 given-up
//! 1002      joined S1 2
//! 1010      barrier 2
//! 1011      completed 2 join balanced S1=T2 S4=T1
//! 1012      assigned T1 S4 2
//! 1013      fenced T1 S4 2 lag 500
//! 1500      restored T1 S4 500
//! 1501      polled T1 S4 2
//! => task_pause_ms.max 500
//! => pause T1 S1>S4 revoke 1, barrier 8, assign 2, restore 488, catch-up 1
//! ```

use std::collections::BTreeMap;

use results::event::{Action, Cause, Event, Stop, What};
use results::figure;
use results::latency::{Closed, LatencyRecord, Recorder};
use results::metric::{Ceiling, RunInput};
use results::pause::Pause;
use results::schema::{Audit, Run};

/// A run of tasks T1 to Tn; every member Sk is on instance Ik.
pub(crate) struct Script {
    pub(crate) events: Vec<Event>,
    pub(crate) latency: LatencyRecord,
    pub(crate) closed: Vec<Closed>,
    tasks: Vec<String>,
    instances: BTreeMap<String, String>,
    settings: Settings,
    expected: Vec<String>,
}

struct Settings {
    tasks: usize,
    duration_us: i64,
    end_us: Option<i64>,
    slo_us: u64,
    window_us: Option<(i64, i64)>,
    minimum: u64,
    ceiling: Option<f64>,
    undrained: u64,
}

impl Script {
    /// Reads the text.
    pub(crate) fn parse(text: &str) -> Self {
        let mut settings = Settings {
            tasks: 1,
            duration_us: 10_000_000,
            end_us: None,
            slo_us: 50_000,
            window_us: None,
            minimum: 0,
            ceiling: None,
            undrained: 0,
        };
        let (mut events, mut loads, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(expectation) = line.strip_prefix("=> ") {
                expected.push(expectation.to_owned());
            } else if line.starts_with("load ") {
                loads.push(line);
            } else if line.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
                events.push(event(line));
            } else {
                line.split(", ").for_each(|setting| settings.set(setting));
            }
        }
        let recorder = Recorder::new(settings.tasks, settings.slo_us);
        if let Some((from_us, to_us)) = settings.window_us {
            recorder.open_window(from_us, to_us);
        }
        recorder.set_phase(results::phase::Phase::Steady);
        let mut writer = recorder.writer();
        for line in loads {
            load(line, &mut writer);
        }
        drop(writer);
        Script {
            events,
            closed: recorder.close(i64::MAX),
            latency: recorder.finish(),
            tasks: (1..=settings.tasks).map(|task| format!("T{task}")).collect(),
            instances: (1..=9).map(|member| (format!("S{member}"), format!("I{member}"))).collect(),
            settings,
            expected,
        }
    }

    /// What the metrics are computed from.
    pub(crate) fn input(&self) -> RunInput<'_> {
        RunInput {
            events: &self.events,
            latency: &self.latency,
            tasks: &self.tasks,
            instances: &self.instances,
            duration_us: self.settings.duration_us,
            end_us: self.settings.end_us.unwrap_or(self.settings.duration_us),
            minimum_moves: self.settings.minimum,
            restore_ceiling: self
                .settings
                .ceiling
                .map(|records_per_s| Ceiling { records_per_s, mb_per_s: records_per_s / 1e4 }),
            undrained: self.settings.undrained,
        }
    }

    /// The run's entry of `result.json`.
    pub(crate) fn run(&self, strategy: &str, trial: u32) -> Run {
        let identity = results::assemble::Identity {
            strategy: strategy.to_owned(),
            trial,
            replica: 0,
            seed: u64::from(trial),
        };
        results::assemble::run(identity, &self.input(), Audit { passed: true, ..Audit::default() })
    }

    /// Computes the run and checks every expectation.
    pub(crate) fn check(&self, name: &str) {
        let run = self.run("any", 1);
        let mut pauses = run.pauses.iter();
        for expectation in &self.expected {
            if let Some(pause) = expectation.strip_prefix("pause ") {
                let found = pauses.next().map_or_else(|| "none".to_owned(), describe);
                assert_eq!(found, pause, "{name}: the next pause");
                continue;
            }
            let (figure, value) = expectation.split_once(' ').expect("=> FIGURE VALUE");
            let figure = figure::by_name(figure).unwrap_or_else(|| panic!("{name}: no figure {figure}"));
            match ((figure.of)(&run), value) {
                (None, "null") => {}
                (Some(found), _) => {
                    let digits = value.strip_prefix("about ").unwrap_or(value);
                    let wanted: f64 = digits.parse().unwrap_or_else(|_| panic!("{name}: {value}"));
                    // `about` allows for the histogram's three digits; all else is exact to the microsecond.
                    let slack = if digits == value { 1e-9 } else { wanted.abs() * 0.001 };
                    assert!(
                        (found - wanted).abs() <= slack,
                        "{name}: {} is {found}, not {value}",
                        figure.name
                    );
                }
                (None, _) => panic!("{name}: {} is null, not {value}", figure.name),
            }
        }
    }
}

impl Settings {
    fn set(&mut self, setting: &str) {
        let (key, value) = setting.split_once(' ').unwrap_or_else(|| panic!("{setting}: KEY VALUE"));
        match key {
            "tasks" => self.tasks = number(value) as usize,
            "duration" => self.duration_us = us(value),
            "end" => self.end_us = Some(us(value)),
            "slo" => self.slo_us = us(value).unsigned_abs(),
            "window" => self.window_us = Some(range(value)),
            "minimum" => self.minimum = number(value),
            "ceiling" => self.ceiling = Some(number(value) as f64),
            "undrained" => self.undrained = number(value),
            _ => panic!("{setting}: unknown setting"),
        }
    }
}

/// A pause as the texts have it: parts that took no time are left out.
fn describe(pause: &Pause) -> String {
    assert_eq!(pause.anatomy.sum_us(), pause.us(), "the parts add up: {pause:?}");
    let mut text = format!("{} {}>{}", pause.task, pause.from, pause.to.as_deref().unwrap_or("?"));
    let parts: Vec<String> = pause
        .anatomy
        .parts()
        .iter()
        .filter(|(_, us)| *us > 0)
        .map(|(part, us)| format!("{part} {}", *us as f64 / 1_000.0))
        .collect();
    text.push(' ');
    text.push_str(&parts.join(", "));
    if pause.generations > 1 {
        text.push_str(&format!(", {} generations", pause.generations));
    }
    if pause.given_back {
        text.push_str(", given back");
    }
    if pause.censored {
        text.push_str(", censored");
    }
    text
}

/// `load T1 1000/s 0..5000 latency 2 [stall 1000..3000]`: evenly spaced records that are served the given time after
/// their arrival (0.1 ms of it in service), those that would be served in the stall at its end, in one turn.
fn load(line: &str, writer: &mut results::latency::Writer) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let task = number(&words[1][1..]) as usize - 1;
    let per_second = number(words[2].trim_end_matches("/s")) as i64;
    let (from_us, to_us) = range(words[3]);
    let latency_us = us(words[5]);
    let stall = words.get(7).map(|stall| range(stall));
    let mut waiting = Vec::new();
    for n in 0..(to_us - from_us) * per_second / 1_000_000 {
        let arrival_us = from_us + n * 1_000_000 / per_second;
        let served_us = arrival_us + latency_us;
        match stall {
            Some((begin_us, end_us)) if (begin_us..end_us).contains(&served_us) => waiting.push(arrival_us),
            _ => {
                if let Some((_, end_us)) = stall
                    && served_us >= end_us
                    && !waiting.is_empty()
                {
                    writer.record_turn(task, end_us, 100, waiting.drain(..));
                }
                writer.record_turn(task, served_us, 100, [arrival_us]);
            }
        }
    }
    if let Some((_, end_us)) = stall {
        writer.record_turn(task, end_us, 100, waiting);
    }
}

fn event(line: &str) -> Event {
    let words: Vec<&str> = line.split_whitespace().collect();
    let text =
        |at: usize| words.get(at).unwrap_or_else(|| panic!("{line}: word {at} is missing")).to_string();
    let n = |at: usize| number(&text(at));
    let what = match words[1] {
        "scripted" => What::Scripted {
            action: word::<Action>(words[2]),
            members: words[3..].iter().map(ToString::to_string).collect(),
        },
        "started" => What::RebalanceStarted { generation: n(2), cause: word::<Cause>(words[3]) },
        "joined" => What::Joined { member: text(2), generation: n(3) },
        "barrier" => What::BarrierReached { generation: n(2) },
        "completed" => What::GenerationCompleted {
            generation: n(2),
            causes: words[3].split(',').map(word::<Cause>).collect(),
            balanced: words[4] == "balanced",
            active: words[5..].iter().map(|part| active(part)).collect(),
            standby: vec![],
        },
        "gone" => What::MemberGone { member: text(2), cause: word::<Cause>(words[3]) },
        "stopped" => What::TaskStopped { task: text(2), member: text(3), why: word::<Stop>(words[4]) },
        "assigned" => What::TaskAssigned { task: text(2), member: text(3), generation: n(4) },
        "fenced" => What::TaskFenced { task: text(2), member: text(3), epoch: n(4), lag: n(6) },
        "restored" => {
            What::RestoreFinished { task: text(2), member: text(3), records: n(4), bytes: n(4) * 100 }
        }
        "polled" => What::TaskPolled { task: text(2), member: text(3), epoch: n(4) },
        "learning" => What::LearnerStarted { task: text(2), member: text(3), lag: n(5) },
        "ready" => What::LearnerReady { task: text(2), member: text(3), lag: n(5) },
        "dropped" => What::LearnerDropped { task: text(2), member: text(3), records: n(4), bytes: n(6) },
        "replayed" => What::Replayed {
            task: text(2),
            instance: text(3),
            records: n(4),
            bytes: n(6),
            work_us: us(words[9]).unsigned_abs(),
        },
        "discarded" => What::StoreDiscarded { task: text(2), instance: text(3), bytes: n(4) },
        other => panic!("{line}: unknown event {other}"),
    };
    Event { at_us: us(words[0]), what }
}

/// `S1=T1,T2`, or `S4=` for a member without tasks.
fn active(part: &str) -> (String, Vec<String>) {
    let (member, tasks) = part.split_once('=').unwrap_or_else(|| panic!("{part}: MEMBER=TASKS"));
    (member.to_owned(), tasks.split(',').filter(|task| !task.is_empty()).map(str::to_owned).collect())
}

fn range(text: &str) -> (i64, i64) {
    let (from, to) = text.split_once("..").unwrap_or_else(|| panic!("{text}: FROM..TO"));
    (us(from), us(to))
}

/// Milliseconds with up to three decimals, as microseconds.
fn us(text: &str) -> i64 {
    let ms: f64 = text.parse().unwrap_or_else(|_| panic!("{text} is not a time"));
    (ms * 1_000.0).round() as i64
}

fn word<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_value(text.into()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn number(text: &str) -> u64 {
    text.replace('_', "").parse().unwrap_or_else(|_| panic!("{text} is not a number"))
}
