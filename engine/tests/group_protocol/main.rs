//! The group protocol's two machines, driven by hand on virtual time over a wire that keeps order and loses nothing
//! unless a test says so. (Chaos is the simulator's: `sim.rs`.)

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod company;
mod faulty_wire;
mod group;
mod kafka_timers;
mod leaving;
mod stalls;
mod static_members;
mod stories;
mod succession;
mod taken_back;
