//! A native stateful stream engine whose hand-overs can be measured.
//!
//! A record goes source → turn → log → store; a member goes join → plan → give up → fence → replay → resume.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`clock`], [`position`], [`error`] | time, offsets, epochs, what can go wrong |
//! | [`log`] | one task's changelog: batches, segments, fencing |
//! | [`store`] | one task copy's state |
//! | [`source`] | a task's input |

pub mod clock;
pub mod config;
pub mod error;
pub mod event;
pub mod group;
pub mod log;
pub mod position;
pub mod source;
pub mod store;
