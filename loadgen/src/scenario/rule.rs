//! What a key of a scenario may be set to: each rule reads a value, or says what is wrong with it and what is right.

use std::fmt::Display;
use std::time::Duration;

use serde_json::{Value as Json, json};

use results::claim::Subject;

use super::condition::Condition;
use super::mistake::{Mistake, did_you_mean};
use super::quantity::{self, KeyChoice};
use super::tree::{Node, Place, Value};

/// Reads the values of one kind of key.
pub(crate) trait Rule {
    /// What is read. Its default stands in for a mistaken value, so that reading goes on and finds every mistake.
    type Value: Default;

    /// The value, or what is wrong with it.
    fn read(&self, key: &str, node: &Node) -> Result<Self::Value, Mistake>;

    /// The value as a result file shows it, so that it could be read again.
    fn show(&self, value: &Self::Value) -> Json;

    /// Its JSON Schema.
    fn schema(&self) -> Json;
}

fn wrong_kind(key: &str, node: &Node, wanted: &str, example: &str) -> Mistake {
    Mistake::at(&node.at, format!("`{key}` must be {wanted}, not {}", node.value.kind()))
        .label(format!("{wanted} belongs here"))
        .hint(format!("for example: {key} = {example}"))
}

fn too_small(key: &str, node: &Node, least: &dyn Display) -> Mistake {
    Mistake::at(&node.at, format!("`{key}` is too small: it must be at least {least}"))
        .label(format!("at least {least}"))
}

fn too_much(key: &str, node: &Node, most: &dyn Display, why: &str) -> Mistake {
    Mistake::at(&node.at, format!("`{key}` is beyond reason: it must be at most {most}"))
        .label(format!("at most {most}"))
        .hint(format!("the bound is there because {why}"))
}

/// A whole number within reason.
pub(crate) struct Count {
    pub(crate) least: u64,
    pub(crate) most: u64,
    /// Why not more.
    pub(crate) why: &'static str,
}

impl Rule for Count {
    type Value = u64;

    fn read(&self, key: &str, node: &Node) -> Result<u64, Mistake> {
        let number = match node.value {
            Value::Integer(number) => number,
            // 1e6 is a handy way to write a million.
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a cast that saturates keeps it out of bounds"
            )]
            Value::Float(number) if number.fract() == 0.0 || number.is_infinite() => number as i128,
            _ => return Err(wrong_kind(key, node, "a whole number", &self.least.to_string())),
        };
        match u64::try_from(number) {
            Ok(number) if (self.least..=self.most).contains(&number) => Ok(number),
            _ if number < i128::from(self.least) => Err(too_small(key, node, &quantity::grouped(self.least))),
            _ => Err(too_much(key, node, &quantity::grouped(self.most), self.why)),
        }
    }

    fn show(&self, value: &u64) -> Json {
        json!(value)
    }

    fn schema(&self) -> Json {
        json!({ "type": "integer", "minimum": self.least, "maximum": self.most })
    }
}

/// A length of time such as `"250ms"`, `"3s"`, `"5min"`.
pub(crate) struct Time {
    pub(crate) least: Duration,
    pub(crate) most: Duration,
    /// Why not more.
    pub(crate) why: &'static str,
}

impl Rule for Time {
    type Value = Duration;

    fn read(&self, key: &str, node: &Node) -> Result<Duration, Mistake> {
        let text = match &node.value {
            Value::Text(text) => text,
            Value::Integer(number) => {
                return Err(Mistake::at(&node.at, format!("`{key}` needs a unit"))
                    .label("a time with its unit belongs here")
                    .hint(format!("for example: {key} = \"{number}s\", or \"{number}ms\"")));
            }
            _ => return Err(wrong_kind(key, node, "a time", "\"3s\"")),
        };
        let time = quantity::time(text).map_err(|what| {
            Mistake::at(&node.at, format!("`{key}` is not a time: {what}"))
                .hint(format!("a number and one of ms, s, min, h; for example: {key} = \"2.5s\""))
        })?;
        if time < self.least {
            let least = quantity::show_time(self.least);
            return Err(Mistake::at(&node.at, format!("`{key}` is too short: it must be at least {least}"))
                .label(format!("at least {least}")));
        }
        if time > self.most {
            return Err(too_much(key, node, &quantity::show_time(self.most), self.why));
        }
        Ok(time)
    }

    fn show(&self, value: &Duration) -> Json {
        json!(quantity::show_time(*value))
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "pattern": quantity::TIME_PATTERN })
    }
}

/// `true` or `false`.
pub(crate) struct Flag;

impl Rule for Flag {
    type Value = bool;

    fn read(&self, key: &str, node: &Node) -> Result<bool, Mistake> {
        match node.value {
            Value::Flag(flag) => Ok(flag),
            _ => Err(wrong_kind(key, node, "true or false", "true")),
        }
    }

    fn show(&self, value: &bool) -> Json {
        json!(value)
    }

    fn schema(&self) -> Json {
        json!({ "type": "boolean" })
    }
}

/// A text.
pub(crate) struct Text;

impl Rule for Text {
    type Value = String;

    fn read(&self, key: &str, node: &Node) -> Result<String, Mistake> {
        match &node.value {
            Value::Text(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            Value::Text(_) => {
                Err(Mistake::at(&node.at, format!("`{key}` is empty")).label("a text belongs here"))
            }
            _ => Err(wrong_kind(key, node, "a text", "\"…\"")),
        }
    }

    fn show(&self, value: &String) -> Json {
        json!(value)
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "minLength": 1 })
    }
}

/// One of a few words.
pub(crate) struct Choice {
    pub(crate) among: &'static [&'static str],
    /// Words that will be accepted by a later version.
    pub(crate) later: &'static [&'static str],
}

impl Rule for Choice {
    type Value = &'static str;

    fn read(&self, key: &str, node: &Node) -> Result<&'static str, Mistake> {
        let Value::Text(text) = &node.value else {
            let example = format!("\"{}\"", self.among[0]);
            return Err(wrong_kind(key, node, "a text", &example));
        };
        if let Some(word) = self.among.iter().find(|word| *word == text) {
            return Ok(word);
        }
        let words = format!("it is one of: {}", self.among.join(", "));
        if self.later.contains(&text.as_str()) {
            return Err(Mistake::at(&node.at, format!("`{key} = \"{text}\"` is not supported yet"))
                .label("not in this version")
                .hint(words));
        }
        let near =
            did_you_mean(text, self.among.iter().copied()).map_or(String::new(), |near| format!("{near} "));
        Err(Mistake::at(&node.at, format!("`{key}` can't be \"{text}\"")).hint(format!("{near}{words}")))
    }

    fn show(&self, value: &&'static str) -> Json {
        json!(value)
    }

    fn schema(&self) -> Json {
        json!({ "enum": self.among })
    }
}

/// Names of members or instances.
pub(crate) struct Names;

impl Rule for Names {
    type Value = Vec<(String, Option<Place>)>;

    fn read(&self, key: &str, node: &Node) -> Result<Self::Value, Mistake> {
        let example = "[\"S2\"]";
        let Value::List(items) = &node.value else {
            return Err(wrong_kind(key, node, "a list of names", example));
        };
        if items.is_empty() {
            return Err(Mistake::at(&node.at, format!("`{key}` names nobody"))
                .label("at least one name belongs here")
                .hint(format!("for example: {key} = {example}")));
        }
        items
            .iter()
            .map(|item| match &item.value {
                Value::Text(name) => Ok((name.clone(), Some(item.at.clone()))),
                _ => Err(wrong_kind(key, item, "a list of names", example)),
            })
            .collect()
    }

    fn show(&self, value: &Self::Value) -> Json {
        value.iter().map(|(name, _)| json!(name)).collect()
    }

    fn schema(&self) -> Json {
        json!({ "type": "array", "minItems": 1, "items": { "type": "string" } })
    }
}

/// How keys are chosen: `uniform`, `sequential`, `zipf(0.99)`.
pub(crate) struct Keys;

impl Rule for Keys {
    type Value = KeyChoice;

    fn read(&self, key: &str, node: &Node) -> Result<KeyChoice, Mistake> {
        let Value::Text(text) = &node.value else {
            return Err(wrong_kind(key, node, "a text", "\"zipf(0.99)\""));
        };
        quantity::key_choice(text).map_err(|what| {
            Mistake::at(&node.at, format!("`{key}` is not a key distribution: {what}"))
                .hint("it is one of: uniform, sequential, zipf(EXPONENT), for example zipf(0.99)")
        })
    }

    fn show(&self, value: &KeyChoice) -> Json {
        json!(value.to_string())
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "pattern": quantity::KEY_CHOICE_PATTERN })
    }
}

/// A number, with or without a fraction.
pub(crate) struct Number {
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// Why not more.
    pub(crate) why: &'static str,
}

impl Number {
    /// Any at all, save infinity.
    pub(crate) const ANY: Self = Self { least: f64::MIN, most: f64::MAX, why: "it is the greatest there is" };
}

impl Rule for Number {
    type Value = f64;

    fn read(&self, key: &str, node: &Node) -> Result<f64, Mistake> {
        let number = match node.value {
            Value::Integer(number) => number as f64,
            Value::Float(number) if !number.is_nan() => number,
            _ => return Err(wrong_kind(key, node, "a number", "0.5")),
        };
        if number < self.least {
            return Err(too_small(key, node, &self.least));
        }
        if number > self.most {
            return Err(too_much(key, node, &self.most, self.why));
        }
        Ok(number)
    }

    fn show(&self, value: &f64) -> Json {
        json!(value)
    }

    fn schema(&self) -> Json {
        let mut schema = json!({ "type": "number" });
        if self.least > f64::MIN {
            schema["minimum"] = json!(self.least);
        }
        if self.most < f64::MAX {
            schema["maximum"] = json!(self.most);
        }
        schema
    }
}

/// The name of a figure or measure.
pub(crate) struct Metric;

impl Rule for Metric {
    type Value = Option<Subject>;

    fn read(&self, key: &str, node: &Node) -> Result<Option<Subject>, Mistake> {
        let Value::Text(name) = &node.value else {
            return Err(wrong_kind(key, node, "a metric's name", "\"task_pause_ms.max\""));
        };
        Subject::by_name(name).map(Some).ok_or_else(|| {
            let near = did_you_mean(name, Subject::names()).map_or(String::new(), |near| format!("{near} "));
            Mistake::at(&node.at, format!("there is no metric `{name}`"))
                .hint(format!("{near}docs/scenarios.md lists them; for example: {key} = \"moves.actual\""))
        })
    }

    fn show(&self, value: &Option<Subject>) -> Json {
        json!(value.map(Subject::name))
    }

    fn schema(&self) -> Json {
        json!({ "enum": Subject::names().collect::<Vec<_>>() })
    }
}

/// A condition that an event waits for.
pub(crate) struct Until;

impl Rule for Until {
    type Value = Option<Condition>;

    fn read(&self, key: &str, node: &Node) -> Result<Option<Condition>, Mistake> {
        let Value::Text(text) = &node.value else {
            return Err(wrong_kind(key, node, "a condition", "\"ready(S4)\""));
        };
        Condition::parse(text).map(Some).ok_or_else(|| {
            Mistake::at(&node.at, format!("`{key}` is not a condition: \"{text}\""))
                .hint("it is one of: ready(S4), learning(S4), balanced, generation(3)")
        })
    }

    fn show(&self, value: &Option<Condition>) -> Json {
        json!(value.as_ref().map(ToString::to_string))
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "pattern": Condition::PATTERN })
    }
}

/// Strategies as `--strategy` takes them.
pub(crate) struct Strategies;

impl Rule for Strategies {
    type Value = Vec<String>;

    fn read(&self, key: &str, node: &Node) -> Result<Vec<String>, Mistake> {
        let example = "[\"eager\", \"learner(standbys=1)\"]";
        let Value::List(items) = &node.value else {
            return Err(wrong_kind(key, node, "a list of strategies", example));
        };
        let mut names = Vec::new();
        for item in items {
            let Value::Text(name) = &item.value else {
                return Err(wrong_kind(key, item, "a list of strategies", example));
            };
            assignor::parse(name).map_err(|error| {
                Mistake::at(&item.at, error.to_string())
                    .hint("`understudy list` shows strategies and options")
            })?;
            names.push(name.clone());
        }
        if names.is_empty() {
            return Err(
                Mistake::at(&node.at, format!("`{key}` names none")).hint(format!("{key} = {example}"))
            );
        }
        Ok(names)
    }

    fn show(&self, value: &Vec<String>) -> Json {
        json!(value)
    }

    fn schema(&self) -> Json {
        json!({ "type": "array", "minItems": 1, "items": { "type": "string" } })
    }
}
