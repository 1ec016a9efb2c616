//! Time as a seam: machines take it as an argument, adapters ask a [`Clock`].

use std::fmt;
use std::ops::{Add, Sub};
use std::time::{Duration, Instant};

/// A moment on a run's clock, in nanoseconds since that clock was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The moment at which the clock was made.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// How long after `earlier` this is; zero if it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Microseconds since the clock was made.
    #[must_use]
    pub fn micros(self) -> u64 {
        self.0 / 1_000
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}s", Duration::from_nanos(self.0).as_secs_f64())
    }
}

/// Tells the time. Never goes back.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The current moment.
    fn now(&self) -> Time;
}

/// The machine's monotonic clock.
#[derive(Debug)]
pub struct RealClock(Instant);

impl RealClock {
    /// A clock that shows zero now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one adapter to real time")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The `Instant` at which this clock shows `time`, for channel deadlines.
    #[must_use]
    pub fn instant(&self, time: Time) -> Instant {
        // A year is later than any run; `Instant` would overflow on `NEVER`.
        self.0 + Duration::from_nanos(time.0.min(Duration::from_secs(31_536_000).as_nanos() as u64))
    }
}

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "the one adapter to real time")]
    fn now(&self) -> Time {
        Time(u64::try_from(Instant::now().duration_since(self.0).as_nanos()).unwrap_or(u64::MAX))
    }
}
