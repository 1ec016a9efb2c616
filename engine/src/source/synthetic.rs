//! Input that is a function of (seed, task, offset).
//!
//! Offsets start with the preloaded records, `updates_per_key` rounds over all keys in order; the live records
//! follow, each task's at a constant spacing of its own. The tasks' phases are drawn from the seed, so that they don't
//! arrive in step.

use std::collections::BTreeMap;
use std::sync::Arc;

use assignor::TaskId;

use super::keys::{Drawer, KeyDistribution, key_of};
use super::{Records, Source, Sources, Span, hash, mix};
use crate::clock::Time;
use crate::error::SourceError;

/// What a synthetic load is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticLoad {
    /// One seed gives one load.
    pub seed: u64,
    /// The tasks and their shares of the rate, relative to each other. A task of share 0 has no live records.
    pub tasks: Vec<(TaskId, f64)>,
    /// Those of them that have nothing preloaded, because they have no state.
    pub stateless: Vec<TaskId>,
    /// Live records per second, of all tasks together.
    pub rate: f64,
    /// Keys per task, at least 1.
    pub keys: u64,
    /// How live records spread over them.
    pub distribution: KeyDistribution,
    /// What [`Records::sizes`] says of every record.
    pub record_bytes: u32,
    /// Preloaded updates of every key; 0 for no preload.
    pub updates_per_key: u64,
}

/// The inputs of all tasks. Clones share the span that [`begin`](Self::begin) and [`end`](Self::end) set.
#[derive(Clone, Debug)]
pub struct SyntheticSources(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    span: Span,
    drawer: Drawer,
    keys: u64,
    record_bytes: u32,
    tasks: BTreeMap<TaskId, Pace>,
}

/// When a task's live records arrive, and with which random numbers.
#[derive(Clone, Copy, Debug)]
struct Pace {
    seed: u64,
    /// Between two records, in 2⁻¹⁶ ns: a million records a second are off by less than 1 in 10⁷.
    spacing: u64,
    /// From the beginning to the first record, in ns.
    phase: u64,
    /// Records before the first live one.
    preloaded: u64,
}

impl Default for Pace {
    /// Nothing ever arrives.
    fn default() -> Self {
        Self { seed: 0, spacing: NEVER, phase: 0, preloaded: 0 }
    }
}

/// Spacing of a task without live records.
const NEVER: u64 = u64::MAX;
const FRACTION_BITS: u32 = 16;

impl Pace {
    fn new(seed: u64, task: &TaskId, rate: f64, preloaded: u64) -> Self {
        let seed = mix(seed ^ hash(task.as_str().as_bytes()));
        let spacing = 1e9 * (1_u64 << FRACTION_BITS) as f64 / rate;
        if !spacing.is_finite() || spacing >= NEVER as f64 {
            return Self { seed, spacing: NEVER, phase: 0, preloaded };
        }
        let spacing = (spacing as u64).max(1);
        let phase = ((u128::from(mix(seed ^ 1)) * u128::from(spacing >> FRACTION_BITS)) >> 64) as u64;
        Self { seed, spacing, phase, preloaded }
    }

    /// From the beginning to the `nth` record.
    fn since_begin(&self, nth: u64) -> u64 {
        if self.spacing == NEVER {
            return u64::MAX;
        }
        let nanos = (u128::from(nth) * u128::from(self.spacing)) >> FRACTION_BITS;
        u64::try_from(nanos).unwrap_or(u64::MAX).saturating_add(self.phase)
    }

    /// Records that are no later than `nanos` after the beginning.
    fn within(&self, nanos: u64) -> u64 {
        if self.spacing == NEVER || nanos < self.phase {
            return 0;
        }
        // The greatest n with floor(n · spacing / 2¹⁶) ≤ nanos − phase, plus one for record 0.
        let bound = (u128::from(nanos - self.phase) + 1) << FRACTION_BITS;
        let last = (bound - 1) / u128::from(self.spacing);
        u64::try_from(last).unwrap_or(u64::MAX).saturating_add(1)
    }
}

impl SyntheticSources {
    /// The sources of a load. Building the table of a Zipf distribution takes some 20 ms per million keys.
    #[must_use]
    pub fn new(load: &SyntheticLoad) -> Self {
        let keys = load.keys.max(1);
        let shares: f64 = load.tasks.iter().map(|(_, share)| share).sum();
        let pace = |task: &TaskId, share: f64| {
            let updates = if load.stateless.contains(task) { 0 } else { load.updates_per_key };
            Pace::new(load.seed, task, load.rate * share / shares, keys * updates)
        };
        let tasks = load.tasks.iter().map(|(task, share)| (task.clone(), pace(task, *share))).collect();
        Self(Arc::new(Shared {
            span: Span::default(),
            drawer: Drawer::new(load.distribution, keys),
            keys,
            record_bytes: load.record_bytes,
            tasks,
        }))
    }

    /// Sets the moment from which live records arrive. Until then none is due, and the next one is due at
    /// [`Time::NEVER`].
    pub fn begin(&self, at: Time) {
        self.0.span.set_begin(at);
    }

    /// Sets the moment from which no record arrives any more.
    pub fn end(&self, at: Time) {
        self.0.span.set_end(at);
    }
}

impl Shared {
    /// Live records of a task that arrive until `now`.
    fn live(&self, pace: &Pace, now: Time) -> u64 {
        let Some(begin) = self.span.begin() else { return 0 };
        // The end itself is no longer part of the span.
        let last = Time(self.span.end().0.saturating_sub(1)).min(now);
        if last < begin { 0 } else { pace.within(last.0 - begin.0) }
    }

    fn due(&self, pace: &Pace, now: Time) -> u64 {
        pace.preloaded.saturating_add(self.live(pace, now))
    }
}

impl Sources for SyntheticSources {
    fn open(&self, task: &TaskId, offset: u64) -> Result<Box<dyn Source>, SourceError> {
        // A task that the load doesn't name has no records.
        let pace = self.0.tasks.get(task).copied().unwrap_or_default();
        Ok(Box::new(SyntheticSource { shared: Arc::clone(&self.0), pace, position: offset }))
    }

    fn preloaded(&self, task: &TaskId) -> u64 {
        self.0.tasks.get(task).map_or(0, |pace| pace.preloaded)
    }

    fn due(&self, task: &TaskId, now: Time) -> u64 {
        self.0.tasks.get(task).map_or(0, |pace| self.0.due(pace, now))
    }
}

struct SyntheticSource {
    shared: Arc<Shared>,
    pace: Pace,
    position: u64,
}

/// Far apart from each other under `mix`, as in splitmix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Source for SyntheticSource {
    fn poll(&mut self, now: Time, max: usize, out: &mut Records) -> Result<(), SourceError> {
        let shared = &*self.shared;
        let due = shared.due(&self.pace, now).min(self.position.saturating_add(max as u64));
        let preloaded = due.min(self.pace.preloaded);
        for offset in self.position..preloaded {
            out.push(offset, Time::ZERO, &key_of(offset % shared.keys), shared.record_bytes);
        }
        if let Some(begin) = shared.span.begin() {
            let first = self.position.max(self.pace.preloaded) - self.pace.preloaded;
            for nth in first..due.saturating_sub(self.pace.preloaded) {
                let time = Time(begin.0.saturating_add(self.pace.since_begin(nth)));
                let random = mix(self.pace.seed.wrapping_add(nth.wrapping_mul(GOLDEN)));
                let key = key_of(shared.drawer.draw(nth, random));
                out.push(self.pace.preloaded + nth, time, &key, shared.record_bytes);
            }
        }
        self.position = self.position.max(due);
        Ok(())
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn next_due(&self) -> Option<Time> {
        let Some(nth) = self.position.checked_sub(self.pace.preloaded) else { return Some(Time::ZERO) };
        let Some(begin) = self.shared.span.begin() else { return Some(Time::NEVER) };
        let next = Time(begin.0.saturating_add(self.pace.since_begin(nth)));
        (next < self.shared.span.end()).then_some(next)
    }

    fn backlog(&self, now: Time) -> u64 {
        self.shared.due(&self.pace, now).saturating_sub(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> SyntheticLoad {
        SyntheticLoad {
            seed: 7,
            tasks: vec![("T1".into(), 1.0), ("T2".into(), 3.0), ("T3".into(), 0.0)],
            stateless: Vec::new(),
            rate: 4_000.0,
            keys: 10,
            distribution: KeyDistribution::Uniform,
            record_bytes: 50,
            updates_per_key: 2,
        }
    }

    fn poll(source: &mut dyn Source, now: Time, max: usize) -> Records {
        let mut out = Records::default();
        source.poll(now, max, &mut out).unwrap();
        out
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn preloaded_records_come_first_and_live_ones_at_their_rate() {
        let sources = SyntheticSources::new(&load());
        let (t1, t2, t3) = ("T1".into(), "T2".into(), "T3".into());
        let mut source = sources.open(&t1, 0).unwrap();
        assert_eq!(source.backlog(Time(SECOND)), 20, "nothing live is due before the beginning");
        let first = poll(&mut *source, Time(SECOND), 1_000);
        assert!((0..20).all(|at| first.key(at) == key_of(at as u64 % 10)));
        assert_eq!(source.next_due(), Some(Time::NEVER));
        sources.begin(Time(SECOND));
        sources.end(Time(3 * SECOND));
        assert_eq!(sources.due(&t1, Time(2 * SECOND - 1)), 20 + 1_000);
        assert_eq!(sources.due(&t2, Time(2 * SECOND - 1)), 20 + 3_000);
        assert_eq!(sources.due(&t1, Time::NEVER), 20 + 2_000);
        assert_eq!(sources.due(&t3, Time::NEVER), 20);
        let live = poll(&mut *source, Time::NEVER, 10_000);
        assert_eq!((live.len(), live.offsets[0], source.next_due()), (2_000, 20, None));
        assert!(live.times[0] >= Time(SECOND) && live.times[1_999] < Time(3 * SECOND));
        assert!(live.times.windows(2).all(|pair| pair[1].0 - pair[0].0 == SECOND / 1_000));
    }

    #[test]
    fn what_a_source_says_depends_on_nothing_but_the_offset() {
        let sources = SyntheticSources::new(&load());
        sources.begin(Time(5));
        let task = "T2".into();
        let whole = poll(&mut *sources.open(&task, 0).unwrap(), Time(SECOND), usize::MAX);
        let mut pieces = sources.open(&task, 0).unwrap();
        let (mut at, mut now) = (0, Time::ZERO);
        while at < whole.len() {
            let due = pieces.next_due().unwrap();
            now = now.max(due);
            assert!(
                due == Time::ZERO || pieces.backlog(Time(due.0 - 1)) == 0,
                "due before it was said to be"
            );
            let piece = poll(&mut *pieces, now, 7);
            assert!(!piece.is_empty());
            for index in 0..piece.len() {
                assert_eq!(piece.offsets[index], whole.offsets[at]);
                assert_eq!(piece.times[index], whole.times[at]);
                assert_eq!(piece.key(index), whole.key(at));
                at += 1;
            }
        }
        let late = poll(&mut *sources.open(&task, 500).unwrap(), Time(SECOND), 1);
        assert_eq!((late.offsets[0], late.key(0)), (500, whole.key(500)));
    }

    #[test]
    fn due_and_next_due_agree_at_odd_rates() {
        for rate in [0.3, 7.0, 333.333, 1e6, 3.7e7] {
            let sources = SyntheticSources::new(&SyntheticLoad { rate, updates_per_key: 0, ..load() });
            sources.begin(Time(SECOND));
            let task = "T1".into();
            for offset in [0, 1, 2, 1_000, 123_457] {
                let due = sources.open(&task, offset).unwrap().next_due().unwrap();
                assert!(sources.due(&task, due) > offset, "{rate} {offset}");
                assert!(sources.due(&task, Time(due.0 - 1)) <= offset, "{rate} {offset}");
            }
        }
    }
}
