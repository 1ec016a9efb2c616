//! Puts one run's entry of `result.json` together from what was recorded.

use crate::event::{Event, What};
use crate::histogram;
use crate::metric::{self, RunInput};
use crate::ownership;
use crate::schema::{Audit, Compaction, Generation, MemberTasks, Membership, Run};
use crate::warm_up;

/// Which run it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The strategy with its options, as given.
    pub strategy: String,
    /// Which trial, from 1.
    pub trial: u32,
    /// 0, or 1 for the second run of an A/A pair.
    pub replica: u32,
    /// The seed that the arrivals come from.
    pub seed: u64,
}

/// Computes the metrics and gathers what the reports draw. The audit's `no_owner_ms` is set from the metrics; CPU
/// share, memory, the incomplete mark and further warnings are the caller's to add.
#[must_use]
pub fn run(identity: Identity, input: &RunInput<'_>, mut audit: Audit) -> Run {
    let (metrics, pauses) = metric::metrics(input);
    audit.no_owner_ms = metrics.no_owner_ms;
    let mut warnings = Vec::from_iter(warm_up::check(input.latency));
    if !audit.passed {
        warnings.push("the audit failed: this run is void".to_owned());
    }
    if input.undrained > 0 {
        warnings.push(format!("{} records had not been served when the run ended", input.undrained));
    }
    Run {
        strategy: identity.strategy,
        trial: identity.trial,
        replica: identity.replica,
        seed: identity.seed,
        metrics,
        audit,
        pauses,
        generations: generations(input.events),
        membership: membership(input.events),
        ownership: ownership::spans(input.events, input.end_us),
        latency_tail: histogram::tail(&input.latency.measured().latency),
        duration_us: input.duration_us,
        end_us: input.end_us,
        cpu_share: None,
        rss_bytes_max: None,
        undrained: input.undrained,
        appends_refused: count(input.events, |what| matches!(what, What::AppendRefused { .. })),
        compaction: compaction(input.events),
        stores_discarded: count(input.events, |what| matches!(what, What::StoreDiscarded { .. })),
        incomplete: false,
        warnings,
    }
}

fn compaction(events: &[Event]) -> Compaction {
    let mut sum = Compaction::default();
    for event in events.iter().filter(|event| event.at_us >= 0) {
        if let What::LogCompacted { bytes_before, bytes_after, .. } = event.what {
            sum.count += 1;
            sum.bytes_before += bytes_before;
            sum.bytes_after += bytes_after;
        }
    }
    sum
}

/// Events of a kind from time 0 on.
fn count(events: &[Event], kind: impl Fn(&What) -> bool) -> u64 {
    events.iter().filter(|event| event.at_us >= 0 && kind(&event.what)).count() as u64
}

fn by_member(tasks: &[(String, Vec<String>)]) -> Vec<MemberTasks> {
    let one =
        |(member, tasks): &(_, Vec<_>)| MemberTasks { member: String::clone(member), tasks: tasks.clone() };
    tasks.iter().map(one).collect()
}

fn generations(events: &[Event]) -> Vec<Generation> {
    let mut started_us = None;
    let mut generations = Vec::new();
    for event in events {
        match &event.what {
            What::RebalanceStarted { .. } => {
                started_us.get_or_insert(event.at_us);
            }
            What::GenerationCompleted { generation, causes, balanced, active, standby } => {
                generations.push(Generation {
                    started_us: started_us.take().unwrap_or(event.at_us),
                    completed_us: event.at_us,
                    generation: *generation,
                    causes: causes.clone(),
                    balanced: *balanced,
                    active: by_member(active),
                    standby: by_member(standby),
                });
            }
            _ => {}
        }
    }
    generations
}

fn membership(events: &[Event]) -> Vec<Membership> {
    events
        .iter()
        .filter_map(|event| match &event.what {
            What::Scripted { action, members } => {
                Some(Membership { at_us: event.at_us, action: *action, members: members.clone() })
            }
            _ => None,
        })
        .collect()
}
