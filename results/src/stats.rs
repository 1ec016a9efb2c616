//! Statistics over paired trials: a permutation test, a bootstrap interval, a correction for many tests.
//!
//! A trial is one number a side; pairs share arrivals and membership events. Nothing here assumes a distribution: the
//! test asks only how often chance alone, which might as well have swapped the sides of any pair, would have led as
//! far. All randomness comes from a seed.
//!
//! ```
//! use results::stats::{Random, Tail, sign_flip};
//!
//! // Five trials, all slower: one way of 2⁵ to swap the sides leads as far.
//! let p = sign_flip(&[3.0, 2.0, 4.0, 1.0, 2.5], Tail::Above, &mut Random::new(1));
//! assert_eq!(p, 1.0 / 32.0);
//! ```

use std::f64::consts::LN_2;

/// The chance of a false alarm that verdicts are made for.
pub const ALPHA: f64 = 0.05;

/// Up to this many pairs every way of swapping sides is tried; beyond it, [`DRAWS`] random ones.
const EXACT_PAIRS: usize = 16;
const DRAWS: u32 = 20_000;
const RESAMPLES: usize = 4_000;

/// A small generator of random numbers, SplitMix64 (Steele, Lea, Flood 2014): a stream is a function of its seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of that seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number below `end`, by multiply and shift; its bias, below `end` / 2⁶⁴, is of no account here.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }
}

/// Which deviations speak against chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Only a mean above zero.
    Above,
    /// Either side.
    Both,
}

/// The paired sign-flip permutation test: how likely a mean of differences at least as far from zero is, if each
/// difference might as well have had the other sign. Exact up to 16 differences, else from 20,000 random flips.
///
/// Returns a p-value; 1 for no differences, or none but zeros. Source: R. A. Fisher, *The Design of Experiments*,
/// 1935, § 21.
#[must_use]
pub fn sign_flip(differences: &[f64], tail: Tail, random: &mut Random) -> f64 {
    let observed: f64 = differences.iter().sum();
    // Sums that are equal but for the order of their terms must count as equal.
    let tolerance = 1e-12 * differences.iter().map(|d| d.abs()).sum::<f64>();
    let reaches = |sum: f64| match tail {
        Tail::Above => sum >= observed - tolerance,
        Tail::Both => sum.abs() >= observed.abs() - tolerance,
    };
    let flipped = |signs: u64, part: &[f64]| -> f64 {
        part.iter().enumerate().map(|(at, d)| if signs >> at & 1 == 1 { -d } else { *d }).sum()
    };
    if differences.iter().all(|d| *d == 0.0) {
        return 1.0;
    }
    if differences.len() <= EXACT_PAIRS {
        let ways = 1_u64 << differences.len();
        let hits = (0..ways).filter(|&signs| reaches(flipped(signs, differences))).count();
        return hits as f64 / ways as f64;
    }
    let hits = (0..DRAWS)
        .filter(|_| reaches(differences.chunks(64).map(|part| flipped(random.bits(), part)).sum()))
        .count();
    // The observed order is one of the possible ones: p is never 0.
    (hits + 1) as f64 / f64::from(DRAWS + 1)
}

/// The fewest pairs with which [`sign_flip`] can reach [`ALPHA`] at all, when it is one of `tests` that are corrected
/// by [`holm`]: 5 for a single one-sided test.
#[must_use]
pub fn pairs_needed(tail: Tail, tests: usize) -> usize {
    let sides = if tail == Tail::Both { 2.0 } else { 1.0 };
    ((sides * tests.max(1) as f64 / ALPHA).ln() / LN_2 - 1e-9).ceil() as usize
}

/// Holm's correction (1979): p-values that may be compared with [`ALPHA`] one by one, though there are several.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut highest: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        highest = highest.max((p[at] * (p.len() - rank) as f64).min(1.0));
        adjusted[at] = highest;
    }
    adjusted
}

/// How two paired sides differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Pairs.
    pub pairs: usize,
    /// Mean of the new side minus mean of the base.
    pub difference: f64,
    /// Mean of the new side over mean of the base; `None` where the base's is not above zero. 1 if both are zero.
    pub ratio: Option<f64>,
    /// Bootstrap interval of the ratio, 95 %; `None` with fewer than 3 pairs.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p-value of "there is no difference".
    pub p: f64,
}

/// Compares pairs (base, new). `seed` makes the resampling repeatable.
#[must_use]
pub fn estimate(pairs: &[(f64, f64)], seed: u64) -> Estimate {
    let mut random = Random::new(seed);
    let differences: Vec<f64> = pairs.iter().map(|(base, new)| new - base).collect();
    Estimate {
        pairs: pairs.len(),
        difference: differences.iter().sum::<f64>() / pairs.len().max(1) as f64,
        ratio: ratio(pairs.iter()),
        interval: interval(pairs, &mut random),
        p: sign_flip(&differences, Tail::Both, &mut random),
    }
}

fn ratio<'a>(pairs: impl Iterator<Item = &'a (f64, f64)>) -> Option<f64> {
    let (base, new) = pairs.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    if base == 0.0 && new == 0.0 {
        return Some(1.0);
    }
    (base > 0.0).then(|| new / base)
}

/// Percentile bootstrap of the ratio over whole pairs. A resample has one pair fewer than the data: with as many, the
/// spread would be too narrow by √((n−1)/n), which matters at five trials (T. Hesterberg, *What Teachers Should Know
/// about the Bootstrap*, 2015, § 3.2).
fn interval(pairs: &[(f64, f64)], random: &mut Random) -> Option<(f64, f64)> {
    if pairs.len() < 3 {
        return None;
    }
    let mut ratios = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let resample: Vec<(f64, f64)> = (1..pairs.len()).map(|_| pairs[random.below(pairs.len())]).collect();
        ratios.push(ratio(resample.iter())?);
    }
    ratios.sort_by(f64::total_cmp);
    let at = |quantile: f64| ratios[((RESAMPLES - 1) as f64 * quantile).round() as usize];
    Some((at(ALPHA / 2.0), at(1.0 - ALPHA / 2.0)))
}
