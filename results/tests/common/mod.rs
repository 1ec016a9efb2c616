//! Shared by the tests: event scripts as text, and runs made of them.
//!
//! A script has one event a line: a time, a kind, and its fields in the order of the event's declaration. Times are
//! milliseconds with up to three decimals (`2000.5`), so a script reads like the metric it leads to.
//!
//! ```text
//! 1000      scripted start S4
//! 1000.25   started 2 join
//! 1001      stopped T1 S1 given-up
//! 1002      joined S1 2
//! 1010      barrier 2
//! 1011      completed 2 join balanced S1=T1,T2 S2=T3 S4=
//! 1012      assigned T1 S4 2
//! 1013      fenced T1 S4 2 lag 500
//! 1500      restored T1 S4 500
//! 1501      polled T1 S4 2
//! ```
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;

use results::event::{Action, Cause, Event, Stop, What};
use results::latency::{LatencyRecord, Recorder};
use results::metric::RunInput;

/// The events of a script.
pub fn events(script: &str) -> Vec<Event> {
    script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(event)
        .collect()
}

/// Milliseconds with up to three decimals, as microseconds.
pub fn us(text: &str) -> i64 {
    let ms: f64 = text.parse().unwrap_or_else(|_| panic!("{text} is not a time"));
    (ms * 1_000.0).round() as i64
}

fn word<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_value(text.into()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn number(text: &str) -> u64 {
    text.replace('_', "").parse().unwrap_or_else(|_| panic!("{text} is not a number"))
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
            causes: vec![word::<Cause>(words[3])],
            balanced: words[4] == "balanced",
            active: words[5..].iter().map(|part| active(part)).collect(),
        },
        "gone" => What::MemberGone { member: text(2), cause: word::<Cause>(words[3]) },
        "stopped" => What::TaskStopped { task: text(2), member: text(3), why: word::<Stop>(words[4]) },
        "assigned" => What::TaskAssigned { task: text(2), member: text(3), generation: n(4) },
        "fenced" => What::TaskFenced { task: text(2), member: text(3), epoch: n(4), lag: n(6) },
        "restored" => {
            What::RestoreFinished { task: text(2), member: text(3), records: n(4), bytes: n(4) * 100 }
        }
        "polled" => What::TaskPolled { task: text(2), member: text(3), epoch: n(4) },
        "learning" => What::LearnerStarted { task: text(2), member: text(3), lag: n(4) },
        "ready" => What::LearnerReady { task: text(2), member: text(3), lag: n(4) },
        "dropped" => What::LearnerDropped { task: text(2), member: text(3), records: n(4), bytes: n(5) },
        "replayed" => What::Replayed {
            task: text(2),
            instance: text(3),
            records: n(4),
            bytes: n(5),
            work_us: u64::try_from(us(words[6])).expect("work takes time"),
        },
        "discarded" => What::StoreDiscarded { task: text(2), instance: text(3), bytes: n(4) },
        other => panic!("{line}: unknown event {other}"),
    };
    Event { at_us: us(words[0]), what }
}

/// `S1=T1,T2` or `S4=`.
fn active(part: &str) -> (String, Vec<String>) {
    let (member, tasks) = part.split_once('=').unwrap_or_else(|| panic!("{part}: MEMBER=TASKS"));
    (member.to_owned(), tasks.split(',').filter(|task| !task.is_empty()).map(str::to_owned).collect())
}

/// A run of a script: tasks T1 to Tn, every member Sk on instance Ik.
pub struct Script {
    pub events: Vec<Event>,
    pub latency: LatencyRecord,
    pub tasks: Vec<String>,
    pub instances: BTreeMap<String, String>,
    pub duration_us: i64,
    pub end_us: i64,
}

impl Script {
    /// A run of `tasks` tasks that lasts `duration_ms` and has no drain.
    pub fn new(tasks: usize, duration_ms: i64, script: &str) -> Self {
        Script {
            events: events(script),
            latency: Recorder::new(tasks, 50_000).finish(),
            tasks: (1..=tasks).map(|task| format!("T{task}")).collect(),
            instances: (1..=9).map(|member| (format!("S{member}"), format!("I{member}"))).collect(),
            duration_us: duration_ms * 1_000,
            end_us: duration_ms * 1_000,
        }
    }

    /// What the metrics are computed from.
    pub fn input(&self) -> RunInput<'_> {
        RunInput {
            events: &self.events,
            latency: &self.latency,
            tasks: &self.tasks,
            instances: &self.instances,
            duration_us: self.duration_us,
            end_us: self.end_us,
            minimum_moves: 0,
            restore_ceiling: None,
            undrained: 0,
        }
    }
}
