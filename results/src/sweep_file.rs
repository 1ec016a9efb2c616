//! The shape of `sweep.json`, `understudy/sweep/v1`: what a sweep consists of, written before its first run.
//!
//! Each cell, one combination of the swept keys' values, has a folder of its own with an ordinary `result.json`. What
//! is finished and what is not is said there alone; this file says what belongs to the sweep, so that it can be gone
//! on with, reported and compared as one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::likeness::{self, Difference};
use crate::schema;

/// The name of this version of the file, found under the key `schema`.
pub const SCHEMA: &str = "understudy/sweep/v1";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What every cell is run with.
    pub conditions: Conditions,
    /// The cells, in the order in which they are run.
    pub cells: Vec<Cell>,
}

/// What every cell is run with: a sweep can only be gone on with under the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// The scenario's name.
    pub scenario: String,
    /// Strategies with their options.
    pub strategies: Vec<String>,
    /// Trials of each.
    pub trials: u32,
    /// The first trial's seed.
    pub seed: u64,
    /// Which runs have an A/A twin.
    pub twins: String,
}

/// One combination of the swept keys' values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Its folder, beside this file.
    pub folder: String,
    /// The swept keys with their values.
    pub sweep: Map<String, Value>,
    /// The scenario with every setting that is in force.
    pub scenario: Map<String, Value>,
}

impl SweepFile {
    /// The file's text: indented JSON with a newline at its end.
    ///
    /// # Panics
    /// Never: the types hold nothing that JSON can't.
    #[must_use]
    pub fn to_json(&self) -> String {
        schema::pretty(self)
    }

    /// What keeps this sweep from being gone on with as `asked`: places, and what is there against what is asked.
    #[must_use]
    pub fn differences(&self, asked: &SweepFile) -> Vec<Difference> {
        let value = |conditions: &Conditions| serde_json::to_value(conditions).unwrap_or_default();
        let mut found = likeness::between("", &value(&self.conditions), &value(&asked.conditions));
        let folders = |sweep: &SweepFile| {
            sweep.cells.iter().map(|cell| cell.folder.as_str()).collect::<Vec<_>>().join(", ")
        };
        found.extend(likeness::between("cells", &folders(self).into(), &folders(asked).into()));
        // What differs in one cell for another reason than being another cell differs in all: one is enough to say so.
        let common = self
            .cells
            .iter()
            .find_map(|cell| Some((cell, asked.cells.iter().find(|other| other.folder == cell.folder)?)));
        if let Some((cell, other)) = common {
            let scenario = |cell: &Cell| Value::Object(cell.scenario.clone());
            found.extend(likeness::between("scenario", &scenario(cell), &scenario(other)));
        }
        found
    }
}
