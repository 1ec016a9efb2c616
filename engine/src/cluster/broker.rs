//! The coordinator's thread: requests and ticks go into the machine, replies and events come out.

use std::sync::Arc;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::clock::{Clock as _, Time};
use crate::error::Error;
use crate::event::Event;
use crate::group::coordinator::Coordinator;
use crate::group::message::{CoordinatorEffect, CoordinatorEvent, Request};
use crate::instance::Shared;

use super::router::Router;

/// Runs the coordinator until every sender of requests is gone.
pub(super) fn run(
    mut coordinator: Coordinator,
    shared: &Arc<Shared>,
    router: &Router,
    requests: &Receiver<Request>,
) -> Result<(), Error> {
    let mut effects = Vec::new();
    loop {
        let event = match requests.recv_deadline(shared.clock.instant(coordinator.deadline())) {
            Ok(request) => CoordinatorEvent::Received(request),
            Err(RecvTimeoutError::Timeout) => CoordinatorEvent::Tick,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        let now = shared.clock.now();
        coordinator.step(now, event, &mut effects);
        for effect in effects.drain(..) {
            carry_out(effect, now, shared, router);
        }
    }
}

fn carry_out(effect: CoordinatorEffect, now: Time, shared: &Shared, router: &Router) {
    match effect {
        CoordinatorEffect::Send { to, reply } => router.send(&to, reply),
        CoordinatorEffect::Observed(event) => {
            shared.board.group_event(&event);
            shared.observer.event(now, Event::Group(event));
        }
    }
}
