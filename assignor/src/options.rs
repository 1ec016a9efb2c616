//! Options of strategies: one definition of each serves the command line, scenario files, listings and docs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::suggest;

/// What an option may be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Range {
    /// A whole number, both ends included.
    Number {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// A whole number of at least `min`, or the word `unlimited`.
    NumberOrUnlimited {
        /// The least.
        min: u64,
    },
    /// A time such as `250ms`, `25s`, `10min` or `1h`.
    Time,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { min, max: u64::MAX } => write!(f, "a whole number of at least {min}"),
            Self::Number { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::NumberOrUnlimited { min } => write!(f, "a whole number of at least {min}, or unlimited"),
            Self::Time => f.write_str("a time such as 250ms, 25s or 10min"),
            Self::OneOf(words) => f.write_str(&words.join(", ")),
        }
    }
}

/// The definition of one option.
#[derive(Clone, Copy, Debug)]
pub struct OptionDefinition {
    /// Its name in `strategy(name=value)`.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub meaning: &'static str,
    /// Its value where none is given, as text.
    pub default: &'static str,
    /// What it may be set to.
    pub range: Range,
}

/// The option that every strategy has.
pub(crate) const STANDBYS: OptionDefinition = OptionDefinition {
    name: "standbys",
    meaning: "copies per stateful task that follow its changelog for good, on instances with no other copy",
    default: "0",
    range: Range::Number { min: 0, max: u32::MAX as u64 },
};

/// A validated value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A whole number.
    Number(u64),
    /// No bound.
    Unlimited,
    /// A time.
    Time(Duration),
    /// One of an option's words.
    Word(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Unlimited => f.write_str("unlimited"),
            Self::Time(time) => f.write_str(&time_text(*time)),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl OptionDefinition {
    /// The value that `text` means, if it is in range.
    #[must_use]
    pub fn value(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        match self.range {
            Range::Number { min, max } => {
                let number = whole_number(text)?;
                (min..=max).contains(&number).then_some(Value::Number(number))
            }
            Range::NumberOrUnlimited { .. } if text == "unlimited" => Some(Value::Unlimited),
            Range::NumberOrUnlimited { min } => {
                whole_number(text).filter(|&number| number >= min).map(Value::Number)
            }
            Range::Time => time(text).map(Value::Time),
            Range::OneOf(words) => words.iter().find(|&&word| word == text).map(|&word| Value::Word(word)),
        }
    }
}

/// A complete set of values for a strategy's options: what was given, and defaults for the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Checks `given` (name and text of each option) against the definitions.
    ///
    /// # Errors
    ///
    /// [`OptionError`] for an unknown option, one given twice, or a value out of range.
    pub fn read(
        strategy: &str,
        options: &[OptionDefinition],
        given: &[(String, String)],
    ) -> Result<Self, OptionError> {
        let mut values = BTreeMap::new();
        for (name, text) in given {
            let Some(option) = options.iter().find(|option| option.name == name) else {
                let known: Vec<String> = options.iter().map(|option| option.name.to_owned()).collect();
                return Err(OptionError::UnknownOption {
                    strategy: strategy.to_owned(),
                    suggestion: suggest::nearest(name, &known),
                    option: name.clone(),
                    known,
                });
            };
            let Some(value) = option.value(text) else {
                return Err(OptionError::BadValue {
                    strategy: strategy.to_owned(),
                    option: name.clone(),
                    value: text.clone(),
                    expected: option.range.to_string(),
                });
            };
            if values.insert(option.name, value).is_some() {
                return Err(OptionError::GivenTwice { strategy: strategy.to_owned(), option: name.clone() });
            }
        }
        for option in options {
            if let (false, Some(value)) = (values.contains_key(option.name), option.value(option.default)) {
                values.insert(option.name, value);
            }
        }
        Ok(Self { values })
    }

    /// A number option's value; `None` if it is unlimited, or no number option.
    #[must_use]
    pub fn number(&self, option: &str) -> Option<u64> {
        match self.values.get(option) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// A number option's value that fits into 32 bits; greater ones count as the greatest.
    #[must_use]
    pub fn small_number(&self, option: &str) -> Option<u32> {
        self.number(option).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// A time option's value.
    #[must_use]
    pub fn time(&self, option: &str) -> Option<Duration> {
        match self.values.get(option) {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        }
    }

    /// A word option's value.
    #[must_use]
    pub fn word(&self, option: &str) -> Option<&'static str> {
        match self.values.get(option) {
            Some(Value::Word(word)) => Some(word),
            _ => None,
        }
    }
}

/// A strategy text or option that makes no sense. The fields let a caller mark the place and offer the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// No strategy has this name.
    #[error("unknown strategy `{name}`{}; known are {}", hint(suggestion.as_deref()), known.join(", "))]
    UnknownStrategy {
        /// The name that was given.
        name: String,
        /// The nearest known name, if one is near.
        suggestion: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// The strategy has no such option.
    #[error("{strategy} has no option `{option}`{}; its options are {}", hint(suggestion.as_deref()), list(known))]
    UnknownOption {
        /// The strategy.
        strategy: String,
        /// The name that was given.
        option: String,
        /// The nearest known name, if one is near.
        suggestion: Option<String>,
        /// All options of the strategy.
        known: Vec<String>,
    },
    /// The value is not in the option's range.
    #[error("{strategy}: {option} cannot be `{value}`; it takes {expected}")]
    BadValue {
        /// The strategy.
        strategy: String,
        /// The option.
        option: String,
        /// The value that was given.
        value: String,
        /// What the option takes.
        expected: String,
    },
    /// The option is given twice.
    #[error("{strategy}: option {option} is given twice")]
    GivenTwice {
        /// The strategy.
        strategy: String,
        /// The option.
        option: String,
    },
    /// The text is not `name` or `name(option=value,…)`.
    #[error("`{text}` is not a strategy: write name or name(option=value,…)")]
    Syntax {
        /// The text that was given.
        text: String,
    },
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

fn list(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

/// `strategy(option=value,…)` with the options whose value is not the default.
#[must_use]
pub fn describe(strategy: &str, options: &[OptionDefinition], values: &[(&'static str, Value)]) -> String {
    let differs = |&&(name, value): &&(&'static str, Value)| {
        let default = options.iter().find(|option| option.name == name);
        default.and_then(|option| option.value(option.default)) != Some(value)
    };
    let set: Vec<String> =
        values.iter().filter(differs).map(|(name, value)| format!("{name}={value}")).collect();
    if set.is_empty() { strategy.to_owned() } else { format!("{strategy}({})", set.join(",")) }
}

/// A whole number; `_` and `,` are not separators in option lists, so only `_` may group digits.
fn whole_number(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

fn time(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim();
    let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(*millis).map(Duration::from_millis)
}

fn time_text(time: Duration) -> String {
    let millis = time.as_millis();
    let exact = |&&(_, unit): &&(&str, u64)| millis > 0 && millis.is_multiple_of(u128::from(unit));
    match UNITS.iter().find(exact) {
        Some((name, unit)) => format!("{}{name}", millis / u128::from(*unit)),
        None => "0s".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_and_write() {
        for text in ["250ms", "25s", "10min", "1h", "1500ms"] {
            assert_eq!(time(text).map(time_text).as_deref(), Some(text));
        }
        assert_eq!(time("60s").map(time_text).as_deref(), Some("1min"));
        for bad in ["", "s", "-1s", "5", "5 days", "99999999999999999999h"] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }
}
