//! What it takes to start an instance, for the first time or again on the directory that it left.

use std::sync::Arc;

use assignor::{InstanceId, MemberId, TaskId};
use crossbeam_channel::{Sender, unbounded};

use crate::error::Error;
use crate::group::message::Request;
use crate::instance::{self, InstanceHandle, InstanceParts, Shared};
use crate::log::TaskLog;

use super::homes::Homes;
use super::router::Router;

/// How the workers of an instance belong to the group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Membership {
    /// Each start is a new member.
    #[default]
    Dynamic,
    /// Each worker has a stable id, made of its instance's name and its number: `I1-1`, `I1-2`, … A worker that is
    /// started again within its session causes no rebalance (KIP-345).
    Static,
    /// With the stable ids of another instance's workers. Where both run, the older ones are fenced.
    StaticOf(InstanceId),
}

/// What an instance is started as, each time.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub(super) id: InstanceId,
    pub(super) members: Vec<MemberId>,
    pub(super) capacity: u32,
    pub(super) membership: Membership,
    /// Earlier starts of it.
    pub(super) start: u64,
}

impl Spec {
    /// The stable id of its `n`th worker, from 1.
    fn static_id(&self, n: usize) -> Option<String> {
        match &self.membership {
            Membership::Dynamic => None,
            Membership::Static => Some(format!("{}-{n}", self.id)),
            Membership::StaticOf(other) => Some(format!("{other}-{n}")),
        }
    }
}

/// Everything that all instances share.
#[derive(Clone)]
pub(super) struct Launcher {
    pub(super) shared: Arc<Shared>,
    pub(super) task_logs: Vec<(TaskId, Arc<dyn TaskLog>)>,
    pub(super) router: Arc<Router>,
    pub(super) requests: Sender<Request>,
    pub(super) homes: Arc<Homes>,
}

impl Launcher {
    /// Starts it. From now on its members' replies go to it.
    pub(super) fn launch(&self, spec: &Spec) -> Result<InstanceHandle, Error> {
        let stores = self.homes.open(&spec.id)?;
        let channel = unbounded();
        for member in &spec.members {
            self.router.add(member.clone(), channel.0.clone());
        }
        let members = spec.members.iter().zip(1..).map(|(member, n)| (member.clone(), spec.static_id(n)));
        Ok(instance::start(InstanceParts {
            id: spec.id.clone(),
            members: members.collect(),
            start: spec.start,
            capacity: spec.capacity,
            shared: self.shared.clone(),
            logs: self.task_logs.clone(),
            stores,
            coordinator: self.requests.clone(),
            channel,
        }))
    }
}
