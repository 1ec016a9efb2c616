//! Workloads and scenarios: what is run, how it is recorded, what is kept. The program `understudy` is built on it.
//!
//! A scenario goes file → [`scenario::Plan`] → [`run`] → [`record`] → [`output`].
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`scenario`] | scenario files, read and checked as a whole |
//! | [`strategies`] | strategies as a command line names them |
//! | [`workload`] | a plan as the engine wants it: tasks, settings, sources |
//! | [`run`] | trials in blocks, one application after the other |
//! | [`record`] | an observer of the engine that keeps what results are made of |
//! | [`output`], [`sweep`] | the folder that results go to; a folder of such folders |
//! | [`watch`], [`stop`] | who is told how a run is going; how it is stopped |
//! | [`process`], [`environment`], [`wall`] | what the operating system says |

pub mod environment;
pub mod error;
pub mod output;
pub mod process;
pub mod record;
pub mod run;
pub mod scenario;
pub mod stop;
pub mod strategies;
pub mod sweep;
pub mod wall;
pub mod watch;
pub mod workload;

pub use error::Error;
