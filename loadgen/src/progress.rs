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
        let text = describe(&state, glance);
        let main = state.main.get_or_insert_with(|| Self::bar(terminal, "{bar:24.cyan} {wide_msg}"));
        main.set_position(thousandths(glance.done.unwrap_or(0.0)));
        main.set_message(text);

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

/// The run in one line.
fn describe(state: &State, glance: &Glance) -> String {
    let (stage, lasting) = state.stage.unwrap_or((Stage::Settle, None));
    let mut text = format!("{} {}", state.run, stage.name());
    if let (Some(lasting), Some(done)) = (lasting, glance.done) {
        let seconds = lasting.as_secs_f64();
        text.push_str(&format!(" {:.1}/{seconds:.1}s", (done * seconds).min(seconds)));
    } else if let Some(done) = glance.done {
        text.push_str(&format!(" {:.0}%", done * 100.0));
    }
    if stage == Stage::Settle && glance.members > 0 {
        text.push_str(&format!(" · {} tasks run, {} are restored", glance.running, glance.replays.len()));
    }
    if matches!(stage, Stage::WarmUp | Stage::Measure | Stage::Drain) {
        text.push_str(&format!(
            " · {}/s · backlog {} · p99 {} · {} tasks on {} workers",
            units::metric(glance.rate),
            units::grouped(glance.backlog),
            units::duration(glance.p99_ms),
            glance.running,
            glance.members,
        ));
    }
    text
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
            let text = describe(&state, glance);
            drop(state);
            self.line(text.trim_start());
        }
    }
}
