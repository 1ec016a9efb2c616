//! `understudy schema`: JSON Schemas of the files that people and programs write and read.

use crate::cli::{Schema, SchemaArgs};
use crate::exit::{self, Failure, Outcome};

/// Prints one schema.
pub(crate) fn run(args: &SchemaArgs) -> Result<Outcome, Failure> {
    let schema = match args.which {
        Schema::Scenario => loadgen::scenario::schema(),
        Schema::Result => results::schema::json_schema(),
    };
    exit::say(&serde_json::to_string_pretty(&schema).map_err(Failure::run)?);
    Ok(Outcome::Fine)
}
