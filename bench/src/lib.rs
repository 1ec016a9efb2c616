//! Seeded inputs of the benches.

pub mod changelogs;
pub mod cluster;
pub mod groups;
pub mod memory;
pub mod record_path;
pub mod replays;
