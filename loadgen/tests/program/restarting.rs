//! An instance that is started again in the middle of a run, with static members and without.

use crate::common::{assert_code, result, small, understudy};

fn restarted(instances: &str) -> serde_json::Value {
    let dir = small();
    let path = dir.path().join("small.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace("count = 2", instances);
    std::fs::write(&path, text.replace("start = { instances = 1 }", "restart = { instance = \"I2\" }"))
        .unwrap();
    let args = ["run", "small.toml", "--strategy", "eager,learner", "--set", "duration=4s", "--out", "out"];
    let output = understudy(dir.path(), &args);
    assert_code(&output, 0);
    result(&dir.path().join("out"))
}

/// Its tasks stand still until it is back, and the group does not rebalance.
#[test]
fn static_members_come_back_without_a_rebalance() {
    let result = restarted("count = 3\nstatic = true");
    for run in result["runs"].as_array().unwrap() {
        assert_eq!(run["audit"]["passed"], true, "{run}");
        assert_eq!(run["metrics"]["rebalances"]["total"], 0, "{}", run["metrics"]["rebalances"]);
        assert_eq!(run["metrics"]["moves"]["actual"], 0);
        assert_eq!(run["metrics"]["task_pause_ms"]["count"], 1, "one of three tasks");
    }
}

/// Its members leave, as each strategy has it, and come back as new ones.
#[test]
fn others_leave_and_come_back_as_new_members() {
    let result = restarted("count = 3");
    for run in result["runs"].as_array().unwrap() {
        assert_eq!(run["audit"]["passed"], true, "{run}");
        assert!(run["metrics"]["rebalances"]["total"].as_u64().unwrap() >= 2, "{run}");
    }
}
