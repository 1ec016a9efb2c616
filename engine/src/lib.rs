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
//! | [`task`] | a running task: its turns, its processor, how it resumes |
//! | [`restore`] | from the log into the store |
//! | [`group`] | the protocol: a coordinator and members, as machines without I/O |
//! | [`cluster`] | the same on threads: instances, workers, restorers, and what a script can do to them |
//! | [`sim`] | the same machines and storage on virtual time, under everything that can go wrong |
//! | [`pin`] | on which cores its threads run |
//! | [`preload`], [`audit`] | state before the clock starts; whether every record was applied exactly once |

pub mod audit;
mod board;
pub mod clock;
pub mod cluster;
pub mod config;
pub mod error;
pub mod event;
mod folder;
pub mod group;
mod instance;
pub mod log;
pub mod pin;
pub mod position;
mod prefix;
pub mod preload;
pub mod restore;
pub mod sim;
mod slice;
pub mod source;
pub mod store;
mod table;
pub mod task;
