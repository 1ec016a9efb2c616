//! `understudy compare`: two results, or two strategies within one, with gates that a CI job can fail on.

use anyhow::anyhow;
use loadgen::strategies;
use results::compare::{self, Comparison};
use results::gate::{self, Gate, Verdict};
use results::report::{compare_text, csv, junit, markdown};

use crate::cli::{CompareArgs, CompareFormat};
use crate::exit::{Failure, Outcome};
use crate::result_file::{Read, ResultFile, deliver, style};

/// Compares, prints, and fails if a gate is exceeded beyond the noise.
pub(crate) fn run(args: &CompareArgs) -> Result<Outcome, Failure> {
    let gates: Vec<Gate> = args
        .gate
        .iter()
        .map(|text| gate::parse(text))
        .collect::<Result<_, _>>()
        .map_err(Failure::unusable)?;
    let comparisons = comparisons(args)?;
    let verdicts = gate::evaluate(&gates, &comparisons).map_err(Failure::unusable)?;
    deliver(&render(args.format, &comparisons, &verdicts)?, args.out.as_ref())?;
    Ok(if verdicts.iter().any(Verdict::failed) { Outcome::Failed } else { Outcome::Fine })
}

fn comparisons(args: &CompareArgs) -> Result<Vec<Comparison>, Failure> {
    let base = Read::open(&args.base)?;
    match (&args.new, &args.between) {
        (Some(new), None) => {
            let new = Read::open(new)?;
            let mut all = Vec::new();
            for (base, new) in pairs(args, &base, &new)? {
                let compared = compare::results(base.named(), new.named(), args.allow_unlike);
                all.extend(compared.map_err(Failure::unusable)?);
            }
            Ok(all)
        }
        (None, Some(pair)) => {
            let names = strategies::split(pair).map_err(Failure::unusable)?;
            let [from, to] = names[..] else {
                return Err(Failure::Unusable(anyhow!(
                    "--between {pair}: takes two strategies, the base first; for example: --between eager,learner"
                )));
            };
            between(&base, from, to)
        }
        _ => Err(Failure::Unusable(anyhow!(
            "compare takes two results (compare BASE NEW), or one with two strategies (compare RESULT --between eager,learner)"
        ))),
    }
}

/// Two strategies of one result, or of each of a sweep's cells.
fn between(base: &Read, from: &str, to: &str) -> Result<Vec<Comparison>, Failure> {
    let mut all = Vec::new();
    for file in base.results() {
        let mut comparison = compare::between(file.named(), from, to).map_err(Failure::unusable)?;
        if matches!(base, Read::Sweep(_)) {
            comparison.new = format!("{} of {}", comparison.new, file.named().file);
        }
        all.push(comparison);
    }
    Ok(all)
}

/// Result with result, or cell with cell of two sweeps.
fn pairs<'a>(
    args: &CompareArgs,
    base: &'a Read,
    new: &'a Read,
) -> Result<Vec<(&'a ResultFile, &'a ResultFile)>, Failure> {
    let (base, new) = match (base, new) {
        (Read::One(base), Read::One(new)) => return Ok(vec![(base, new)]),
        (Read::Sweep(base), Read::Sweep(new)) => (base, new),
        _ => {
            return Err(Failure::Unusable(anyhow!(
                "{} and {}: one is a sweep, the other a single result; name one of the sweep's cells",
                args.base.display(),
                args.new.as_ref().unwrap_or(&args.base).display()
            )));
        }
    };
    let lacks = |cells: &[(String, ResultFile)], others: &[(String, ResultFile)]| {
        let missing =
            others.iter().map(|(name, _)| name).filter(|name| !cells.iter().any(|(other, _)| other == *name));
        missing.cloned().collect::<Vec<_>>()
    };
    let missing = [lacks(new, base), lacks(base, new)].concat();
    if !missing.is_empty() && !args.allow_unlike {
        return Err(Failure::Unusable(anyhow!(
            "the sweeps are unlike: only one of them has {}; --allow-unlike compares the cells that both have",
            missing.join(", ")
        )));
    }
    let pairs: Vec<_> = base
        .iter()
        .filter_map(|(name, base)| Some((base, &new.iter().find(|(other, _)| other == name)?.1)))
        .collect();
    if pairs.is_empty() {
        return Err(Failure::Unusable(anyhow!("the sweeps have no cell in common")));
    }
    Ok(pairs)
}

fn render(
    format: CompareFormat,
    comparisons: &[Comparison],
    verdicts: &[Verdict],
) -> Result<String, Failure> {
    Ok(match format {
        CompareFormat::Text => compare_text::render(comparisons, verdicts, style()),
        CompareFormat::Markdown => markdown::compare(comparisons, verdicts),
        CompareFormat::Junit => junit::render(comparisons, verdicts),
        CompareFormat::Csv => {
            let mut rows = Vec::new();
            csv::compare(&mut rows, comparisons).map_err(Failure::run)?;
            String::from_utf8_lossy(&rows).into_owned()
        }
    })
}
