//! `--sweep key=value,value`: one scenario for every combination of the values.

use std::ops::Range;

use serde_json::{Map, Value as Json};

use super::mistake::{Mistake, Mistakes};
use super::plan::Plan;
use super::tree::Source;

/// More runs than these nobody waits for.
const MOST_CELLS: usize = 1_000;

/// One combination of the swept keys' values.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its scenario.
    pub plan: Plan,
    /// The swept keys with the values that they have in it, as the scenario's document shows them.
    pub sweep: Map<String, Json>,
}

impl Cell {
    /// A name for its folder: `state.keys=100000,group.profile=tight`.
    #[must_use]
    pub fn folder(&self) -> String {
        let parts = self.sweep.iter().map(|(key, value)| format!("{key}={}", shown(value)));
        let name = parts.collect::<Vec<_>>().join(",");
        name.chars().map(|c| if c.is_alphanumeric() || "._-=,".contains(c) { c } else { '-' }).collect()
    }
}

fn shown(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// One `--sweep`: a key and its values, each with its place in the text.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) text: String,
    pub(super) key: String,
    pub(super) values: Vec<Range<usize>>,
}

impl Axis {
    /// Reads `key=value,value`; commas within brackets, parentheses and quotes belong to a value.
    pub(super) fn parse(text: &str) -> Result<Self, Mistakes> {
        let source = || vec![Source { name: "--sweep".to_owned(), text: text.to_owned() }];
        let wrong = |span: Range<usize>, title: &str| {
            let mistake = Mistake::at(&super::tree::Place { source: 0, span }, title);
            Err(Mistakes::new(source(), vec![mistake.hint("for example: --sweep state.keys=1e5,1e6")]))
        };
        let Some((key, list)) = text.split_once('=') else {
            return wrong(0..text.len(), "`--sweep` takes key=value,value");
        };
        if key.trim().is_empty() {
            return wrong(0..key.len(), "`--sweep` needs a key before `=`");
        }
        let values = split(list, key.len() + 1);
        if let Some(empty) = values.iter().find(|span| text[(*span).clone()].trim().is_empty()) {
            return wrong(empty.clone(), "there is no value here");
        }
        if values.len() < 2 {
            return wrong(values[0].clone(), "a sweep needs two values or more; `--set` sets a single one");
        }
        Ok(Self { text: text.to_owned(), key: key.trim().to_owned(), values })
    }

    /// What has to be laid over the scenario for the value at `index`: a text as `--set` takes it, in which every
    /// place is that of the whole text.
    pub(super) fn setting(&self, index: usize) -> String {
        let value = self.values[index].clone();
        let key = self.text.find('=').unwrap_or(0);
        // Blanks keep the value where it stands, so that a mistake is shown there.
        format!("{}={}{}", &self.text[..key], " ".repeat(value.start - key - 1), &self.text[value])
    }
}

/// The spans of a list's values, moved by `start`.
fn split(list: &str, start: usize) -> Vec<Range<usize>> {
    let (mut depth, mut quote, mut from) = (0_i32, None, 0);
    let mut spans = Vec::new();
    for (at, c) in list.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            ('(' | '[' | '{', None) => depth += 1,
            (')' | ']' | '}', None) => depth -= 1,
            (',', None) if depth == 0 => {
                spans.push(start + from..start + at);
                from = at + 1;
            }
            _ => {}
        }
    }
    spans.push(start + from..start + list.len());
    spans
}

/// Every combination of indices below `lengths`, the last index running fastest.
pub(super) fn product(lengths: &[usize]) -> Vec<Vec<usize>> {
    lengths.iter().fold(vec![Vec::new()], |combinations, &length| {
        combinations
            .iter()
            .flat_map(|first| (0..length).map(move |index| [first.as_slice(), &[index]].concat()))
            .collect()
    })
}

/// Refuses what each axis alone does not show: a key swept twice or also set, and too many cells.
pub(super) fn check(axes: &[Axis], sets: &[String]) -> Result<(), Mistakes> {
    let wrong = |axis: &Axis, title: String, hint: &str| {
        let source = Source { name: "--sweep".to_owned(), text: axis.text.clone() };
        let span = 0..axis.text.find('=').unwrap_or(0);
        let mistake = Mistake::at(&super::tree::Place { source: 0, span }, title).hint(hint);
        Err(Mistakes::new(vec![source], vec![mistake]))
    };
    for (at, axis) in axes.iter().enumerate() {
        if axes[..at].iter().any(|other| other.key == axis.key) {
            return wrong(axis, format!("`{}` is swept twice", axis.key), "give all of its values at once");
        }
        let is_set = |set: &String| set.split_once('=').is_some_and(|(key, _)| key.trim() == axis.key);
        if sets.iter().any(is_set) {
            return wrong(axis, format!("`{}` is both set and swept", axis.key), "leave its `--set` out");
        }
    }
    let cells: usize = axes.iter().map(|axis| axis.values.len()).product();
    match axes.last() {
        Some(last) if cells > MOST_CELLS => {
            wrong(last, format!("these are {cells} combinations"), "1,000 are the most")
        }
        _ => Ok(()),
    }
}

/// Refuses two values that are one, such as `1e5` and `100_000`: their results would be one.
pub(super) fn check_values(axes: &[Axis], cells: &[Cell]) -> Result<(), Mistakes> {
    for axis in axes {
        let mut different: Vec<&Json> = cells.iter().filter_map(|cell| cell.sweep.get(&axis.key)).collect();
        different.sort_by_cached_key(ToString::to_string);
        different.dedup();
        if different.len() < axis.values.len() {
            let source = Source { name: "--sweep".to_owned(), text: axis.text.clone() };
            let span = axis.values[0].start..axis.text.len();
            let title = format!("`{}` has one value twice", axis.key);
            let mistake = Mistake::at(&super::tree::Place { source: 0, span }, title);
            return Err(Mistakes::new(vec![source], vec![mistake.hint("leave one of them out")]));
        }
    }
    Ok(())
}

/// The value at a dotted path of a scenario's document.
pub(super) fn value_at(document: &Map<String, Json>, path: &str) -> Option<Json> {
    let mut parts = path.split('.').map(str::trim);
    let mut value = document.get(parts.next()?)?;
    for part in parts {
        value = match value {
            Json::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            value => value.get(part)?,
        };
    }
    Some(value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_inside_a_value_do_not_split() {
        let axis = Axis::parse("load.keys = zipf(0.9),uniform, \"a,b\"").unwrap();
        assert_eq!(axis.key, "load.keys");
        let values: Vec<&str> = axis.values.iter().map(|span| axis.text[span.clone()].trim()).collect();
        assert_eq!(values, ["zipf(0.9)", "uniform", "\"a,b\""]);
        assert_eq!(axis.setting(1), "load.keys =           uniform");
    }

    #[test]
    fn every_combination_once_the_last_fastest() {
        assert_eq!(product(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(product(&[]), [[0; 0]; 1]);
        assert_eq!(product(&[3, 4, 5]).len(), 60);
    }
}
