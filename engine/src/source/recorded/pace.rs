//! How fast a recorded load is played, as a whole number of millionths: recorded times and played times answer for
//! one another exactly, and without a search, at every speed.

/// A recording is played in this many parts of its own time.
const ONE: u128 = 1_000_000;

/// Millionths of the recorded speed; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace(u64);

impl Pace {
    /// The nearest to so many times the recorded speed.
    pub(super) fn new(speed: f64) -> Self {
        Self(((speed * ONE as f64).round() as u64).max(1))
    }

    /// When something is played, in ns after the beginning, that is at `place` on the tape, in ns too.
    pub(super) fn played(self, place: u64) -> u64 {
        narrow(u128::from(place) * ONE / u128::from(self.0))
    }

    /// The last place on the tape that is played by then: the greatest with `played(place) <= elapsed`.
    pub(super) fn reached(self, elapsed: u64) -> u64 {
        narrow(((u128::from(elapsed) + 1) * u128::from(self.0) - 1) / ONE)
    }
}

/// What doesn't fit is further away than any run lasts.
fn narrow(wide: u128) -> u64 {
    u64::try_from(wide).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn its_own_speed_is_the_identity() {
        for place in [0, 1, 999_999_999, u64::MAX] {
            assert_eq!((Pace::new(1.0).played(place), Pace::new(1.0).reached(place)), (place, place));
        }
    }

    #[test]
    fn speeds_beyond_reason_and_none_at_all_stay_defined() {
        for speed in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, f64::MIN_POSITIVE, 1e30, f64::INFINITY] {
            let pace = Pace::new(speed);
            for at in [0, 1, u64::MAX] {
                assert!(pace.played(pace.reached(at)) <= at, "speed {speed}, {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_reached_is_the_last_that_is_played_by_then(
            millionths in 1u64..=1_000_000_000_000_000,
            elapsed in 0u64..=1 << 50,
        ) {
            let (pace, place) = (Pace(millionths), Pace(millionths).reached(elapsed));
            prop_assert!(pace.played(place) <= elapsed || place == 0);
            prop_assert!(place == u64::MAX || pace.played(place + 1) > elapsed);
        }
    }
}
