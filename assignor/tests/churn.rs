//! Seeded churn over every strategy: whatever happens and overlaps, each answer is valid and the same for any leader,
//! the group settles, is then balanced, and stands still.

mod common;

use assignor::{FollowUp, Task};
use common::world::{World, assert_balanced};
use common::{Random, stateful, stateless};

const STRATEGIES: [&str; 14] = [
    "learner",
    "learner(revocation=being-learned)",
    "learner(revocation=two-phase)",
    "learner(promotion=all)",
    "learner(max_learners=1)",
    "learner(max_learners=2,revocation=being-learned,standbys=1)",
    "learner(standbys=2)",
    "eager",
    "eager(placement=round-robin)",
    "eager(standbys=1)",
    "cooperative",
    "cooperative(standbys=2)",
    "high-availability",
    "high-availability(standbys=1,max_warmups=1)",
];

/// What a story may contain beyond joins, leaves and crashes of one-worker instances.
#[derive(Clone, Copy)]
struct Spice {
    capacities: bool,
    shared_instances: bool,
    away: bool,
    zombies: bool,
}

fn tasks(random: &mut Random) -> Vec<Task> {
    let mut tasks: Vec<Task> =
        (0..random.between(0, 14)).map(|n| stateful(format!("T{n}"), 1 + random.next() % 5)).collect();
    tasks.extend((0..random.between(0, 6)).map(|n| stateless(format!("L{n}"))));
    tasks
}

fn join(world: &mut World, random: &mut Random, spice: Spice) {
    let instance = if spice.shared_instances { random.between(0, 3) } else { 0 };
    let capacity = if spice.capacities { random.between(1, 3) as u32 } else { 1 };
    world.join(instance, capacity);
}

/// Something happens to the group; it may be nothing.
fn event(world: &mut World, random: &mut Random, spice: Spice) {
    let members = world.view.members.len();
    let place = random.between(0, members.max(1) - 1);
    match random.between(0, 9) {
        0..=2 if members < 8 => join(world, random, spice),
        3 | 4 if members > 0 => world.leave(place),
        5 if members > 0 => world.crash(place),
        6 if members > 0 && spice.away => {
            let member = &mut world.view.members[place];
            member.away = !member.away;
        }
        7 if members > 1 && spice.zombies => {
            // Its session ends, the others share its tasks out, and it comes back with what it had.
            let gone = world.view.members.remove(place);
            world.round(random, "while a zombie sleeps");
            if !gone.leaving {
                world.view.members.push(gone);
            }
        }
        _ => world.catch_up(random, 50),
    }
}

fn story(strategy: &str, seed: u64, spice: Spice) {
    let mut random = Random(seed);
    let mut world = World::new(assignor::parse(strategy).expect("a strategy"), tasks(&mut random));
    for _ in 0..random.between(1, 4) {
        join(&mut world, &mut random, spice);
    }
    for act in 0..4 {
        let context = format!("{strategy}, seed {seed}, act {act}");
        for _ in 0..random.between(1, 6) {
            event(&mut world, &mut random, spice);
            if random.chance(70) {
                world.round(&mut random, &context);
            }
        }
        for member in &mut world.view.members {
            member.away = false;
        }
        let plan = world.settle(&mut random, &context);
        if !world.view.members.iter().any(assignor::MemberView::receives) {
            join(&mut world, &mut random, spice);
            continue;
        }
        assert!(plan.balanced, "{context}: at rest, but not balanced: {plan:#?}");
        assert_balanced(&world.view, &plan, &|task| task.stateful, &context);
        // Kafka's rule for stateless tasks looks at all actives, so they need not be even among themselves.
        if !strategy.starts_with("high-availability") {
            assert_balanced(&world.view, &plan, &|task| !task.stateful, &context);
        }
        let moves = world.moves;
        let again = world.round(&mut random, &context);
        let active = |plan: &assignor::Plan| -> Vec<_> {
            world.view.members.iter().map(|member| plan.members[&member.id].active.clone()).collect()
        };
        assert_eq!(active(&again), active(&plan), "{context}: does not stand still");
        assert_eq!((world.moves, again.follow_up), (moves, FollowUp::None), "{context}");
    }
}

fn stories(spice: Spice, seeds: std::ops::Range<u64>) {
    for strategy in STRATEGIES {
        for seed in seeds.clone() {
            story(strategy, seed, spice);
        }
    }
}

const PLAIN: Spice = Spice { capacities: false, shared_instances: false, away: false, zombies: false };

#[test]
fn plain_groups() {
    stories(PLAIN, 0..150);
}

#[test]
fn groups_with_capacities() {
    stories(Spice { capacities: true, ..PLAIN }, 1_000..1_100);
}

#[test]
fn groups_with_several_workers_an_instance() {
    stories(Spice { shared_instances: true, ..PLAIN }, 2_000..2_100);
}

#[test]
fn groups_with_everything() {
    stories(Spice { capacities: true, shared_instances: true, away: true, zombies: true }, 3_000..3_200);
}
