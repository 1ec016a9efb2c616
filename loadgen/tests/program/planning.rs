//! `understudy plan`: figures that were worked out by hand, and members that make no sense.

use crate::common::{assert_code, stderr, stdout, understudy};
use serde_json::Value;

/// Two members with two tasks each; sizes tell which task was restored.
const GROUP: &str = "tasks: T1=10 T2=20 T3=30 T4=40
stable:
  S1(assigned: [T1, T2], revoked: [], learning: [])
  S2(assigned: [T3, T4], revoked: [], learning: [])
";

/// Runs `understudy plan group.trace` with these arguments and returns exit code and both outputs.
fn plan(args: &[&str]) -> (std::process::Output, String) {
    let dir = tempfile::TempDir::new().unwrap();
    std::fs::write(dir.path().join("group.trace"), GROUP).unwrap();
    let output = understudy(dir.path(), &[&["plan", "group.trace"], args].concat());
    let said = stdout(&output) + &stderr(&output);
    (output, said)
}

#[test]
fn moves_rebalances_and_restored_state_are_those_worked_out_by_hand() {
    // A joiner gets the smallest task of S1 (loads 2, 2, 0 become 1, 2, 1). Dealt anew over three, T2, T3 and T4 change
    // places, two warm-ups at a time: asked back by a probing rebalance, handed over by the next, then the third.
    let join = [
        ("eager", (1, 1, 10)),
        ("cooperative", (1, 2, 10)),
        ("high-availability", (3, 5, 90)),
        ("learner", (1, 2, 10)),
    ];
    // A leaver's two tasks go to the one that stays; only a learner keeps them running meanwhile.
    let leave = [
        ("eager", (2, 1, 30)),
        ("cooperative", (2, 1, 30)),
        ("high-availability", (2, 1, 30)),
        ("learner", (2, 2, 30)),
    ];
    for (event, expected) in [(["--join", "S3"], join), (["--leave", "S1"], leave)] {
        let (output, said) = plan(&[event[0], event[1], "--format", "json"]);
        assert_code(&output, 0);
        let json: Value = serde_json::from_str(&said).unwrap();
        for (name, (moves, rebalances, restored)) in expected {
            let mut strategies = json["strategies"].as_array().unwrap().iter();
            let found = strategies.find(|strategy| strategy["strategy"] == name).unwrap();
            let figures = [&found["moves"], &found["rebalances"], &found["restored_bytes"]];
            assert_eq!(figures, [moves, rebalances, restored], "{event:?}, {name}");
        }
    }
}

#[test]
fn a_capacity_is_a_capacity_and_no_part_of_a_name() {
    let (output, said) = plan(&["--join", "S3@I3*2", "--explain"]);
    assert_code(&output, 0);
    // Capacities 1, 1, 2: S3 has room for two of the four.
    assert!(said.contains("S3(assigned: [], learning: [T1, T3])"), "{said}");
}

#[test]
fn members_that_make_no_sense_are_told() {
    for join in ["", "@I3", "S3@", "S 3", "S3,S4", "S3*0", "S1"] {
        let (output, said) = plan(&["--join", join]);
        assert_eq!(output.status.code(), Some(2), "{join:?}: {said}");
    }
    let (output, said) = plan(&["--join", "S3,S4"]);
    assert_code(&output, 2);
    assert!(said.contains("--join S3,S4: `S3,S4` is not understood here: a member such as S4"), "{said}");
    let (output, said) = plan(&["--leave", "S9"]);
    assert_code(&output, 2);
    assert!(said.contains("member S9 cannot leave: it is not in the group"), "{said}");
}
