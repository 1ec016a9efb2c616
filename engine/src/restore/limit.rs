//! A limit on bytes per second, as a token bucket that does no waiting itself.

use std::time::Duration;

use crate::clock::Time;

/// Says how long to wait before the next piece. Work is paid for after it is done, so that a piece may be larger
/// than the bucket.
///
/// ```
/// use std::time::Duration;
/// use engine::clock::Time;
/// use engine::restore::Limit;
/// let mut limit = Limit::new(1_000);
/// assert_eq!(limit.wait(Time::ZERO), Duration::ZERO);
/// limit.spend(Time::ZERO, 500);
/// assert_eq!(limit.wait(Time::ZERO), Duration::from_millis(500));
/// assert_eq!(limit.wait(Time(500_000_000)), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    bytes_per_second: u64,
    /// When what has been spent is paid back.
    clear: Time,
}

impl Limit {
    /// At most `bytes_per_second`; 0 for no limit.
    #[must_use]
    pub fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second, clear: Time::ZERO }
    }

    /// How long to wait from `now` on before going on.
    #[must_use]
    pub fn wait(&self, now: Time) -> Duration {
        self.clear.since(now)
    }

    /// Records `bytes` of work done by `now`. Time in which nothing was done is not saved up.
    pub fn spend(&mut self, now: Time, bytes: u64) {
        if self.bytes_per_second > 0 {
            let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
            let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
            self.clear = self.clear.max(now) + Duration::from_nanos(nanos);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_a_while_no_more_than_the_limit_is_spent() {
        let mut limit = Limit::new(10_000_000);
        let (mut now, mut spent) = (Time::ZERO, 0);
        while now < Time(2_000_000_000) {
            limit.spend(now, 4_321);
            spent += 4_321;
            now = now + limit.wait(now) + Duration::from_micros(3);
        }
        assert!((19_000_000..=20_010_000).contains(&spent), "{spent}");
    }

    #[test]
    fn idle_time_is_not_saved_up_and_no_limit_never_waits() {
        let mut limit = Limit::new(1_000);
        limit.spend(Time(5_000_000_000), 1_000);
        assert_eq!(limit.wait(Time(5_000_000_000)), Duration::from_secs(1));
        let mut free = Limit::new(0);
        free.spend(Time::ZERO, u64::MAX);
        assert_eq!(free.wait(Time::ZERO), Duration::ZERO);
    }
}
