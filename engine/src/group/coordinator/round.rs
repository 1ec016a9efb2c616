//! Where the group stands between two generations: the barrier, and what it waits for.

use std::time::Duration;

use assignor::{GroupView, MemberId};

use crate::clock::Time;
use crate::config::GroupConfig;
use crate::event::Cause;

/// The group's state, under the names that Kafka's coordinator gives them.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// No members.
    Empty,
    /// `PreparingRebalance`: joins are called in.
    Preparing(Gathering),
    /// `CompletingRebalance`: the leader plans.
    Completing {
        leader: MemberId,
        view: Box<GroupView>,
        /// When its answer is overdue.
        until: Time,
    },
    /// Everybody has, or may have, its assignment.
    Stable {
        /// The rebalance that the last plan asked for, and when.
        follow_up: Option<(Time, Cause)>,
        /// Who planned. (The follow-up does not depend on it.)
        leader: MemberId,
        /// Everybody was seen to have its assignment.
        settled: bool,
    },
    /// Taken down.
    Dead,
}

/// What a generation of an empty group is the beginning of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Of everything.
    Application,
    /// Of a coordinator that was started again.
    NewCoordinator,
    /// Of a group that had lost all of its members.
    EmptiedGroup,
}

/// Joins being called in.
#[derive(Clone, Debug)]
pub(super) struct Gathering {
    /// Past it, who has not joined is out.
    pub(super) limit: Time,
    /// Not before it, although everybody has joined.
    not_before: Time,
    /// How long each late joiner extends the wait by.
    delay: Duration,
    /// Somebody joined since the wait was last extended.
    late: bool,
    /// Not before this many members have joined.
    members: usize,
}

impl Gathering {
    /// A rebalance of a group that has members.
    pub(super) fn again(config: &GroupConfig, now: Time) -> Self {
        Self {
            limit: now + config.rebalance_timeout,
            not_before: now,
            delay: Duration::ZERO,
            late: false,
            members: 0,
        }
    }

    /// A generation of an empty group: it waits for more members, so that the first one is not given everything
    /// (Kafka's `group.initial.rebalance.delay.ms`), and, if the coordinator was restarted, for as long as a session
    /// lasts, so that the members of its predecessor find it.
    ///
    /// Only the application's start waits for `initial_members`. How many are left of a group that has lost all of
    /// its members, or its coordinator, nobody knows: those that are not there any more would be waited for until
    /// the rebalance timeout, and nobody would run anything meanwhile.
    pub(super) fn first(config: &GroupConfig, now: Time, beginning: Beginning) -> Self {
        let find =
            if beginning == Beginning::NewCoordinator { config.session_timeout } else { Duration::ZERO };
        let members = if beginning == Beginning::Application { config.initial_members } else { 0 };
        Self {
            limit: now + config.rebalance_timeout.max(find),
            not_before: now + config.initial_delay.max(find),
            delay: config.initial_delay,
            late: false,
            members,
        }
    }

    /// A member that was not there when the wait began.
    pub(super) fn joined_late(&mut self) {
        self.late = true;
    }

    /// Whether the wait is over apart from the joins themselves, of a group that `seen` members have joined so far,
    /// those included that are gone again. Like Kafka's `InitialDelayedJoin`, a wait in which somebody joined is
    /// followed by another, up to the rebalance timeout.
    pub(super) fn is_over(&mut self, now: Time, seen: usize) -> bool {
        if now >= self.limit {
            return true;
        }
        while now >= self.not_before && self.late && self.delay > Duration::ZERO {
            self.late = false;
            self.not_before = (self.not_before + self.delay).min(self.limit);
        }
        now >= self.not_before && seen >= self.members
    }

    /// When the wait for more members is over, if nobody extends it.
    pub(super) fn not_before(&self) -> Time {
        self.not_before
    }
}
