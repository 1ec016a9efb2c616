//! One trial's entry of `result.json`, its latencies and its timeline, from what was measured.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use assignor::MemberId;
use assignor::balance::{Seat, minimum_moves};
use results::assemble::{self, Identity};
use results::event::{Cause, Event, What};
use results::metric::{Ceiling, RunInput};
use results::schema::{Audit, Run};

use super::trial::Measured;
use crate::error::Error;
use crate::scenario::{Act, Plan};
use crate::workload;

/// A finished run, as it goes into the files.
#[derive(Debug)]
pub struct Finished {
    /// Its entry.
    pub run: Run,
    /// Its interval log.
    pub log: PathBuf,
    /// Its lines of the timeline.
    pub timeline: PathBuf,
    /// What a bulk load reached.
    pub restore_ceiling: Option<Ceiling>,
}

/// Above this share of all cores the machine itself is part of what is measured.
const BUSY: f64 = 0.6;
/// A script that acts later than this has not made the event it was meant to make.
const LATE: Duration = Duration::from_millis(100);

/// Puts it together.
///
/// # Errors
///
/// What the file system says of the timeline.
pub(super) fn finish(
    plan: &Plan,
    identity: Identity,
    measured: Measured,
    restore_ceiling: Option<Ceiling>,
) -> Result<Finished, Error> {
    let Measured { record, written, audit, played } = measured;
    let tasks: Vec<String> = workload::tasks(plan).iter().map(ToString::to_string).collect();
    let instances: BTreeMap<String, String> = played
        .instances
        .iter()
        .map(|(member, instance)| (member.to_string(), instance.to_string()))
        .collect();
    let members: Vec<&MemberId> = played.instances.iter().map(|(member, _)| member).collect();
    let input = RunInput {
        events: &record.events,
        latency: &record.latency,
        tasks: &tasks,
        instances: &instances,
        duration_us: played.duration_us,
        end_us: played.end_us,
        minimum_moves: fewest_moves(&record.events, &members, &played.gone),
        restore_ceiling,
        undrained: played.undrained,
    };
    let audit = Audit {
        expected: audit.records.expected,
        applied: audit.records.applied,
        lost: audit.records.lost,
        doubled: audit.records.doubled,
        stale_appends: audit.stale_appends,
        no_owner_ms: 0.0,
        passed: audit.complete && audit.records.passed() && audit.stale_appends == 0,
    };
    let mut run = assemble::run(identity, &input, audit);
    run.cpu_share = Some(played.cpu_share);
    run.rss_bytes_max = Some(played.rss_bytes_max);
    run.incomplete = played.stopped;
    if played.cpu_share > BUSY {
        run.warnings.push(format!(
            "{:.0} % of all CPU time was used: the machine's limits are part of these figures; lower load.rate or \
             capacity.restore_mb_per_s",
            played.cpu_share * 100.0
        ));
    }
    if played.latest_act > LATE {
        let late = played.latest_act.as_millis();
        run.warnings.push(format!("an event of the script came {late} ms late: the machine is too busy"));
    }
    for member in lost(plan, &record.events, &played.gone) {
        run.warnings.push(format!(
            "{member} was thrown out of the group though nothing had happened to it: the machine is too busy for this \
             group.session_timeout"
        ));
    }
    for condition in &played.unmet {
        run.warnings.push(format!(
            "`{condition}` had not come about by its deadline: the event that waited for it happened all the same"
        ));
    }
    if played.stopped {
        run.warnings.push("stopped by the user before its end".to_owned());
    }
    let timeline = written.timeline(&run, record.latency.window_us, &record.events)?;
    Ok(Finished { run, log: written.log(), timeline, restore_ceiling })
}

/// Members that the group gave up without the script's doing.
fn lost<'a>(plan: &Plan, events: &'a [Event], gone: &[MemberId]) -> Vec<&'a str> {
    let stalled = |name: &str| {
        plan.events.iter().any(|event| match &event.act {
            Act::Stall { members, .. } => members.iter().any(|member| member.as_str() == name),
            _ => false,
        })
    };
    let mut lost: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::MemberGone { member, cause: Cause::Crash | Cause::Timeout } => Some(member.as_str()),
            _ => None,
        })
        .filter(|name| !stalled(name) && gone.iter().all(|member| member.as_str() != *name))
        .collect();
    lost.sort_unstable();
    lost.dedup();
    lost
}

/// The fewest moves from the loads at the end of the warm-up to a balance of those who are there at the end.
fn fewest_moves(events: &[Event], members: &[&MemberId], gone: &[MemberId]) -> u64 {
    let before = events.iter().take_while(|event| event.at_us <= 0);
    let active = before
        .filter_map(|event| match &event.what {
            What::GenerationCompleted { active, .. } => Some(active),
            _ => None,
        })
        .last();
    let loads: BTreeMap<&str, u64> =
        active.into_iter().flatten().map(|(member, tasks)| (member.as_str(), tasks.len() as u64)).collect();
    let seats: Vec<Seat> = members
        .iter()
        .map(|member| Seat {
            load: loads.get(member.as_str()).copied().unwrap_or(0),
            capacity: 1,
            stays: !gone.contains(member),
        })
        .collect();
    minimum_moves(&seats, 1)
}
