//! What can be asked without running anything: list, help, schemas, completions.

use crate::common::{assert_code, stdout, understudy};
use serde_json::Value;

fn text(args: &[&str]) -> String {
    let dir = tempfile::TempDir::new().unwrap();
    let output = understudy(dir.path(), args);
    assert_code(&output, 0);
    stdout(&output)
}

#[test]
fn list_shows_scenarios_strategies_and_options() {
    let list = text(&["list"]);
    for part in ["scale-up", "scale-down", "worker-crash", "learner", "eager", "revocation", "max_learners"] {
        assert!(list.contains(part), "{part} is not in\n{list}");
    }
    let json: Value = serde_json::from_str(&text(&["list", "--format", "json"])).unwrap();
    assert!(json["scenarios"].as_array().unwrap().iter().any(|scenario| scenario["name"] == "scale-up"));
    let strategies = json["strategies"].as_array().unwrap();
    let learner = strategies.iter().find(|strategy| strategy["name"] == "learner").unwrap();
    assert!(learner["options"].as_array().unwrap().iter().any(|option| option["name"] == "revocation"));
}

#[test]
fn help_teaches() {
    assert!(text(&["--help"]).contains("130"), "the exit codes are there");
    for command in ["list", "run", "trace", "plan", "schema", "completions"] {
        assert!(text(&["--help"]).contains(command));
        assert!(text(&[command, "--help"]).contains("Usage"));
    }
    assert!(text(&["run", "--help"]).contains("awk"), "how to make a recorded load");
}

#[test]
fn completions_are_scripts() {
    assert!(text(&["completions", "bash"]).contains("understudy"));
    assert!(text(&["completions", "fish"]).contains("complete"));
}

#[test]
fn every_built_in_scenario_is_valid_under_the_schema() {
    let schema: Value = serde_json::from_str(&text(&["schema", "scenario"])).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let texts = loadgen::scenario::BUILTINS.iter().map(|builtin| builtin.text);
    for text in texts.chain([include_str!("small.toml")]) {
        let value: Value = toml::from_str(text).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    let broken: Value = toml::from_str("title = \"x\"\ntasks = 0\nkyes = 3").unwrap();
    assert_eq!(validator.iter_errors(&broken).count(), 2);
}
