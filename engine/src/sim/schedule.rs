//! What is going to happen, in the order of virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use assignor::{InstanceId, MemberId};

use crate::clock::Time;
use crate::group::message::{Reply, Request};

/// Something that happens at a moment.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// A request reaches the coordinator.
    Request(Box<Request>),
    /// A reply reaches whoever has the member's name.
    Reply(MemberId, Box<Reply>),
    /// The coordinator's deadline.
    CoordinatorTick,
    /// The deadline of one process of a member.
    MemberTick(MemberId, u64),
    /// The worker of one process of a member does its next command, or a pass over its tasks.
    Work(MemberId, u64),
    /// An instance's restorer does a piece of replay.
    Restore(InstanceId),
    /// Something goes wrong, or somebody comes or goes.
    Upset,
    /// The leader whose plan asked for a follow-up is hit before that can begin.
    StrikeLeader(MemberId),
    /// A coordinator is started in place of the one that crashed.
    CoordinatorStarts,
    /// The checkers that look at the whole look.
    Look,
}

struct Entry {
    at: Time,
    order: u64,
    what: Happening,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// The queue: earlier first, of one moment in the order of planning.
#[derive(Default)]
pub(super) struct Schedule {
    heap: BinaryHeap<Reverse<Entry>>,
    planned: u64,
}

impl Schedule {
    pub(super) fn plan(&mut self, at: Time, what: Happening) {
        self.planned += 1;
        self.heap.push(Reverse(Entry { at, order: self.planned, what }));
    }

    pub(super) fn next(&mut self) -> Option<(Time, Happening)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.what))
    }
}
