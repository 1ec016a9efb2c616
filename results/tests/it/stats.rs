//! The statistics against what is known of them: exact p-values, error rates over a thousand simulated comparisons.

use results::stats::{ALPHA, Random, Tail, estimate, holm, pairs_needed, sign_flip};

/// Standard normal numbers from uniform ones, by Box and Muller: the simulation's, not the library's.
struct Noise(Random);

impl Noise {
    fn uniform(&mut self) -> f64 {
        ((self.0.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Ten trials a side around 100 and 100 × `slowdown`, coefficient of variation 5 %, drawn independently.
fn trials(noise: &mut Noise, slowdown: f64) -> Vec<(f64, f64)> {
    (0..10)
        .map(|_| (100.0 * (1.0 + 0.05 * noise.normal()), 100.0 * slowdown * (1.0 + 0.05 * noise.normal())))
        .collect()
}

#[test]
fn chance_is_called_a_difference_in_at_most_seven_per_cent() {
    let alarms =
        (0..1_000).filter(|&seed| estimate(&trials(&mut Noise(Random::new(seed)), 1.0), seed).p <= ALPHA);
    let alarms = alarms.count();
    assert!(alarms <= 70, "{alarms} of 1,000");
    assert!(alarms >= 20, "{alarms} of 1,000: the test is too timid to be right");
}

#[test]
fn a_slowdown_of_a_fifth_is_found() {
    let found =
        (0..1_000).filter(|&seed| estimate(&trials(&mut Noise(Random::new(seed)), 1.2), seed).p <= ALPHA);
    let found = found.count();
    assert!(found >= 950, "{found} of 1,000");
}

#[test]
fn the_interval_covers_the_truth() {
    let covered = (0..1_000).filter(|&seed| {
        let interval = estimate(&trials(&mut Noise(Random::new(seed)), 1.2), seed).interval;
        let (low, high) = interval.expect("ten pairs have an interval");
        low <= 1.2 && 1.2 <= high
    });
    let covered = covered.count();
    assert!((900..=980).contains(&covered), "{covered} of 1,000");
}

#[test]
fn p_values_are_exact_for_few_pairs() {
    let mut random = Random::new(1);
    let mut p = |differences: &[f64], tail| sign_flip(differences, tail, &mut random);
    // All of the same sign: one way of 2ⁿ reaches as far, two if both sides count.
    assert_eq!(p(&[1.0, 2.0, 3.0], Tail::Above), 1.0 / 8.0);
    assert_eq!(p(&[1.0, 2.0, 3.0], Tail::Both), 2.0 / 8.0);
    assert_eq!(p(&[-1.0, -2.0, -3.0], Tail::Above), 1.0);
    // Sums of ±1 ±2 ±4 with a mean at least 5: 7, and 5 itself.
    assert_eq!(p(&[-1.0, 2.0, 4.0], Tail::Above), 2.0 / 8.0);
    assert_eq!(p(&[0.0, 0.0], Tail::Both), 1.0);
    assert_eq!(p(&[], Tail::Both), 1.0);
    // 0.1 + 0.2 and 0.3 are equal here, whatever the order of the sum.
    assert_eq!(p(&[0.1, 0.2, -0.3], Tail::Above), 5.0 / 8.0);
}

#[test]
fn many_pairs_are_sampled() {
    let mut random = Random::new(1);
    let differences: Vec<f64> = (0..40).map(|at| if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let p = sign_flip(&differences, Tail::Both, &mut random);
    assert!(p > 0.9, "{p}");
    let p = sign_flip(&[1.0; 40], Tail::Both, &mut random);
    assert!(p > 0.0 && p < 0.001, "{p}");
}

#[test]
fn too_few_pairs_are_known_beforehand() {
    assert_eq!(pairs_needed(Tail::Above, 1), 5);
    assert_eq!(pairs_needed(Tail::Both, 1), 6);
    assert_eq!(pairs_needed(Tail::Above, 3), 6);
    for (tail, tests) in [(Tail::Above, 1), (Tail::Both, 1), (Tail::Above, 7)] {
        let best = |pairs| sign_flip(&vec![1.0; pairs], tail, &mut Random::new(1)) * tests as f64;
        let needed = pairs_needed(tail, tests);
        assert!(best(needed) <= ALPHA && best(needed - 1) > ALPHA);
    }
}

#[test]
fn holm_by_the_book() {
    assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02]);
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    assert!(holm(&[]).is_empty());
}

#[test]
fn ratios_without_a_base_are_none() {
    assert_eq!(estimate(&[(0.0, 0.0); 5], 1).ratio, Some(1.0));
    assert_eq!(estimate(&[(0.0, 3.0); 5], 1).ratio, None);
    assert_eq!(estimate(&[(2.0, 3.0); 2], 1).ratio, Some(1.5));
    assert_eq!(estimate(&[(2.0, 3.0); 2], 1).interval, None, "two trials have no spread to speak of");
}

#[test]
fn equal_seeds_give_equal_answers() {
    let pairs = trials(&mut Noise(Random::new(3)), 1.1);
    assert_eq!(estimate(&pairs, 7), estimate(&pairs, 7));
}
