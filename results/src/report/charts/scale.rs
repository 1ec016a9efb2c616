//! Axes: from where to where, linear or logarithmic, with ticks where people expect them.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::report::units;

/// One axis.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    log: bool,
    ticks: Vec<f64>,
    show: fn(f64) -> String,
}

impl Scale {
    /// A linear axis over exactly this range, with about `count` ticks at round numbers.
    pub(super) fn linear(from: f64, to: f64, count: usize, show: fn(f64) -> String) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Scale { from, to, log: false, ticks: round_ticks(from, to, count), show }
    }

    /// A linear axis from 0 to a little above `to`.
    pub(super) fn from_zero(to: f64, count: usize, show: fn(f64) -> String) -> Self {
        let to = if to > 0.0 { to } else { 1.0 };
        Scale::linear(0.0, to * 1.06, count, show)
    }

    /// A logarithmic axis over whole decades around the range, at most `most` of them labelled.
    pub(super) fn log(least: f64, greatest: f64, most: usize, show: fn(f64) -> String) -> Self {
        let least = if least.is_finite() && least > 0.0 { least } else { 1.0 };
        let greatest = if greatest.is_finite() { greatest.max(least) } else { least };
        let first = (least * 1.0001).log10().floor() as i32;
        let last = ((greatest * 0.9999).log10().ceil() as i32).max(first + 1);
        Scale::decades(first, last, most, show)
    }

    /// A logarithmic axis just around the values rather than over whole decades.
    pub(super) fn log_around(least: f64, greatest: f64, show: fn(f64) -> String) -> Self {
        let mut scale = Scale::log(least, greatest, 12, show);
        let (from, to) = (scale.from.max(least / 1.8), scale.to.min(greatest * 1.8));
        if to > from {
            (scale.from, scale.to) = (from, to);
        }
        let inside = |tick: &f64| (from..=to).contains(tick);
        if scale.ticks.iter().filter(|tick| inside(tick)).count() < 2 {
            // Less than two powers of ten: name some numbers between them.
            let tens = scale.ticks.clone();
            scale.ticks =
                tens.iter().flat_map(|ten| [0.1, 0.2, 0.5, 1.0, 2.0, 5.0].map(|by| ten * by)).collect();
            scale.ticks.sort_by(f64::total_cmp);
            scale.ticks.dedup_by(|a, b| (*a / *b - 1.0).abs() < 1e-9);
        }
        scale.ticks.retain(inside);
        scale
    }

    fn decades(first: i32, last: i32, most: usize, show: fn(f64) -> String) -> Self {
        let step = usize::try_from(last - first).unwrap_or(1).div_ceil(most.max(1)).max(1);
        let ticks = (first..=last).step_by(step).map(|power| 10_f64.powi(power)).collect();
        Scale { from: 10_f64.powi(first), to: 10_f64.powi(last), log: true, ticks, show }
    }

    /// Seconds since the end of the warm-up.
    pub(super) fn time(from_s: f64, to_s: f64, count: usize) -> Self {
        let to_s = if to_s > from_s { to_s } else { from_s + 1.0 };
        let step = [
            0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0,
        ]
        .into_iter()
        .find(|step| (to_s - from_s) / step <= count as f64)
        .unwrap_or(7200.0);
        Scale { from: from_s, to: to_s, log: false, ticks: multiples(from_s, to_s, step), show: seconds }
    }

    /// Places 0 to n − 1 with half a place on either side, unlabelled.
    pub(super) fn places(n: usize) -> Self {
        Scale {
            from: -0.5,
            to: n.max(1) as f64 - 0.5,
            log: false,
            ticks: Vec::new(),
            show: |_| String::new(),
        }
    }

    /// Without ticks.
    pub(super) fn bare(mut self) -> Self {
        self.ticks.clear();
        self
    }

    /// With these ticks.
    pub(super) fn with_ticks(mut self, ticks: Vec<f64>) -> Self {
        self.ticks = ticks;
        self
    }

    /// Where it begins and ends.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// Where its ticks are.
    pub(super) fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    /// What a tick says.
    pub(super) fn label(&self, tick: f64) -> String {
        (self.show)(tick)
    }

    /// The place of a value between 0 and 1; what lies outside is put on the edge.
    pub(super) fn place(&self, value: f64) -> f64 {
        let bounded = value.clamp(self.from, self.to);
        if self.log {
            (bounded / self.from).ln() / (self.to / self.from).ln()
        } else {
            (bounded - self.from) / (self.to - self.from)
        }
    }
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (low, high): (i32, i32)) -> i32 {
        low + (self.place(*value) * f64::from(high - low)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, value: &f64) -> String {
        self.label(*value)
    }
}

fn multiples(from: f64, to: f64, step: f64) -> Vec<f64> {
    let (first, last) = ((from / step - 1e-9).ceil() as i64, (to / step + 1e-9).floor() as i64);
    (first..=last).map(|times| times as f64 * step).collect()
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn round_ticks(from: f64, to: f64, count: usize) -> Vec<f64> {
    let rough = (to - from) / count.max(1) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|by| by * power).find(|step| *step >= rough * 0.999);
    multiples(from, to, step.unwrap_or(power * 10.0))
}

/// `1 ms`, `10 s`: a duration in milliseconds without digits that a tick doesn't need.
pub(super) fn duration(ms: f64) -> String {
    match ms {
        _ if ms <= 0.0 => "0".to_owned(),
        _ if ms < 0.9995 => format!("{} µs", trim(ms * 1_000.0)),
        _ if ms < 999.5 => format!("{} ms", trim(ms)),
        _ if ms < 120_000.0 => format!("{} s", trim(ms / 1_000.0)),
        _ => format!("{} min", trim(ms / 60_000.0)),
    }
}

/// Seconds as `5 s`, from two minutes on as `2:30`.
pub(super) fn seconds(s: f64) -> String {
    let sign = if s < 0.0 { "−" } else { "" };
    if s.abs() < 119.9 {
        return format!("{sign}{} s", trim(s.abs()));
    }
    let whole = s.abs().round() as u64;
    format!("{sign}{}:{:02}", whole / 60, whole % 60)
}

/// A plain number with a metric prefix.
pub(super) fn amount(value: f64) -> String {
    let text = units::metric(value);
    let (number, prefix) =
        text.split_once(' ').map_or((text.as_str(), ""), |(number, prefix)| (number, prefix));
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    if prefix.is_empty() { number.to_owned() } else { format!("{number} {prefix}") }
}

fn trim(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stand_at_round_numbers_within_the_range() {
        assert_eq!(Scale::linear(0.0, 43.0, 5, amount).ticks(), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(Scale::time(-1.0, 11.0, 6).ticks(), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(Scale::log(3.0, 450.0, 9, duration).ticks(), [1.0, 10.0, 100.0, 1_000.0]);
        assert_eq!(Scale::log(1e-3, 1e5, 4, duration).ticks().len(), 5, "every second decade of eight");
    }

    #[test]
    fn a_range_of_nothing_is_still_an_axis() {
        for scale in
            [Scale::linear(3.0, 3.0, 5, amount), Scale::from_zero(0.0, 5, amount), Scale::time(0.0, 0.0, 5)]
        {
            assert!(scale.place(3.0).is_finite());
        }
        assert!(Scale::log(f64::INFINITY, f64::NEG_INFINITY, 5, duration).place(1.0).is_finite());
        assert!(Scale::log_around(7.0, 7.0, duration).place(7.0).is_finite());
        assert!(Scale::log(0.0, 0.0, 5, duration).place(0.0).is_finite());
    }

    #[test]
    fn labels_carry_no_digits_that_say_nothing() {
        let cases = [
            (0.001, "1 µs"),
            (0.01, "10 µs"),
            (1.0, "1 ms"),
            (100.0, "100 ms"),
            (1_000.0, "1 s"),
            (2.5, "2.5 ms"),
        ];
        for (ms, label) in cases {
            assert_eq!(duration(ms), label);
        }
        assert_eq!(
            (seconds(0.5), seconds(150.0), seconds(-1.0)),
            ("0.5 s".into(), "2:30".into(), "−1 s".into())
        );
        assert_eq!(
            (amount(1_500_000.0), amount(20_000.0), amount(4.0)),
            ("1.5 M".into(), "20 k".into(), "4".into())
        );
    }
}
