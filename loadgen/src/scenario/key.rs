//! What a key of a scenario file is: the tables of [`keys`](super::keys) are made of these.

use serde_json::{Value as Json, json};

use super::rule::Rule;

/// One key.
pub(crate) struct Key<R> {
    pub(crate) name: &'static str,
    /// What it is for, in one line.
    pub(crate) doc: &'static str,
    /// What it may be.
    pub(crate) rule: R,
    /// What it is when it is not written.
    pub(crate) default: Absent,
}

/// What happens if a key is not written.
pub(crate) enum Absent {
    /// It has this value, written as in a file.
    Is(&'static str),
    /// That means something of its own (no limit, the profile's value).
    Fine,
    /// The scenario is refused, with this example.
    Refused(&'static str),
}

/// A key that has keys of its own; `many` of them under one name are written `[[name]]`.
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) many: bool,
    pub(crate) keys: &'static [&'static (dyn AnyKey + Sync)],
}

/// What the tables know of a key without knowing its type.
pub(crate) trait AnyKey {
    fn name(&self) -> &'static str;
    /// Its JSON Schema; `None` for a key that this version refuses.
    fn schema(&self) -> Option<Json>;
    fn required(&self) -> bool;
    /// The section, if it is one.
    fn section(&self) -> Option<&Section> {
        None
    }
}

impl<R: Rule> AnyKey for Key<R> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Option<Json> {
        let mut schema = self.rule.schema();
        let object = schema.as_object_mut()?;
        object.insert("description".into(), json!(self.doc));
        if let Absent::Is(default) = self.default {
            let plain = default.replace('_', "");
            object.insert("default".into(), serde_json::from_str(&plain).unwrap_or_else(|_| json!(default)));
        }
        Some(schema)
    }

    fn required(&self) -> bool {
        matches!(self.default, Absent::Refused(_))
    }
}

impl AnyKey for Section {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Option<Json> {
        let properties: serde_json::Map<String, Json> =
            self.keys.iter().filter_map(|key| Some((key.name().to_owned(), key.schema()?))).collect();
        let required: Vec<&str> =
            self.keys.iter().filter(|key| key.required()).map(|key| key.name()).collect();
        let table = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            "description": self.doc,
        });
        Some(if self.many { json!({ "type": "array", "items": table }) } else { table })
    }

    fn required(&self) -> bool {
        false
    }

    fn section(&self) -> Option<&Section> {
        Some(self)
    }
}
