//! Real clusters on threads, files and RocksDB, put through what breaks them. Nothing sleeps: a test waits for events.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod capacity;
mod compaction;
mod copies;
mod crash;
mod harness;
mod leave;
mod memory;
mod shared_copies;
mod static_members;
mod whole;
