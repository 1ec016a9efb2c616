//! The program `understudy`.
fn main() {}
