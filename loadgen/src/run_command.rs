//! `understudy run`: scenarios under strategies, measured, written down, shown.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use assignor::Strategy;
use loadgen::environment::{disk, environment};
use loadgen::output::{Output, REPORT, RESULT};
use loadgen::run::{self, Ending, Request, Twins};
use loadgen::scenario::{self, Cell, Load, Plan, When};
use loadgen::stop::Stop;
use loadgen::sweep::Sweep;
use loadgen::workload::Workload;
use loadgen::{strategies, wall};
use results::claim::{self, Verdict};
use results::report::view::Material;
use results::report::{html, sweep_table, text, units};
use results::schema::{RunFile, SCHEMA};
use results::sweep::sweeps;
use results::sweep_file::{self, Conditions, SweepFile};

use crate::cli::{Aa, RunArgs};
use crate::exit::{self, Failure, Outcome};
use crate::interrupt;
use crate::progress::Display;
use crate::result_file::{self, deliver, style};

/// A scenario that is ready to be run: one cell, or a sweep's.
struct Job<'a> {
    asked: Asked<'a>,
    cells: Vec<Cell>,
    target: Target,
}

/// Where a job's results go.
enum Target {
    Single(Output),
    Sweep(Sweep),
}

/// What is asked for.
struct Asked<'a> {
    args: &'a RunArgs,
    /// Those that were asked for, or else the scenario's own.
    strategies: Vec<Arc<dyn Strategy>>,
    twins: Twins,
    started: SystemTime,
}

/// Who is told, and who may stop it.
struct Console {
    display: Display,
    stop: Arc<Stop>,
}

/// Runs every scenario; nothing starts before all input has been found usable.
pub(crate) fn run(args: &RunArgs) -> Result<Outcome, Failure> {
    let asked = strategies::parse(&args.strategy).map_err(Failure::unusable)?;
    let started = wall::now();
    let scenarios = args
        .scenarios
        .iter()
        .map(|scenario| scenario::load_cells(scenario, &args.set, &args.sweep))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Failure::unusable)?;
    let mut jobs = Vec::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    for cells in scenarios {
        let name = cells[0].plan.name.clone();
        let dir = folder(args, &name, started);
        if folders.contains(&dir) {
            return Err(Failure::Unusable(anyhow!("scenario {name} is named twice")));
        }
        let strategies = match asked.as_slice() {
            [] => strategies::parse(&cells[0].plan.strategies).map_err(Failure::unusable)?,
            asked => asked.to_vec(),
        };
        let asked = Asked { args, strategies, twins: twins(args), started };
        jobs.push(prepare(asked, cells, &dir)?);
        folders.push(dir);
    }

    let console = Console { stop: interrupt::install().map_err(Failure::Run)?, display: Display::new() };
    let mut worst = Outcome::Fine;
    for job in jobs {
        match job.run(&console)? {
            Outcome::Interrupted => return Ok(Outcome::Interrupted),
            Outcome::Failed => worst = Outcome::Failed,
            Outcome::Fine => {}
        }
    }
    Ok(worst)
}

/// Checks everything that can be checked beforehand, and makes sure of the folder.
fn prepare<'a>(asked: Asked<'a>, mut cells: Vec<Cell>, dir: &Path) -> Result<Job<'a>, Failure> {
    for cell in &mut cells {
        cell.plan.notes.extend(check_load(&cell.plan)?);
        check_space(&cell.plan, dir)?;
    }
    let target = if asked.args.sweep.is_empty() {
        Target::Single(Output::prepare(dir).map_err(Failure::unusable)?)
    } else {
        let sweep = Sweep::open(dir, asked.sweep(&cells), &environment(dir)).map_err(Failure::unusable)?;
        Target::Sweep(sweep)
    };
    Ok(Job { asked, cells, target })
}

/// Which runs have an A/A twin.
fn twins(args: &RunArgs) -> Twins {
    match args.aa {
        Some(Aa::None) => Twins::None,
        Some(Aa::Turns) => Twins::Turns,
        Some(Aa::All) => Twins::All,
        None => Twins::automatic(args.trials),
    }
}

impl Asked<'_> {
    /// What the sweep consists of.
    fn sweep(&self, cells: &[Cell]) -> SweepFile {
        SweepFile {
            schema: sweep_file::SCHEMA.to_owned(),
            conditions: Conditions {
                scenario: cells[0].plan.name.clone(),
                strategies: self.strategies.iter().map(|strategy| strategy.name()).collect(),
                trials: self.args.trials,
                seed: self.args.seed,
                twins: self.twins.name().to_owned(),
            },
            cells: cells
                .iter()
                .map(|cell| sweep_file::Cell {
                    folder: cell.folder(),
                    sweep: cell.sweep.clone(),
                    scenario: document(&cell.plan),
                })
                .collect(),
        }
    }
}

impl Job<'_> {
    /// Runs what there is to run, and shows it.
    fn run(self, console: &Console) -> Result<Outcome, Failure> {
        let asked = &self.asked;
        match self.target {
            Target::Single(output) => {
                let cell = &self.cells[0];
                let mut result = asked.heading(cell, output.dir());
                let page = output.dir().join(REPORT);
                let ended = run_cell(&cell.plan, output, asked, console, &mut result, &mut || Ok(()));
                open_page(asked.args, &page);
                ended
            }
            Target::Sweep(sweep) => run_sweep(&self.cells, sweep, asked, console),
        }
    }
}

/// Runs the cells that are not finished, and ends with a table per swept key of what there is.
fn run_sweep(
    cells: &[Cell],
    mut sweep: Sweep,
    asked: &Asked<'_>,
    console: &Console,
) -> Result<Outcome, Failure> {
    let mut results = Vec::new();
    let mut worst = Ok(Outcome::Fine);
    for (index, cell) in cells.iter().enumerate() {
        exit::complain(&format!("cell {} of {}: {}", index + 1, cells.len(), cell.folder()));
        let (result, ended) = run_missing(index, cell, &mut sweep, asked, console)?;
        results.extend(Some(result).filter(|result| !result.runs.is_empty()));
        match ended {
            Ok(Outcome::Fine) => {}
            Ok(Outcome::Failed) => worst = ended,
            Ok(Outcome::Interrupted) | Err(_) => {
                worst = ended;
                break;
            }
        }
    }
    let tables = sweeps(&results.iter().collect::<Vec<_>>());
    exit::say(&format!("\n{}", sweep_table::text(&tables, style()).trim_end()));
    if let (Ok(_), false) = (&worst, results.is_empty()) {
        let page = sweep_page(&sweep, &results)?;
        exit::say(&format!("\nreport:  {}", page.display()));
        open_page(asked.args, &page);
    }
    worst
}

/// Writes the page of all cells that have been run, into the sweep's own folder.
fn sweep_page(sweep: &Sweep, results: &[RunFile]) -> Result<PathBuf, Failure> {
    // Cells are run in their order, and only those at the end can be missing.
    let timelines = (0..results.len())
        .map(|cell| result_file::timelines(&sweep.cell_dir(cell)))
        .collect::<Result<Vec<_>, _>>()?;
    let page = sweep.dir().join(REPORT);
    deliver(&html::page(&result_file::materials(results, &timelines)), Some(&page))?;
    Ok(page)
}

/// Opens a report if that was asked for and there is one.
fn open_page(args: &RunArgs, page: &Path) {
    if args.open && page.exists() {
        result_file::open(page);
    }
}

/// Runs what is missing of a sweep's cell: its result, and how that ended.
fn run_missing(
    index: usize,
    cell: &Cell,
    sweep: &mut Sweep,
    asked: &Asked<'_>,
    console: &Console,
) -> Result<(RunFile, Result<Outcome, Failure>), Failure> {
    let found = sweep.take(index);
    let mut result = found.unwrap_or_else(|| asked.heading(cell, &sweep.cell_dir(index)));
    if !result.incomplete {
        exit::complain("finished, left as it is");
        let failed = result.runs.iter().any(|run| !run.audit.passed)
            || result.claims.iter().any(|claim| claim.verdict == Verdict::Failed);
        return Ok((result, Ok(if failed { Outcome::Failed } else { Outcome::Fine })));
    }
    if !result.runs.is_empty() {
        exit::complain(&format!("{} finished runs are left as they are", result.runs.len()));
    }
    let output = sweep.output(index, &result.runs).map_err(Failure::unusable)?;
    let ended = run_cell(&cell.plan, output, asked, console, &mut result, &mut || sweep.begin());
    Ok((result, ended))
}

/// Where a scenario's result goes.
fn folder(args: &RunArgs, name: &str, started: SystemTime) -> PathBuf {
    match &args.out {
        Some(dir) if args.scenarios.len() == 1 => dir.clone(),
        Some(dir) => dir.join(name),
        None => Path::new("understudy-runs").join(format!("{}-{name}", wall::utc_compact(started))),
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

/// The scenario as the result shows it.
fn document(plan: &Plan) -> serde_json::Map<String, serde_json::Value> {
    let mut scenario = plan.document.clone();
    scenario.insert("name".to_owned(), plan.name.clone().into());
    if let Some(file) = scenario.get_mut("load").and_then(|load| load.get_mut("file"))
        && let Some(path) = file.as_str().map(nameless)
    {
        *file = path.into();
    }
    scenario
}

/// A path as it was typed; of one from the root only the file's name, since the rest may name a user.
fn nameless(path: &str) -> String {
    match Path::new(path).file_name() {
        Some(name) if Path::new(path).is_absolute() => name.to_string_lossy().into_owned(),
        _ => path.to_owned(),
    }
}

impl Asked<'_> {
    /// A result without its runs.
    fn heading(&self, cell: &Cell, dir: &Path) -> RunFile {
        let plan = &cell.plan;
        let mut warnings = plan.notes.clone();
        if cfg!(debug_assertions) {
            warnings.push("a debug build: its figures mean nothing; build with --release".to_owned());
        }
        RunFile {
            schema: SCHEMA.to_owned(),
            title: plan.title.clone(),
            command: self.command(cell),
            started: wall::utc(self.started),
            scenario: document(plan),
            strategies: self.strategies.iter().map(|strategy| strategy.name()).collect(),
            sweep: cell.sweep.clone(),
            environment: environment(dir),
            paired: plan.events.iter().all(|event| matches!(event.when, When::Time(_))),
            incomplete: true,
            warnings,
            restore_ceiling: None,
            claims: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// The arguments that reproduce it: a cell's are those of a run by itself.
    fn command(&self, cell: &Cell) -> Vec<String> {
        let args = self.args;
        let names: Vec<String> = self.strategies.iter().map(|strategy| strategy.name()).collect();
        let scenario = args.scenarios.iter().find(|scenario| {
            Path::new(scenario).file_stem().is_some_and(|stem| stem.to_string_lossy() == cell.plan.name)
        });
        let mut command: Vec<String> = ["understudy", "run"].map(String::from).to_vec();
        command.push(nameless(scenario.unwrap_or(&cell.plan.name)));
        command.extend(["--strategy".to_owned(), names.join(",")]);
        command.extend(["--trials".to_owned(), args.trials.to_string()]);
        command.extend(["--seed".to_owned(), args.seed.to_string()]);
        if self.twins != Twins::automatic(args.trials) {
            command.push(format!("--aa={}", self.twins.name()));
        }
        for set in &args.set {
            let (key, value) = set.split_once('=').unwrap_or((set, ""));
            command.extend(["--set".to_owned(), format!("{key}={}", nameless(value))]);
        }
        for (key, value) in &cell.sweep {
            let value = value.as_str().map_or_else(|| value.to_string(), nameless);
            command.extend(["--set".to_owned(), format!("{key}={value}")]);
        }
        command
    }
}

/// Runs what is missing of one result. `begin` is called before anything is written.
fn run_cell(
    plan: &Plan,
    mut output: Output,
    asked: &Asked<'_>,
    console: &Console,
    result: &mut RunFile,
    begin: &mut dyn FnMut() -> Result<(), loadgen::Error>,
) -> Result<Outcome, Failure> {
    console.display.title(plan);
    let work = output.work_dir().context("no folder for state").map_err(Failure::Run)?;
    let guard = interrupt::guard(work.path());
    let done: Vec<_> = result.runs.iter().map(|run| (run.strategy.clone(), run.trial, run.replica)).collect();
    let request = Request {
        plan,
        strategies: &asked.strategies,
        trials: asked.args.trials,
        twins: asked.twins,
        done: &done,
        seed: asked.args.seed,
        work_dir: work.path(),
    };
    let ending = run::run(&request, &console.display, &console.stop, &mut |finished| {
        begin()?;
        output.add(finished, result)
    });
    console.display.clear();
    let removed = work.close();
    drop(guard);

    result.incomplete = !matches!(ending, Ending::Complete);
    if !result.runs.is_empty() {
        if !result.incomplete {
            result.claims = claim::judge(&plan.claims, result);
        }
        output.save(result).map_err(Failure::run)?;
        show(plan, &output, result)?;
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

/// Writes the page, prints the report, says where everything is.
fn show(plan: &Plan, output: &Output, result: &RunFile) -> Result<(), Failure> {
    let timelines = result_file::timelines(output.dir())?;
    let material = Material { result, timelines: &timelines };
    let page = output.dir().join(REPORT);
    deliver(&html::page(&[material]), Some(&page))?;
    exit::say(text::render(material, style()).trim_end());
    let recorded = match &plan.load {
        Load::Recorded { files, .. } => format!("recorded load: {}\n", shown(files)),
        Load::Synthetic { .. } => String::new(),
    };
    exit::say(&format!(
        "\n{recorded}results: {}  (latency-*.hlog, timeline.csv beside it)\nreport:  {}",
        output.dir().join(RESULT).display(),
        page.display()
    ));
    Ok(())
}
