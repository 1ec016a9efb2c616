//! Compares two sides over paired trials, figure by figure: two results, or two strategies within one.

use thiserror::Error;

use crate::figure::{self, Better, FIGURES, Figure};
use crate::likeness::{self, Difference};
use crate::schema::{Run, RunFile};
use crate::stats::{self, ALPHA, Estimate, Tail};

/// Why two sides can't be compared.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompareError {
    /// The results were made under different conditions.
    #[error("{base} and {new} are unlike; --allow-unlike compares them all the same:\n{}", list(differences))]
    Unlike {
        /// Name of the base.
        base: String,
        /// Name of the other.
        new: String,
        /// What differs.
        differences: Vec<Difference>,
    },
    /// There is no such strategy.
    #[error("{file}: no strategy `{strategy}`; it has {}", .present.join(", "))]
    NoStrategy {
        /// The result.
        file: String,
        /// What was asked for.
        strategy: String,
        /// What there is.
        present: Vec<String>,
    },
    /// The results have no strategy in common.
    #[error("{base} and {new} have no strategy in common: {} against {}", .of_base.join(", "), .of_new.join(", "))]
    NothingInCommon {
        /// Name of the base.
        base: String,
        /// Name of the other.
        new: String,
        /// The base's strategies.
        of_base: Vec<String>,
        /// The other's.
        of_new: Vec<String>,
    },
    /// No trial was run on both sides.
    #[error("{base} and {new} share no finished trial")]
    NoTrials {
        /// The base side.
        base: String,
        /// The other.
        new: String,
    },
    /// A run's audit failed, so its numbers mean nothing.
    #[error("{file}: trial {trial} of {strategy} is void, because its audit failed")]
    Void {
        /// The result.
        file: String,
        /// The strategy.
        strategy: String,
        /// The trial.
        trial: u32,
    },
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(|difference| format!("  {difference}")).collect::<Vec<_>>().join("\n")
}

/// A result with the name it goes by in messages.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its file's name.
    pub file: &'a str,
    /// Its content.
    pub result: &'a RunFile,
}

/// Two sides and how they differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What the base is: a strategy, or a file and a strategy.
    pub base: String,
    /// What is compared with it.
    pub new: String,
    /// The strategy of the new side.
    pub strategy: String,
    /// Pairs of trials.
    pub pairs: usize,
    /// What a reader has to know before believing the numbers.
    pub notes: Vec<String>,
    /// One row per figure that both sides have in every trial.
    pub rows: Vec<Row>,
}

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which.
    pub figure: &'static Figure,
    /// The values by trial: base, new.
    pub values: Vec<(f64, f64)>,
    /// Whether a value stands for "longer than the run": it is at least that.
    pub cut: bool,
    /// Medians over the trials: base, new.
    pub medians: (f64, f64),
    /// Ratio, interval and p-value.
    pub estimate: Estimate,
    /// How far two runs of the same thing lay apart at most, as a share (0.04 for 4 %), from the A/A pairs; `None`
    /// without such pairs, or where their ratio is undefined.
    pub noise_floor: Option<f64>,
    /// What may be said.
    pub verdict: Verdict,
}

/// What may be said about one figure, without regard to any gate and without correction for their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The new side is better, beyond chance and noise floor.
    Better,
    /// The new side is worse, beyond chance and noise floor.
    Worse,
    /// No difference has been shown.
    Same,
    /// Too few trials for any claim.
    TooFew,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Same => "no difference shown",
            Verdict::TooFew => "too few trials",
        }
    }
}

/// Compares the strategies that two results have in common, in the order of the base's.
///
/// # Errors
/// [`CompareError`]: unlike results (unless `allow_unlike`), void runs, nothing to pair.
pub fn results(base: Named<'_>, new: Named<'_>, allow_unlike: bool) -> Result<Vec<Comparison>, CompareError> {
    let differences = likeness::differences(base.result, new.result);
    if !differences.is_empty() && !allow_unlike {
        return Err(CompareError::Unlike {
            base: base.file.to_owned(),
            new: new.file.to_owned(),
            differences,
        });
    }
    let of_new = new.result.strategies();
    let common: Vec<&str> =
        base.result.strategies().into_iter().filter(|strategy| of_new.contains(strategy)).collect();
    if common.is_empty() {
        return Err(CompareError::NothingInCommon {
            base: base.file.to_owned(),
            new: new.file.to_owned(),
            of_base: base.result.strategies().into_iter().map(str::to_owned).collect(),
            of_new: of_new.into_iter().map(str::to_owned).collect(),
        });
    }
    common
        .into_iter()
        .map(|strategy| {
            let mut comparison = sides((base, strategy), (new, strategy))?;
            comparison.notes.extend(differences.iter().map(|difference| format!("unlike: {difference}")));
            Ok(comparison)
        })
        .collect()
}

/// Compares two strategies of one result.
///
/// # Errors
/// [`CompareError`]: no such strategy, void runs, nothing to pair.
pub fn between(result: Named<'_>, base: &str, new: &str) -> Result<Comparison, CompareError> {
    for strategy in [base, new] {
        if result.result.trials(strategy).is_empty() {
            return Err(CompareError::NoStrategy {
                file: result.file.to_owned(),
                strategy: strategy.to_owned(),
                present: result.result.strategies().into_iter().map(str::to_owned).collect(),
            });
        }
    }
    let mut comparison = sides((result, base), (result, new))?;
    comparison.base = base.to_owned();
    comparison.new = new.to_owned();
    Ok(comparison)
}

type Side<'a> = (Named<'a>, &'a str);

fn sides(base: Side<'_>, new: Side<'_>) -> Result<Comparison, CompareError> {
    let label = |(named, strategy): &Side<'_>| format!("{strategy} of {}", named.file);
    for (named, strategy) in [base, new] {
        if let Some(void) = named.result.trials(strategy).iter().find(|run| !run.audit.passed) {
            return Err(CompareError::Void {
                file: named.file.to_owned(),
                strategy: strategy.to_owned(),
                trial: void.trial,
            });
        }
    }
    let pairs = pairs(base, new);
    if pairs.is_empty() {
        return Err(CompareError::NoTrials { base: label(&base), new: label(&new) });
    }
    let twins = [twins(base), twins(new)].concat();
    Ok(Comparison {
        base: label(&base),
        new: label(&new),
        strategy: new.1.to_owned(),
        pairs: pairs.len(),
        notes: notes(base, new, pairs.len(), twins.len()),
        rows: FIGURES.iter().filter_map(|figure| row(figure, &pairs, &twins)).collect(),
    })
}

/// Finished runs of the same trial on both sides.
fn pairs<'a>(base: Side<'a>, new: Side<'a>) -> Vec<(&'a Run, &'a Run)> {
    let finished =
        |(named, strategy): Side<'a>| named.result.trials(strategy).into_iter().filter(|run| !run.incomplete);
    finished(base)
        .filter_map(|of_base| Some((of_base, finished(new).find(|of_new| of_new.trial == of_base.trial)?)))
        .collect()
}

/// A/A pairs: two finished runs of one strategy in one trial.
fn twins<'a>((named, strategy): Side<'a>) -> Vec<(&'a Run, &'a Run)> {
    let of = |replica| {
        named
            .result
            .runs
            .iter()
            .filter(move |run| run.strategy == strategy && run.replica == replica && !run.incomplete)
    };
    of(0).filter_map(|first| Some((first, of(1).find(|second| second.trial == first.trial)?))).collect()
}

fn notes(base: Side<'_>, new: Side<'_>, pairs: usize, twins: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let needed = stats::pairs_needed(Tail::Both, 1);
    if pairs < needed {
        notes.push(format!(
            "{pairs} paired trial{} can't tell a difference from chance; {needed} can",
            if pairs == 1 { "" } else { "s" }
        ));
    }
    let most = base.0.result.trials(base.1).len().max(new.0.result.trials(new.1).len());
    if most > pairs {
        notes.push(format!("{} trials without a finished counterpart are left out", most - pairs));
    }
    if twins == 0 {
        notes.push(
            "no A/A pairs: the noise floor is unknown (`run` makes some from 5 trials on, or with --aa)"
                .to_owned(),
        );
    }
    if !(base.0.result.paired && new.0.result.paired) {
        notes.push(
            "unpaired: an event waited for a condition, so the sides met it at different times".to_owned(),
        );
    }
    notes
}

fn row(figure: &'static Figure, pairs: &[(&Run, &Run)], twins: &[(&Run, &Run)]) -> Option<Row> {
    let mut cut = false;
    let mut value = |run: &Run| {
        let (value, is_cut) = figure.at_least(run)?;
        cut |= is_cut;
        Some(value)
    };
    let values: Vec<(f64, f64)> =
        pairs.iter().map(|(base, new)| Some((value(base)?, value(new)?))).collect::<Option<_>>()?;
    let estimate = stats::estimate(&values, seed_of(figure));
    let noise_floor = noise_floor(figure, twins);
    let medians = (
        figure::middle(values.iter().map(|pair| pair.0).collect())?,
        figure::middle(values.iter().map(|pair| pair.1).collect())?,
    );
    let verdict = verdict(figure, &estimate, noise_floor);
    Some(Row { figure, values, cut, medians, estimate, noise_floor, verdict })
}

fn verdict(figure: &Figure, estimate: &Estimate, noise_floor: Option<f64>) -> Verdict {
    if estimate.pairs < stats::pairs_needed(Tail::Both, 1) {
        return Verdict::TooFew;
    }
    // Without a ratio there is nothing to hold against the floor, and the test decides alone.
    let beyond_floor = match (estimate.ratio, noise_floor) {
        (Some(ratio), Some(floor)) => ratio > 1.0 + floor || ratio < 1.0 / (1.0 + floor),
        _ => true,
    };
    if estimate.p > ALPHA || !beyond_floor {
        return Verdict::Same;
    }
    if (estimate.difference > 0.0) == (figure.better == Better::Higher) {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}

/// The largest deviation between two runs of the same thing, in either direction, as a share.
fn noise_floor(figure: &Figure, twins: &[(&Run, &Run)]) -> Option<f64> {
    let apart = |(first, second): &(&Run, &Run)| match ((figure.of)(first)?, (figure.of)(second)?) {
        (first, second) if first == second => Some(0.0),
        (first, second) if first > 0.0 && second > 0.0 => Some((second / first).max(first / second) - 1.0),
        _ => None,
    };
    twins.iter().map(apart).collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// Resampling is repeatable, and differs between figures: FNV-1a of the name.
pub(crate) fn seed_of(figure: &Figure) -> u64 {
    figure
        .name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
