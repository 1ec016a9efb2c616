//! `understudy compare`: two results, or two strategies within one, with gates that a CI job can fail on.

use anyhow::anyhow;
use loadgen::strategies;
use results::compare::{self, Comparison};
use results::gate::{self, Gate, Verdict};
use results::report::{compare_text, csv, junit, markdown};

use crate::cli::{CompareArgs, CompareFormat};
use crate::exit::{Failure, Outcome};
use crate::result_file::{ResultFile, deliver, style};

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
    let base = ResultFile::read(&args.base)?;
    match (&args.new, &args.between) {
        (Some(new), None) => {
            let new = ResultFile::read(new)?;
            compare::results(base.named(), new.named(), args.allow_unlike).map_err(Failure::unusable)
        }
        (None, Some(pair)) => {
            let names = strategies::split(pair).map_err(Failure::unusable)?;
            let [from, to] = names[..] else {
                return Err(Failure::Unusable(anyhow!(
                    "--between {pair}: takes two strategies, the base first; for example: --between eager,learner"
                )));
            };
            Ok(vec![compare::between(base.named(), from, to).map_err(Failure::unusable)?])
        }
        _ => Err(Failure::Unusable(anyhow!(
            "compare takes two results (compare BASE NEW), or one with two strategies (compare RESULT --between eager,learner)"
        ))),
    }
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
