//! Who hears what: the way from the coordinator to each member's instance.

use std::collections::BTreeMap;

use assignor::MemberId;
use crossbeam_channel::Sender;
use parking_lot::RwLock;

use crate::group::message::Reply;
use crate::instance::ToInstance;

/// Senders by member. A member that is not in it hears nothing, as on a network.
#[derive(Default)]
pub(super) struct Router {
    routes: RwLock<BTreeMap<MemberId, Sender<ToInstance>>>,
}

impl Router {
    pub(super) fn add(&self, member: MemberId, to: Sender<ToInstance>) {
        self.routes.write().insert(member, to);
    }

    pub(super) fn remove(&self, member: &MemberId) {
        self.routes.write().remove(member);
    }

    pub(super) fn send(&self, to: &MemberId, reply: Reply) {
        if let Some(route) = self.routes.read().get(to) {
            // An instance that has just ended does not listen any more.
            drop(route.send(ToInstance::Reply { to: to.clone(), reply }));
        }
    }
}
