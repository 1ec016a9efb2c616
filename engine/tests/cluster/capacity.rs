//! A worker whose capacity is limited shares it among its tasks.

use engine::config::EngineConfig;

use crate::harness::Setup;

/// Twice the capacity is asked for: whoever comes first in a pass always has something due.
#[test]
fn no_task_starves_beside_another() {
    let engine = EngineConfig { worker_rate: Some(10_000), ..EngineConfig::default() };
    let bed = Setup { tasks: 8, instances: 1, engine, ..Setup::of("learner") }.start();
    bed.settled(1);
    bed.begin();
    let total = |bed: &crate::harness::Bed| bed.recording.served().values().sum::<usize>();
    while total(&bed) < 10_000 {
        assert!(bed.cluster.failure().is_none());
        std::thread::yield_now();
    }
    let served = bed.recording.served();
    let fair = 10_000 / bed.tasks.len();
    assert!(bed.tasks.iter().all(|task| served.get(task).is_some_and(|&n| n >= fair / 2)), "{served:?}");
    bed.audit();
}
