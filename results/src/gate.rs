//! Gates: limits that a comparison has to keep. One fails only if it is exceeded beyond chance and noise.
//!
//! ```text
//! gate  = [strategy ":"] metric ("<=" | ">=") limit
//! limit = ("+" | "-") number "%"            the base plus or minus a share of it
//!       | number "x"                        so many times the base
//!       | number ["us" | "ms" | "s"]        a value, in the metric's own unit unless it names one
//! ```
//!
//! Metrics go by their dotted names ([`crate::figure::FIGURES`]): `task_pause_ms.max<=+10%`,
//! `learner:stop_the_world_ms<=20ms`, `restore.records_per_s>=0.9x`.

use thiserror::Error;

use crate::compare::{Comparison, Row, seed_of};
use crate::figure::{self, FIGURES, Figure, Unit};
use crate::stats::{self, ALPHA, Random, Tail};

/// Why a gate can't be used.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GateError {
    /// It doesn't follow the grammar.
    #[error(
        "gate `{gate}`: {reason}; gates look like `task_pause_ms.max<=+10%` or `stop_the_world_ms<=20ms`"
    )]
    Syntax {
        /// The gate as given.
        gate: String,
        /// What is wrong.
        reason: String,
    },
    /// There is no such metric.
    #[error("gate `{gate}`: no metric `{metric}`; near it are {}", .near.join(", "))]
    NoMetric {
        /// The gate as given.
        gate: String,
        /// The name that isn't one.
        metric: String,
        /// Names that share its beginning or a word.
        near: Vec<String>,
    },
    /// A side has no such number.
    #[error("gate `{gate}`: {base} or {new} has no `{metric}` in one of the trials")]
    NoValue {
        /// The gate as given.
        gate: String,
        /// The metric.
        metric: String,
        /// The base side.
        base: String,
        /// The other.
        new: String,
    },
    /// The gate names a strategy that is not compared.
    #[error("gate `{gate}`: `{strategy}` is not among the strategies compared ({})", .compared.join(", "))]
    NoStrategy {
        /// The gate as given.
        gate: String,
        /// The strategy.
        strategy: String,
        /// What is compared.
        compared: Vec<String>,
    },
}

/// A parsed gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// As given.
    pub text: String,
    /// The strategy it is for; all if absent.
    pub strategy: Option<String>,
    /// What it limits.
    pub figure: &'static Figure,
    /// Whether the limit is an upper one (`<=`).
    pub upper: bool,
    /// The limit.
    pub limit: Limit,
}

/// What a value is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// So many times the base.
    TimesBase(f64),
    /// A value in the metric's unit.
    Value(f64),
}

/// What came of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The mean keeps the limit.
    Passed,
    /// The mean exceeds the limit, beyond chance and beyond the noise floor.
    Failed,
    /// The mean exceeds the limit, but not beyond the noise.
    Noise,
    /// The mean exceeds the limit, and there are too few trials to say more.
    TooFew,
}

/// A gate applied to a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The gate.
    pub gate: Gate,
    /// The base side.
    pub base: String,
    /// The other.
    pub new: String,
    /// The figure's row.
    pub row: Row,
    /// Mean over trials of what the new side was held against.
    pub limit: f64,
    /// p-value of "the limit is kept", corrected for the number of gates.
    pub p: f64,
    /// Trials needed for a gate to fail at all, with as many gates.
    pub pairs_needed: usize,
    /// What came of it.
    pub outcome: Outcome,
}

impl Verdict {
    /// Only this calls for exit code 1.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.outcome == Outcome::Failed
    }

    /// The outcome in a sentence.
    #[must_use]
    pub fn explain(&self) -> String {
        match self.outcome {
            Outcome::Passed => "kept".to_owned(),
            Outcome::Failed => format!("exceeded beyond the noise (p = {:.4})", self.p),
            Outcome::Noise => match self.row.noise_floor {
                Some(floor) if self.p <= ALPHA => {
                    format!("exceeded by less than the noise floor of {:.1} %", floor * 100.0)
                }
                _ => format!("exceeded, but chance alone may do that (p = {:.4})", self.p),
            },
            Outcome::TooFew => {
                let pairs = self.row.values.len();
                let trials = if pairs == 1 { "trial" } else { "trials" };
                format!(
                    "exceeded, but {pairs} paired {trials} can't tell that from chance; {} can",
                    self.pairs_needed
                )
            }
        }
    }
}

/// Parses a gate.
///
/// # Errors
/// [`GateError::Syntax`] and [`GateError::NoMetric`].
pub fn parse(text: &str) -> Result<Gate, GateError> {
    let syntax = |reason: &str| GateError::Syntax { gate: text.to_owned(), reason: reason.to_owned() };
    // From the right: options of a strategy hold `=` signs, but neither `<` nor `>`.
    let at = text.rfind(['<', '>']).ok_or_else(|| syntax("there is no `<=` or `>=`"))?;
    let (left, right) = (&text[..at], &text[at + 1..]);
    let limit = right.strip_prefix('=').ok_or_else(|| syntax("only `<=` and `>=` are known"))?;
    let (strategy, metric) = match left.rsplit_once(':') {
        Some((strategy, metric)) => (Some(strategy.trim().to_owned()), metric.trim()),
        None => (None, left.trim()),
    };
    let figure = figure::by_name(metric).ok_or_else(|| GateError::NoMetric {
        gate: text.to_owned(),
        metric: metric.to_owned(),
        near: near(metric),
    })?;
    let limit = parse_limit(limit.trim(), figure.unit).map_err(|reason| syntax(&reason))?;
    Ok(Gate { text: text.to_owned(), strategy, figure, upper: text[at..].starts_with('<'), limit })
}

fn parse_limit(text: &str, unit: Unit) -> Result<Limit, String> {
    let number = |digits: &str| {
        let digits = digits.trim().replace('_', "");
        digits.parse::<f64>().ok().filter(|n| n.is_finite()).ok_or(format!("`{text}` is not a limit"))
    };
    if let Some(share) = text.strip_suffix('%') {
        if !share.starts_with(['+', '-']) {
            return Err(format!("`{text}` needs a sign: `+10%` is the base and a tenth of it"));
        }
        let share = number(share)?;
        return if share >= -100.0 {
            Ok(Limit::TimesBase(1.0 + share / 100.0))
        } else {
            Err(format!("`{text}` is less than nothing"))
        };
    }
    if let Some(times) = text.strip_suffix('x') {
        return Ok(Limit::TimesBase(number(times)?));
    }
    // `ms` and `us` before `s`, which ends them too.
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    let Some((digits, ms)) = units.iter().find_map(|(suffix, ms)| Some((text.strip_suffix(suffix)?, ms)))
    else {
        return number(text).map(Limit::Value);
    };
    match unit {
        Unit::Ms => Ok(Limit::Value(number(digits)? * ms)),
        Unit::Seconds => Ok(Limit::Value(number(digits)? * ms / 1e3)),
        _ => Err(format!("`{text}` is a time, which this metric is not")),
    }
}

/// Names of the same metric, or failing that, of any with a word in common; or the first ones.
fn near(metric: &str) -> Vec<String> {
    let words: Vec<&str> = metric.split(['.', '_']).filter(|word| word.len() > 2 && *word != "ms").collect();
    let shares = |figure: &&Figure| words.iter().any(|word| figure.name.contains(word));
    let mut names: Vec<String> =
        FIGURES.iter().filter(shares).map(|figure| figure.name.to_owned()).take(6).collect();
    if names.is_empty() {
        names = FIGURES.iter().map(|figure| figure.name.to_owned()).take(6).collect();
    }
    names
}

/// Applies every gate to every comparison that it is for.
///
/// Each is a one-sided sign-flip test of "the limit is kept" over the pairs' distances from the limit; p-values are
/// corrected by Holm over all of them.
///
/// # Errors
/// [`GateError::NoStrategy`] and [`GateError::NoValue`].
pub fn evaluate(gates: &[Gate], comparisons: &[Comparison]) -> Result<Vec<Verdict>, GateError> {
    let mut tests = Vec::new();
    for gate in gates {
        let concerned: Vec<&Comparison> = comparisons
            .iter()
            .filter(|comparison| gate.strategy.as_ref().is_none_or(|name| *name == comparison.strategy))
            .collect();
        if let Some(strategy) = gate.strategy.as_ref().filter(|_| concerned.is_empty()) {
            return Err(GateError::NoStrategy {
                gate: gate.text.clone(),
                strategy: strategy.clone(),
                compared: comparisons.iter().map(|comparison| comparison.strategy.clone()).collect(),
            });
        }
        for comparison in concerned {
            let row = comparison.rows.iter().find(|row| row.figure == gate.figure).ok_or_else(|| {
                GateError::NoValue {
                    gate: gate.text.clone(),
                    metric: gate.figure.name.to_owned(),
                    base: comparison.base.clone(),
                    new: comparison.new.clone(),
                }
            })?;
            tests.push(Test::new(gate, comparison, row));
        }
    }
    let p = stats::holm(&tests.iter().map(|test| test.p).collect::<Vec<_>>());
    let pairs_needed = stats::pairs_needed(Tail::Above, tests.len());
    Ok(tests.into_iter().zip(p).map(|(test, p)| test.verdict(p, pairs_needed)).collect())
}

struct Test<'a> {
    gate: &'a Gate,
    comparison: &'a Comparison,
    row: &'a Row,
    limit: f64,
    /// Mean of the new side.
    mean: f64,
    p: f64,
}

impl<'a> Test<'a> {
    fn new(gate: &'a Gate, comparison: &'a Comparison, row: &'a Row) -> Self {
        let limit_of = |base: f64| match gate.limit {
            Limit::TimesBase(times) => base * times,
            Limit::Value(value) => value,
        };
        let sign = if gate.upper { 1.0 } else { -1.0 };
        let beyond: Vec<f64> = row.values.iter().map(|(base, new)| sign * (new - limit_of(*base))).collect();
        let mean_of = |value: &dyn Fn(&(f64, f64)) -> f64| {
            row.values.iter().map(value).sum::<f64>() / row.values.len().max(1) as f64
        };
        let mut random = Random::new(seed_of(gate.figure));
        Test {
            gate,
            comparison,
            row,
            limit: mean_of(&|(base, _)| limit_of(*base)),
            mean: mean_of(&|(_, new)| *new),
            p: stats::sign_flip(&beyond, Tail::Above, &mut random),
        }
    }

    fn verdict(self, p: f64, pairs_needed: usize) -> Verdict {
        let (upper, lower) = if self.gate.upper { (self.mean, self.limit) } else { (self.limit, self.mean) };
        // A limit of zero has no share that could be noise: the test decides alone.
        let beyond_floor = lower <= 0.0 || upper / lower > 1.0 + self.row.noise_floor.unwrap_or(0.0);
        let outcome = if upper <= lower {
            Outcome::Passed
        } else if self.row.values.len() < pairs_needed {
            Outcome::TooFew
        } else if p <= ALPHA && beyond_floor {
            Outcome::Failed
        } else {
            Outcome::Noise
        };
        Verdict {
            gate: self.gate.clone(),
            base: self.comparison.base.clone(),
            new: self.comparison.new.clone(),
            row: self.row.clone(),
            limit: self.limit,
            p,
            pairs_needed,
            outcome,
        }
    }
}
