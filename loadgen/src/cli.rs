//! The command line: what can be asked for, and help that teaches it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

const ABOUT: &str =
    "Measures what a rebalance costs a stateful stream application, and what a learner task saves.";

const EXAMPLES: &str = "\
Examples:
  understudy list                                     what can be run
  understudy run scale-up --strategy eager,learner    two strategies on the same load and events
  understudy run my.toml --set state.keys=1_000_000   your own scenario, one key changed
  understudy trace assignor/traces/scale-up.trace     replay a story through the assignor

Exit codes:
  0    fine
  1    a gate, an audit, a scenario's claim or a trace failed
  2    unusable input
  3    the run itself failed
  130  stopped by the user; what was measured is kept and marked incomplete";

/// Everything that can be typed.
#[derive(Debug, Parser)]
#[command(name = "understudy", version, about = ABOUT, after_help = EXAMPLES, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Built-in scenarios, strategies, and the strategies' options
    List(ListArgs),
    /// Run scenarios under strategies and measure
    Run(RunArgs),
    /// Replay traces of the assignor's decisions
    Trace(TraceArgs),
    /// What each strategy would do with a group
    Plan(PlanArgs),
    /// Results as text, markdown or CSV
    Report(ReportArgs),
    /// Compare two results, or two strategies in one, and gate on the difference
    Compare(CompareArgs),
    /// JSON Schema of scenario and result files
    Schema(SchemaArgs),
    /// A completion script for your shell
    #[command(
        after_help = "Example:\n  understudy completions bash > ~/.local/share/bash-completion/completions/understudy"
    )]
    Completions {
        /// Which shell
        shell: Shell,
    },
}

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

const LIST_EXAMPLES: &str = "\
Examples:
  understudy list
  understudy list --format json | jq -r '.scenarios[].name'";

#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ListArgs {
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

const RUN_EXAMPLES: &str = "\
Examples:
  understudy run scale-up
  understudy run scale-up scale-down --strategy eager,learner --trials 3
  understudy run scale-up --strategy 'learner(revocation=two-phase,max_learners=4),eager'
  understudy run my.toml --set state.keys=50_000 --set at.0.time=5s --out results/today
  understudy run scale-up --set load.file=words.csv    play a recorded load

A recorded load has lines of time,key,bytes (seconds, text, number); docs/scenarios.md shows how to make one of a web
server's access log. From any text, each word a key:
  tr -s '[:space:]' '\\n' < book.txt | tr -d , | awk 'NF { printf \"%.4f,%s,%d\\n\", NR / 10000, $1, length($1) }'";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// Built-in scenarios or TOML files
    #[arg(required = true, value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub(crate) scenarios: Vec<String>,

    /// Strategies to compare, e.g. `eager,learner(max_learners=1)` [default: the scenario's own, or eager,learner]
    #[arg(long, short, value_name = "S,S")]
    pub(crate) strategy: Vec<String>,

    /// Runs of each strategy, in random order within each trial
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,

    /// Seed of arrivals and order; equal seeds give equal arrivals and membership events
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Change a key of the scenario, dotted: `state.keys=50_000`, `group.profile=kafka`
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Folder for the results [default: understudy-runs/TIME-SCENARIO, in UTC]
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  understudy trace assignor/traces/*.trace")]
pub(crate) struct TraceArgs {
    /// Trace files
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}

const PLAN_EXAMPLES: &str = "\
Examples:
  understudy plan group.trace --join S11 --explain
  understudy plan group.trace --join S11@I3*2 --join S12 --leave S2
  understudy plan group.trace --leave S2 --format json | jq '.strategies[] | {strategy, moves, rebalances, restored_bytes}'

FILE has the `tasks:`, `members:` and `stable:` parts of a trace; its `option` lines set up `learner`:
  tasks: T1=20 T2=30 T3 T4~           T1's state has size 20; T4 has no state
  members: S1@I1 S2@I2*2              optional: instances, and a member of capacity 2
  stable:
    S1(assigned: [T1, T2], revoked: [], learning: [])
    S2(assigned: [T3, T4], revoked: [], learning: [])

Columns: moves (tasks that change owner) beside the fewest that balance needs, rebalances until the group is at rest and
the immediate follow-ups among them, and state that copies have to read from changelogs.";

#[derive(Debug, Args)]
#[command(after_help = PLAN_EXAMPLES)]
pub(crate) struct PlanArgs {
    /// The group as it is
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// A member that joins: `S11`, on an instance `S11@I3`, with capacity 2 `S11@I3*2`; may be given again
    #[arg(long, value_name = "MEMBER")]
    pub(crate) join: Vec<String>,

    /// A member that leaves; may be given again
    #[arg(long, value_name = "MEMBER")]
    pub(crate) leave: Vec<String>,

    /// Say why each copy is where it is put
    #[arg(long)]
    pub(crate) explain: bool,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// Which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Schema {
    /// A scenario file
    Scenario,
    /// A result.json
    Result,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Which file
    #[arg(value_enum)]
    pub(crate) which: Schema,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For a terminal
    Text,
    /// For a CI summary or an issue
    Markdown,
    /// One row per run, for change-point tools and spreadsheets
    Csv,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  understudy report understudy-runs/*/ --format markdown --out summary.md")]
pub(crate) struct ReportArgs {
    /// result.json files, or the folders that hold them
    #[arg(required = true, value_name = "RESULT", value_hint = ValueHint::AnyPath)]
    pub(crate) results: Vec<PathBuf>,

    /// How to write it
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,

    /// Write it here instead of printing it
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
}

/// How a comparison is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// For a terminal
    Text,
    /// For a CI summary
    Markdown,
    /// JUnit XML: a test case per gate
    Junit,
    /// One row per figure
    Csv,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  understudy compare before/ after/
  understudy compare before/ after/ --gate 'task_pause_ms.max<=+10%'
  understudy compare result.json --between eager,learner --gate 'task_pause_ms.max<=-90%'

A gate fails (exit code 1) only where the difference is beyond chance and beyond the noise floor; it is never passed
for want of trials: too few are said so. Run with --trials 5 or more.";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// What is compared with: a result.json, or the folder that holds it
    #[arg(value_name = "BASE", value_hint = ValueHint::AnyPath)]
    pub(crate) base: PathBuf,

    /// What is compared
    #[arg(value_name = "NEW", value_hint = ValueHint::AnyPath)]
    pub(crate) new: Option<PathBuf>,

    /// Two strategies of BASE instead of a second result, the base first
    #[arg(long, value_name = "S,S")]
    pub(crate) between: Option<String>,

    /// What must hold, e.g. 'task_pause_ms.max<=+10%' or 'stop_the_world_ms<=20ms'
    #[arg(long, value_name = "GATE")]
    pub(crate) gate: Vec<String>,

    /// How to write it
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub(crate) format: CompareFormat,

    /// Write it here instead of printing it
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,

    /// Compare results of unlike scenarios, seeds or machines all the same
    #[arg(long)]
    pub(crate) allow_unlike: bool,
}
