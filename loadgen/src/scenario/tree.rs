//! A scenario's text as a tree in which every key and value knows where it was written.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::Mistake;

/// One text that says something about the scenario: the file, or one `--set`.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// What the user calls it: a path, `scale-up (built in)`, `--set`.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index of the source.
    pub(crate) source: usize,
    /// Bytes in its text.
    pub(crate) span: Range<usize>,
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Where.
    pub(crate) at: Place,
    /// What.
    pub(crate) value: Value,
}

/// What TOML can say.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i128),
    Float(f64),
    Flag(bool),
    Date,
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: String,
    /// Where the key was written.
    pub(crate) at: Place,
    /// Its value.
    pub(crate) node: Node,
}

impl Value {
    /// What kind of thing it is, with its article.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Integer(_) => "a whole number",
            Self::Float(number) if number.is_nan() => "NaN",
            Self::Float(_) => "a number",
            Self::Flag(_) => "true or false",
            Self::Date => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Parses a file's text.
pub(crate) fn parse(source: usize, text: &str) -> Result<Node, Mistake> {
    let table = DeTable::parse(text).map_err(|error| not_toml(source, text, &error))?;
    let at = Place { source, span: table.span() };
    Ok(Node { at, value: table_value(source, table.get_ref()) })
}

fn not_toml(source: usize, text: &str, error: &toml::de::Error) -> Mistake {
    let span = error.span().unwrap_or(0..0);
    let span = span.start.min(text.len())..span.end.min(text.len());
    Mistake::at(&Place { source, span }, format!("this is not TOML: {}", error.message()))
}

fn node(source: usize, value: &Spanned<DeValue<'_>>) -> Node {
    let at = Place { source, span: value.span() };
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        // Wider than any 64-bit integer so that a number beyond all bounds is told as one.
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Float(f64::INFINITY), Value::Integer),
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(list) => Value::List(list.iter().map(|item| node(source, item)).collect()),
        DeValue::Table(table) => table_value(source, table),
    };
    Node { at, value }
}

fn table_value(source: usize, table: &DeTable<'_>) -> Value {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            at: Place { source, span: key.span() },
            node: node(source, value),
        })
        .collect();
    entries.sort_by_key(|entry| entry.at.span.start);
    Value::Table(entries)
}

/// Lays one `--set key=value` over the tree. `text` is what the user wrote after `--set`.
///
/// The key is dotted; a number picks an item of a list (`at.0.time=5s`). The value is TOML, or, where it is not, a
/// text as it stands, so that `group.profile=kafka` needs no quotes on a command line.
pub(crate) fn set(root: &mut Node, source: usize, text: &str) -> Result<(), Mistake> {
    let whole = Place { source, span: 0..text.len() };
    let Some((path, value)) = text.split_once('=') else {
        return Err(
            Mistake::at(&whole, "`--set` takes key=value").hint("for example: --set state.keys=50_000")
        );
    };
    let value_at = path.len() + 1 + leading(value);
    let written = value.trim();
    let value = match DeValue::parse(written) {
        Ok(parsed) if !written.is_empty() => shifted(&parsed, source, value_at),
        _ => Value::Text(written.to_owned()),
    };
    let node = Node { at: Place { source, span: value_at..value_at + written.len() }, value };

    let mut keys = Vec::new();
    let mut start = 0;
    for key in path.split('.') {
        let span = start + leading(key)..start + leading(key) + key.trim().len();
        start += key.len() + 1;
        if key.trim().is_empty() {
            return Err(Mistake::at(&whole, "`--set` needs a key before each dot and before `=`"));
        }
        keys.push((key.trim(), Place { source, span }));
    }
    put(root, &keys, node)
}

fn leading(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The parsed value with its inner places moved to where the value stands in the whole text.
fn shifted(value: &Spanned<DeValue<'_>>, source: usize, by: usize) -> Value {
    fn shift(node: &mut Node, by: usize) {
        node.at.span = node.at.span.start + by..node.at.span.end + by;
        match &mut node.value {
            Value::List(items) => items.iter_mut().for_each(|item| shift(item, by)),
            Value::Table(entries) => entries.iter_mut().for_each(|entry| {
                entry.at.span = entry.at.span.start + by..entry.at.span.end + by;
                shift(&mut entry.node, by);
            }),
            _ => {}
        }
    }
    let mut node = node(source, value);
    shift(&mut node, by);
    node.value
}

fn put(node: &mut Node, keys: &[(&str, Place)], new: Node) -> Result<(), Mistake> {
    let Some(((key, at), rest)) = keys.split_first() else {
        *node = new;
        return Ok(());
    };
    match &mut node.value {
        Value::Table(entries) => {
            let index = entries.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
                let empty = Node { at: at.clone(), value: Value::Table(Vec::new()) };
                entries.push(Entry { key: (*key).to_owned(), at: at.clone(), node: empty });
                entries.len() - 1
            });
            // What is wrong with the key from now on is wrong with what this `--set` says.
            entries[index].at = at.clone();
            put(&mut entries[index].node, rest, new)
        }
        Value::List(items) => {
            let count = items.len();
            match key.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                Some(item) => put(item, rest, new),
                None => Err(Mistake::at(at, format!("`{key}` is not an item of this list"))
                    .hint(format!("it has {count} items, counted from 0"))),
            }
        }
        other => Err(Mistake::at(at, format!("`{key}` is set inside {}, which has no keys", other.kind()))),
    }
}
