//! Seeded inputs of the benches.

pub mod changelogs;
pub mod groups;
pub mod record_path;
