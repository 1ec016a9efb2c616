//! Sets of whole numbers that come in long stretches: a run's late intervals take a few bytes, however many they are.

use std::collections::BTreeMap;

/// A set of whole numbers, kept as stretches that don't touch.
///
/// ```
/// use results::stretches::Stretches;
///
/// let mut late = Stretches::default();
/// for index in [7, 5, 6, 20] {
///     late.add(index, index);
/// }
/// assert_eq!(late.stretches(), 2);
/// assert_eq!(late.end_of(5), Some(7));
/// assert_eq!(late.last_in(0, 19), Some(7));
/// assert_eq!(late.last_in(8, 19), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretches(BTreeMap<i64, i64>);

impl Stretches {
    /// Adds the numbers from `first` to `last`, both included.
    pub fn add(&mut self, mut first: i64, mut last: i64) {
        // Whatever overlaps or touches becomes part of it.
        while let Some((&from, &to)) = self.0.range(..=last.saturating_add(1)).next_back()
            && to >= first.saturating_sub(1)
        {
            self.0.remove(&from);
            first = first.min(from);
            last = last.max(to);
        }
        self.0.insert(first, last);
    }

    /// The largest number from `first` to before `end`.
    #[must_use]
    pub fn last_in(&self, first: i64, end: i64) -> Option<i64> {
        let (_, &last) = self.0.range(..end).next_back()?;
        Some(last.min(end - 1)).filter(|last| *last >= first)
    }

    /// The end of the stretch that a number lies in.
    #[must_use]
    pub fn end_of(&self, number: i64) -> Option<i64> {
        let (_, &last) = self.0.range(..=number).next_back()?;
        Some(last).filter(|last| *last >= number)
    }

    /// How many stretches there are.
    #[must_use]
    pub fn stretches(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_a_set_would(parts in prop::collection::vec((0..60_i64, 0..6_i64), 0..30), first in 0..60_i64, length in 0..30_i64) {
            let mut set = BTreeSet::new();
            let mut stretches = Stretches::default();
            for (from, more) in parts {
                set.extend(from..=from + more);
                stretches.add(from, from + more);
            }
            let end = first + length;
            prop_assert_eq!(stretches.last_in(first, end), set.range(first..end).next_back().copied());
            let mut last = first;
            while set.contains(&(last + 1)) {
                last += 1;
            }
            prop_assert_eq!(stretches.end_of(first), set.contains(&first).then_some(last));
            let starts = set.iter().filter(|number| !set.contains(&(**number - 1))).count();
            prop_assert_eq!(stretches.stretches(), starts);
        }
    }
}
