//! Shared by the tests: runs written down as text, and what they must come to.

#[allow(dead_code, reason = "each test program uses its own part")]
pub(crate) mod script;
