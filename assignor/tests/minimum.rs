//! An event that meets a balanced, quiet group moves exactly what balance needs: the count comes from the closed
//! formula, not from the planner.

mod common;

use std::sync::Arc;

use assignor::balance::{Seat, minimum_moves};
use assignor::settle::{Cause, Event, Forecast, settle};
use assignor::{GroupView, Strategy};
use common::world::World;
use common::{Random, dealt, stateful};

fn seats(view: &GroupView) -> Vec<Seat> {
    let seat = |member: &assignor::MemberView| Seat {
        load: member.active.len() as u64,
        capacity: member.capacity,
        stays: true,
    };
    view.members.iter().map(seat).collect()
}

/// A quiet group of stateful tasks, on members with these capacities.
fn quiet_group(strategy: &Arc<dyn Strategy>, random: &mut Random, tasks: usize, capacities: usize) -> World {
    let tasks = (0..tasks).map(|n| stateful(format!("T{n}"), 1 + random.next() % 9)).collect();
    let mut world = World::new(Arc::clone(strategy), tasks);
    for _ in 0..random.between(1, 9) {
        world.join(0, random.between(1, capacities) as u32);
    }
    world.settle(random, "the first members");
    world
}

const STRATEGIES: [&str; 7] = [
    "learner",
    "learner(revocation=being-learned)",
    "learner(revocation=two-phase)",
    "learner(max_learners=1)",
    "learner(max_learners=3,standbys=1)",
    "eager",
    "cooperative",
];

#[test]
fn any_single_join_leave_or_crash_moves_the_minimum() {
    for name in STRATEGIES {
        let strategy = assignor::parse(name).unwrap();
        for seed in 0..400 {
            let mut random = Random(seed);
            let tasks = random.between(0, 60);
            // Odd seeds give members different capacities.
            let mut world = quiet_group(&strategy, &mut random, tasks, if seed % 2 == 0 { 1 } else { 4 });
            let (place, capacity) =
                (random.between(0, world.view.members.len() - 1), 1 + (seed as u32 / 2) % 4);
            let mut before = seats(&world.view);
            match seed % 3 {
                0 => {
                    let capacity = if seed % 2 == 0 { 1 } else { capacity };
                    world.join(0, capacity);
                    before.push(Seat { load: 0, capacity, stays: true });
                }
                1 => {
                    world.leave(place);
                    before[place].stays = false;
                }
                // A lost task goes to its standby wherever that is, so that it runs at once; balance comes second, and
                // may take it on from there.
                _ if name.contains("standbys") => continue,
                _ => {
                    world.crash(place);
                    before[place].stays = false;
                }
            }
            if before.iter().all(|seat| !seat.stays) {
                continue;
            }
            world.moves = 0;
            // Learners turn ready together, or a few at a time: that must not make a task move on again.
            let pace = [100, 40][seed as usize / 6 % 2];
            world.settle_at_pace(&mut random, pace, &format!("{name}, seed {seed}"));
            assert_eq!(world.moves, minimum_moves(&before, 1), "{name}, seed {seed}: {before:?}");
        }
    }
}

fn forecast(strategy: &str, members: usize, event: Event) -> Forecast {
    settle(&dealt(450, members), &[event], &*assignor::parse(strategy).expect("a strategy"))
        .expect("an event that can happen")
}

/// The first case: 450 tasks on 10 members, one more, one less.
#[test]
fn forty_and_forty_five_moves_in_two_rebalances() {
    let join = Event::Join { member: "S11".into(), instance: "I11".into(), capacity: 1 };
    let leave = Event::Leave { member: "S2".into() };
    for (event, moves) in [(join, 40), (leave, 45)] {
        let learner = forecast("learner", 10, event.clone());
        assert!(learner.settled);
        assert_eq!((learner.moves, learner.rebalances(), learner.restored), (moves, 2, moves));
        assert_eq!(learner.minimum_moves, moves);
        assert!(learner.rounds.last().unwrap().plan.balanced);
        let two_phase = forecast("learner(revocation=two-phase)", 10, event.clone());
        assert_eq!((two_phase.moves, two_phase.rebalances()), (moves, 3));
        let eager = forecast("eager", 10, event.clone());
        assert_eq!((eager.moves, eager.rebalances(), eager.restored), (moves, 1, moves));
        assert_eq!(forecast("cooperative", 10, event).moves, moves);
    }
}

/// The same under Kafka's rules, which keep nothing in mind: 400 and 405 moves, in as many probing rebalances as
/// `high_availability.rs` counts rounds, each followed by the one that hands over what was asked for.
#[test]
fn four_hundred_moves_without_memory() {
    let join = Event::Join { member: "S11".into(), instance: "I11".into(), capacity: 1 };
    let leave = Event::Leave { member: "S10".into() };
    for (event, moves, rounds) in [(join, 400, 201), (leave, 405, 181)] {
        let forecast = forecast("high-availability", 10, event);
        assert!(forecast.settled);
        let follow_ups = forecast.rebalances_by(Cause::FollowUp);
        assert_eq!((forecast.moves, forecast.rebalances() - follow_ups), (moves, rounds));
    }
}
