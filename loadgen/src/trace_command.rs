//! `understudy trace`: replays scaling stories through the assignor.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use assignor::trace::{Difference, Story, replay};

use crate::cli::TraceArgs;
use crate::exit::{self, Failure, Outcome};

/// Replays every file; one that cannot be used does not keep the others from being replayed.
pub(crate) fn run(args: &TraceArgs) -> Result<Outcome, Failure> {
    let mut unusable = Vec::new();
    let mut outcome = Outcome::Fine;
    for file in &args.files {
        match story(file).and_then(|story| Ok((replay(&story)?, story))) {
            Ok((differences, story)) => {
                exit::say(&verdict(file, &story, &differences));
                if !differences.is_empty() {
                    outcome = Outcome::Failed;
                }
            }
            Err(error) => unusable.push(error),
        }
    }
    match unusable.pop() {
        None => Ok(outcome),
        Some(last) => {
            unusable.iter().for_each(|error| exit::complain(&format!("error: {error:#}")));
            Err(Failure::Unusable(last))
        }
    }
}

/// Reads a story from a file.
pub(crate) fn story(file: &Path) -> anyhow::Result<Story> {
    let name = file.display().to_string();
    let bytes = fs::read(file).with_context(|| format!("cannot read {name}"))?;
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("{name} is not text"))?;
    Ok(Story::read(&name, &text)?)
}

fn verdict(file: &Path, story: &Story, differences: &[Difference]) -> String {
    let (name, rounds) = (file.display(), story.rounds.len());
    if differences.is_empty() {
        return format!("{name}: {} holds in all of its {rounds} rounds", story.title);
    }
    let mut text = format!("{name}: {} does not hold", story.title);
    for difference in differences {
        text.push_str(&format!("\n{difference}"));
    }
    text
}
