//! One process of a member: its machine, its worker's tasks, and what its worker was told.

use std::collections::{BTreeMap, VecDeque};

use assignor::{InstanceId, TaskId};

use crate::clock::Time;
use crate::group::Member;
use crate::log::Fenced;
use crate::position::Claim;
use crate::task::ActiveTask;

/// What a worker is told.
#[derive(Clone, Debug)]
pub(super) enum Command {
    Stop { tasks: Vec<TaskId> },
    TakeOver { task: TaskId, claim: Claim },
    Resume { task: TaskId },
}

/// A member's process.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) machine: Member,
    /// Which process of this name it is.
    pub(super) start: u64,
    pub(super) instance: InstanceId,
    pub(super) static_id: Option<String>,
    pub(super) commands: VecDeque<Command>,
    pub(super) active: BTreeMap<TaskId, ActiveTask>,
    /// Taken over, still replaying.
    pub(super) pending: BTreeMap<TaskId, Fenced>,
    /// When its machine is ticked and its worker works next.
    pub(super) tick_at: Time,
    pub(super) work_at: Time,
    /// It does and hears nothing until then.
    pub(super) stalled_until: Time,
    /// Its worker does nothing until then; heartbeats go on.
    pub(super) stuck_until: Time,
    /// Nothing reaches it or leaves it until then.
    pub(super) cut_until: Time,
    /// How far its clock has jumped ahead.
    pub(super) ahead: std::time::Duration,
    /// It was asked to leave.
    pub(super) leaving: bool,
}

impl Seat {
    pub(super) fn new(machine: Member, start: u64, instance: InstanceId, static_id: Option<String>) -> Self {
        Self {
            machine,
            start,
            instance,
            static_id,
            commands: VecDeque::new(),
            active: BTreeMap::new(),
            pending: BTreeMap::new(),
            tick_at: Time::NEVER,
            work_at: Time::NEVER,
            stalled_until: Time::ZERO,
            stuck_until: Time::ZERO,
            cut_until: Time::ZERO,
            ahead: std::time::Duration::ZERO,
            leaving: false,
        }
    }
}
