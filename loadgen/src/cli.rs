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
    /// Results as text, a page, markdown or CSV
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
  understudy run scale-up --sweep state.keys=1e5,1e6 --sweep group.profile=tight,kafka --out sweep
  understudy run scale-up --trials 6 --aa=all          every run twice: the noise floor from 6 pairs a strategy
  understudy run scale-up --set load.file=words.csv    play a recorded load

A recorded load has lines of time,key,bytes (seconds, text, number); docs/scenarios.md shows how to make one of a web
server's access log. From any text, each word a key:
  tr -s '[:space:]' '\\n' < book.txt | tr -d , | awk 'NF { printf \"%.4f,%s,%d\\n\", NR / 10000, $1, length($1) }'";

/// Which runs have an A/A twin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Aa {
    /// No run
    None,
    /// One strategy of each trial, by turns
    Turns,
    /// Every run
    All,
}

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

    /// Run every combination of these values of keys: `state.keys=1e5,1e6`. Given again with the same --out, finished
    /// runs stay and the rest is run
    #[arg(long, value_name = "KEY=V,V")]
    pub(crate) sweep: Vec<String>,

    /// Which runs are made twice, so that `compare` knows the noise: `turns` (one strategy of each trial, by turns),
    /// `all`, `none` [default: turns from 5 trials on, else none; all if no value is given]
    #[arg(long, value_name = "WHICH", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub(crate) aa: Option<Aa>,

    /// Folder for the results [default: understudy-runs/TIME-SCENARIO, in UTC]
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    /// Open the report in a browser at the end
    #[arg(long)]
    pub(crate) open: bool,
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
    /// One page with everything, for a browser
    Html,
    /// One row per run, for change-point tools and spreadsheets
    Csv,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  understudy report understudy-runs/*/ --format html --out report.html --open
  understudy report understudy-runs/*/ --format markdown --out summary.md
  understudy report sweep            a sweep: its cells, and a table per swept key

With --out, markdown leaves its pictures as SVG beside it.";

#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// result.json files, or the folders that hold them; a sweep's folder stands for all of its cells
    #[arg(required = true, value_name = "RESULT", value_hint = ValueHint::AnyPath)]
    pub(crate) results: Vec<PathBuf>,

    /// How to write it
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,

    /// Write it here instead of printing it
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,

    /// Open the file that was written
    #[arg(long, requires = "out")]
    pub(crate) open: bool,
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
    /// What is compared with: a result.json, or the folder that holds it; of a sweep, cell is compared with cell
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

#[cfg(test)]
mod tests {
    use super::*;

    const DOCS: [(&str, &str); 4] = [
        ("README.md", include_str!("../../README.md")),
        ("docs/ci.md", include_str!("../../docs/ci.md")),
        ("docs/metrics.md", include_str!("../../docs/metrics.md")),
        ("understudy run --help", RUN_EXAMPLES),
    ];

    /// Words as a shell splits them, as far as documents need it.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut quote) = (vec![String::new()], None);
        for c in line.chars() {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => quote = Some(c),
                (' ', None) => words.push(String::new()),
                (c, _) => words.last_mut().unwrap().push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn every_command_in_the_documents_can_be_typed() {
        let mut tried = 0;
        for (document, text) in DOCS {
            let whole = text.replace("\\\n", " ");
            for line in whole.lines().map(str::trim) {
                let line = line.trim_start_matches("- run: ").trim_start_matches("./");
                let (program, rest) = line.split_once(' ').unwrap_or((line, ""));
                if !["understudy", "understudy-new", "understudy-base"].contains(&program) {
                    continue;
                }
                // What follows three blanks explains; what follows an arrow is the shell's.
                let typed = rest
                    .split("   ")
                    .next()
                    .unwrap()
                    .split(" >")
                    .next()
                    .unwrap()
                    .split(" ||")
                    .next()
                    .unwrap();
                let typed = [vec![program.to_owned()], words(typed)].concat();
                if let Err(error) = Cli::try_parse_from(&typed) {
                    panic!("{document}: {line}\n{error}");
                }
                tried += 1;
            }
        }
        assert!(tried > 20, "{tried}");
    }
}
