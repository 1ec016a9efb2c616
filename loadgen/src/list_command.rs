//! `understudy list`: built-in scenarios, strategies, and the strategies' options.

use loadgen::scenario::{self, BUILTINS, Plan};
use serde_json::json;

use crate::cli::{Format, ListArgs};
use crate::exit::{self, Failure, Outcome};

/// Prints the list.
pub(crate) fn run(args: &ListArgs) -> Result<Outcome, Failure> {
    let plans: Vec<Plan> = BUILTINS
        .iter()
        .map(|builtin| scenario::load(builtin.name, &[]))
        .collect::<Result<_, _>>()
        .map_err(Failure::run)?;
    exit::say(&match args.format {
        Format::Text => text(&plans),
        Format::Json => json(&plans).map_err(Failure::run)?,
    });
    Ok(Outcome::Fine)
}

/// Lines of prose are as wide as this, whatever the terminal: long lines are hard to read.
const WIDTH: usize = 100;

fn text(plans: &[Plan]) -> String {
    let mut text = String::from("Scenarios (understudy run NAME):\n");
    for plan in plans {
        text.push_str(&format!("\n  {} - {}\n", plan.name, plan.title));
        text.push_str(&wrapped(&plan.description, "      "));
        for claim in &plan.claims {
            let about = claim.strategy.as_ref().map_or(String::new(), |strategy| format!("{strategy}: "));
            text.push_str(&wrapped(&format!("claims {about}{}", claim.says), "      - "));
        }
    }
    text.push_str("\nStrategies (--strategy NAME, or NAME(option=value,…)):\n");
    for strategy in assignor::strategies() {
        text.push_str(&format!("\n  {}\n", strategy.name));
        text.push_str(&wrapped(strategy.meaning, "      "));
        for option in strategy.options {
            text.push_str(&format!("      {} = {}   ({})\n", option.name, option.default, option.range));
            text.push_str(&wrapped(option.meaning, "          "));
        }
    }
    text.push_str("\nA scenario's keys: understudy schema scenario");
    text
}

/// The text in lines of at most [`WIDTH`] characters, each indented.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from(indent);
    for word in text.split_whitespace() {
        if line.len() > indent.len() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line = String::from(indent);
        }
        if line.len() > indent.len() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.len() > indent.len() {
        lines.push_str(&line);
        lines.push('\n');
    }
    lines
}

fn json(plans: &[Plan]) -> Result<String, serde_json::Error> {
    let scenarios: Vec<_> = plans
        .iter()
        .map(|plan| {
            let claims: Vec<&str> = plan.claims.iter().map(|claim| claim.says.as_str()).collect();
            json!({
                "name": plan.name, "title": plan.title, "description": plan.description,
                "strategies": plan.strategies, "claims": claims,
            })
        })
        .collect();
    let strategies: Vec<_> = assignor::strategies()
        .iter()
        .map(|strategy| {
            let options: Vec<_> = strategy
                .options
                .iter()
                .map(|option| {
                    json!({
                        "name": option.name, "default": option.default, "values": option.range.to_string(),
                        "meaning": option.meaning,
                    })
                })
                .collect();
            json!({ "name": strategy.name, "meaning": strategy.meaning, "options": options })
        })
        .collect();
    serde_json::to_string_pretty(&json!({ "scenarios": scenarios, "strategies": strategies }))
}
