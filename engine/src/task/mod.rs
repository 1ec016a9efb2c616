//! A running task: what one turn does, and how a task gets to its first.

mod cache;
pub mod processor;
mod resume;
mod turn;

pub(crate) use cache::Cache;
pub use cache::CommitOptions;
pub use resume::{Discarded, Opened, Parts, Why, open_copy, resume};
pub use turn::{ActiveTask, Breaker, NeverBreaks, Step, Turn, TurnError, When};
