//! Claims: what a scenario says must hold after its run, judged on what was measured.
//!
//! A claim bounds one number of a strategy, by a value or by another strategy's number. It is judged on the median of
//! the trials; a number that a run does not have (it was beyond the run's end) keeps no bound.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Action;
use crate::figure::{self, Figure};
use crate::schema::{Generation, MemberTasks, Run, RunFile};

/// A number that claims may bound beside the [`figure::FIGURES`].
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// What a scenario file calls it.
    pub name: &'static str,
    /// What it is, in words.
    pub label: &'static str,
    /// Reads it off a run.
    pub of: fn(&RunFile, &Run) -> Option<f64>,
}

/// Measures compare by name.
impl PartialEq for Measure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

macro_rules! measures {
    ($($name:literal, $label:literal, $of:expr;)*) => {
        &[$(Measure { name: $name, label: $label, of: $of }),*]
    };
}

/// Every measure that is not a figure.
pub const MEASURES: &[Measure] = measures![
    "moves.beyond_minimum", "moves that balance did not need", |_, r| {
        Some(r.metrics.moves.actual as f64 - r.metrics.moves.minimum as f64)
    };
    "task_pause_ms.censored", "tasks that still stood still at the end", |_, r| Some(r.metrics.task_pause_ms.censored as f64);
    "learners.started", "learners that were started", |_, r| Some(r.metrics.learners.started as f64);
    "learners.ready", "learners that caught up", |_, r| Some(r.metrics.learners.ready as f64);
    "learners.promoted", "learners that took their task over", |_, r| Some(r.metrics.learners.promoted as f64);
    "learners.dropped", "learners that were dropped before", |_, r| Some(r.metrics.learners.dropped as f64);
    "appends_refused", "appends of a fenced owner that the log refused", |_, r| Some(r.appends_refused as f64);
    "stores_discarded", "copies that were thrown away", |_, r| Some(r.stores_discarded as f64);
    "compaction.count", "compactions of a changelog", |_, r| Some(r.compaction.count as f64);
    "audit.stale_appends", "appends under an old epoch that the log took", |_, r| Some(r.audit.stale_appends as f64);
    "undrained", "records left unserved", |_, r| Some(r.undrained as f64);
    "end.members", "members at the end", |_, r| Some(present(r)?.count() as f64);
    "end.balanced", "1 if the group is balanced and quiet at the end, else 0", |_, r| {
        Some(f64::from(u8::from(r.generations.last()?.balanced)))
    };
    "end.unowned", "tasks that had an owner once and have none at the end", |_, r| unowned(r);
    "end.standbys", "standbys at the end of the task with state that has the fewest", |f, r| {
        let generation = r.generations.last()?;
        let stateless = stateless(f);
        let copies = |task: &str| generation.standby.iter().filter(|of| of.tasks.iter().any(|name| name == task)).count();
        let with_state = owned(generation).filter(|task| !stateless.iter().any(|name| name == task));
        with_state.map(copies).min().map(|fewest| fewest as f64)
    };
    "end.spread", "most tasks of a member less fewest, at the end", |_, r| spread(r, |_| true);
    "end.spread_stateful", "the same for tasks with state alone", |f, r| {
        let stateless = stateless(f);
        spread(r, |task| !stateless.iter().any(|name| name == task))
    };
    "end.spread_stateless", "the same for tasks without state alone", |f, r| {
        let stateless = stateless(f);
        spread(r, |task| stateless.iter().any(|name| name == task))
    };
];

/// The members of the newest generation, without those whom the script sent away and who have nothing left: they go
/// without a further generation.
fn present(run: &Run) -> Option<impl Iterator<Item = &MemberTasks>> {
    let away = |member: &str| {
        let mut acts = run.membership.iter().filter(|act| act.members.iter().any(|name| name == member));
        acts.next_back().is_some_and(|act| matches!(act.action, Action::Leave | Action::Crash))
    };
    let active = run.generations.last()?.active.iter();
    Some(active.filter(move |of| !of.tasks.is_empty() || !away(&of.member)))
}

fn owned(generation: &Generation) -> impl Iterator<Item = &str> {
    generation.active.iter().flat_map(|member| member.tasks.iter().map(String::as_str))
}

fn unowned(run: &Run) -> Option<f64> {
    let last: Vec<&str> = owned(run.generations.last()?).collect();
    let mut lost: Vec<&str> =
        run.generations.iter().flat_map(owned).filter(|task| !last.contains(task)).collect();
    lost.sort_unstable();
    lost.dedup();
    Some(lost.len() as f64)
}

fn spread(run: &Run, counts: impl Fn(&str) -> bool) -> Option<f64> {
    let loads = present(run)?.map(|member| member.tasks.iter().filter(|task| counts(task)).count());
    let loads: Vec<usize> = loads.collect();
    Some((loads.iter().max()? - loads.iter().min()?) as f64)
}

/// The tasks without state, from the scenario's `[[task]]` tables: T1, T2, … in their order.
fn stateless(file: &RunFile) -> Vec<String> {
    let kinds = file.scenario.get("task").and_then(|tables| tables.as_array());
    let mut names = Vec::new();
    let mut number = 0;
    for kind in kinds.into_iter().flatten() {
        let count = kind.get("count").and_then(serde_json::Value::as_u64).unwrap_or(1);
        let is_stateless = kind.get("stateless").and_then(serde_json::Value::as_bool).unwrap_or(false);
        for _ in 0..count {
            number += 1;
            if is_stateless {
                names.push(format!("T{number}"));
            }
        }
    }
    names
}

/// What a claim is about: a figure or a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subject {
    /// One of [`figure::FIGURES`].
    Figure(&'static Figure),
    /// One of [`MEASURES`].
    Measure(&'static Measure),
}

impl Subject {
    /// The subject of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let measure = || MEASURES.iter().find(|measure| measure.name == name).map(Self::Measure);
        figure::by_name(name).map(Self::Figure).or_else(measure)
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let figures = figure::FIGURES.iter().map(|figure| figure.name);
        figures.chain(MEASURES.iter().map(|measure| measure.name))
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Figure(figure) => figure.name,
            Self::Measure(measure) => measure.name,
        }
    }

    fn of(self, file: &RunFile, run: &Run) -> Option<f64> {
        match self {
            Self::Figure(figure) => (figure.of)(run),
            Self::Measure(measure) => (measure.of)(file, run),
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::Figure(figure) => figure.unit.show(value),
            Self::Measure(_) => figure::Unit::Count.show(value),
        }
    }
}

/// How a number is bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// This and nothing else.
    Exactly(f64),
}

impl Bound {
    fn value(self) -> f64 {
        match self {
            Self::AtMost(value) | Self::AtLeast(value) | Self::Exactly(value) => value,
        }
    }

    fn holds(self, measured: f64, limit: f64) -> bool {
        match self {
            Self::AtMost(_) => measured <= limit,
            Self::AtLeast(_) => measured >= limit,
            Self::Exactly(_) => (measured - limit).abs() < 1e-9,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::AtMost(_) => "at most",
            Self::AtLeast(_) => "at least",
            Self::Exactly(_) => "exactly",
        }
    }
}

/// A claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What it says, in a sentence.
    pub says: String,
    /// The number.
    pub subject: Subject,
    /// Its bound.
    pub bound: Bound,
    /// The strategy it is about, with or without its options; every one if absent.
    pub strategy: Option<String>,
    /// The strategy whose number the bound is a multiple of.
    pub of: Option<String>,
}

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It held.
    Held,
    /// It did not.
    Failed,
    /// It compares with a strategy that did not run.
    NotJudged,
}

/// A claim judged for one strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The strategy with its options.
    pub strategy: String,
    /// What the claim says.
    pub says: String,
    /// The number's name.
    pub metric: String,
    /// Its bound in words, as in `at most 0.1 of eager's`.
    pub bound: String,
    /// The median over the trials; `null` where a run has no such number.
    pub measured: Option<f64>,
    /// What it was held against.
    pub limit: Option<f64>,
    /// What came of it.
    pub verdict: Verdict,
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { strategy, says, metric, bound, .. } = self;
        let show = |value: f64| Subject::by_name(metric).map_or(value.to_string(), |of| of.show(value));
        let measured = self.measured.map_or_else(|| "not reached".to_owned(), show);
        write!(f, "{strategy}: {says} ({metric}: {measured}, claimed {bound}")?;
        match self.limit {
            Some(limit) if bound.contains('\'') => write!(f, ", {})", show(limit)),
            _ => f.write_str(")"),
        }
    }
}

/// Whether `name`, as run, is the strategy that a claim names: with its options if the claim gives any.
fn is(name: &str, claimed: &str) -> bool {
    name == claimed || name.split('(').next() == Some(claimed)
}

/// Judges every claim for every strategy that it is about, in the order of the claims.
#[must_use]
pub fn judge(claims: &[Claim], file: &RunFile) -> Vec<Judged> {
    let strategies = file.strategies();
    let about = |claim: &Claim, name: &str| claim.strategy.as_ref().is_none_or(|wanted| is(name, wanted));
    let pairs = claims.iter().flat_map(|claim| {
        strategies.iter().filter(move |name| about(claim, name)).map(move |name| (claim, *name))
    });
    pairs.map(|(claim, name)| judge_one(claim, name, &strategies, file)).collect()
}

fn judge_one(claim: &Claim, strategy: &str, strategies: &[&str], file: &RunFile) -> Judged {
    let median = |name: &str| {
        let runs = file.trials(name);
        let values = runs.iter().map(|run| claim.subject.of(file, run).unwrap_or(f64::INFINITY));
        figure::middle(values.collect()).filter(|median| median.is_finite())
    };
    let measured = median(strategy);
    let value = claim.bound.value();
    // Of `learner` and `learner(standbys=1)`, the first is `learner`.
    let named = |of: &String| {
        strategies.iter().find(|name| **name == of).or_else(|| strategies.iter().find(|name| is(name, of)))
    };
    let base = claim.of.as_ref().map(named);
    let (limit, judged) = match base {
        None => (Some(value), true),
        Some(None) => (None, false),
        // What the other strategy did not reach either bounds nothing from above.
        Some(Some(name)) => (median(name).map(|base| base * value), true),
    };
    let holds = match (measured, limit) {
        (Some(measured), Some(limit)) => claim.bound.holds(measured, limit),
        (Some(_), None) => matches!(claim.bound, Bound::AtMost(_)),
        (None, _) => false,
    };
    let verdict = match (judged, holds) {
        (false, _) => Verdict::NotJudged,
        (true, true) => Verdict::Held,
        (true, false) => Verdict::Failed,
    };
    let of = claim.of.as_ref().map(|of| format!(" of {of}'s")).unwrap_or_default();
    // A multiple is a plain number, a value has its figure's unit.
    let amount = if claim.of.is_some() { value.to_string() } else { claim.subject.show(value) };
    Judged {
        strategy: strategy.to_owned(),
        says: claim.says.clone(),
        metric: claim.subject.name().to_owned(),
        bound: format!("{} {amount}{of}", claim.bound.words()),
        measured,
        limit,
        verdict,
    }
}

/// A strategy's claims in a few words, for a table: `2 held`, or which failed.
#[must_use]
pub fn summary(judged: &[Judged], strategy: &str) -> String {
    let own = || judged.iter().filter(|claim| claim.strategy == strategy);
    let count = |verdict: Verdict| own().filter(|claim| claim.verdict == verdict).count();
    match (count(Verdict::Failed), count(Verdict::Held)) {
        (0, 0) => "–".to_owned(),
        (0, held) => format!("{held} held"),
        (failed, held) => format!("FAILED: {failed} of {}", failed + held),
    }
}
