//! The program `understudy`: reads the command line, runs one command, ends with its exit code.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

mod cli;
mod compare_command;
mod exit;
mod interrupt;
mod list_command;
mod plan_command;
mod progress;
mod report_command;
mod result_file;
mod run_command;
mod schema_command;
mod trace_command;

use cli::{Cli, Command};
use exit::{Failure, Outcome};

/// Of one make for RocksDB and Rust, so that what either frees serves both, and goes back to the system in time.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    exit::code(dispatch(Cli::parse()))
}

fn dispatch(cli: Cli) -> Result<Outcome, Failure> {
    match cli.command {
        Command::List(args) => list_command::run(&args),
        Command::Run(args) => run_command::run(&args),
        Command::Trace(args) => trace_command::run(&args),
        Command::Plan(args) => plan_command::run(&args),
        Command::Report(args) => report_command::run(&args),
        Command::Compare(args) => compare_command::run(&args),
        Command::Schema(args) => schema_command::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "understudy", &mut script);
            exit::say(String::from_utf8_lossy(&script).trim_end());
            Ok(Outcome::Fine)
        }
    }
}
