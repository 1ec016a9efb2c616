//! Shows a run while it goes: bars on a terminal, plain lines elsewhere. Standard error, so that output stays clean.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use loadgen::scenario::Plan;
use loadgen::watch::{Glance, Stage, Watcher, Which};
use results::report::units;

use crate::exit;

/// Where nobody looks, one line in so many glances is enough for a log (some five seconds).
const GLANCES_A_LINE: u32 = 50;
/// More replays than these don't fit on a screen.
const REPLAYS_SHOWN: usize = 8;
/// A bar counts thousandths.
const WHOLE: u64 = 1_000;

/// The display.
pub(crate) struct Display {
    terminal: Option<MultiProgress>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    run: String,
    stage: Option<(Stage, Option<Duration>)>,
    main: Option<ProgressBar>,
    /// One bar for each replay that is under way, by task and member.
    replays: Vec<(String, ProgressBar)>,
    glances: u32,
}

impl Display {
    /// A display for whoever reads standard error.
    pub(crate) fn new() -> Self {
        let terminal = io::stderr().is_terminal().then(MultiProgress::new);
        Self { terminal, state: Mutex::default() }
    }

    /// Says which scenario begins.
    pub(crate) fn title(&self, plan: &Plan) {
        self.line(&format!("{}: {}", plan.name, plan.title));
        for note in &plan.notes {
            self.line(&format!("note: {note}"));
        }
    }

    /// Takes all bars away.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.main = None;
        state.replays.clear();
        if let Some(terminal) = &self.terminal {
            drop(terminal.clear());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line that stays, above the bars.
    fn line(&self, text: &str) {
        match &self.terminal {
            Some(terminal) => terminal.suspend(|| exit::complain(text)),
            None => exit::complain(text),
        }
    }

    fn bar(terminal: &MultiProgress, template: &str) -> ProgressBar {
        let bar = terminal.add(ProgressBar::new(WHOLE));
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar
    }

    fn draw(&self, terminal: &MultiProgress, glance: &Glance) {
        let mut state = self.lock();
        let (where_it_is, how_it_goes) = (describe(&state, glance), figures(&state, glance));
        let template = "{bar:16.cyan} {prefix}\n  {wide_msg}";
        let main = state.main.get_or_insert_with(|| Self::bar(terminal, template));
        main.set_position(thousandths(glance.done.unwrap_or(0.0)));
        main.set_prefix(where_it_is);
        main.set_message(how_it_goes);

        let replays: Vec<(String, f64, String)> = glance
            .replays
            .iter()
            .take(REPLAYS_SHOWN)
            .map(|replay| {
                let what = if replay.active { "restores" } else { "learns" };
                let done = 1.0 - replay.lag as f64 / replay.initial_lag.max(1) as f64;
                let text = format!(
                    "{} {what} {}: {} records to go",
                    replay.member,
                    replay.task,
                    units::grouped(replay.lag)
                );
                (format!("{} {}", replay.task, replay.member), done, text)
            })
            .collect();
        state.replays.retain(|(key, bar)| {
            let stays = replays.iter().any(|(other, ..)| other == key);
            if !stays {
                terminal.remove(bar);
            }
            stays
        });
        for (key, done, text) in replays {
            let index = state.replays.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
                state.replays.push((key, Self::bar(terminal, "  {bar:22.green} {wide_msg}")));
                state.replays.len() - 1
            });
            let (_, bar) = &state.replays[index];
            bar.set_position(thousandths(done));
            bar.set_message(text);
        }
    }
}

fn thousandths(part: f64) -> u64 {
    (part.clamp(0.0, 1.0) * WHOLE as f64) as u64
}

/// Which run it is, and how far it has got.
fn describe(state: &State, glance: &Glance) -> String {
    let (stage, lasting) = state.stage.unwrap_or((Stage::Settle, None));
    let text = format!("{} {}", state.run, stage.name());
    match (lasting, glance.done) {
        (Some(lasting), Some(done)) => {
            let seconds = lasting.as_secs_f64();
            format!("{text} {:.1}/{seconds:.1}s", (done * seconds).min(seconds))
        }
        (None, Some(done)) => format!("{text} {:.0}%", done * 100.0),
        (_, None) => text,
    }
}

/// How the run is doing; empty where that can't be said.
fn figures(state: &State, glance: &Glance) -> String {
    match state.stage {
        Some((Stage::Settle, _)) if glance.members > 0 => {
            format!("{} tasks run, {} are being restored", glance.running, glance.replays.len())
        }
        Some((Stage::WarmUp | Stage::Measure | Stage::Drain, _)) => format!(
            "{}/s · backlog {} · p99 {} · {} tasks on {} workers",
            units::metric(glance.rate),
            units::grouped(glance.backlog),
            units::duration(glance.p99_ms),
            glance.running,
            glance.members,
        ),
        _ => String::new(),
    }
}

impl Watcher for Display {
    fn begins(&self, which: &Which) {
        self.lock().run =
            format!("[{}/{}] {}, trial {}:", which.run, which.runs, which.strategy, which.trial);
    }

    fn stage(&self, stage: Stage, lasting: Option<Duration>) {
        let mut state = self.lock();
        state.stage = Some((stage, lasting));
        state.glances = 0;
        let run = state.run.clone();
        drop(state);
        match &self.terminal {
            Some(terminal) => self.draw(terminal, &Glance::default()),
            None => {
                let lasting = lasting.map_or(String::new(), |time| format!(" for {}s", time.as_secs_f64()));
                self.line(format!("{run} {}{lasting}", stage.name()).trim_start());
            }
        }
    }

    fn scripted(&self, at: Duration, what: &str) {
        let run = self.lock().run.clone();
        self.line(&format!("{run} {what} at {:.1}s", at.as_secs_f64()));
    }

    fn glance(&self, glance: &Glance) {
        if let Some(terminal) = &self.terminal {
            return self.draw(terminal, glance);
        }
        let mut state = self.lock();
        state.glances += 1;
        if state.glances.is_multiple_of(GLANCES_A_LINE) {
            let text = format!("{} · {}", describe(&state, glance), figures(&state, glance));
            drop(state);
            self.line(text.trim_matches([' ', '·']));
        }
    }
}
