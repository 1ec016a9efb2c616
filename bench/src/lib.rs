//! Seeded inputs of the benches.

pub mod changelogs;
pub mod cluster;
pub mod groups;
pub mod memory;
pub mod record_path;
pub mod replays;

/// What is measured runs with the allocator of the program `understudy`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
