//! What a run measured, as pure data: no I/O beyond readers and writers handed in, no clock, no engine.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`event`] | the typed events of one run, the input of every metric |
//! | [`phase`] | the phases of a run, and the rule that tells them apart |
//! | [`latency`] | the recorder of latencies, one histogram per 100 ms and phase |
//! | [`histogram`] | the one shape of histogram, and the figures read off it |
//! | [`interval_log`] | latencies as an HdrHistogram interval log |
//! | [`warm_up`] | whether the warm-up was long enough |
//! | [`pause`] | the pauses of tasks, each broken into parts that add up to it |
//! | [`ownership`] | who ran, restored and learned which task when |
//! | [`metric`] | all metrics of one run, from events and latencies |
//! | [`timeline`] | one row per 100 ms, and `timeline.csv` |
//! | [`environment`] | where and with what a run was made |
//! | [`assemble`] | one run's entry of the file, from what was recorded |
//! | [`figure`] | the catalogue of figures that can be shown, compared, gated |
//! | [`schema`] | the shape of `result.json`, and its JSON Schema |
//! | [`read`] | reads a `result.json` back |
//! | [`stats`] | statistics over paired trials |
//! | [`likeness`] | whether two results may be compared |
//! | [`compare`] | two sides, figure by figure |
//! | [`gate`] | limits that a comparison has to keep |
//! | [`claim`] | what a scenario says must hold, judged |
//! | [`stretches`] | sets of whole numbers that come in long stretches |
//! | [`sweep`] | what the settings that differ between results do |
//! | [`sweep_file`] | the shape of `sweep.json`, the list of a sweep's cells |
//! | [`report`] | the same runs for a terminal, a document, a spreadsheet, a CI server |

pub mod assemble;
pub mod claim;
pub mod compare;
pub mod environment;
pub mod event;
pub mod figure;
pub mod gate;
pub mod histogram;
pub mod interval_log;
pub mod latency;
pub mod likeness;
pub mod metric;
pub mod ownership;
pub mod pause;
pub mod phase;
pub mod read;
pub mod report;
pub mod schema;
pub mod stats;
pub mod stretches;
pub mod sweep;
pub mod sweep_file;
pub mod timeline;
pub mod warm_up;
