//! Reports: the same runs for a terminal, a document, a spreadsheet and a CI server.

pub mod charts;
pub mod compare_text;
mod comparison;
pub mod csv;
pub mod headline;
pub mod html;
mod inline;
pub mod junit;
pub mod markdown;
mod rows;
pub mod sweep_table;
pub mod text;
pub mod units;
pub mod view;
