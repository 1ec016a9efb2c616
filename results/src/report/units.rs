//! Numbers as people read them: three significant digits, a unit that fits.

/// A duration given in milliseconds, as in `850 µs`, `12.3 ms`, `2.10 s`, `3 min 5 s`.
#[must_use]
pub fn duration(ms: f64) -> String {
    match ms {
        _ if !ms.is_finite() => "–".to_owned(),
        _ if ms == 0.0 => "0 ms".to_owned(),
        _ if ms < 0.0 => format!("−{}", duration(-ms)),
        // The limits lie where rounding to three digits would give a fourth.
        _ if ms < 0.9995 => format!("{:.0} µs", ms * 1_000.0),
        _ if ms < 999.5 => format!("{} ms", three_digits(ms)),
        _ if ms < 99_950.0 => format!("{} s", three_digits(ms / 1_000.0)),
        _ => {
            let seconds = (ms / 1_000.0).round() as u64;
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
    }
}

/// A number of things: whole numbers below 100,000 digit by digit, others as by [`metric`].
#[must_use]
pub fn count(number: f64) -> String {
    if number.fract() == 0.0 && (0.0..1e5).contains(&number) {
        grouped(number as u64)
    } else {
        metric(number)
    }
}

/// An amount with a metric prefix, as in `812`, `1.20 M`; the unit follows it.
#[must_use]
pub fn metric(amount: f64) -> String {
    let steps = [("", 1.0), (" k", 1e3), (" M", 1e6), (" G", 1e9), (" T", 1e12)];
    if !amount.is_finite() {
        return "–".to_owned();
    }
    if amount.fract() == 0.0 && amount.abs() < 1e3 {
        return format!("{amount:.0}");
    }
    let (prefix, unit) =
        steps.iter().rev().find(|(_, unit)| amount.abs() >= unit * 0.9995).unwrap_or(&steps[0]);
    format!("{}{prefix}", three_digits(amount / unit))
}

/// Bytes, as in `812 B`, `1.20 GB` (powers of ten).
#[must_use]
pub fn bytes(bytes: f64) -> String {
    let text = metric(bytes);
    if text.ends_with(|last: char| last.is_ascii_digit()) { format!("{text} B") } else { format!("{text}B") }
}

/// A whole number with its thousands set apart, as in `1,234,567`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits without an exponent, for numbers up to 999.
fn three_digits(number: f64) -> String {
    let decimals = match number.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_choose_their_unit() {
        let cases = [
            (0.0, "0 ms"),
            (0.001, "1 µs"),
            (0.9994, "999 µs"),
            (0.9996, "1.00 ms"),
            (12.345, "12.3 ms"),
            (999.4, "999 ms"),
            (999.6, "1.00 s"),
            (2_104.0, "2.10 s"),
            (99_940.0, "99.9 s"),
            (185_000.0, "3 min 5 s"),
            (-3.0, "−3.00 ms"),
            (f64::INFINITY, "–"),
        ];
        for (ms, text) in cases {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn amounts_choose_their_prefix() {
        assert_eq!(metric(0.0), "0");
        assert_eq!(metric(7.0), "7");
        assert_eq!(metric(999.0), "999");
        assert_eq!(metric(1_204_000.0), "1.20 M");
        assert_eq!(metric(999_900.0), "1.00 M");
        assert_eq!(count(20_310.0), "20,310");
        assert_eq!(count(2.5), "2.50");
        assert_eq!(count(203_100.0), "203 k");
        assert_eq!(bytes(812.0), "812 B");
        assert_eq!(bytes(1.5e9), "1.50 GB");
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123), "123");
    }
}
