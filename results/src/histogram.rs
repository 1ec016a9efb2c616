//! The one shape of histogram: HdrHistogram, microseconds, three significant digits, 1 µs to 1 h.
//!
//! All have the same resolution, so any two can be added bucket by bucket. They start with room for 100 ms and grow
//! with the values they meet, because most of the thousands that a run keeps never see more.

use hdrhistogram::{Counter, Histogram};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest value that is told apart, in microseconds: one hour.
pub const HIGHEST_US: u64 = 3_600_000_000;
/// Significant decimal digits that every value keeps: a percentile is at most 0.1 % too high.
pub const DIGITS: u8 = 3;

/// The values that a histogram has room for before it grows, in microseconds.
const USUAL_US: u64 = 100_000;

/// An empty histogram of the one shape.
///
/// # Panics
/// Never: the bounds are constants that HdrHistogram accepts.
#[must_use]
pub fn empty<T: Counter>() -> Histogram<T> {
    let mut histogram = Histogram::new_with_bounds(1, USUAL_US, DIGITS).expect("constant bounds are valid");
    histogram.auto(true);
    histogram
}

/// Counts a value `times` times. One above an hour counts as an hour: a run that long behind has other worries.
pub fn record<T: Counter>(histogram: &mut Histogram<T>, us: u64, times: T) {
    // Fails only where the histogram can't grow; up to an hour it can.
    let _ = histogram.record_n(us.min(HIGHEST_US), times);
}

/// Adds every count of `from` to `into`, whatever their counters' width.
pub fn merge<T: Counter>(into: &mut Histogram<u64>, from: &Histogram<T>) {
    for bucket in from.iter_recorded() {
        record(into, bucket.value_iterated_to(), bucket.count_since_last_iteration());
    }
}

/// The figures of a latency distribution that are shown, in milliseconds; all 0 where nothing was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Values recorded.
    #[serde(default)]
    pub count: u64,
    /// Arithmetic mean.
    #[serde(default)]
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile: the smallest value that 99 % of all values don't exceed.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest value.
    pub max: f64,
}

impl Percentiles {
    /// Reads the figures off a histogram of microseconds.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile: f64| ms(histogram.value_at_quantile(quantile));
        if histogram.is_empty() {
            return Percentiles::default();
        }
        Percentiles {
            count: histogram.len(),
            mean: round_us(histogram.mean()),
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: ms(histogram.max()),
        }
    }
}

/// A point of a complementary distribution: so many of all values lie above so much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Above {
    /// Share of the values, from 1 down.
    pub share: f64,
    /// What they exceed, in milliseconds.
    pub ms: f64,
}

/// The tail of a distribution on both scales logarithmic: for shares 1/2, 1/4, 1/8 and so on, what is exceeded by that
/// share, down to a single value, and the largest value at a share of 0.
#[must_use]
pub fn tail(histogram: &Histogram<u64>) -> Vec<Above> {
    let mut tail = Vec::new();
    let mut share = 1.0;
    while !histogram.is_empty() && share * histogram.len() as f64 >= 1.0 {
        share /= 2.0;
        tail.push(Above { share, ms: ms(histogram.value_at_quantile(1.0 - share)) });
    }
    if !histogram.is_empty() {
        tail.push(Above { share: 0.0, ms: ms(histogram.max()) });
    }
    tail
}

/// Whole microseconds as milliseconds.
#[must_use]
pub fn ms(us: u64) -> f64 {
    us as f64 / 1_000.0
}

/// Microseconds as milliseconds, rounded to a whole microsecond so that files don't carry digits of no meaning.
fn round_us(us: f64) -> f64 {
    us.round() / 1_000.0
}
