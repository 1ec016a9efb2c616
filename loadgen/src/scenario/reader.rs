//! Reads one table of a scenario by its keys: every mistake is noted, every effective value written down.

use serde_json::{Map, Value as Json};

use super::key::{Absent, AnyKey, Key, Section};
use super::mistake::{Mistake, did_you_mean};
use super::rule::Rule;
use super::tree::{Entry, Node, Place, Value, parse};

/// A table that is being read.
pub(crate) struct Reader<'a> {
    entries: &'a [Entry],
    /// Where the table was written, if it was.
    at: Option<Place>,
    /// Its name as the user would write it, e.g. `[[at]]`; empty for the whole scenario.
    name: String,
    mistakes: &'a mut Vec<Mistake>,
    /// Every key with the value that it has in effect.
    document: Map<String, Json>,
}

impl<'a> Reader<'a> {
    /// Begins to read `node` as the whole scenario.
    pub(crate) fn new(node: &'a Node, section: &Section, mistakes: &'a mut Vec<Mistake>) -> Self {
        Self::open(Some(node), section, String::new(), mistakes)
    }

    fn open(node: Option<&'a Node>, section: &Section, name: String, mistakes: &'a mut Vec<Mistake>) -> Self {
        let entries = match node.map(|node| (&node.value, &node.at)) {
            Some((Value::Table(entries), _)) => entries.as_slice(),
            Some((other, at)) => {
                mistakes.push(
                    Mistake::at(at, format!("{name} must be a table, not {}", other.kind()))
                        .hint(format!("its keys are: {}", list(section))),
                );
                &[]
            }
            None => &[],
        };
        for entry in entries.iter().filter(|entry| section.keys.iter().all(|key| key.name() != entry.key)) {
            mistakes.push(unknown(entry, section, &name));
        }
        Self { entries, at: node.map(|node| node.at.clone()), name, mistakes, document: Map::new() }
    }

    /// Ends reading: every key with the value that it has in effect.
    pub(crate) fn finish(self) -> Map<String, Json> {
        self.document
    }

    /// Notes a mistake that a rule of one key alone can't see.
    pub(crate) fn mistake(&mut self, mistake: Mistake) {
        self.mistakes.push(mistake);
    }

    /// Where the table was written.
    pub(crate) fn at(&self) -> Option<&Place> {
        self.at.as_ref()
    }

    /// Where the key's value was written, if it was.
    pub(crate) fn place(&self, key: &dyn AnyKey) -> Option<&Place> {
        self.entry(key.name()).map(|entry| &entry.node.at)
    }

    fn entry(&self, name: &str) -> Option<&'a Entry> {
        self.entries.iter().find(|entry| entry.key == name)
    }

    /// The key's value, its default, or, after a mistake, a stand-in.
    pub(crate) fn get<R: Rule>(&mut self, key: &Key<R>) -> R::Value {
        self.maybe(key).unwrap_or_default()
    }

    /// The key's value or default; `None` if there is neither, or after a mistake.
    pub(crate) fn maybe<R: Rule>(&mut self, key: &Key<R>) -> Option<R::Value> {
        let read = match (self.entry(key.name), &key.default) {
            (Some(entry), _) => key.rule.read(key.name, &entry.node),
            (None, Absent::Is(default)) => default_value(key, default),
            (None, Absent::Fine) => return None,
            (None, Absent::Refused(example)) => Err(self.missing(key.name, example)),
        };
        match read {
            Ok(value) => {
                self.document.insert(key.name.to_owned(), key.rule.show(&value));
                Some(value)
            }
            Err(mistake) => {
                self.mistakes.push(mistake);
                None
            }
        }
    }

    fn missing(&self, key: &str, example: &str) -> Mistake {
        let mistake = match &self.at {
            Some(at) if !self.name.is_empty() => Mistake::at(at, format!("{} lacks `{key}`", self.name)),
            _ => Mistake::anywhere(format!("the scenario lacks `{key}`")),
        };
        mistake.hint(format!("for example: {example}"))
    }

    /// Reads a section; one that is not written is read as an empty one.
    pub(crate) fn section<T>(&mut self, section: &Section, read: impl FnOnce(&mut Reader<'_>) -> T) -> T {
        let node = self.entry(section.name).map(|entry| &entry.node);
        let (value, document) = self.inner(node, section, format!("`{}`", section.name), read);
        self.document.insert(section.name.to_owned(), Json::Object(document));
        value
    }

    /// Reads a section if it is written.
    pub(crate) fn section_if_written<T>(
        &mut self,
        section: &Section,
        read: impl FnOnce(&mut Reader<'_>) -> T,
    ) -> Option<T> {
        self.entry(section.name)?;
        Some(self.section(section, read))
    }

    /// Reads every table of a repeated section.
    pub(crate) fn sections<T>(
        &mut self,
        section: &Section,
        mut read: impl FnMut(&mut Reader<'_>) -> T,
    ) -> Vec<T> {
        let name = format!("[[{}]]", section.name);
        let Some(entry) = self.entry(section.name) else {
            return Vec::new();
        };
        let Value::List(items) = &entry.node.value else {
            self.mistakes.push(
                Mistake::at(&entry.node.at, format!("`{}` is a list of tables", section.name))
                    .hint(format!("write {name} above the keys of each: {}", list(section))),
            );
            return Vec::new();
        };
        let mut values = Vec::with_capacity(items.len());
        let mut documents = Vec::with_capacity(items.len());
        for item in items {
            let (value, document) = self.inner(Some(item), section, name.clone(), &mut read);
            values.push(value);
            documents.push(Json::Object(document));
        }
        self.document.insert(section.name.to_owned(), Json::Array(documents));
        values
    }

    fn inner<T>(
        &mut self,
        node: Option<&Node>,
        section: &Section,
        name: String,
        read: impl FnOnce(&mut Reader<'_>) -> T,
    ) -> (T, Map<String, Json>) {
        let mut reader = Reader::open(node, section, name, self.mistakes);
        let value = read(&mut reader);
        (value, reader.finish())
    }
}

/// A default, read by the key's own rule.
fn default_value<R: Rule>(key: &Key<R>, default: &str) -> Result<R::Value, Mistake> {
    let as_number = parse(0, &format!("value = {default}"));
    let node = match as_number.map(|node| node.value) {
        Ok(Value::Table(mut entries)) if entries.len() == 1 => entries.remove(0).node,
        _ => Node { at: Place { source: 0, span: 0..0 }, value: Value::Text(default.to_owned()) },
    };
    key.rule.read(key.name, &node)
}

fn list(section: &Section) -> String {
    section.keys.iter().map(|key| key.name()).collect::<Vec<_>>().join(", ")
}

fn unknown(entry: &Entry, section: &Section, name: &str) -> Mistake {
    let of = if name.is_empty() { String::new() } else { format!(" in {name}") };
    let near = elsewhere(&entry.key, section)
        .or_else(|| did_you_mean(&entry.key, section.keys.iter().map(|key| key.name())));
    let label = near.clone().unwrap_or_else(|| "not a key of it".to_owned());
    Mistake::at(&entry.at, format!("unknown key `{}`{of}", entry.key))
        .label(label)
        .hint(format!("the keys{of} are: {}", list(section)))
}

/// A key of one of the section's own sections that was written a level too high.
fn elsewhere(key: &str, section: &Section) -> Option<String> {
    let mut sections = section.keys.iter().filter_map(|key| key.section());
    let owner = sections.find(|inner| inner.keys.iter().any(|candidate| candidate.name() == key))?;
    Some(if owner.many {
        format!("it belongs under [[{}]]", owner.name)
    } else {
        format!("did you mean `{}.{key}`?", owner.name)
    })
}
