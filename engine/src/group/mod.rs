//! The group protocol: Kafka's classic join, sync, heartbeat and leave in their essentials, as two machines.
//!
//! The [`Coordinator`] keeps the membership and the barrier, the [`Member`] keeps what one worker owns. Neither does
//! I/O or reads a clock: an event and the time go in, effects come out, and `deadline` says when to come back with a
//! tick. One driver runs them on threads, another on virtual time (`sim`).
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`message`] | what members, the coordinator and their drivers say to each other |
//! | [`coordinator`] | membership, the barrier, generations, timers |
//! | [`member`] | what one worker owns, learns and gives up |

pub mod coordinator;
mod fault;
pub mod member;
pub mod message;

pub use coordinator::Coordinator;
#[doc(hidden)]
pub use fault::Fault;
pub use member::{Member, MemberConfig};
