//! Scenarios: what an application is and what happens to it, read from TOML and checked as a whole.
//!
//! text → [`tree`] (with places) → `--set` laid over it → [`reader`] by [`keys`] and their [`rule`]s → [`plan`].
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`builtin`] | the scenarios that come with the program |
//! | [`tree`] | a text as a tree whose every value knows where it was written |
//! | [`keys`], [`rule`], [`quantity`] | every key: what it is for, what it may be, how it is written |
//! | [`reader`] | reads a table by its keys |
//! | [`plan`], [`script`] | the validated scenario, and its events |
//! | [`mistake`] | mistakes shown in place |

use std::path::Path;

use serde_json::{Value as Json, json};

pub mod builtin;
mod keys;
mod mistake;
mod plan;
mod quantity;
mod reader;
mod rule;
mod script;
mod tree;

pub use builtin::{BUILTINS, Builtin};
pub use mistake::Mistakes;
pub use plan::{Capacity, EngineSettings, Load, Plan, State};
pub use quantity::{KeyChoice, grouped};
pub use script::{Act, Event, Instances, Target};

use mistake::{Mistake, did_you_mean};
use tree::Source;

/// Loads a scenario, a built-in's name or a file's path, with `--set`s laid over it.
///
/// # Errors
///
/// Every mistake in the file and the `--set`s, shown in place.
pub fn load(scenario: &str, sets: &[String]) -> Result<Plan, Mistakes> {
    let path = Path::new(scenario);
    if let Some(builtin) = builtin::find(scenario) {
        let source = Source { name: format!("{scenario} (built in)"), text: builtin.text.to_owned() };
        return read(scenario, Path::new(""), source, sets);
    }
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let name = path.file_stem().map_or(scenario.into(), |stem| stem.to_string_lossy());
            let home = path.parent().unwrap_or(Path::new(""));
            read(&name, home, Source { name: scenario.to_owned(), text }, sets)
        }
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

fn read(name: &str, home: &Path, file: Source, sets: &[String]) -> Result<Plan, Mistakes> {
    let mut sources = vec![file];
    let mut mistakes = Vec::new();
    let mut root = match tree::parse(0, &sources[0].text) {
        Ok(root) => root,
        Err(mistake) => return Err(Mistakes::new(sources, vec![mistake])),
    };
    for set in sets {
        sources.push(Source { name: "--set".to_owned(), text: set.clone() });
        mistakes.extend(tree::set(&mut root, sources.len() - 1, set).err());
    }
    let plan = plan::read(name, home, &root, &mut mistakes);
    if mistakes.is_empty() { Ok(plan) } else { Err(Mistakes::new(sources, mistakes)) }
}

/// The JSON Schema of a scenario file.
#[must_use]
pub fn schema() -> Json {
    use keys::AnyKey;
    let mut schema = keys::SCENARIO.schema().unwrap_or_default();
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Understudy scenario");
    schema
}
