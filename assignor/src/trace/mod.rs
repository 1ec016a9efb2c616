//! Scaling stories as text: each round's joins and the answer that the leader must give.
//!
//! [`Story::read`] reads one, [`replay`] plays it through the `learner` strategy and lists every difference.
//!
//! ```
//! use assignor::trace::{Story, replay};
//! let story = Story::read("two.trace", "
//!     title: A second member joins
//!     tasks: T1 T2
//!     stable:
//!       S1(assigned: [T1, T2], revoked: [], learning: [])
//!     rebalance: S2 joins
//!     join:
//!       S1(assigned: [T1, T2], revoked: [], learning: [])
//!       S2(assigned: [], revoked: [], learning: [])
//!     assign:
//!       S1(assigned: [T1, T2], revoked: [], learning: [])
//!       S2(assigned: [], revoked: [], learning: [T1])
//! ")?;
//! assert!(replay(&story)?.is_empty());
//! # Ok::<(), assignor::trace::TraceError>(())
//! ```

mod cursor;
mod error;
mod lines;
mod read;
mod replay;
mod story;
mod twice;

pub use error::{TraceError, TraceFault};
pub use replay::{Difference, Place, replay};
pub use story::{Line, Round, Story};
