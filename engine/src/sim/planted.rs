//! Faults that are planted to see whether the checkers find them.

use std::fmt;

use crate::group::Fault;

/// A planted fault: in a machine, or at a seam around log, store or source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// In the coordinator or the members.
    Machine(Fault),
    /// At a seam.
    Seam(SeamFault),
}

/// What a faulty implementation behind a seam would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeamFault {
    /// A fence returns the end but leaves the old owner able to append.
    FenceSkipped,
    /// A fence with an older claim than one granted before is granted.
    OlderFenceGranted,
    /// The end that a fence returns was read before it fenced: what the old owner appended in between is missed.
    EndReadBeforeFence,
    /// A log takes appends under any epoch.
    OldEpochAccepted,
    /// A store copy that the log does not vouch for is kept.
    CopyAheadKept,
    /// The source is opened at its beginning instead of where the log says.
    ResumeForgotten,
}

impl SeamFault {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::FenceSkipped,
        Self::OlderFenceGranted,
        Self::EndReadBeforeFence,
        Self::OldEpochAccepted,
        Self::CopyAheadKept,
        Self::ResumeForgotten,
    ];
}

impl Planted {
    /// All faults.
    pub fn all() -> impl Iterator<Item = Self> {
        Fault::ALL.into_iter().map(Self::Machine).chain(SeamFault::ALL.into_iter().map(Self::Seam))
    }
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(fault) => write!(f, "{fault:?}"),
            Self::Seam(fault) => write!(f, "{fault:?}"),
        }
    }
}
