//! Every instance that was ever started, and who of its members is there.

use std::collections::{BTreeMap, BTreeSet};

use assignor::{InstanceId, MemberId};

use crate::error::Error;
use crate::instance::{InstanceHandle, ToInstance};

use super::launch::{Launcher, Membership, Spec};

/// An instance.
pub(super) struct Entry {
    pub(super) spec: Spec,
    pub(super) handle: InstanceHandle,
    /// It is on its way down and will be started again, with these members.
    pub(super) coming: Option<Vec<MemberId>>,
}

impl Entry {
    /// Whether it is neither down nor on its way there.
    fn is_up(&self) -> bool {
        self.coming.is_none() && !self.handle.ended()
    }
}

/// All instances. Names of instances, and of members that are not static, are never used again.
#[derive(Default)]
pub(super) struct Roster {
    pub(super) instances: BTreeMap<InstanceId, Entry>,
    /// Who has been told to go or has crashed; not counted among the living.
    gone: BTreeSet<MemberId>,
    members: usize,
    /// The cluster is being stopped: nobody is started again.
    pub(super) stopping: bool,
}

impl Roster {
    /// Names for a new instance and its members.
    pub(super) fn name(&mut self, workers: u32, capacity: u32, membership: Membership) -> Spec {
        let id = InstanceId::from(format!("I{}", self.instances.len() + 1));
        let members = self.new_members(workers as usize);
        Spec { id, members, capacity, membership, start: 0 }
    }

    /// Names for so many new members.
    pub(super) fn new_members(&mut self, count: usize) -> Vec<MemberId> {
        let first = self.members + 1;
        self.members += count;
        (first..first + count).map(|n| MemberId::from(format!("S{n}"))).collect()
    }

    /// It runs.
    pub(super) fn add(&mut self, spec: Spec, handle: InstanceHandle) {
        for member in &spec.members {
            self.gone.remove(member);
        }
        self.instances.insert(spec.id.clone(), Entry { spec, handle, coming: None });
    }

    /// Waits for the threads of instances that have ended, so that their stacks are given back, and takes their members
    /// off the routes. What stays of an instance is its name, and what it has on disk.
    pub(super) fn reap(&mut self, launcher: &Launcher) {
        for (instance, Entry { handle, .. }) in
            self.instances.iter_mut().filter(|(_, entry)| entry.handle.is_to_be_joined())
        {
            handle.join();
            handle.members.iter().for_each(|member| launcher.router.remove(member));
            launcher.homes.is_down(instance);
        }
    }

    /// These have been told to go, or have crashed.
    pub(super) fn lose(&mut self, members: &[MemberId]) {
        self.gone.extend(members.iter().cloned());
    }

    /// The living: not asked to leave, not crashed, not fenced by a successor, not on their way down.
    pub(super) fn living(&self) -> Vec<(MemberId, InstanceId)> {
        let there = self.instances.iter().filter(|(_, entry)| entry.is_up());
        let all = there.flat_map(|(instance, entry)| {
            entry.handle.members.iter().map(|member| (member.clone(), instance.clone()))
        });
        let mut living: Vec<_> = all.filter(|(member, _)| !self.gone.contains(member)).collect();
        living.sort();
        living
    }

    /// The instance of this name, if it is not being started again.
    pub(super) fn instance_at_hand(&self, instance: &InstanceId) -> Result<&Entry, Error> {
        let entry = self.instance(instance)?;
        if entry.coming.is_none() {
            return Ok(entry);
        }
        Err(Error::Down { what: "instance", name: instance.to_string(), instance: instance.clone() })
    }

    /// The instance of this name.
    fn instance(&self, instance: &InstanceId) -> Result<&Entry, Error> {
        let unknown = || Error::Unknown { what: "instance", name: instance.to_string() };
        self.instances.get(instance).ok_or_else(unknown)
    }

    /// Sends something to a living member's instance; `goes` says that it is not counted among the living afterwards.
    pub(super) fn send(&mut self, member: &MemberId, message: ToInstance, goes: bool) -> Result<(), Error> {
        let (what, name) = ("member", member.to_string());
        let comes = |(_, entry): &(_, &Entry)| entry.coming.as_ref().is_some_and(|who| who.contains(member));
        if let Some((instance, _)) = self.instances.iter().find(comes) {
            return Err(Error::Down { what, name, instance: instance.clone() });
        }
        let living = !self.gone.contains(member);
        let is_its =
            |entry: &&Entry| living && entry.coming.is_none() && entry.handle.members.contains(member);
        let Some(entry) = self.instances.values().find(is_its) else {
            return Err(Error::Unknown { what, name });
        };
        // An instance that has just ended has nobody left to do this to.
        drop(entry.handle.sender.send(message));
        if goes {
            self.gone.insert(member.clone());
        }
        Ok(())
    }
}
