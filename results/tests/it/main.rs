//! The tests of what others use, in one program: each further one would link everything once more.

mod compare;
mod latency;
mod metrics;
mod ownership;
mod pauses;
mod schema;
mod script;
mod stats;
mod sweep;
mod text_report;
mod timeline;
