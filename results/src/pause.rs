//! The pauses of tasks, walked out of the events, each broken into parts that add up to it exactly.
//!
//! A paused task is always in exactly one [`Part`]. An event that concerns it moves it to another part, and the time
//! since the last such event goes to the part it was in. So the parts sum to the pause by construction, however many
//! generations it spans. What moves a task:
//!
//! ```text
//!  crash, stall  ──► detect ──owner is gone───────────┐
//!  given up, left ─► revoke ──owner has joined/gone───┴─► barrier ──barrier reached──► assign ──task assigned─┐
//!                                                            ▲                           │                    │
//!                                                            └──next rebalance starts────┘                    │
//!                     first poll ◄── catch-up ◄──replay finished── restore ◄──────────────────────────────────┘
//! ```

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Action, Event, Stop, What};

/// What a paused task is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// For the group to notice that its owner is no more (crash, stall).
    Detect,
    /// For its owner to commit, give it up and join (or leave).
    Revoke,
    /// For every other member to join.
    Barrier,
    /// For the plan, and for the answer to reach the new owner.
    Assign,
    /// For the fence, the replay of the changelog and the opening of the store.
    Restore,
    /// For the worker to poll it.
    CatchUp,
}

/// Microseconds per [`Part`]. They add up to the pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Anatomy {
    /// Waiting for the group to notice.
    pub detect_us: u64,
    /// Waiting for the owner to give up and join.
    pub revoke_us: u64,
    /// Waiting for the other members.
    pub barrier_us: u64,
    /// Waiting for the plan and its delivery.
    pub assign_us: u64,
    /// Waiting for fence and replay.
    pub restore_us: u64,
    /// Waiting for the first poll.
    pub catch_up_us: u64,
}

impl Anatomy {
    fn add(&mut self, part: Part, us: u64) {
        *match part {
            Part::Detect => &mut self.detect_us,
            Part::Revoke => &mut self.revoke_us,
            Part::Barrier => &mut self.barrier_us,
            Part::Assign => &mut self.assign_us,
            Part::Restore => &mut self.restore_us,
            Part::CatchUp => &mut self.catch_up_us,
        } += us;
    }

    /// Name and microseconds of each part, in the order in which they are gone through.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, u64); 6] {
        [
            ("detect", self.detect_us),
            ("revoke", self.revoke_us),
            ("barrier", self.barrier_us),
            ("assign", self.assign_us),
            ("restore", self.restore_us),
            ("catch-up", self.catch_up_us),
        ]
    }

    /// The pause.
    #[must_use]
    pub fn sum_us(&self) -> u64 {
        self.parts().iter().map(|(_, us)| us).sum()
    }
}

/// A maximal time in which no worker of the newest epoch could poll a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// The task.
    pub task: String,
    /// Who stopped polling it.
    pub from: String,
    /// Who polled it again; absent when the run ended first.
    pub to: Option<String>,
    /// Why it stopped.
    pub why: Stop,
    /// When it stopped, in microseconds since the end of the warm-up.
    pub start_us: i64,
    /// When it was polled again, or the run ended.
    pub end_us: i64,
    /// The scripted event it followed, counted from 0; absent before the first.
    pub event: Option<usize>,
    /// Generations completed during the pause.
    pub generations: u32,
    /// Given up at a join and handed straight back to the same member.
    pub given_back: bool,
    /// The run ended before the pause did, which was therefore longer than this.
    pub censored: bool,
    /// Records between the copy that took over and the log's end, at the last fence in the pause.
    pub lag: Option<u64>,
    /// Records replayed between that fence and the first poll.
    pub replayed: u64,
    /// Where the time went.
    pub anatomy: Anatomy,
}

impl Pause {
    /// Its length in microseconds.
    #[must_use]
    pub fn us(&self) -> u64 {
        self.end_us.abs_diff(self.start_us)
    }
}

/// What is known of one task while the events are walked.
#[derive(Default)]
struct Task {
    /// Who runs it, or is to run it: the last to poll it, to stop it, or to be assigned it.
    owner: String,
    /// Who polled it last, if anybody has.
    runner: Option<String>,
    epoch: u64,
    open: Option<Open>,
}

struct Open {
    pause: Pause,
    part: Part,
    since_us: i64,
    /// When its new owner, still restoring, joined the next round, and when that round's barrier was reached. Only a
    /// new assignment tells that the owner gave the task up there, rather than kept it and went on.
    rejoined: Option<(i64, Option<i64>)>,
}

impl Open {
    /// A pause that begins now, after so many scripted events.
    fn new(task: &str, from: &str, why: Stop, part: Part, at_us: i64, scripted: usize) -> Self {
        let pause = Pause {
            task: task.to_owned(),
            from: from.to_owned(),
            to: None,
            why,
            start_us: at_us,
            end_us: at_us,
            event: scripted.checked_sub(1),
            generations: 0,
            given_back: false,
            censored: false,
            lag: None,
            replayed: 0,
            anatomy: Anatomy::default(),
        };
        Open { pause, part, since_us: at_us, rejoined: None }
    }

    /// Charges the time up to now to the part the task was in, and moves it to another.
    fn enter(&mut self, part: Part, at_us: i64) {
        let us = u64::try_from(at_us - self.since_us).unwrap_or(0);
        self.pause.anatomy.add(self.part, us);
        self.part = part;
        self.since_us = at_us;
        self.rejoined = None;
    }

    fn is_restoring(&self) -> bool {
        matches!(self.part, Part::Restore | Part::CatchUp)
    }

    /// The task is somebody's again; if its last new owner gave it up unpolled, the time since then was another round.
    fn assigned(&mut self, at_us: i64) {
        if let Some((joined_us, barrier_us)) = self.rejoined.take() {
            self.enter(Part::Barrier, joined_us);
            if let Some(barrier_us) = barrier_us {
                self.enter(Part::Assign, barrier_us);
            }
        }
        self.enter(Part::Restore, at_us);
    }

    fn close(mut self, at_us: i64) -> Pause {
        self.enter(self.part, at_us);
        self.pause.end_us = at_us;
        self.pause
    }
}

/// The pauses of a run in the order of their starts, then of their tasks' names.
///
/// What lies before time 0 is left out: a pause that began in the warm-up counts from 0. What is open at `end_us` is
/// closed there and marked as censored. Events must be in the order of their times; later ones than `end_us` are
/// ignored.
#[must_use]
pub fn pauses(events: &[Event], end_us: i64) -> Vec<Pause> {
    let mut walk = Walk::default();
    for event in events.iter().take_while(|event| event.at_us <= end_us) {
        walk.step(event.at_us.max(0), &event.what);
    }
    let end_us = end_us.max(0);
    for task in walk.tasks.values_mut() {
        if let Some(mut open) = task.open.take() {
            open.pause.censored = true;
            walk.done.push(open.close(end_us));
        }
    }
    walk.done.retain(|pause| pause.end_us > 0);
    walk.done.sort_by(|a, b| (a.start_us, &a.task).cmp(&(b.start_us, &b.task)));
    walk.done
}

#[derive(Default)]
struct Walk {
    tasks: BTreeMap<String, Task>,
    done: Vec<Pause>,
    scripted: usize,
}

impl Walk {
    fn step(&mut self, at_us: i64, what: &What) {
        match what {
            What::Scripted { action, members } => {
                self.scripted += 1;
                if matches!(action, Action::Crash | Action::Stall) {
                    // A new owner that is hit before its first poll has nothing to stop.
                    self.all(|open, owner| {
                        if open.is_restoring() && members.iter().any(|member| member == owner) {
                            open.enter(Part::Detect, at_us);
                        }
                    });
                }
            }
            What::TaskStopped { task, member, why } => self.stop(task, member, *why, at_us),
            What::TaskPolled { task, member, epoch } => self.poll(task, member, *epoch, at_us),
            What::RebalanceStarted { .. } => self.all(|open, _| {
                // A plan that did not place the task is followed by another round.
                if open.part == Part::Assign {
                    open.enter(Part::Barrier, at_us);
                }
            }),
            What::Joined { member, .. } => self.all(|open, owner| {
                if owner != member {
                    return;
                }
                if open.part == Part::Revoke {
                    open.enter(Part::Barrier, at_us);
                } else if open.is_restoring() {
                    open.rejoined.get_or_insert((at_us, None));
                }
            }),
            What::MemberGone { member, .. } => self.all(|open, owner| {
                // A new owner that is lost before its first poll: the task waits for the next round.
                if owner == member {
                    open.enter(Part::Barrier, at_us);
                }
            }),
            What::BarrierReached { .. } => self.all(|open, _| {
                if matches!(open.part, Part::Revoke | Part::Barrier) {
                    open.enter(Part::Assign, at_us);
                } else if let Some((_, barrier_us @ None)) = &mut open.rejoined {
                    *barrier_us = Some(at_us);
                }
            }),
            What::GenerationCompleted { .. } => self.all(|open, _| open.pause.generations += 1),
            What::TaskAssigned { task, member, .. } => {
                let task = self.task(task);
                task.owner = member.clone();
                if let Some(open) = &mut task.open {
                    open.assigned(at_us);
                }
            }
            What::TaskFenced { task, member, epoch, lag } => self.fence(task, member, *epoch, *lag, at_us),
            What::RestoreFinished { task, records, .. } => {
                if let Some(open) = &mut self.task(task).open {
                    open.pause.replayed += records;
                    open.enter(Part::CatchUp, at_us);
                }
            }
            _ => {}
        }
    }

    fn task(&mut self, name: &str) -> &mut Task {
        self.tasks.entry(name.to_owned()).or_default()
    }

    /// Calls `change` with every paused task and its owner.
    fn all(&mut self, mut change: impl FnMut(&mut Open, &str)) {
        for task in self.tasks.values_mut() {
            if let Some(open) = &mut task.open {
                change(open, &task.owner);
            }
        }
    }

    fn stop(&mut self, name: &str, member: &str, why: Stop, at_us: i64) {
        let scripted = self.scripted;
        let task = self.task(name);
        // A former owner that wakes up and finds itself fenced stops nothing: the task runs, or waits, elsewhere.
        if !task.owner.is_empty() && task.owner != member {
            return;
        }
        task.owner = member.to_owned();
        let part = match why {
            Stop::Crashed | Stop::Stalled | Stop::Fenced => Part::Detect,
            Stop::GivenUp | Stop::Left => Part::Revoke,
        };
        match &mut task.open {
            Some(open) => open.enter(part, at_us),
            closed => *closed = Some(Open::new(name, member, why, part, at_us, scripted)),
        }
    }

    fn fence(&mut self, name: &str, member: &str, epoch: u64, lag: u64, at_us: i64) {
        let scripted = self.scripted;
        let task = self.task(name);
        task.owner = member.to_owned();
        // A task that is taken from a running owner stands still from the fence on, even if that owner polls.
        if task.open.is_none()
            && epoch > task.epoch
            && let Some(runner) = &task.runner
        {
            task.open = Some(Open::new(name, runner, Stop::Fenced, Part::Restore, at_us, scripted));
        }
        task.epoch = task.epoch.max(epoch);
        if let Some(open) = &mut task.open {
            open.assigned(at_us);
            open.pause.lag = Some(lag);
            open.pause.replayed = 0;
        }
    }

    fn poll(&mut self, name: &str, member: &str, epoch: u64, at_us: i64) {
        let task = self.task(name);
        if epoch < task.epoch {
            return;
        }
        task.epoch = epoch;
        task.owner = member.to_owned();
        task.runner = Some(member.to_owned());
        if let Some(open) = task.open.take() {
            let mut pause = open.close(at_us);
            pause.given_back = pause.why == Stop::GivenUp && pause.from == member && pause.generations <= 1;
            pause.to = Some(member.to_owned());
            self.done.push(pause);
        }
    }
}
