//! What the page says of one result.

use serde::Serialize;
use serde_json::Value;

use super::tables::{self, Grid};
use crate::compare::{Comparison, Verdict};
use crate::report::charts::{self, Chart};
use crate::report::comparison;
use crate::report::view::View;
use crate::report::{rows, units};
use crate::schema::RunFile;
use crate::stats::{self, Tail};

/// One result, as the template wants it.
#[derive(Serialize)]
pub(super) struct Article {
    pub(super) id: String,
    /// In front of the ids of its sections; empty for the first.
    pub(super) prefix: String,
    pub(super) title: String,
    pub(super) meta: String,
    pub(super) sentence: String,
    pub(super) sub: String,
    pub(super) verdicts: Vec<Judgement>,
    pub(super) warnings: Vec<Warning>,
    /// Which trial the pictures show.
    pub(super) drawn: String,
    pub(super) longest: Option<Chart>,
    pub(super) lanes: Vec<Lane>,
    pub(super) timeline: Option<Chart>,
    pub(super) anatomy: Option<Chart>,
    pub(super) tail: Option<Chart>,
    pub(super) pareto: Option<Chart>,
    pub(super) resources: Vec<Chart>,
    pub(super) tables: Vec<Grid>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) scenario: Vec<(String, String)>,
    /// The command that reproduces it, word by word, so that no word is broken.
    pub(super) command: Vec<String>,
}

/// A verdict on the longest pause.
#[derive(Serialize)]
pub(super) struct Judgement {
    pub(super) class: &'static str,
    pub(super) word: &'static str,
    pub(super) text: String,
}

/// Something to know before believing.
#[derive(Serialize)]
pub(super) struct Warning {
    pub(super) text: String,
    pub(super) void: bool,
}

/// One strategy's lanes.
#[derive(Serialize)]
pub(super) struct Lane {
    pub(super) look: usize,
    pub(super) name: String,
    pub(super) chart: Chart,
}

impl Article {
    pub(super) fn new(view: &View<'_>, at: usize, of: usize) -> Self {
        let prefix = if at == 0 { String::new() } else { format!("r{}-", at + 1) };
        let named = |chart: Chart| Chart { id: format!("{prefix}chart-{}", chart.id), ..chart };
        let lanes = view.strategies.iter().enumerate().filter_map(|(at, strategy)| {
            let chart = named(charts::lanes(strategy, view.span_s(), at)?);
            Some(Lane { look: strategy.look, name: strategy.label(), chart })
        });
        let (sentence, sub) = sentence(view);
        Article {
            id: format!("result-{}", at + 1),
            title: if of > 1 {
                format!("{} of {of}: {}", at + 1, title_of_many(view.result))
            } else {
                title(view.result)
            },
            meta: meta(view),
            sentence,
            sub,
            verdicts: view.comparisons.iter().flatten().filter_map(judgement).collect(),
            warnings: warnings(view),
            drawn: drawn(view),
            longest: charts::longest(view).map(named),
            lanes: lanes.collect(),
            timeline: charts::timeline(view).map(named),
            anatomy: charts::anatomy(view).map(named),
            tail: charts::tail(view).map(named),
            pareto: charts::pareto(view).map(named),
            resources: charts::resources(view).into_iter().map(named).collect(),
            tables: tables::all(view),
            environment: environment(view.result),
            scenario: scenario(view.result),
            command: command(&view.result.command),
            prefix: prefix.clone(),
        }
    }

    pub(super) fn charts(&self) -> impl Iterator<Item = &Chart> {
        let single = [&self.longest, &self.timeline, &self.anatomy, &self.tail, &self.pareto];
        single.into_iter().flatten().chain(self.lanes.iter().map(|lane| &lane.chart)).chain(&self.resources)
    }
}

pub(super) fn title(result: &RunFile) -> String {
    if result.title.is_empty() { "Untitled run".to_owned() } else { result.title.clone() }
}

/// What tells a sweep's results apart is their values.
fn title_of_many(result: &RunFile) -> String {
    let values: Vec<String> = result
        .sweep
        .iter()
        .map(|(key, value)| {
            format!("{key} = {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        })
        .collect();
    if values.is_empty() { title(result) } else { values.join(", ") }
}

fn meta(view: &View<'_>) -> String {
    let trials =
        if view.trials == 1 { "1 trial each".to_owned() } else { format!("{} trials each", view.trials) };
    let environment = &view.result.environment;
    let strategies = view.strategies.len();
    let strategies = format!("{strategies} strateg{}", if strategies == 1 { "y" } else { "ies" });
    let machine = format!("{}, {} cores", environment.cpu, environment.cores);
    let parts = [view.result.started.clone(), strategies, trials, machine];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// The headline without its figures, and the figures.
fn sentence(view: &View<'_>) -> (String, String) {
    match view.headline.as_deref().map(|line| line.split_once(" (").unwrap_or((line, ""))) {
        Some((sentence, figures)) => (format!("{sentence}."), figures.trim_end_matches(')').to_owned()),
        None => match view.strategies.as_slice() {
            [] => ("Nothing has been measured.".to_owned(), String::new()),
            [only] => (
                format!(
                    "{}: {} at the longest.",
                    only.label(),
                    only.median("task_pause_ms.max").map_or_else(|| "no pause".to_owned(), units::duration)
                ),
                "how long a task stood still".to_owned(),
            ),
            _ => ("No task stood still under any strategy.".to_owned(), String::new()),
        },
    }
}

fn judgement(of: &Comparison) -> Option<Judgement> {
    let row = of.rows.iter().find(|row| row.figure.name == "task_pause_ms.max")?;
    let (class, word) = match row.verdict {
        Verdict::Better => ("better", "shorter pauses"),
        Verdict::Worse => ("worse", "longer pauses"),
        Verdict::Same => ("same", "no difference shown"),
        Verdict::TooFew => ("too-few", "too few trials"),
    };
    let cells = comparison::cells(row);
    let interval = match row.estimate.interval {
        Some(_) => format!(", 95 % interval {}", cells[4]),
        None => ", no interval from fewer than 3 trials".to_owned(),
    };
    let floor =
        row.noise_floor.map_or_else(String::new, |floor| format!(", noise floor {:.1} %", floor * 100.0));
    Some(Judgement {
        class,
        word,
        text: format!("{}: ×\u{a0}{}{interval}, p\u{a0}{}{floor}", comparison::title(of), cells[3], cells[5]),
    })
}

fn warnings(view: &View<'_>) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    let mut add = |text: String, void: bool| {
        if !warnings.iter().any(|warning| warning.text == text) {
            warnings.push(Warning { text, void });
        }
    };
    for run in view.result.runs.iter().filter(|run| !run.audit.passed) {
        add(format!("{}, trial {}: the audit failed, so this run is void", run.strategy, run.trial), true);
    }
    for claim in crate::report::text::failed_claims(view.result) {
        add(format!("claim failed: {claim}"), true);
    }
    for text in rows::warnings(view.result).into_iter().filter(|text| !text.contains("the audit failed")) {
        add(text, false);
    }
    if !view.result.paired {
        add(
            "unpaired: an event waited for a condition, so the strategies met it at different times"
                .to_owned(),
            false,
        );
    }
    let needed = stats::pairs_needed(Tail::Both, 1);
    if view.strategies.len() > 1 && view.trials < needed {
        let trials = if view.trials == 1 { "one trial" } else { "so few trials" };
        add(format!("{trials} of each can't tell a difference from chance; --trials {needed} can"), false);
    }
    if !view.has_timeline() && !view.strategies.is_empty() {
        add("timeline.csv is not beside result.json: what happened over time is not drawn".to_owned(), false);
    }
    for reason in view.comparisons.iter().filter_map(|comparison| comparison.as_ref().err()) {
        add(reason.clone(), false);
    }
    warnings
}

fn drawn(view: &View<'_>) -> String {
    if view.trials > 1 {
        format!("Shown: trial {} of {}, the nearest to the medians.", view.trial, view.trials)
    } else {
        String::new()
    }
}

fn environment(result: &RunFile) -> Vec<(String, String)> {
    let of = &result.environment;
    let known = |text: &Option<String>| text.clone().unwrap_or_default();
    let dirty = if of.dirty == Some(true) { " with changes" } else { "" };
    let ceiling = result.restore_ceiling.map(|ceiling| {
        format!(
            "{} records/s, {} MB/s",
            units::metric(ceiling.records_per_s),
            units::metric(ceiling.mb_per_s)
        )
    });
    let options: Vec<String> =
        of.rocksdb_options.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let rows = [
        ("CPU", of.cpu.clone()),
        ("cores", of.cores.to_string()),
        ("memory", units::bytes(of.memory_bytes as f64)),
        ("system", of.os.clone()),
        ("kernel", known(&of.kernel)),
        ("file system", known(&of.filesystem)),
        ("Understudy", of.understudy.clone()),
        ("commit", format!("{}{dirty}", known(&of.commit))),
        ("build", of.profile.clone()),
        ("compiler", known(&of.rustc)),
        ("RocksDB", known(&of.rocksdb)),
        ("RocksDB options", options.join(", ")),
        ("RocksDB bulk load", ceiling.unwrap_or_default()),
        ("started", result.started.clone()),
    ];
    rows.into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

fn scenario(result: &RunFile) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for (key, value) in &result.scenario {
        leaves(key, value, &mut rows);
    }
    rows
}

fn leaves(place: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, value) in object {
                leaves(&format!("{place}.{key}"), value, rows);
            }
        }
        Value::String(text) => rows.push((place.to_owned(), text.clone())),
        value => rows.push((place.to_owned(), value.to_string())),
    }
}

/// As it is typed: words that a shell would take apart are quoted.
fn command(words: &[String]) -> Vec<String> {
    let plain = |word: &String| {
        !word.is_empty()
            && word.chars().all(|letter| letter.is_alphanumeric() || "-_=./,:+@%".contains(letter))
    };
    let quoted = |word: &String| {
        if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    words.iter().map(quoted).collect()
}
