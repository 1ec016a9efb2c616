//! Reports: the same runs for a terminal, a document, a spreadsheet and a CI server.

pub mod csv;
pub mod headline;
pub mod text;
pub mod units;
