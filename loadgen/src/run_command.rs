//! `understudy run`: scenarios under strategies, measured, written down, shown.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use assignor::Strategy;
use loadgen::environment::{disk, environment};
use loadgen::output::{Output, RESULT};
use loadgen::run::{self, Ending, Request};
use loadgen::scenario::{self, Load, Plan, When};
use loadgen::stop::Stop;
use loadgen::workload::Workload;
use loadgen::{strategies, wall};
use results::claim::{self, Verdict};
use results::report::text::{self, Style};
use results::report::units;
use results::schema::{RunFile, SCHEMA};

use crate::cli::RunArgs;
use crate::exit::{self, Failure, Outcome};
use crate::interrupt;
use crate::progress::Display;

/// A scenario that is ready to be run, and where its result will go.
struct Job {
    plan: Plan,
    strategies: Vec<Arc<dyn Strategy>>,
    output: Output,
}

/// Runs every scenario; nothing starts before all input has been found usable.
pub(crate) fn run(args: &RunArgs) -> Result<Outcome, Failure> {
    let asked = strategies::parse(&args.strategy).map_err(Failure::unusable)?;
    let plans = args
        .scenarios
        .iter()
        .map(|scenario| scenario::load(scenario, &args.set))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Failure::unusable)?;
    let started = wall::now();
    let mut jobs = Vec::new();
    for mut plan in plans {
        plan.notes.extend(check_load(&plan)?);
        let dir = folder(args, &plan, started);
        if jobs.iter().any(|job: &Job| job.output.dir() == dir) {
            return Err(Failure::Unusable(anyhow!("scenario {} is named twice", plan.name)));
        }
        check_space(&plan, &dir)?;
        let output = Output::prepare(&dir).map_err(Failure::unusable)?;
        let strategies = match asked.as_slice() {
            [] => strategies::parse(&plan.strategies).map_err(Failure::unusable)?,
            asked => asked.to_vec(),
        };
        jobs.push(Job { plan, strategies, output });
    }

    let stop = interrupt::install().map_err(Failure::Run)?;
    let display = Display::new();
    let mut worst = Outcome::Fine;
    for job in jobs {
        let mut result = heading(args, &job.plan, &job.strategies, &job.output, started);
        match run_job(job, args, &display, &stop, &mut result)? {
            Outcome::Interrupted => return Ok(Outcome::Interrupted),
            Outcome::Failed => worst = Outcome::Failed,
            Outcome::Fine => {}
        }
    }
    Ok(worst)
}

/// Where a scenario's result goes.
fn folder(args: &RunArgs, plan: &Plan, started: std::time::SystemTime) -> PathBuf {
    match &args.out {
        Some(dir) if args.scenarios.len() == 1 => dir.clone(),
        Some(dir) => dir.join(&plan.name),
        None => Path::new("understudy-runs").join(format!("{}-{}", wall::utc_compact(started), plan.name)),
    }
}

/// Reads a recorded load once, so that a broken line is found before anything starts. Says what is odd about it.
fn check_load(plan: &Plan) -> Result<Vec<String>, Failure> {
    let Load::Recorded { files, .. } = &plan.load else { return Ok(Vec::new()) };
    let workload = Workload::new(plan, 0).map_err(Failure::unusable)?;
    let (records, lasts) = workload.extent().unwrap_or_default();
    if records == 0 {
        return Err(Failure::Unusable(anyhow!(
            "{} has no records: a recorded load has lines of time,key,bytes; `understudy run --help` shows how to make \
             one",
            shown(files)
        )));
    }
    let mut notes = Vec::new();
    let run = plan.warm_up + plan.duration;
    if lasts < run {
        notes.push(format!(
            "the recorded load lasts {:.1}s, the run {:.1}s: nothing arrives after it; `load.loop = true` begins anew",
            lasts.as_secs_f64(),
            run.as_secs_f64()
        ));
    }
    if let Some(broken) = workload.broken() {
        let first: Vec<String> = broken
            .first
            .iter()
            .map(|(path, line, what)| format!("{}:{line} ({what})", path.display()))
            .collect();
        let more = if broken.count > first.len() as u64 { ", …" } else { "" };
        notes.push(format!("{} broken lines were passed over: {}{more}", broken.count, first.join(", ")));
    }
    Ok(notes)
}

/// The files of a recorded load, for a message.
fn shown(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Changelogs are kept twice, and stores take as much again on the instances that a task visits.
const COPIES: u64 = 4;

fn check_space(plan: &Plan, dir: &Path) -> Result<(), Failure> {
    let need = plan.preload_bytes().saturating_mul(COPIES);
    match disk(dir) {
        Some(disk) if disk.free_bytes < need => Err(Failure::Unusable(anyhow!(
            "scenario {} needs about {} of disk, and {} has {} free; choose another disk with --out, or \
             lower state.keys, state.value_bytes or state.updates_per_key",
            plan.name,
            units::bytes(need as f64),
            dir.display(),
            units::bytes(disk.free_bytes as f64),
        ))),
        _ => Ok(()),
    }
}

fn heading(
    args: &RunArgs,
    plan: &Plan,
    strategies: &[Arc<dyn Strategy>],
    output: &Output,
    started: std::time::SystemTime,
) -> RunFile {
    let mut scenario = plan.document.clone();
    scenario.insert("name".to_owned(), plan.name.clone().into());
    let mut warnings = plan.notes.clone();
    if cfg!(debug_assertions) {
        warnings.push("a debug build: its figures mean nothing; build with --release".to_owned());
    }
    RunFile {
        schema: SCHEMA.to_owned(),
        title: plan.title.clone(),
        command: command(args, plan, strategies),
        started: wall::utc(started),
        scenario,
        environment: environment(output.dir()),
        paired: plan.events.iter().all(|event| matches!(event.when, When::Time(_))),
        incomplete: true,
        warnings,
        restore_ceiling: None,
        claims: Vec::new(),
        runs: Vec::new(),
    }
}

/// The arguments that reproduce it.
fn command(args: &RunArgs, plan: &Plan, strategies: &[Arc<dyn Strategy>]) -> Vec<String> {
    let names: Vec<String> = strategies.iter().map(|strategy| strategy.name()).collect();
    let scenario = args.scenarios.iter().find(|scenario| {
        Path::new(scenario).file_stem().is_some_and(|stem| stem.to_string_lossy() == plan.name)
    });
    let mut command: Vec<String> = ["understudy", "run"].map(String::from).to_vec();
    command.push(scenario.unwrap_or(&plan.name).clone());
    command.extend(["--strategy".to_owned(), names.join(",")]);
    command.extend(["--trials".to_owned(), args.trials.to_string()]);
    command.extend(["--seed".to_owned(), args.seed.to_string()]);
    for set in &args.set {
        command.extend(["--set".to_owned(), set.clone()]);
    }
    command
}

fn run_job(
    job: Job,
    args: &RunArgs,
    display: &Display,
    stop: &Stop,
    result: &mut RunFile,
) -> Result<Outcome, Failure> {
    let Job { plan, strategies, mut output } = job;
    display.title(&plan);
    let work = output.work_dir().context("no folder for state").map_err(Failure::Run)?;
    let guard = interrupt::guard(work.path());
    let request = Request {
        plan: &plan,
        strategies: &strategies,
        trials: args.trials,
        seed: args.seed,
        work_dir: work.path(),
    };
    let ending = run::run(&request, display, stop, &mut |finished| output.add(finished, result));
    display.clear();
    let removed = work.close();
    drop(guard);

    let ending = ending.map_err(Failure::run)?;
    result.incomplete = !matches!(ending, Ending::Complete);
    if !result.runs.is_empty() {
        if !result.incomplete {
            result.claims = claim::judge(&plan.claims, result);
        }
        output.save(result).map_err(Failure::run)?;
        show(&plan, &output, result);
    }
    removed.context("the folder of the run's state can't be removed").map_err(Failure::Run)?;
    match ending {
        Ending::Failed(error) => Err(Failure::Run(anyhow::Error::new(error).context(kept(result)))),
        Ending::Stopped => {
            exit::complain(&format!("stopped: {}", kept(result)));
            Ok(Outcome::Interrupted)
        }
        Ending::Complete if result.runs.iter().any(|run| !run.audit.passed) => {
            exit::complain("a run failed its audit: it is void, and so is every figure of it");
            Ok(Outcome::Failed)
        }
        Ending::Complete if result.claims.iter().any(|claim| claim.verdict == Verdict::Failed) => {
            exit::complain("a claim of the scenario failed");
            Ok(Outcome::Failed)
        }
        Ending::Complete => Ok(Outcome::Fine),
    }
}

fn kept(result: &RunFile) -> &'static str {
    if result.runs.is_empty() { "nothing had been measured yet" } else { "what was measured is kept" }
}

fn show(plan: &Plan, output: &Output, result: &RunFile) {
    let width = terminal_width();
    exit::say(text::render(result, Style { width, color: exit::styled(&io::stdout()) }).trim_end());
    let recorded = match &plan.load {
        Load::Recorded { files, .. } => format!("recorded load: {}\n", shown(files)),
        Load::Synthetic { .. } => String::new(),
    };
    exit::say(&format!(
        "\n{recorded}results: {}  (latency-*.hlog, timeline.csv beside it)",
        output.dir().join(RESULT).display()
    ));
}

/// Columns of the terminal, or of a page where nobody looks.
fn terminal_width() -> u16 {
    terminal_size::terminal_size_of(io::stdout()).map_or(100, |(width, _)| width.0)
}
