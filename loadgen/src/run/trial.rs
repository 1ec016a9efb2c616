//! One trial: a fresh application goes through the scenario under one strategy.
//!
//! Instances start and restore until the group is at rest; then load begins. The end of the warm-up, the origin, is
//! fixed before the first record arrives, and everything in the script happens at its own time after it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assignor::{InstanceId, MemberId, Strategy};
use engine::clock::{Clock, RealClock, Time};
use engine::cluster::{Cluster, ClusterConfig, Farewell, Membership, Parts, Status};
use engine::event::Observer;
use engine::task::NeverBreaks;
use results::event::Action;
use results::interval_log::Beginning;
use results::latency::interval_of;
use results::timeline::{Entry, Sample};

use super::audit::{self, Final};
use crate::error::Error;
use crate::process::{self, ProcessMeter, Usage};
use crate::record::tape::{Reels, Tape, Written};
use crate::record::{Part, Record, Recorder};
use crate::scenario::{Act, Condition, Instances, Plan, Target, When};
use crate::stop::Stop;
use crate::watch::{Glance, Stage, Watcher};
use crate::workload::{self, Workload};
use crate::{wall, watch};

/// How often the run is looked at; the results' intervals are as long.
const TICK: Duration = Duration::from_millis(100);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// Load begins this long after the group has come to rest, so that the origin is known before it does.
const HEAD_START: Duration = Duration::from_millis(50);
/// A group that is not at rest after this long never will be.
const SETTLE_LIMIT: Duration = Duration::from_secs(900);
/// Backlog is served for this long after the load has ended, and for as long as a crash may go unnoticed.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);

/// What one trial needs.
pub(super) struct Trial<'a> {
    pub(super) plan: &'a Plan,
    /// What the head of its log calls it.
    pub(super) name: String,
    pub(super) strategy: Arc<dyn Strategy>,
    pub(super) workload: Workload,
    /// Holds the preloaded changelogs; the application's state goes there too.
    pub(super) dir: &'a Path,
    pub(super) watcher: &'a dyn Watcher,
    pub(super) stop: &'a Stop,
}

/// What one trial left behind.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) record: Record,
    /// What has been written down of it.
    pub(super) written: Written,
    pub(super) audit: audit::Outcome,
    pub(super) played: Played,
}

/// What whoever directed the trial knows of it.
#[derive(Debug)]
pub(super) struct Played {
    /// Instance of every member there ever was.
    pub(super) instances: Vec<(MemberId, InstanceId)>,
    /// Those who were asked to leave or crashed.
    pub(super) gone: Vec<MemberId>,
    /// When the load ended and when the run did, after the origin.
    pub(super) duration_us: i64,
    pub(super) end_us: i64,
    pub(super) undrained: u64,
    /// CPU time over wall time and cores while it was measured.
    pub(super) cpu_share: f64,
    pub(super) rss_bytes_max: u64,
    /// How much later than planned the script acted at worst.
    pub(super) latest_act: Duration,
    /// Conditions of the script that did not hold by their deadlines.
    pub(super) unmet: Vec<String>,
    /// It was stopped by the user.
    pub(super) stopped: bool,
    /// It was ended by a failure.
    pub(super) failure: Option<Error>,
}

impl Trial<'_> {
    /// Runs it. `None` if it was stopped before anything was measured.
    pub(super) fn run(&self) -> Result<Option<Measured>, Error> {
        let recorder = Recorder::new(
            &workload::tasks(self.plan),
            u64::try_from(self.plan.slo.as_micros()).unwrap_or(u64::MAX),
        );
        let clock = Arc::new(RealClock::start());
        let cluster = self.open(&clock, &recorder)?;
        let mut reels = Reels::create(self.dir)?;
        let mut live = Live::new(self, &cluster, clock, recorder.clone(), &mut reels);
        let played = live.play();
        let played = live.finish(played);
        let tape = live.tape;
        // Owners are known until the cluster is stopped, their copies are closed when it is.
        let owners: Vec<Final> = cluster
            .owners()
            .into_iter()
            .map(|(task, instance)| Final { task, remains: cluster.remains(&instance) })
            .collect();
        let stopped = cluster.stop();
        let Some(mut played) = played? else {
            stopped?;
            return Ok(None);
        };
        played.failure = played.failure.or(stopped.err().map(Error::from));
        recorder.end();
        if let Some(mut tape) = tape {
            tape.advance(&recorder, Time::NEVER, None)?;
        }
        let record = recorder.finish();
        let written = reels.end()?;
        let mut audit = audit::Outcome::default();
        if played.failure.is_none() {
            self.watcher.stage(Stage::Audit, None);
            match audit::run(self.plan, &*self.workload.sources(), self.dir, &owners) {
                Ok(found) => audit = found,
                Err(error) => played.failure = Some(error),
            }
        }
        Ok(Some(Measured { record, written, audit, played }))
    }

    fn open(&self, clock: &Arc<RealClock>, recorder: &Arc<Recorder>) -> Result<Cluster, Error> {
        let config = ClusterConfig {
            tasks: workload::task_specs(self.plan),
            group: self.plan.group.clone(),
            strategy: self.strategy.clone(),
            engine: workload::engine_config(self.plan),
            dir: self.dir.to_owned(),
        };
        let parts = Parts {
            clock: clock.clone(),
            sources: self.workload.sources(),
            observer: recorder.clone() as Arc<dyn Observer>,
            breaker: Arc::new(NeverBreaks),
        };
        Ok(Cluster::open(config, parts)?)
    }
}

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woke {
    /// What was waited for has come.
    Done,
    /// The time has come.
    Deadline,
    /// The user wants it to stop.
    Stopped,
}

/// A trial while it runs.
struct Live<'a, 't> {
    trial: &'a Trial<'a>,
    cluster: &'a Cluster,
    clock: Arc<RealClock>,
    recorder: Arc<Recorder>,
    meter: ProcessMeter,
    instances: Vec<(MemberId, InstanceId)>,
    gone: Vec<MemberId>,
    reels: Option<&'t mut Reels>,
    tape: Option<Tape<'t>>,
    rss_bytes_max: u64,
    next_tick: Time,
    /// The last look: when, records served until then, CPU time until then.
    last: (Time, u64, Usage),
    stage: (Time, Option<Duration>),
    origin: Option<Origin>,
    load_end: Time,
    /// CPU time and moment at the end of the load.
    used: Option<(Usage, Time)>,
    latest_act: Duration,
    /// When the script acted last.
    acted: Time,
    /// Conditions that did not hold by their deadlines.
    unmet: Vec<String>,
}

/// The end of the warm-up.
#[derive(Clone, Copy)]
struct Origin {
    at: Time,
    usage: Usage,
}

impl<'a, 't> Live<'a, 't> {
    fn new(
        trial: &'a Trial<'a>,
        cluster: &'a Cluster,
        clock: Arc<RealClock>,
        recorder: Arc<Recorder>,
        reels: &'t mut Reels,
    ) -> Self {
        Self {
            trial,
            cluster,
            clock,
            recorder,
            meter: ProcessMeter::new(),
            instances: Vec::new(),
            gone: Vec::new(),
            reels: Some(reels),
            tape: None,
            rss_bytes_max: 0,
            next_tick: Time::ZERO,
            last: (Time::ZERO, 0, Usage::default()),
            stage: (Time::ZERO, None),
            origin: None,
            load_end: Time::NEVER,
            used: None,
            latest_act: Duration::ZERO,
            acted: Time::ZERO,
            unmet: Vec::new(),
        }
    }

    /// From the first instance to the end of the drain. `Woke::Stopped` if the user stopped it.
    fn play(&mut self) -> Result<Woke, Error> {
        let plan = self.trial.plan;
        self.enter(Stage::Settle, None);
        for instances in &plan.instances {
            self.start(*instances)?;
        }
        if self.settle()? == Woke::Stopped {
            return Ok(Woke::Stopped);
        }

        let begin = self.clock.now() + HEAD_START;
        let origin = begin + plan.warm_up;
        self.load_end = origin + plan.duration;
        // A window that is the same for all strategies can't begin with a condition that each meets at its own time.
        let begins = |when: &When| match when {
            When::Time(time) => *time,
            When::After { .. } => Duration::ZERO,
        };
        let window = plan.events.first().map(|event| (micros(begins(&event.when)), micros(plan.duration)));
        self.recorder.set_origin(origin, window);
        let beginning = Beginning {
            interval: interval_of(-micros(plan.warm_up)),
            clock_zero: wall::now() + origin.since(self.clock.now()),
        };
        if let Some(reels) = self.reels.take() {
            self.tape = Some(reels.begin(&self.trial.name, beginning)?);
        }
        self.trial.workload.end(self.load_end);
        self.trial.workload.begin(begin);
        self.enter(Stage::WarmUp, Some(plan.warm_up));
        if self.follow(origin, |_| false)? == Woke::Stopped {
            return Ok(Woke::Stopped);
        }

        self.recorder.begin(Part::Measured);
        self.acted = origin;
        self.origin = Some(Origin { at: origin, usage: self.meter.look() });
        self.enter(Stage::Measure, Some(plan.duration));
        for event in &plan.events {
            let Some(at) = self.await_event(origin, &event.when)? else { return Ok(Woke::Stopped) };
            self.act(at, &event.act)?;
        }
        if self.follow(self.load_end, |_| false)? == Woke::Stopped {
            return Ok(Woke::Stopped);
        }
        self.drain()
    }

    /// Waits until an event is due; the moment that counts as its own, or `None` if the user stopped the run.
    fn await_event(&mut self, origin: Time, when: &When) -> Result<Option<Time>, Error> {
        let deadline = origin + when.latest();
        let woke = match when {
            When::Time(_) => self.follow(deadline, |_| false)?,
            When::After { condition, .. } => self.await_condition(condition, deadline)?,
        };
        let now = self.clock.now();
        let at = match (woke, when) {
            (Woke::Stopped, _) => return Ok(None),
            (Woke::Done, _) => now,
            (Woke::Deadline, When::After { condition, .. }) => {
                self.unmet.push(condition.to_string());
                deadline
            }
            // What waited for a condition for longer than until its own time happens when that is over.
            (Woke::Deadline, When::Time(_)) => deadline.max(self.acted),
        };
        self.latest_act = self.latest_act.max(now.since(at));
        self.acted = now;
        Ok(Some(at))
    }

    fn await_condition(&mut self, condition: &Condition, deadline: Time) -> Result<Woke, Error> {
        let tasks = self.trial.plan.tasks as usize;
        let (recorder, since) = (self.recorder.clone(), self.acted);
        loop {
            let all_run = || self.cluster.status().running == tasks;
            let holds = recorder.holds(condition, since) && (*condition != Condition::Balanced || all_run());
            let until = deadline.min(self.clock.now() + LOOK);
            match self.follow(until, |_| false)? {
                Woke::Stopped => return Ok(Woke::Stopped),
                _ if holds => return Ok(Woke::Done),
                _ if until == deadline => return Ok(Woke::Deadline),
                _ => {}
            }
        }
    }

    fn settle(&mut self) -> Result<Woke, Error> {
        let tasks = self.trial.plan.tasks as usize;
        let at_rest =
            |status: &Status| status.balanced && status.running == tasks && status.replays.is_empty();
        let woke = self.follow(self.clock.now() + SETTLE_LIMIT, at_rest)?;
        if woke == Woke::Deadline {
            let status = self.cluster.status();
            let (running, balanced) = (status.running, status.balanced);
            return Err(Error::NotSettled { after: SETTLE_LIMIT, running, tasks, balanced });
        }
        Ok(woke)
    }

    fn drain(&mut self) -> Result<Woke, Error> {
        self.used = Some((self.meter.look(), self.clock.now()));
        self.recorder.begin(Part::Drain);
        self.enter(Stage::Drain, None);
        let tasks = self.trial.plan.tasks as usize;
        let limit = DRAIN_LIMIT + self.trial.plan.group.session_timeout;
        self.follow(self.clock.now() + limit, |status| status.backlog == 0 && status.running == tasks)
    }

    /// What is left of the run once it has been played, stopped or broken off.
    fn finish(&mut self, played: Result<Woke, Error>) -> Result<Option<Played>, Error> {
        let now = self.clock.now();
        self.trial.workload.end(now.min(self.load_end));
        let (stopped, failure) = match played {
            Ok(woke) => (woke == Woke::Stopped, None),
            Err(error) => (false, Some(error)),
        };
        let Some(origin) = self.origin else {
            return failure.map_or(Ok(None), Err);
        };
        let (usage, until) = self.used.unwrap_or_else(|| (self.meter.look(), now));
        let busy = usage.cpu.saturating_sub(origin.usage.cpu).as_secs_f64();
        let available = until.since(origin.at).as_secs_f64() * f64::from(process::cores());
        Ok(Some(Played {
            rss_bytes_max: self.rss_bytes_max,
            instances: std::mem::take(&mut self.instances),
            gone: std::mem::take(&mut self.gone),
            duration_us: micros(now.min(self.load_end).since(origin.at)),
            end_us: micros(now.since(origin.at)),
            undrained: self.cluster.status().backlog,
            cpu_share: if available > 0.0 { busy / available } else { 0.0 },
            latest_act: self.latest_act,
            unmet: std::mem::take(&mut self.unmet),
            stopped,
            failure,
        }))
    }

    fn enter(&mut self, stage: Stage, lasting: Option<Duration>) {
        self.stage = (self.clock.now(), lasting);
        self.trial.watcher.stage(stage, lasting);
    }

    /// Waits for `deadline`, for `done`, or to be stopped, and looks at the run every tick.
    fn follow(&mut self, deadline: Time, done: impl Fn(&Status) -> bool) -> Result<Woke, Error> {
        loop {
            let now = self.clock.now();
            if now >= self.next_tick {
                let status = self.cluster.status();
                self.look(&status)?;
                self.next_tick = now + TICK;
                if let Some(error) = self.cluster.failure() {
                    return Err(error.into());
                }
                if done(&status) {
                    return Ok(Woke::Done);
                }
            }
            if now >= deadline {
                return Ok(Woke::Deadline);
            }
            if self.trial.stop.wait_until(self.clock.instant(self.next_tick.min(deadline))) {
                return Ok(Woke::Stopped);
            }
        }
    }

    fn look(&mut self, status: &Status) -> Result<(), Error> {
        let usage = self.meter.look();
        let (then, served, used) = std::mem::replace(&mut self.last, (status.at, status.served, usage));
        let seconds = status.at.since(then).as_secs_f64().max(1e-3);
        let (began, lasting) = self.stage;
        let sample = self.origin.map(|origin| Sample {
            at_us: micros(status.at.since(origin.at)),
            backlog: status.backlog,
            cpu_percent: usage.cpu.saturating_sub(used.cpu).as_secs_f64() / seconds * 100.0,
            rss_bytes: usage.rss_bytes,
            stalled_stores: status.pressure.stalled,
            compaction_debt_bytes: status.pressure.debt_bytes,
        });
        self.rss_bytes_max = self.rss_bytes_max.max(sample.map_or(0, |sample| sample.rss_bytes));
        if let Some(tape) = &mut self.tape {
            tape.advance(&self.recorder, status.at, sample.map(Entry::Sample))?;
        }
        self.trial.watcher.glance(&Glance {
            done: lasting
                .map(|lasting| status.at.since(began).as_secs_f64() / lasting.as_secs_f64().max(1e-3)),
            rate: (status.served.saturating_sub(served)) as f64 / seconds,
            backlog: status.backlog,
            p99_ms: self.recorder.recent_p99_ms(),
            running: status.running,
            members: status.members,
            replays: status.replays.clone(),
        });
        Ok(())
    }

    fn start(&mut self, instances: Instances) -> Result<Vec<String>, Error> {
        let mut started = Vec::new();
        for _ in 0..instances.count {
            let membership = if instances.is_static { Membership::Static } else { Membership::Dynamic };
            let new = self.cluster.start_as(instances.workers, 1, membership)?;
            started.extend(new.members.iter().map(ToString::to_string));
            self.instances.extend(new.members.into_iter().map(|member| (member, new.instance.clone())));
        }
        Ok(started)
    }

    fn act(&mut self, due: Time, act: &Act) -> Result<(), Error> {
        let (action, members) = match act {
            Act::Start(instances) => (Action::Start, self.start(*instances)?),
            Act::Leave(members) => {
                for member in members {
                    self.cluster.leave(member)?;
                    self.gone.push(member.clone());
                }
                (Action::Leave, names(members))
            }
            Act::Crash(targets) => {
                let mut crashed = Vec::new();
                for target in targets {
                    crashed.extend(self.crash(target)?);
                }
                let members = names(&crashed);
                self.gone.extend(crashed);
                (Action::Crash, members)
            }
            Act::Stall { members, lasting } => {
                for member in members {
                    self.cluster.stall(member, *lasting)?;
                }
                (Action::Stall, names(members))
            }
            Act::Restart { instance, farewell, down } => {
                (Action::Restart, names(&self.restart(instance, *farewell, *down)?))
            }
        };
        let origin = self.origin.map_or(due, |origin| origin.at);
        self.trial.watcher.scripted(due.since(origin), &watch::describe(action, &members));
        self.recorder.scripted(due, action, members);
        Ok(())
    }

    /// Restarts an instance; who will be there when it is back.
    fn restart(
        &mut self,
        instance: &InstanceId,
        farewell: Farewell,
        down: Duration,
    ) -> Result<Vec<MemberId>, Error> {
        let there = self.cluster.members().into_iter().filter(|(_, of)| of == instance);
        let there: Vec<MemberId> = there.map(|(member, _)| member).collect();
        let members = self.cluster.restart(instance, farewell, down)?.members;
        self.gone.extend(there.into_iter().filter(|member| !members.contains(member)));
        self.gone.retain(|member| !members.contains(member));
        for member in &members {
            if self.instances.iter().all(|(known, _)| known != member) {
                self.instances.push((member.clone(), instance.clone()));
            }
        }
        Ok(members)
    }

    /// Crashes a member, or an instance with all its members that are still there.
    fn crash(&self, target: &Target) -> Result<Vec<MemberId>, Error> {
        match target {
            Target::Member(member) => {
                self.cluster.crash_member(member)?;
                Ok(vec![member.clone()])
            }
            Target::Instance(instance) => {
                let there = self.cluster.members().into_iter().filter(|(_, of)| of == instance);
                let members = there.map(|(member, _)| member).collect();
                self.cluster.crash(instance)?;
                Ok(members)
            }
        }
    }
}

fn names(members: &[MemberId]) -> Vec<String> {
    members.iter().map(ToString::to_string).collect()
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
