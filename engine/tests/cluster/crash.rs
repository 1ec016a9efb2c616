//! A worker crashed before, in and after each step of a turn, under both strategies, ends in a passed audit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use assignor::TaskId;
use engine::task::{Breaker, Step, When};

use crate::harness::Setup;

/// Short enough to be waited for, long enough that a busy machine does not expire the living.
const SESSION: Duration = Duration::from_millis(1_000);

/// Breaks the `nth` time a turn of the task comes to a point, once.
#[derive(Debug)]
struct BreakAt {
    task: TaskId,
    step: Step,
    when: When,
    left: AtomicU32,
}

impl BreakAt {
    fn nth(nth: u32, task: &str, step: Step, when: When) -> Arc<Self> {
        Arc::new(Self { task: task.into(), step, when, left: AtomicU32::new(nth) })
    }
}

impl Breaker for BreakAt {
    fn breaks(&self, task: &TaskId, step: Step, when: When) -> bool {
        *task == self.task
            && step == self.step
            && when == self.when
            && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                == Ok(1)
    }
}

/// Three instances, four tasks; the owner of T2 crashes in its 40th turn that reaches the point.
fn survives(strategy: &'static str, step: Step, when: When) {
    let breaker = BreakAt::nth(40, "T2", step, when);
    let bed = Setup { session: SESSION, breaker, ..Setup::of(strategy) }.start();
    bed.begin();
    bed.recording.wait("a crash", &bed.clock, |events| {
        events.iter().any(|(_, event)| {
            matches!(
                event,
                engine::event::Event::Group(engine::event::GroupEvent::MemberGone {
                    cause: engine::event::Cause::Crash,
                    ..
                })
            )
        })
    });
    bed.settled(2);
    assert_eq!(bed.crashed().len(), 1, "one member crashed");
    bed.audit();
}

fn survives_everywhere(strategy: &'static str, step: Step) {
    for when in [When::Before, When::In, When::After] {
        survives(strategy, step, when);
    }
}

#[test]
fn eager_survives_a_crash_around_poll() {
    survives_everywhere("eager", Step::Poll);
}

#[test]
fn eager_survives_a_crash_around_process() {
    survives_everywhere("eager", Step::Process);
}

#[test]
fn eager_survives_a_crash_around_append() {
    survives_everywhere("eager", Step::Append);
}

#[test]
fn eager_survives_a_crash_around_store_write() {
    survives_everywhere("eager", Step::StoreWrite);
}

#[test]
fn learner_survives_a_crash_around_poll() {
    survives_everywhere("learner", Step::Poll);
}

#[test]
fn learner_survives_a_crash_around_process() {
    survives_everywhere("learner", Step::Process);
}

#[test]
fn learner_survives_a_crash_around_append() {
    survives_everywhere("learner", Step::Append);
}

#[test]
fn learner_survives_a_crash_around_store_write() {
    survives_everywhere("learner", Step::StoreWrite);
}

/// A worker that stalls past its session is fenced: what it does when it wakes is refused and counts nowhere.
#[test]
fn a_zombie_changes_nothing() {
    for strategy in ["eager", "learner"] {
        let bed = Setup { session: SESSION, ..Setup::of(strategy) }.start();
        bed.settled(3);
        bed.begin();
        let (member, _) = bed.cluster.members().remove(1);
        bed.cluster.stall(&member, Duration::from_millis(2_500)).unwrap();
        bed.recording.wait("a refused append", &bed.clock, |events| {
            events.iter().any(|(_, event)| {
                matches!(event, engine::event::Event::Task(_, engine::event::TaskEvent::AppendRefused { .. }))
            })
        });
        bed.settled(3);
        bed.audit();
    }
}
