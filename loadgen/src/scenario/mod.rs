//! Scenarios: what an application is and what happens to it, read from TOML and checked as a whole.
//!
//! text → `tree` (with places) → `--set` laid over it → `reader` by `keys` and their `rule`s → `plan`.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`builtin`] | the scenarios that come with the program |
//! | `tree` | a text as a tree whose every value knows where it was written |
//! | `keys`, `rule`, `quantity` | every key: what it is for, what it may be, how it is written |
//! | `reader` | reads a table by its keys |
//! | `sweep` | one scenario for every combination of swept values |
//! | `plan`, `script` | the validated scenario, and its events |
//! | `condition`, `claims` | what an event waits for; what must hold after the run |
//! | `mistake` | mistakes shown in place |

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

pub mod builtin;
mod claims;
mod condition;
mod key;
mod keys;
mod mistake;
mod plan;
mod quantity;
mod reader;
mod rule;
mod script;
mod sweep;
mod tree;

pub use builtin::{BUILTINS, Builtin};
pub use condition::Condition;
pub use mistake::Mistakes;
pub use plan::{Capacity, EngineSettings, Kind, Load, Plan, State};
pub use quantity::{KeyChoice, grouped};
pub use script::{Act, Event, Instances, Target, When};
pub use sweep::Cell;

use mistake::{Mistake, did_you_mean};
use tree::Source;

/// Loads a scenario, a built-in's name or a file's path, with `--set`s laid over it.
///
/// # Errors
///
/// Every mistake in the file and the `--set`s, shown in place.
pub fn load(scenario: &str, sets: &[String]) -> Result<Plan, Mistakes> {
    let found = find(scenario)?;
    found.read(sets, &[])
}

/// Loads a scenario once for every combination of the swept values, the last key's running fastest. Without any
/// `sweeps` that is once.
///
/// # Errors
///
/// Every mistake in the `--sweep`s, or in the first combination that is not a scenario, shown in place.
pub fn load_cells(scenario: &str, sets: &[String], sweeps: &[String]) -> Result<Vec<Cell>, Mistakes> {
    let axes = sweeps.iter().map(|text| sweep::Axis::parse(text)).collect::<Result<Vec<_>, _>>()?;
    sweep::check(&axes, sets)?;
    let found = find(scenario)?;
    let lengths: Vec<usize> = axes.iter().map(|axis| axis.values.len()).collect();
    let mut cells = Vec::new();
    for combination in sweep::product(&lengths) {
        let swept: Vec<(&str, String)> = axes
            .iter()
            .zip(combination)
            .map(|(axis, index)| (axis.text.as_str(), axis.setting(index)))
            .collect();
        let plan = found.read(sets, &swept)?;
        let value = |axis: &sweep::Axis| sweep::value_at(&plan.document, &axis.key).unwrap_or_default();
        let sweep = axes.iter().map(|axis| (axis.key.clone(), value(axis))).collect();
        cells.push(Cell { plan, sweep });
    }
    sweep::check_values(&axes, &cells)?;
    Ok(cells)
}

/// A scenario's text, and what is said about it.
struct Found {
    name: String,
    /// What its paths are relative to.
    home: PathBuf,
    file: Source,
}

fn find(scenario: &str) -> Result<Found, Mistakes> {
    let path = Path::new(scenario);
    if let Some(builtin) = builtin::find(scenario) {
        let file = Source { name: format!("{scenario} (built in)"), text: builtin.text.to_owned() };
        return Ok(Found { name: scenario.to_owned(), home: PathBuf::new(), file });
    }
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Found {
            name: path.file_stem().map_or(scenario.into(), |stem| stem.to_string_lossy()).into_owned(),
            home: path.parent().unwrap_or(Path::new("")).to_owned(),
            file: Source { name: scenario.to_owned(), text },
        }),
        Err(error) => Err(Mistakes::nowhere(unreadable(scenario, &error))),
    }
}

fn unreadable(scenario: &str, error: &std::io::Error) -> Mistake {
    let names = || BUILTINS.iter().map(|builtin| builtin.name);
    let is_path = scenario.contains(['/', '\\', '.']);
    if error.kind() == std::io::ErrorKind::NotFound && !is_path {
        let near = did_you_mean(scenario, names()).map_or(String::new(), |near| format!("{near} "));
        return Mistake::anywhere(format!("there is no scenario `{scenario}`")).hint(format!(
            "{near}a scenario is a TOML file or one of the built-in ones: {}",
            names().collect::<Vec<_>>().join(", ")
        ));
    }
    Mistake::anywhere(format!("the scenario {scenario} can't be read: {error}"))
        .hint("a scenario is a TOML file or a built-in one; `understudy list` shows these")
}

impl Found {
    /// The scenario with `sets` and `swept` laid over it; of a swept value, what was written and what it sets.
    fn read(&self, sets: &[String], swept: &[(&str, String)]) -> Result<Plan, Mistakes> {
        let mut sources = vec![self.file.clone()];
        let mut mistakes = Vec::new();
        let mut root = match tree::parse(0, &sources[0].text) {
            Ok(root) => root,
            Err(mistake) => return Err(Mistakes::new(sources, vec![mistake])),
        };
        let sets = sets.iter().map(|set| ("--set", set.as_str(), set.as_str()));
        let swept = swept.iter().map(|(text, setting)| ("--sweep", *text, setting.as_str()));
        for (name, text, setting) in sets.chain(swept) {
            sources.push(Source { name: name.to_owned(), text: text.to_owned() });
            mistakes.extend(tree::set(&mut root, sources.len() - 1, setting).err());
        }
        let plan = plan::read(&self.name, &self.home, &root, &mut mistakes);
        if mistakes.is_empty() { Ok(plan) } else { Err(Mistakes::new(sources, mistakes)) }
    }
}

/// The JSON Schema of a scenario file.
#[must_use]
pub fn schema() -> Json {
    use key::AnyKey;
    let mut schema = keys::SCENARIO.schema().unwrap_or_default();
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Understudy scenario");
    schema
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use engine::cluster::Farewell;
    use engine::config::{ProcessorKind, StoreKind};

    use super::*;

    fn plan(text: &str, sets: &[&str]) -> Result<Plan, Mistakes> {
        let file = Source { name: "test.toml".to_owned(), text: text.to_owned() };
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Found { name: "test".to_owned(), home: PathBuf::from("home"), file }.read(&sets, &[])
    }

    const LEAST: &str = "title = \"x\"\ntasks = 1\n[[instances]]\n";

    #[test]
    fn what_is_not_written_has_its_default() {
        let plan = plan(LEAST, &[]).unwrap();
        let processor = ProcessorKind::Count { value_bytes: 100 };
        let state = State {
            processor,
            store: StoreKind::RocksDb,
            keys: 100_000,
            value_bytes: 100,
            updates_per_key: 1,
            preload: true,
        };
        assert_eq!(plan.state, state);
        assert_eq!(plan.load, Load::Synthetic { rate: 10_000, keys: KeyChoice::Zipf(0.99) });
        assert_eq!((plan.warm_up, plan.duration), (Duration::from_secs(2), Duration::from_secs(20)));
        assert_eq!(plan.group.initial_members, 1);
        assert_eq!(plan.capacity, Capacity::default());
        assert_eq!(plan.document["state"]["keys"], 100_000, "the document shows defaults");
        assert_eq!(plan.document["load"]["keys"], "zipf(0.99)");
    }

    #[test]
    fn the_document_is_a_scenario_again() {
        for builtin in BUILTINS {
            let first = load(builtin.name, &[]).unwrap();
            let text = toml::to_string(&first.document).unwrap();
            let again = plan(&text, &[]).unwrap();
            assert_eq!(again.document, first.document);
            assert_eq!(again.events, first.events);
        }
    }

    #[test]
    fn set_reaches_every_key() {
        let sets = [
            "state.keys = 1e6",
            "group.profile=kafka",
            "group.session_timeout=10s",
            "load.keys=uniform",
            "at=[{time=\"1s\",start={instances=2}}]",
            "at.0.time=1.5s",
            "instances.0.count=3",
            "capacity.restore_mb_per_s=7",
        ];
        let plan = plan(LEAST, &sets).unwrap();
        assert_eq!(plan.state.keys, 1_000_000);
        assert_eq!(plan.group.session_timeout, Duration::from_secs(10));
        assert_eq!(plan.group.heartbeat_interval, Duration::from_secs(3), "the profile's");
        assert_eq!(plan.group.initial_members, 3);
        assert_eq!(plan.capacity.restore_bytes_per_s, Some(7_000_000));
        let start = Act::Start(Instances { count: 2, workers: 1, is_static: false });
        assert_eq!(plan.events, [Event { when: When::Time(Duration::from_millis(1_500)), act: start }]);
    }

    #[test]
    fn a_recorded_load_lies_beside_its_scenario_or_where_it_is_typed() {
        let typed = plan(LEAST, &["load.file=a.csv"]);
        assert!(typed.is_err_and(|mistakes| mistakes.to_string().contains("load a.csv can't")));
        let written = plan(&format!("{LEAST}[load]\nfile = \"a.csv\""), &[]);
        assert!(written.is_err_and(|mistakes| mistakes.to_string().contains("home/a.csv")));
    }

    #[test]
    fn names_are_looked_up_when_the_event_happens() {
        let story =
            "[[at]]\ntime=\"1s\"\nstart={instances=1,workers=2}\n[[at]]\ntime=\"3s\"\nleave=[\"I2\"]\n";
        let plan = plan(&format!("{LEAST}{story}"), &[]).unwrap();
        assert_eq!(plan.events[1].act, Act::Leave(vec!["S2".into(), "S3".into()]));
        let early = plan_error(&format!("{LEAST}{}", story.replace("3s", "500ms")));
        assert!(early.contains("`I2` is not in the group"), "{early}");
    }

    /// Who comes back keeps its names if they are stable, and has new ones if not.
    #[test]
    fn a_restart_names_who_comes_back() {
        let story = |restart: &str, then: &str| {
            let restart = format!("[[at]]\ntime=\"1s\"\nrestart={{instance=\"I1\"{restart}}}\n");
            format!("{LEAST}static=true\n[[instances]]\n{restart}[[at]]\ntime=\"2s\"\nleave=[\"{then}\"]\n")
        };
        let plan = plan(&story(",down=\"250ms\"", "S1"), &[]).unwrap();
        let (instance, down) = ("I1".into(), Duration::from_millis(250));
        assert_eq!(plan.events[0].act, Act::Restart { instance, farewell: Farewell::Silent, down });
        let leaves = super::tests::plan(&story(",static=false", "S1"), &[]).unwrap();
        let (instance, down) = ("I1".into(), Duration::ZERO);
        assert_eq!(leaves.events[0].act, Act::Restart { instance, farewell: Farewell::Leave, down });
        let new = story("", "S3").replace("I1", "I2");
        assert_eq!(super::tests::plan(&new, &[]).unwrap().events[1].act, Act::Leave(vec!["S3".into()]));
        let old = plan_error(&story("", "S2").replace("I1", "I2"));
        assert!(old.contains("S2 has left at 1s, when I2 restarted"), "{old}");
    }

    /// Nothing can happen to somebody who is known to be down: it would fail the run.
    #[test]
    fn who_is_down_is_left_alone() {
        let story = |time: &str, then: &str| {
            let restart = "[[at]]\ntime=\"1s\"\nrestart={instance=\"I1\",down=\"500ms\"}\n";
            format!("{LEAST}static=true\n[[instances]]\n{restart}[[at]]\ntime=\"{time}\"\n{then}\n")
        };
        for then in [
            "leave=[\"S1\"]",
            "crash=[\"I1\"]",
            "stall={member=\"S1\",lasting=\"1s\"}",
            "restart={instance=\"I1\"}",
        ] {
            for time in ["1s", "1200ms", "1500ms"] {
                let early = plan_error(&story(time, then));
                assert!(
                    early.contains("I1 restarts at 1s") && early.contains("not back before 1.5s"),
                    "{early}"
                );
            }
            assert!(plan(&story("1600ms", then), &[]).is_ok(), "{then}");
        }
        let new = story("1200ms", "leave=[\"S3\"]").replace("I1", "I2");
        assert!(plan_error(&new).contains("S3 is down at 1.2s"), "also under a new name");
    }

    fn plan_error(text: &str) -> String {
        plan(text, &[]).map(|plan| plan.name).unwrap_err().to_string()
    }
}
