//! Who is told how a run is going: a progress display, or nobody.

use std::time::Duration;

use engine::cluster::ReplayStatus;
use results::event::Action;

/// Which run of how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Which {
    /// The strategy.
    pub strategy: String,
    /// From 1.
    pub trial: u32,
    /// From 1, over all strategies and trials.
    pub run: usize,
    /// Runs in all.
    pub runs: usize,
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Fills the changelogs.
    Preload,
    /// Instances start and restore until all is quiet.
    Settle,
    /// Load runs, nothing is counted.
    WarmUp,
    /// Load runs, everything is counted.
    Measure,
    /// Nothing arrives any more, the backlog is served.
    Drain,
    /// Every key is compared with what it should hold.
    Audit,
}

impl Stage {
    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Preload => "preloading state",
            Self::Settle => "starting",
            Self::WarmUp => "warming up",
            Self::Measure => "measuring",
            Self::Drain => "draining",
            Self::Audit => "auditing",
        }
    }
}

/// A look at a run.
#[derive(Clone, Debug, Default)]
pub struct Glance {
    /// Done of the stage, from 0 to 1, if that can be said.
    pub done: Option<f64>,
    /// Records per second since the last look.
    pub rate: f64,
    /// Records due and not served.
    pub backlog: u64,
    /// 99th percentile of service latency over the last few hundred milliseconds.
    pub p99_ms: f64,
    /// Tasks that run.
    pub running: usize,
    /// Members.
    pub members: usize,
    /// Copies that are catching up.
    pub replays: Vec<ReplayStatus>,
}

/// Is told how a run is going, from the thread that directs it.
pub trait Watcher: Sync {
    /// A run begins.
    fn begins(&self, which: &Which);
    /// A stage begins; `lasting` if its length is known.
    fn stage(&self, stage: Stage, lasting: Option<Duration>);
    /// The script did something, this long after the end of the warm-up.
    fn scripted(&self, at: Duration, what: &str);
    /// Some ten times a second.
    fn glance(&self, glance: &Glance);
}

/// What the script did, in a few words.
pub(crate) fn describe(action: Action, members: &[String]) -> String {
    let did = match action {
        Action::Start => "starts",
        Action::Leave => "is asked to leave",
        Action::Crash => "crashes",
        Action::Restart => "restarts",
        Action::Stall => "stalls",
    };
    format!("{} {did}", members.join(", "))
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn begins(&self, _: &Which) {}
    fn stage(&self, _: Stage, _: Option<Duration>) {}
    fn scripted(&self, _: Duration, _: &str) {}
    fn glance(&self, _: &Glance) {}
}
