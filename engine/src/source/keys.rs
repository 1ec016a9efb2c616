//! Which key a record has: uniform, Zipf or sequential over a task's keys.

use super::mix;

/// How the records of a task spread over its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyDistribution {
    /// Every key equally often.
    Uniform,
    /// The key of rank r (from 1) with a probability proportional to r to the power of minus this exponent, which is
    /// at least 0. Ranks are spread over the keys, so that popular keys are not neighbours.
    Zipf(f64),
    /// One key after the other, over and over.
    Sequential,
}

/// The key at `index`: 16 bytes that sort by index; the second half differs from key to key in every byte.
#[must_use]
pub fn key_of(index: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&index.to_be_bytes());
    key[8..].copy_from_slice(&mix(index).to_be_bytes());
    key
}

/// Draws key indices below `keys`.
#[derive(Clone, Debug)]
pub(super) struct Drawer {
    keys: u64,
    draw: Draw,
}

#[derive(Clone, Debug)]
enum Draw {
    Uniform,
    Zipf { quantiles: Vec<f64>, stride: u64 },
    Sequential,
}

/// A power of two; with as many quantiles a bucket holds less than one rank where probabilities still differ, and
/// the table fits into a core's second-level cache.
const BUCKETS: u32 = 14;

impl Drawer {
    /// Draws below `keys`, which is at least 1.
    pub(super) fn new(distribution: KeyDistribution, keys: u64) -> Self {
        let keys = keys.max(1);
        let draw = match distribution {
            KeyDistribution::Uniform => Draw::Uniform,
            KeyDistribution::Sequential => Draw::Sequential,
            KeyDistribution::Zipf(exponent) => {
                Draw::Zipf { quantiles: quantiles(exponent, keys), stride: stride(keys) }
            }
        };
        Self { keys, draw }
    }

    /// The key index of the `nth` live record, whose random number is `random`.
    #[inline]
    pub(super) fn draw(&self, nth: u64, random: u64) -> u64 {
        match &self.draw {
            Draw::Uniform => below(random, self.keys),
            Draw::Sequential => nth % self.keys,
            Draw::Zipf { quantiles, stride } => {
                let bucket = (random >> (64 - BUCKETS)) as usize;
                let within = (random << BUCKETS >> 11) as f64 / (1_u64 << 53) as f64;
                let (low, high) = (quantiles[bucket], quantiles[bucket + 1]);
                let rank = ((low + (high - low) * within) as u64).min(self.keys - 1);
                scatter(rank, *stride, self.keys)
            }
        }
    }
}

/// `random` scaled to `0..bound` without a division.
fn below(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

/// The inverse of Zipf's distribution function at equal steps, as real ranks from 0: between two of them ranks are
/// interpolated linearly, which is exact where a bucket lies inside one rank, and within a bucket's own share of
/// 1/16,384 elsewhere.
fn quantiles(exponent: f64, keys: u64) -> Vec<f64> {
    let weight = |rank: u64| ((rank + 1) as f64).powf(-exponent);
    let total: f64 = (0..keys).map(weight).sum();
    let buckets = 1_usize << BUCKETS;
    let mut table = Vec::with_capacity(buckets + 1);
    let (mut rank, mut before, mut here) = (0, 0.0, weight(0));
    for bucket in 0..=buckets {
        let target = total * bucket as f64 / buckets as f64;
        while before + here < target && rank + 1 < keys {
            before += here;
            rank += 1;
            here = weight(rank);
        }
        table.push((rank as f64 + (target - before) / here).min(keys as f64));
    }
    table
}

/// Takes each rank to a key of its own: a multiplication by a number that has no factor in common with `keys`.
fn scatter(rank: u64, stride: u64, keys: u64) -> u64 {
    match rank.checked_mul(stride) {
        Some(product) => product % keys,
        None => (u128::from(rank) * u128::from(stride) % u128::from(keys)) as u64,
    }
}

/// About the golden section of `keys`, so that neighbouring ranks end up far apart.
fn stride(keys: u64) -> u64 {
    let mut stride = (keys as f64 * 0.618_033_988_749_895) as u64 | 1;
    while gcd(stride, keys) != 1 {
        stride += 2;
    }
    stride
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(distribution: KeyDistribution, keys: u64, draws: u64) -> Vec<f64> {
        let drawer = Drawer::new(distribution, keys);
        let mut counts = vec![0_u64; keys as usize];
        for nth in 0..draws {
            counts[drawer.draw(nth, mix(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1)) as usize] += 1;
        }
        counts.iter().map(|&count| count as f64 / draws as f64).collect()
    }

    #[test]
    fn zipf_draws_each_rank_as_often_as_it_should() {
        for (exponent, keys) in [(0.99, 1_000_u64), (0.5, 100), (1.5, 10_000), (0.0, 50), (0.99, 1)] {
            let draws = 2_000_000;
            let mut found = shares(KeyDistribution::Zipf(exponent), keys, draws);
            found.sort_by(|a, b| b.total_cmp(a));
            let total: f64 = (1..=keys).map(|rank| (rank as f64).powf(-exponent)).sum();
            for (rank, share) in found.iter().enumerate().take(100) {
                let expected = ((rank + 1) as f64).powf(-exponent) / total;
                let noise = 5.0 * (expected / draws as f64).sqrt() + 1.0 / 16_384.0 / 4.0;
                assert!((share - expected).abs() < noise, "{exponent} {keys} {rank}: {share} {expected}");
            }
        }
    }

    #[test]
    fn uniform_and_sequential_reach_every_key_equally() {
        for distribution in [KeyDistribution::Uniform, KeyDistribution::Sequential] {
            for share in shares(distribution, 100, 1_000_000) {
                assert!((share - 0.01).abs() < 0.001, "{distribution:?} {share}");
            }
        }
    }

    #[test]
    fn scattering_loses_no_key() {
        for keys in [1, 2, 3, 10, 97, 1_000, 65_536] {
            let stride = stride(keys);
            let mut seen: Vec<_> = (0..keys).map(|rank| scatter(rank, stride, keys)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..keys), "{keys}");
        }
    }

    #[test]
    fn keys_sort_by_index() {
        let indices = [0, 1, 255, 256, 70_000, u64::from(u32::MAX), 1 << 40];
        assert!(indices.map(key_of).is_sorted());
    }
}
