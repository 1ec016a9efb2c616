//! Runs the simulator: any number of seeds, one seed with its trail, or a planted fault.
//!
//! ```text
//! cargo run --release -p engine --example simulate -- --seeds 200000
//! cargo run --release -p engine --example simulate -- --seed 4711
//! cargo run --release -p engine --example simulate -- --seeds 2000 --plant FenceSkipped
//! cargo run --release -p engine --example simulate -- --rate
//! ```
//!
//! Ends with 1 if a rule was broken, with 2 if it does not understand its arguments.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::sim::{Outcome, Planted, Setup, Upsets, rebalances, run};

/// What the command line asks for.
#[derive(Debug, Default)]
struct Arguments {
    from: u64,
    seeds: u64,
    seed: Option<u64>,
    planted: Option<Planted>,
    strategy: Option<String>,
    rate: bool,
    one_crash: bool,
}

/// Seeds between two lines of progress.
const PROGRESS: u64 = 10_000;

const USAGE: &str =
    "simulate [--seeds N [--from N]] [--seed N] [--plant FAULT] [--strategy S] [--crashes] [--rate]";

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments { seeds: 2_000, ..Arguments::default() };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{name} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is not a number"));
        match name.as_str() {
            "--seeds" => found.seeds = number(value()?)?,
            "--from" => found.from = number(value()?)?,
            "--seed" => found.seed = Some(number(value()?)?),
            "--strategy" => found.strategy = Some(value()?),
            "--rate" => found.rate = true,
            "--crashes" => found.one_crash = true,
            "--plant" => {
                let name = value()?;
                let fault = Planted::all().find(|fault| fault.to_string() == name);
                let all = || Planted::all().map(|f| f.to_string()).collect::<Vec<_>>().join(", ");
                found.planted = Some(fault.ok_or_else(|| format!("{name}: the faults are {}", all()))?);
            }
            _ => return Err(format!("{name} is not an argument; {USAGE}")),
        }
    }
    Ok(found)
}

impl Arguments {
    fn setup(&self, seed: u64) -> Setup {
        let mut setup = Setup { planted: self.planted, ..Setup::of_seed(seed) };
        if let Some(strategy) = &self.strategy {
            setup.strategy.clone_from(strategy);
        }
        if self.one_crash {
            setup.upsets = Upsets::OneCrash { before_step: 1 + seed, coordinator: false };
        }
        setup
    }
}

fn main() -> ExitCode {
    let mut out = std::io::stdout();
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(what) => {
            drop(writeln!(out, "{what}"));
            return ExitCode::from(2);
        }
    };
    let passed = if arguments.rate {
        rate(&mut out)
    } else if let Some(seed) = arguments.seed {
        one(&arguments, seed, &mut out)
    } else {
        many(&arguments, &mut out)
    };
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

/// One seed, with its trail.
fn one(arguments: &Arguments, seed: u64, out: &mut impl std::io::Write) -> std::io::Result<bool> {
    let setup = Setup { trail: true, ..arguments.setup(seed) };
    match run(&setup) {
        Ok(outcome) => {
            writeln!(out, "{setup}\npassed: {outcome:?}")?;
            Ok(true)
        }
        Err(failure) => {
            writeln!(out, "{failure}")?;
            Ok(false)
        }
    }
}

/// What many runs have come to so far.
#[derive(Debug, Default)]
struct Total {
    outcome: Outcome,
    done: u64,
    failures: u64,
}

/// Many seeds, on all cores. A line tells every so many seeds how far it is.
#[expect(clippy::disallowed_methods, reason = "tells the person who waits how fast it goes")]
fn many(arguments: &Arguments, out: &mut impl std::io::Write) -> std::io::Result<bool> {
    let began = Instant::now();
    let next = AtomicU64::new(arguments.from);
    let end = arguments.from + arguments.seeds;
    let total = Mutex::new(Total::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let result = run(&arguments.setup(seed));
                    let Ok(mut total) = total.lock() else { return };
                    total.done += 1;
                    match result {
                        Ok(outcome) => total.outcome += outcome,
                        Err(failure) => {
                            // At once: a long run may be cut short.
                            println!("{failure}\n");
                            total.failures += 1;
                        }
                    }
                    if total.done % PROGRESS == 0 {
                        let Total { done, failures, outcome } = &*total;
                        let (rebalances, crashes) = (outcome.rebalances, outcome.crashes);
                        println!(
                            "{done} of {} seeds in {:.0?}: {failures} broke a rule; {rebalances} rebalances, {crashes} crashes",
                            arguments.seeds,
                            began.elapsed()
                        );
                    }
                }
            });
        }
    });
    let Total { outcome, failures, .. } = total.into_inner().unwrap_or_default();
    let spent = began.elapsed();
    writeln!(out, "{} seeds in {spent:.1?}, {failures} broke a rule", arguments.seeds)?;
    writeln!(out, "{outcome:#?}")?;
    Ok(failures == 0)
}

/// Simulated rebalances per second.
#[expect(clippy::disallowed_methods, reason = "measures real time")]
fn rate(out: &mut impl std::io::Write) -> std::io::Result<bool> {
    for strategy in ["eager", "cooperative", "learner"] {
        let began = Instant::now();
        let mut done = 0;
        while began.elapsed() < Duration::from_secs(2) {
            done += rebalances(strategy, 8, 16, 1_000);
        }
        let rate = done as f64 / began.elapsed().as_secs_f64();
        writeln!(out, "{strategy}: {rate:.0} simulated rebalances per second (8 members, 16 tasks)")?;
    }
    Ok(true)
}
