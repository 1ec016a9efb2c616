//! The group protocol: Kafka's classic join, sync, heartbeat and leave in their essentials, as two machines.
//!
//! The [`coordinator`] keeps the membership and the barrier, the [`member`] keeps what one worker owns. Neither does
//! I/O or reads a clock: an event and the time go in, effects come out, and `deadline` says when to come back with a
//! tick. One driver runs them on threads (`cluster`), another on virtual time (`sim`).

pub mod message;
