//! An instance that goes down and comes back on the same directory, as a process that is deployed anew does.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use assignor::{InstanceId, MemberId};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use parking_lot::Mutex;

use crate::clock::Clock as _;
use crate::error::Error;
use crate::instance::{self, ToInstance};

use super::Started;
use super::launch::{Launcher, Membership, Spec};
use super::roster::{Entry, Roster};

/// How an instance goes down to be started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Farewell {
    /// It says nothing: the group waits for its static members until their sessions end.
    Silent,
    /// Its members leave the group, as the strategy's conduct has it, and come back as new ones.
    Leave,
}

/// Takes the instance down, unless it is down already, and starts it again on its directory as soon as it has let go of
/// that, and not before `down` has passed since. Says at once who will be there.
///
/// Static members keep their names; others come back under new ones.
pub(super) fn restart(
    launcher: &Launcher,
    roster: &Arc<Mutex<Roster>>,
    closing: Receiver<()>,
    instance: &InstanceId,
    farewell: Farewell,
    down: Duration,
) -> Result<(Started, JoinHandle<()>), Error> {
    let mut locked = roster.lock();
    let entry = locked.instance_at_hand(instance)?;
    let living: Vec<MemberId> = {
        let living = locked.living().into_iter().filter(|(_, of)| of == instance);
        living.map(|(member, _)| member).collect()
    };
    let (mut spec, sender, done) =
        (entry.spec.clone(), entry.handle.sender.clone(), entry.handle.done.clone());
    match farewell {
        // An instance that has ended already has no use for it.
        Farewell::Silent => drop(sender.send(ToInstance::Shutdown)),
        Farewell::Leave => {
            for member in &living {
                drop(sender.send(ToInstance::Leave { member: member.clone() }));
            }
        }
    }
    spec.start += 1;
    if spec.membership == Membership::Dynamic {
        locked.lose(&living);
        spec.members = locked.new_members(spec.members.len());
    }
    if let Some(entry) = locked.instances.get_mut(instance) {
        entry.coming = Some(spec.members.clone());
    }
    drop(locked);
    let started = Started { instance: instance.clone(), members: spec.members.clone() };
    let (launcher, roster) = (launcher.clone(), roster.clone());
    let shared = launcher.shared.clone();
    let thread = instance::spawn(format!("{instance} restart"), &shared, move || {
        // Disconnected when its threads have ended.
        let _ended = done.recv();
        let at = launcher.shared.clock.now() + down;
        match closing.recv_deadline(launcher.shared.clock.instant(at)) {
            Err(RecvTimeoutError::Timeout) => come_back(&launcher, &roster, spec),
            _ => Ok(()),
        }
    });
    Ok((started, thread))
}

fn come_back(launcher: &Launcher, roster: &Mutex<Roster>, spec: Spec) -> Result<(), Error> {
    let mut roster = roster.lock();
    if roster.stopping {
        return Ok(());
    }
    if let Some(Entry { handle, .. }) = roster.instances.get_mut(&spec.id) {
        handle.join();
    }
    let handle = launcher.launch(&spec)?;
    roster.add(spec, handle);
    Ok(())
}
