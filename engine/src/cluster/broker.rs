//! The coordinator's thread: requests and ticks go into the machine, replies and events come out.

use std::sync::Arc;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::clock::{Clock as _, Time};
use crate::error::Error;
use crate::event::Event;
use crate::group::coordinator::Coordinator;
use crate::group::message::{CoordinatorEffect, CoordinatorEvent, Request};
use crate::instance::Shared;
use crate::slice;

use super::router::Router;

/// Runs the coordinator until every sender of requests is gone.
pub(super) fn run(
    mut coordinator: Coordinator,
    shared: &Arc<Shared>,
    router: &Router,
    requests: &Receiver<Request>,
) -> Result<(), Error> {
    slice::ask(shared.engine.short_slices, slice::Work::Telling);
    let mut effects = Vec::new();
    loop {
        let Some(event) = next(&coordinator, shared, requests) else { return Ok(()) };
        let now = shared.clock.now();
        coordinator.step(now, event, &mut effects);
        for effect in effects.drain(..) {
            carry_out(effect, now, shared, router);
        }
    }
}

/// The next request, or a tick when one is due; `None` when nobody is left to send any.
fn next(
    coordinator: &Coordinator,
    shared: &Shared,
    requests: &Receiver<Request>,
) -> Option<CoordinatorEvent> {
    // When a tick is due takes a look at every member: not while requests are queueing.
    if let Ok(request) = requests.try_recv() {
        return Some(CoordinatorEvent::Received(request));
    }
    match requests.recv_deadline(shared.clock.instant(coordinator.deadline())) {
        Ok(request) => Some(CoordinatorEvent::Received(request)),
        Err(RecvTimeoutError::Timeout) => Some(CoordinatorEvent::Tick),
        Err(RecvTimeoutError::Disconnected) => None,
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
