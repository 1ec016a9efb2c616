//! Exact fractions for loads per capacity: planners must not depend on rounding.

use std::cmp::Ordering;

/// `parts / of`, with `of` > 0. Compared exactly, by cross-multiplication in 128 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    parts: i64,
    of: i64,
}

impl Ratio {
    /// `parts / of`; an `of` below 1 is taken as 1.
    pub(crate) fn new(parts: i64, of: i64) -> Self {
        Self { parts, of: of.max(1) }
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.of == other.of {
            return self.parts.cmp(&other.parts);
        }
        let left = i128::from(self.parts) * i128::from(other.of);
        let right = i128::from(other.parts) * i128::from(self.of);
        left.cmp(&right)
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ratio {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_compare_as_numbers() {
        assert_eq!(Ratio::new(1, 2), Ratio::new(2, 4));
        assert!(Ratio::new(1, 3) < Ratio::new(1, 2));
        assert!(Ratio::new(-1, 3) < Ratio::new(0, 7));
        assert!(Ratio::new(i64::MAX, 1) > Ratio::new(i64::MAX, 2));
    }
}
