//! Seeded inputs of the benches.

pub mod changelogs;
