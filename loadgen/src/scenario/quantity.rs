//! Quantities as people write them: times with a unit, key distributions, grouped digits.

use std::fmt;
use std::time::Duration;

/// How keys are drawn for new records.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum KeyChoice {
    /// Every key is as likely as any other.
    #[default]
    Uniform,
    /// One after the other, over and over.
    Sequential,
    /// The k-th most frequent key has a share proportional to k^-exponent.
    Zipf(f64),
}

impl fmt::Display for KeyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Sequential => f.write_str("sequential"),
            Self::Zipf(exponent) => write!(f, "zipf({exponent})"),
        }
    }
}

/// What [`key_choice`] reads, as a regular expression.
pub(super) const KEY_CHOICE_PATTERN: &str = r"^(uniform|sequential|zipf\([0-9.]+\))$";

/// Zipf exponents beyond this put nearly everything on one key.
const STEEPEST: f64 = 5.0;

/// Reads `uniform`, `sequential` or `zipf(0.99)`.
pub(super) fn key_choice(text: &str) -> Result<KeyChoice, String> {
    match text.trim() {
        "uniform" => return Ok(KeyChoice::Uniform),
        "sequential" => return Ok(KeyChoice::Sequential),
        "zipf" => return Err("zipf needs its exponent".into()),
        _ => {}
    }
    let inner = text.trim().strip_prefix("zipf(").and_then(|rest| rest.strip_suffix(')'));
    let Some(inner) = inner else {
        return Err(format!("\"{text}\" is not known"));
    };
    match inner.trim().parse::<f64>() {
        Ok(exponent) if exponent > 0.0 && exponent <= STEEPEST => Ok(KeyChoice::Zipf(exponent)),
        Ok(_) => Err(format!("the exponent of zipf must be above 0 and at most {STEEPEST}")),
        Err(_) => Err(format!("\"{inner}\" is not a number")),
    }
}

/// What [`time`] reads, as a regular expression.
pub(super) const TIME_PATTERN: &str = r"^[0-9_]+(\.[0-9]+)? *(ms|s|min|h)$";

/// Reads `250ms`, `3s`, `2.5s`, `5min`, `1h`.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = match number.replace('_', "").parse() {
        Ok(number) => number,
        Err(_) if text.starts_with('-') => return Err("it can't be negative".into()),
        Err(_) => return Err(format!("\"{text}\" doesn't start with a number")),
    };
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "" => return Err("its unit is missing".into()),
        other => return Err(format!("\"{other}\" is not a unit")),
    };
    // Whole nanoseconds, so that 0.1 s is exactly 100 ms.
    Duration::try_from_secs_f64((number * seconds * 1e9).round() / 1e9).map_err(|_| "it is too long".into())
}

/// A time as [`time`] reads it, in the largest unit that shows it exactly.
pub(crate) fn show_time(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    match time.as_millis() {
        0 => format!("{millis}ms"),
        whole if whole % 3_600_000 == 0 => format!("{}h", whole / 3_600_000),
        whole if whole % 60_000 == 0 => format!("{}min", whole / 60_000),
        whole if whole % 1_000 == 0 => format!("{}s", whole / 1_000),
        whole if whole >= 1_000 => format!("{}s", time.as_secs_f64()),
        _ => format!("{millis}ms"),
    }
}

/// A number with its digits in groups, as TOML and Rust write them: `1_000_000`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        for (text, shown) in [
            ("3s", "3s"),
            ("250ms", "250ms"),
            ("2.5s", "2.5s"),
            ("0.1 s", "100ms"),
            ("90s", "90s"),
            ("120s", "2min"),
            ("60min", "1h"),
            ("0s", "0ms"),
            ("1_500ms", "1.5s"),
        ] {
            assert_eq!(time(text).map(show_time).as_deref(), Ok(shown), "{text}");
        }
        for wrong in ["", "s", "3", "3 days", "-1s", "1.2.3s", "99999999999999999999999h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn key_choices_are_read_and_shown() {
        for text in ["uniform", "sequential", "zipf(0.99)", "zipf(1)"] {
            assert_eq!(key_choice(text).map(|choice| choice.to_string()).as_deref(), Ok(text));
        }
        for wrong in
            ["", "zipf", "zipf()", "zipf(0)", "zipf(-1)", "zipf(nan)", "zipf(9)", "zip(0.99)", "Uniform"]
        {
            assert!(key_choice(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1_000");
        assert_eq!(grouped(12_345_678), "12_345_678");
    }
}
