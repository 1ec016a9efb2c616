//! What can be wrong with a trace file.

use crate::ids::{MemberId, TaskId};
use crate::options::OptionError;
use crate::view::ViewError;

/// A trace that cannot be read, with its place. (A trace that reads but does not hold is a
/// [`Difference`](super::Difference) instead.)
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {fault}")]
pub struct TraceError {
    /// The file, as it was named.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub fault: Box<TraceFault>,
}

/// What is wrong at one place of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceFault {
    /// A line that the grammar does not have, or not here.
    #[error("`{found}` is not understood here: {expected}")]
    Syntax {
        /// What is there.
        found: String,
        /// What could be there.
        expected: &'static str,
    },
    /// A part that every trace needs is missing.
    #[error("the file has no `{0}` part")]
    Missing(&'static str),
    /// A part that may be there once is there again.
    #[error("`{0}` is there a second time")]
    PartTwice(&'static str),
    /// A task that `tasks:` does not name.
    #[error("task {0} does not exist: `tasks:` does not name it")]
    UnknownTask(TaskId),
    /// A member that is not part of this round.
    #[error("member {0} does not exist in this round")]
    UnknownMember(MemberId),
    /// A task in two places that exclude each other.
    #[error("task {0} is put twice")]
    TaskTwice(TaskId),
    /// A member with two lines in one list.
    #[error("member {0} is put twice")]
    MemberTwice(MemberId),
    /// A number that does not fit, or is no number.
    #[error("`{0}` is not a whole number in range")]
    Number(String),
    /// An option of the strategy that makes no sense.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// Joins that no group can have.
    #[error(transparent)]
    View(#[from] ViewError),
}
