//! `understudy plan`: what each strategy would do with a group.

use anyhow::Context;
use assignor::learner::Learner;
use assignor::settle::{Cause, Event, Forecast, settle};
use assignor::{Assignment, FollowUp, Plan, TaskId};
use serde_json::{Map, Value, json};

use crate::cli::{Format, PlanArgs};
use crate::exit::{self, Failure, Outcome};
use crate::trace_command;

/// Plays the events under every strategy and prints what they would cost.
pub(crate) fn run(args: &PlanArgs) -> Result<Outcome, Failure> {
    let forecasts = forecasts(args).map_err(Failure::Unusable)?;
    exit::say(&match args.format {
        Format::Text => text(&forecasts, args.explain),
        Format::Json => {
            serde_json::to_string_pretty(&json(&forecasts, args.explain)).map_err(Failure::run)?
        }
    });
    Ok(Outcome::Fine)
}

fn forecasts(args: &PlanArgs) -> anyhow::Result<Vec<Forecast>> {
    let story = trace_command::story(&args.file)?;
    story.check_stable()?;
    let view = story.stable_view();
    let joins = args.join.iter().map(|text| story.joining(text).with_context(|| format!("--join {text}")));
    let leaves = args.leave.iter().map(|text| Ok(Event::Leave { member: text.as_str().into() }));
    let events: Vec<Event> = joins.chain(leaves).collect::<anyhow::Result<_>>()?;
    let mut forecasts = Vec::new();
    for definition in assignor::strategies() {
        let forecast = if definition.name == Learner::DEFINITION.name {
            settle(&view, &events, &story.strategy)?
        } else {
            settle(&view, &events, &*definition.configure(&[])?)?
        };
        forecasts.push(forecast);
    }
    Ok(forecasts)
}

const HEADINGS: [&str; 6] = ["strategy", "moves", "fewest", "rebalances", "follow-ups", "restored state"];

fn text(forecasts: &[Forecast], explain: bool) -> String {
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    for forecast in forecasts {
        let at_least = if forecast.settled { "" } else { "> " };
        rows.push([
            forecast.strategy.clone(),
            format!("{at_least}{}", forecast.moves),
            forecast.minimum_moves.to_string(),
            format!("{at_least}{}", forecast.rebalances()),
            forecast.rebalances_by(Cause::FollowUp).to_string(),
            format!("{at_least}{}", forecast.restored),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let line = |row: &[String; 6]| {
        let mut line = format!("{:<width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        line
    };
    let mut text: String = rows.iter().map(|row| line(row) + "\n").collect();
    text.push_str(
        "\nMoves are tasks that change owner, beside the fewest that balance needs. Restored state is in the\n\
         unit of the file's task sizes. All learners of a round are taken to turn ready together.",
    );
    if explain {
        forecasts.iter().for_each(|forecast| text.push_str(&explanation(forecast)));
    } else {
        text.push_str("\n--explain shows each answer and the reason of each move.");
    }
    text
}

fn explanation(forecast: &Forecast) -> String {
    let mut text = format!("\n\n{}", forecast.strategy);
    for (index, round) in forecast.rounds.iter().enumerate() {
        text.push_str(&format!("\n  rebalance {} ({})", index + 1, cause(round.cause)));
        if index == 0 {
            for (member, told) in &round.plan.members {
                text.push_str(&format!("\n    {member}({})", lists(told)));
            }
        }
        for step in &round.plan.moves {
            text.push_str(&format!("\n    {step}"));
        }
        if round.plan.moves.is_empty() {
            text.push_str("\n    nothing changes");
        }
    }
    text
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Event => "the event",
        Cause::FollowUp => "follow-up",
        Cause::LearnerReady => "learners are ready",
        Cause::Probing => "probing",
    }
}

/// The lists that are not empty; `assigned` always.
fn lists(told: &Assignment) -> String {
    let join = |tasks: &[TaskId]| tasks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut text = format!("assigned: [{}]", join(&told.active));
    for (name, tasks) in [
        ("revoked", &told.revoked),
        ("give-up", &told.give_up),
        ("learning", &told.learning),
        ("standby", &told.standby),
    ] {
        if !tasks.is_empty() {
            text.push_str(&format!(", {name}: [{}]", join(tasks)));
        }
    }
    text
}

fn json(forecasts: &[Forecast], explain: bool) -> Value {
    let strategies: Vec<Value> = forecasts
        .iter()
        .map(|forecast| {
            let mut object = json!({
                "strategy": forecast.strategy,
                "moves": forecast.moves,
                "minimum_moves": forecast.minimum_moves,
                "rebalances": forecast.rebalances(),
                "follow_ups": forecast.rebalances_by(Cause::FollowUp),
                "restored_bytes": forecast.restored,
                "settled": forecast.settled,
                "plan": forecast.rounds.first().map(|round| plan(&round.plan)),
                "final_plan": forecast.rounds.last().map(|round| plan(&round.plan)),
            });
            if explain {
                object["reasons"] = reasons(forecast);
            }
            object
        })
        .collect();
    json!({ "strategies": strategies })
}

fn plan(plan: &Plan) -> Value {
    let members: Map<String, Value> = plan
        .members
        .iter()
        .map(|(member, told)| {
            let lists = json!({
                "active": names(&told.active),
                "revoked": names(&told.revoked),
                "give_up": names(&told.give_up),
                "learning": names(&told.learning),
                "standby": names(&told.standby),
            });
            (member.to_string(), lists)
        })
        .collect();
    let follow_up = match plan.follow_up {
        FollowUp::None => "none",
        FollowUp::Immediate => "immediate",
        FollowUp::After(_) => "later",
    };
    json!({ "members": members, "follow_up": follow_up, "balanced": plan.balanced })
}

fn names(tasks: &[TaskId]) -> Vec<&str> {
    tasks.iter().map(TaskId::as_str).collect()
}

fn reasons(forecast: &Forecast) -> Value {
    let rounds = forecast.rounds.iter().enumerate();
    rounds
        .flat_map(|(index, round)| {
            round.plan.moves.iter().map(move |step| {
                json!({
                    "rebalance": index + 1,
                    "task": step.task.as_str(),
                    "change": format!("{:?}", step.change),
                    "from": step.from.as_ref().map(assignor::MemberId::as_str),
                    "to": step.to.as_ref().map(assignor::MemberId::as_str),
                    "reason": step.reason.to_string(),
                })
            })
        })
        .collect()
}
