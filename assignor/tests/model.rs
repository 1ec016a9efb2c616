//! Exhaustive model checking of the group protocol under `learner`, with [stateright].
//!
//! Up to four members and four tasks; members join, ask to leave and crash; learners turn ready; joins and answers
//! arrive in any order, rebalances overlap, the leader may crash between the last join and its answer. In every
//! reachable state: never two actives, no task without one while a member stays and the group is quiet, at most one
//! learner, every answer valid, and quiet can be reached.
//!
//! Without the test harness, so that the number of states is always printed.

#[path = "model/faults.rs"]
mod faults;
#[path = "model/group.rs"]
mod group;
#[path = "model/leader.rs"]
mod leader;

use stateright::{Checker, HasDiscoveries, Model};

use faults::Fault;
use group::{Limits, Protocol};

/// Threads of the checker.
const THREADS: usize = 2;

fn check(strategy: &str, limits: Limits) -> usize {
    let checker = Protocol::new(strategy, limits, None).checker().threads(THREADS).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!("model: {strategy}, {limits}: {states} states, {} deep", checker.max_depth());
    checker.assert_properties();
    states
}

fn finds(fault: Fault, limits: Limits) {
    let (strategy, property) = fault.shows_as();
    let checker = Protocol::new(strategy, limits, Some(fault))
        .checker()
        .threads(THREADS)
        .finish_when(HasDiscoveries::AllOf([property].into()))
        .spawn_bfs()
        .join();
    let found = checker.discovery(property);
    let steps = found.map(|path| path.into_actions().len());
    println!("model: planted fault {fault:?}: \"{property}\" breaks after {steps:?} steps");
    assert!(steps.is_some(), "the planted fault {fault:?} was not found");
}

fn main() {
    let small = Limits { members: 3, tasks: 3, start: 2, joins: 1, leaves: 1, crashes: 1 };
    let large = Limits { members: 4, tasks: 4, start: 3, ..small };
    let mut states = 0;
    for strategy in ["learner", "learner(revocation=being-learned)", "learner(revocation=two-phase)"] {
        states += check(strategy, small);
    }
    states += check("learner", Limits { leaves: 0, ..large });
    states += check("learner(max_learners=1)", Limits { crashes: 0, ..large });
    states += check("learner", Limits { joins: 0, start: 4, ..large });
    println!("model: {states} states in all");
    assert!(states > 100_000, "only {states} states");
    for fault in Fault::ALL {
        finds(fault, small);
    }
}
