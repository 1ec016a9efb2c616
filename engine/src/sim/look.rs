//! The checkers that look at the whole: whether every task is owned, whether the group has settled, and the audit.

use std::time::Duration;

use assignor::TaskId;

use super::checkers::Check;
use super::schedule::Happening;
use super::setup::Upsets;
use super::world::World;
use crate::audit::audit;
use crate::error::Error;
use crate::group::message::Inventory as _;

impl World {
    /// A task was polled by its newest owner.
    pub(super) fn has_polled(&mut self, task: &TaskId) {
        let before = self.polled.insert(task.clone(), self.now).unwrap_or(self.now);
        let gap = self.now.since(before);
        self.outcome.longest_gap = self.outcome.longest_gap.max(gap);
        if let Some(limit) = self.gap_limit.filter(|limit| gap > *limit) {
            self.check
                .violate(Check::AlwaysOwned, format!("{task} was not polled for {gap:?} (limit {limit:?})"));
        }
    }

    /// Looks at the whole, and looks again later.
    pub(super) fn look(&mut self) -> Result<(), Error> {
        if !self.is_calm() {
            self.schedule.plan(self.calm_from.max(self.now + self.beat()), Happening::Look);
            return Ok(());
        }
        if self.network.lost > 0 || self.network.late > 0 {
            self.calm_down();
        }
        if self.seats.is_empty() {
            self.start_instance();
        }
        let unsettled = self.unsettled();
        let waited = self.now.since(self.calm_from);
        match (unsettled, self.settled) {
            (Some(what), _) => {
                self.settled = None;
                if waited > self.patience() {
                    self.check.violate(Check::BalancedAndQuiet, format!("after {waited:?}: {what}"));
                }
            }
            (None, None) => self.settled = Some((self.now, self.check.rebalances)),
            (None, Some((since, rebalances))) => {
                if rebalances != self.check.rebalances {
                    self.settled = Some((self.now, self.check.rebalances));
                } else if self.now.since(since) > self.stillness() {
                    self.audit_all()?;
                    self.done = true;
                    return Ok(());
                }
            }
        }
        self.schedule.plan(self.now + self.beat() * 3, Happening::Look);
        Ok(())
    }

    /// From here on messages arrive, nobody stalls, and everybody can be reached.
    fn calm_down(&mut self) {
        self.network = super::network::Network::calm(self.beat() / 10);
        let now = self.now;
        for seat in self.seats.values_mut() {
            seat.cut_until = seat.cut_until.min(now);
            seat.stalled_until = seat.stalled_until.min(now);
            seat.stuck_until = seat.stuck_until.min(now);
        }
        self.trail.note(now, || "calm from here on");
        if self.seats.values().all(|seat| seat.leaving) {
            self.start_instance();
        }
    }

    /// How long settling may take: every timer once, and a few rebalances for every task.
    fn patience(&self) -> Duration {
        let config = &self.config;
        let timers = config.session_timeout + config.rebalance_timeout + config.max_poll_interval;
        let leave = match self.conduct.leave {
            assignor::Leave::AfterHandOver { timeout } => timeout,
            assignor::Leave::AtOnce => Duration::ZERO,
        };
        timers * 3 + leave + self.beat() * 100 * self.tasks.len() as u32
    }

    /// How long nothing may happen before the group counts as settled: longer than a probing interval.
    fn stillness(&self) -> Duration {
        self.beat() * 30
    }

    /// Why the group has not settled, if it hasn't.
    fn unsettled(&self) -> Option<String> {
        let Some(coordinator) = &self.coordinator else { return Some("there is no coordinator".into()) };
        if !coordinator.is_quiet() {
            return Some("the group is not quiet".into());
        }
        if !self.check.balanced {
            return Some("the last plan is not balanced".into());
        }
        if !self.check.planned_without.is_empty() {
            return Some(format!("the last plan was made without {:?}", self.check.planned_without));
        }
        if !coordinator.members().eq(self.seats.keys()) {
            let there: Vec<_> = coordinator.members().collect();
            return Some(format!("{there:?} are in the group, {:?} are there", self.seats.keys()));
        }
        if let Some((id, _)) = self.seats.iter().find(|(_, seat)| !seat.machine.is_steady()) {
            return Some(format!("{id} is not steady"));
        }
        for task in &self.tasks {
            let runs = |(_, seat): &(_, &super::seat::Seat)| seat.active.contains_key(&task.id);
            let runners: Vec<_> = self.seats.iter().filter(runs).map(|(id, _)| id).collect();
            let [runner] = runners[..] else { return Some(format!("{} is run by {runners:?}", task.id)) };
            let seat = &self.seats[runner];
            if !seat.machine.active().any(|active| *active == task.id) {
                return Some(format!("{} is run by {runner}, which does not own it", task.id));
            }
            let position = seat.active[&task.id].checkpoint().resume.source_offset;
            if position < self.due(&task.id) {
                return Some(format!("{} has a backlog", task.id));
            }
        }
        None
    }

    /// Every record is in the state of its task exactly once.
    fn audit_all(&mut self) -> Result<(), Error> {
        self.trail.note(self.now, || "settled; audit");
        for task in self.tasks.clone() {
            let due = self.due(&task.id);
            let mut seats = self.seats.iter_mut();
            let Some((id, active, instance)) = seats.find_map(|(id, seat)| {
                Some((id.clone(), seat.active.remove(&task.id)?, seat.instance.clone()))
            }) else {
                continue;
            };
            let store = active.into_store();
            let audited = audit(&task.id, &self.sources, &*store)?;
            if !audited.passed() || audited.expected != due {
                let what = format!("{} at {id} on {instance}: {audited:?}, due {due}", task.id);
                self.check.violate(Check::NothingLostOrDoubled, what);
            }
        }
        self.audit_copies()
    }

    /// Learners' and standbys' copies are prefixes of their logs: replayed to the end they hold the same.
    fn audit_copies(&mut self) -> Result<(), Error> {
        let nodes: Vec<_> = self.nodes.keys().cloned().collect();
        for instance in nodes {
            for task in self.tasks.clone() {
                let Some(node) = self.nodes.get(&instance) else { continue };
                if node.stored().iter().all(|copy| copy.task != task.id) {
                    continue;
                }
                let store = node.stored_copy(&task.id)?;
                let audited = audit(&task.id, &self.sources, &*store)?;
                if !audited.passed() {
                    let what = format!("{} stored on {instance}: {audited:?}", task.id);
                    self.check.violate(Check::NothingLostOrDoubled, what);
                }
            }
        }
        Ok(())
    }

    /// Holds the run to a longest time that a task may go unpolled, if its script has one: when one process crashes,
    /// until its session ends and the barrier has let the others through, a rebalance, and the replay of everything.
    pub(super) fn limit_gaps(&mut self) {
        if matches!(self.setup.upsets, Upsets::None | Upsets::Everything) {
            return;
        }
        let config = &self.config;
        let session = config.session_timeout + self.beat();
        // The survivors hear of it with a heartbeat at the latest; a lost call is repeated with another.
        let rebalance = self.beat() * 4;
        let replay = self.beat() * 10;
        let coordinator = match self.setup.upsets {
            // Its successor starts late and waits for a session, so that everybody finds it.
            Upsets::OneCrash { coordinator: true, .. } => self.beat() * 5 + config.initial_delay,
            _ => Duration::ZERO,
        };
        // Everybody joins as a new member, after the stall and while others do.
        let starvation = match self.setup.upsets {
            Upsets::Starvation => self.starvation() + config.initial_delay * 2,
            _ => Duration::ZERO,
        };
        self.gap_limit = Some(session + rebalance + replay + coordinator + starvation);
    }
}
