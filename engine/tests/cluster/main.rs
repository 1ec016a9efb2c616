//! Real clusters on threads, files and RocksDB, put through what breaks them. Nothing sleeps: a test waits for events.

mod crash;
mod harness;
mod leave;
