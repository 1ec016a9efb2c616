//! Positions in logs and histories: each number is a type of its own, so that none is taken for another.

use std::fmt;

macro_rules! position {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

position! {
    /// A position in a task's changelog, in records: the offset of the next record is the end.
    Offset
}
position! {
    /// A task's ownership number, bumped by every fence of its log.
    Epoch
}
position! {
    /// One completed rebalance of the group.
    Generation
}
position! {
    /// How often the coordinator has been started.
    Incarnation
}

impl Offset {
    /// Records from `earlier` to here; 0 if `earlier` is not before this.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Incarnation {
    /// The incarnation of a coordinator that is started when these claims have been granted on its tasks' logs: later
    /// than each of them, so that the logs obey it, and 1 where there has been none. (What is preloaded is claimed under
    /// incarnation 0.)
    #[must_use]
    pub fn after(granted: impl IntoIterator<Item = Claim>) -> Self {
        let newest = granted.into_iter().map(|claim| claim.incarnation).max();
        Self(newest.map_or(1, |newest| newest.0 + 1))
    }
}

/// What a fence is made with: who may own a task is decided per (incarnation, generation), later ones win.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// The coordinator's incarnation.
    pub incarnation: Incarnation,
    /// The generation in which the task was assigned.
    pub generation: Generation,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinator_comes_after_everybody_whose_claims_are_on_the_logs() {
        let claim = |incarnation, generation| Claim {
            incarnation: Incarnation(incarnation),
            generation: Generation(generation),
        };
        assert_eq!(Incarnation::after([]), Incarnation(1), "the first one");
        assert_eq!(Incarnation::after([Claim::default()]), Incarnation(1), "preloaded state is nobody's");
        // Not every task has been taken over in every life.
        let granted = [claim(1, 9), claim(3, 1), claim(0, 0), claim(2, 7)];
        let next = Incarnation::after(granted);
        assert_eq!(next, Incarnation(4));
        let first = Claim { incarnation: next, generation: Generation(1) };
        assert!(granted.iter().all(|granted| *granted < first), "no log refuses its first generation");
    }
}
