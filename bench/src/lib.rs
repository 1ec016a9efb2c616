//! Seeded inputs of the benches.

pub mod changelogs;
pub mod cluster;
pub mod groups;
pub mod record_path;
