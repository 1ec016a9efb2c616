//! Reads a `result.json` back, and says what and where when it is not one.

use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::schema::{RunFile, SCHEMA};
use crate::sweep_file::{self, SweepFile};

/// Why a file is not a usable result. Every message starts with the file's name as given.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// Nothing is in it.
    #[error(
        "{file}: the file is empty; a run that was killed while writing leaves none, so look at how it got there"
    )]
    Empty {
        /// The file.
        file: String,
    },
    /// The text ends in the middle.
    #[error("{file}:{line}:{column}: the file is cut off here; copy it again or repeat the run")]
    Cut {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// It isn't JSON.
    #[error("{file}:{line}:{column}: this is not JSON: {reason}")]
    NotJson {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The parser's words.
        reason: String,
    },
    /// JSON of another program.
    #[error(
        "{file}: not a result of `understudy run`: {found}, where `\"schema\": \"{expected}\"` is expected"
    )]
    Foreign {
        /// The file.
        file: String,
        /// The schema that should be there.
        expected: &'static str,
        /// What is there instead.
        found: String,
    },
    /// A result of a newer Understudy.
    #[error(
        "{file}: its schema is `{found}`, this program reads up to `{newest}`; use the newer program that wrote it"
    )]
    Newer {
        /// The file.
        file: String,
        /// The newest schema that is read.
        newest: &'static str,
        /// The schema's name.
        found: String,
    },
    /// A key is missing or holds something else.
    #[error("{file}:{line}:{column}: damaged: {reason}")]
    Damaged {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The parts contradict one another.
    #[error("{file}: {place}: {reason}")]
    Inconsistent {
        /// The file.
        file: String,
        /// Where, as a path of keys.
        place: String,
        /// What is wrong there.
        reason: String,
    },
}

/// Parses the content of a `result.json`; `file` is its name for messages.
///
/// # Errors
/// [`ReadError`] tells empty, cut, foreign, newer and damaged files apart.
pub fn read(file: &str, content: &[u8]) -> Result<RunFile, ReadError> {
    let result: RunFile = parse(file, content, SCHEMA)?;
    check_runs(file, &result)?;
    Ok(result)
}

/// Parses the content of a `sweep.json`; `file` is its name for messages.
///
/// # Errors
/// As [`read`].
pub fn read_sweep(file: &str, content: &[u8]) -> Result<SweepFile, ReadError> {
    parse(file, content, sweep_file::SCHEMA)
}

/// Parses a file of the given schema; its name ends in the version.
fn parse<T: DeserializeOwned>(file: &str, content: &[u8], schema: &'static str) -> Result<T, ReadError> {
    if content.iter().all(u8::is_ascii_whitespace) {
        return Err(ReadError::Empty { file: file.to_owned() });
    }
    let value: serde_json::Value =
        serde_json::from_slice(content).map_err(|error| malformed(file, &error))?;
    check_schema(file, &value, schema)?;
    // Parsed once more, because only the text knows lines and columns.
    T::deserialize(&mut serde_json::Deserializer::from_slice(content)).map_err(|error| ReadError::Damaged {
        file: file.to_owned(),
        line: error.line(),
        column: error.column(),
        reason: without_position(&error),
    })
}

fn malformed(file: &str, error: &serde_json::Error) -> ReadError {
    let (file, line, column) = (file.to_owned(), error.line(), error.column());
    if error.is_eof() {
        ReadError::Cut { file, line, column }
    } else {
        ReadError::NotJson { file, line, column, reason: without_position(error) }
    }
}

/// The parser's words without the position, which the message has in front already.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

fn check_schema(file: &str, value: &serde_json::Value, expected: &'static str) -> Result<(), ReadError> {
    let foreign = |found: String| Err(ReadError::Foreign { file: file.to_owned(), expected, found });
    let Some(object) = value.as_object() else {
        return foreign("the file holds no JSON object".to_owned());
    };
    let Some(schema) = object.get("schema") else {
        return foreign("there is no key `schema`".to_owned());
    };
    let Some(schema) = schema.as_str() else {
        return foreign(format!("`schema` is {schema}"));
    };
    let family = expected.trim_end_matches(|c: char| c.is_ascii_digit());
    match schema.strip_prefix(family).map(str::parse::<u32>) {
        Some(Ok(_)) if schema == expected => Ok(()),
        Some(Ok(version)) if version > 1 => {
            Err(ReadError::Newer { file: file.to_owned(), newest: expected, found: schema.to_owned() })
        }
        _ => foreign(format!("`schema` is \"{schema}\"")),
    }
}

fn check_runs(file: &str, result: &RunFile) -> Result<(), ReadError> {
    let inconsistent = |index: usize, reason: String| {
        Err(ReadError::Inconsistent { file: file.to_owned(), place: format!("runs[{index}]"), reason })
    };
    if result.runs.is_empty() {
        return Err(ReadError::Inconsistent {
            file: file.to_owned(),
            place: "runs".to_owned(),
            reason: "there is none, so nothing was measured".to_owned(),
        });
    }
    for (index, run) in result.runs.iter().enumerate() {
        for (earlier, other) in result.runs[..index].iter().enumerate() {
            if (&run.strategy, run.trial, run.replica) == (&other.strategy, other.trial, other.replica) {
                return inconsistent(
                    index,
                    format!("trial {} of {} is there already, as runs[{earlier}]", run.trial, run.strategy),
                );
            }
            if run.trial == other.trial && run.seed != other.seed {
                return inconsistent(
                    index,
                    format!(
                        "trial {} has seed {}, but seed {} in runs[{earlier}]: runs of one trial share their \
                         arrivals",
                        run.trial, run.seed, other.seed
                    ),
                );
            }
        }
    }
    Ok(())
}
