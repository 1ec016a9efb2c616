//! What a report shows of a result: the strategies with their looks, the trial that is drawn, the pairs compared.

use super::headline;
use crate::compare::{self, Comparison, Named};
use crate::figure::{self, Figure};
use crate::schema::{Run, RunFile};
use crate::timeline::read::{Point, Timeline};

/// A result with what belongs to it.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// The content of `result.json`.
    pub result: &'a RunFile,
    /// The content of the `timeline.csv` beside it; empty if there is none.
    pub timelines: &'a [Timeline],
}

/// One strategy of a result.
#[derive(Clone, Debug)]
pub struct Strategy<'a> {
    /// Its name with its options.
    pub name: &'a str,
    /// Number of its colour, dash and marker.
    pub look: usize,
    /// Its runs by trial.
    pub runs: Vec<&'a Run>,
    /// The run that is drawn.
    pub shown: &'a Run,
    /// That run's timeline; empty if there is none.
    pub points: &'a [Point],
}

/// A result, ready to be shown.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The content of the file.
    pub result: &'a RunFile,
    /// The strategies that have run, in the order in which they first did.
    pub strategies: Vec<Strategy<'a>>,
    /// The trial that is drawn.
    pub trial: u32,
    /// The most trials that a strategy has.
    pub trials: usize,
    /// The headline's sentence.
    pub headline: Option<String>,
    /// Every other strategy against the one with the longest pause; those that can't be compared, with the reason.
    pub comparisons: Vec<Result<Comparison, String>>,
}

/// Looks of the strategies that come with the program; others take what is left, in the order of their appearance.
const LOOKS: [&str; 4] = ["learner", "eager", "cooperative", "high-availability"];

impl<'a> View<'a> {
    /// Looks at a result.
    #[must_use]
    pub fn new(material: Material<'a>) -> Self {
        let result = material.result;
        let trial = shown_trial(result);
        let names = result.strategies();
        let looks = looks(&names);
        let strategies: Vec<Strategy<'a>> = names
            .iter()
            .zip(looks)
            .filter_map(|(name, look)| {
                let runs = result.trials(name);
                let shown = runs.iter().copied().find(|run| run.trial == trial).or(runs.first().copied())?;
                Some(Strategy { name, look, shown, points: points(material.timelines, shown), runs })
            })
            .collect();
        let trials = strategies.iter().map(|strategy| strategy.runs.len()).max().unwrap_or(0);
        let comparisons = comparisons(result, &strategies);
        View { result, strategies, trial, trials, headline: headline::headline(result), comparisons }
    }

    /// When the drawn runs began and ended, in seconds: the warm-up as far as it is a tenth of the whole.
    #[must_use]
    pub fn span_s(&self) -> (f64, f64) {
        let end = self.strategies.iter().map(|strategy| strategy.shown.end_us).max().unwrap_or(0);
        let end_s = (end as f64 / 1e6).max(0.1);
        let first =
            self.strategies.iter().filter_map(|strategy| strategy.points.first()).map(|point| point.time_s);
        let start_s = first.fold(0.0, f64::min).max(-0.1 * end_s);
        (start_s, end_s)
    }

    /// Whether any latency over time is known.
    #[must_use]
    pub fn has_timeline(&self) -> bool {
        self.strategies.iter().any(|strategy| !strategy.points.is_empty())
    }
}

impl Strategy<'_> {
    /// Its name with a blank after each comma, so that it can wrap.
    #[must_use]
    pub fn label(&self) -> String {
        self.name.replace(',', ", ")
    }

    /// Median of a figure over its trials.
    #[must_use]
    pub fn median(&self, name: &str) -> Option<f64> {
        figure::median(figure::by_name(name)?, &self.runs)
    }

    /// A figure of each of its trials.
    pub fn values(&self, name: &str) -> impl Iterator<Item = f64> {
        let figure: Option<&Figure> = figure::by_name(name);
        self.runs.iter().filter_map(move |run| (figure?.of)(run))
    }
}

/// Looks by name where the name has one, once; the free ones for all others.
fn looks(names: &[&str]) -> Vec<usize> {
    let mut looks: Vec<Option<usize>> = Vec::new();
    for name in names {
        let base = name.split('(').next().unwrap_or(name);
        let own = LOOKS.iter().position(|known| *known == base);
        looks.push(own.filter(|look| !looks.contains(&Some(*look))));
    }
    let mut free = (LOOKS.len()..).peekable();
    let taken = looks.clone();
    let mut spare = (0..LOOKS.len()).filter(move |look| !taken.contains(&Some(*look)));
    looks
        .into_iter()
        .map(|look| {
            look.or_else(|| free.next_if(|look| *look < 8))
                .or_else(|| spare.next())
                .unwrap_or_else(|| free.next().unwrap_or(0))
        })
        .collect()
}

fn points<'a>(timelines: &'a [Timeline], run: &Run) -> &'a [Point] {
    timelines
        .iter()
        .find(|of| of.strategy == run.strategy && of.trial == run.trial && of.replica == run.replica)
        .map_or(&[], |timeline| &timeline.points)
}

/// The trial that stands for all: finished on every side, with longest pauses nearest to the medians.
fn shown_trial(result: &RunFile) -> u32 {
    let names = result.strategies();
    let longest = |run: &Run| run.metrics.task_pause_ms.max.max(0.001).ln();
    let mut trials: Vec<u32> = result.runs.iter().map(|run| run.trial).collect();
    trials.sort_unstable();
    trials.dedup();
    let distance = |trial: u32| -> f64 {
        names
            .iter()
            .map(|name| {
                let runs = result.trials(name);
                let own = runs.iter().find(|run| run.trial == trial && !run.incomplete);
                let middle = figure::middle(runs.iter().map(|run| longest(run)).collect());
                // A side that is missing outweighs every distance.
                own.zip(middle).map_or(1e6, |(run, middle)| (longest(run) - middle).abs())
            })
            .sum()
    };
    trials.into_iter().min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(1)
}

fn comparisons(result: &RunFile, strategies: &[Strategy<'_>]) -> Vec<Result<Comparison, String>> {
    let longest = |strategy: &&Strategy<'_>| strategy.median("task_pause_ms.max").unwrap_or(0.0);
    // Of equal ones the first, as the headline has it.
    let base = strategies.iter().rev().max_by(|a, b| longest(a).total_cmp(&longest(b)));
    let Some(base) = base else { return Vec::new() };
    let named = Named { file: "this result", result };
    strategies
        .iter()
        .filter(|strategy| strategy.name != base.name)
        .map(|strategy| {
            compare::between(named, base.name, strategy.name)
                .map_err(|error| format!("{} against {}: {error}", strategy.name, base.name))
        })
        .collect()
}
