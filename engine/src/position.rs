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

/// What a fence is made with: who may own a task is decided per (incarnation, generation), later ones win.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// The coordinator's incarnation.
    pub incarnation: Incarnation,
    /// The generation in which the task was assigned.
    pub generation: Generation,
}
