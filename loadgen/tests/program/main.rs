//! Runs the real program and looks at what it says, writes and leaves. One binary, because linking RocksDB takes longer
//! than all of these tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod browser;
mod claiming;
mod common;
mod comparing;
#[cfg(unix)]
mod interrupting;
mod listing;
mod measuring;
mod mistakes;
mod page;
mod pairing;
mod planning;
mod restarting;
mod sweeping;
mod tracing;
