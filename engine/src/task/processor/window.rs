//! The processor `window`: counts per key and tumbling window, and keeps windows for a while after they have ended.
//!
//! A record belongs to the window of its *event time*, which lies before its intended arrival by up to `disorder`, so
//! that records come out of order. Records of a task arrive in the order of their intended times: stream time is the
//! intended time of the record at hand. A window is kept until `retention` windows later; a record whose window is no
//! longer kept is *late*: it is counted as that and changes no window.

use std::time::Duration;

use super::count::Counted;
use super::keyed::{Fields, Keyed, fill};
use crate::clock::Time;
use crate::source::mix;

/// Settings of the processor `window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowOptions {
    /// Length of a window, at least a millisecond.
    pub size: Duration,
    /// Windows that are kept, the newest included: at least 1.
    pub kept: u32,
    /// How far an event can lie before its arrival.
    pub disorder: Duration,
}

/// Windows that a key can keep at most: each takes 24 bytes of every value.
pub const MOST_KEPT: u32 = 64;

/// What `window` keeps of a key. Every record of the key is in one of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windowed {
    /// Records that came when their window was no longer kept.
    pub late: Counted,
    /// Records of windows that are no longer kept.
    pub closed: Counted,
    /// The kept windows that have records: number of the window, from 0 at time 0, and its records; ascending.
    pub windows: Vec<(u64, Counted)>,
}

/// Counts per key and window.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    options: WindowOptions,
    value_bytes: usize,
}

/// `late` and `closed`.
const FIXED_BYTES: usize = 2 * Counted::BYTES;
const WINDOW_BYTES: usize = 8 + Counted::BYTES;

impl Window {
    /// Values are padded to `value_bytes`, and have at least space for the kept windows.
    #[must_use]
    pub fn new(options: WindowOptions, value_bytes: usize) -> Self {
        let options = WindowOptions { kept: options.kept.clamp(1, MOST_KEPT), ..options };
        let least = FIXED_BYTES + options.kept as usize * WINDOW_BYTES;
        Self { options, value_bytes: value_bytes.max(least) }
    }

    fn window_of(&self, time: Time) -> u64 {
        time.0 / (self.options.size.as_nanos() as u64).max(1)
    }

    /// When the event of the record at a source offset happened: `disorder` is used to the full, evenly.
    fn event_time(&self, offset: u64, arrival: Time) -> Time {
        let most = self.options.disorder.as_nanos() as u64;
        Time(arrival.0.saturating_sub(if most == 0 { 0 } else { mix(!offset) % (most + 1) }))
    }
}

impl Keyed for Window {
    type State = Windowed;

    fn add(&self, state: &mut Windowed, offset: u64, time: Time) -> u32 {
        let first_kept = (self.window_of(time) + 1).saturating_sub(u64::from(self.options.kept));
        let closed = state.windows.partition_point(|(number, _)| *number < first_kept);
        for (_, records) in state.windows.drain(..closed) {
            state.closed.merge(records);
        }
        let window = self.window_of(self.event_time(offset, time));
        if window < first_kept {
            state.late.add(offset);
            return 0;
        }
        match state.windows.binary_search_by_key(&window, |(number, _)| *number) {
            Ok(at) => state.windows[at].1.add(offset),
            Err(at) => {
                let mut first = Counted::default();
                first.add(offset);
                state.windows.insert(at, (window, first));
            }
        }
        1
    }

    fn decode(&self, value: &[u8]) -> Option<Windowed> {
        let mut fields = Fields(value);
        let (late, closed) = (fields.counted()?, fields.counted()?);
        let mut windows = Vec::new();
        for _ in 0..self.options.kept {
            let (number, records) = (fields.number()?, fields.counted()?);
            if records.count > 0 {
                windows.push((number, records));
            }
        }
        Some(Windowed { late, closed, windows })
    }

    fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    fn encode(&self, state: &Windowed, value: &mut [u8]) {
        let fixed = [state.late.count, state.late.sum, state.closed.count, state.closed.sum];
        let windows =
            state.windows.iter().flat_map(|(number, records)| [*number, records.count, records.sum]);
        fill(value, fixed.into_iter().chain(windows));
    }

    fn compare(&self, expected: &Windowed, applied: &Windowed, part: &mut dyn FnMut(Counted, Counted)) {
        part(expected.late, applied.late);
        part(expected.closed, applied.closed);
        let records = |state: &Windowed, number: u64| {
            let found = state.windows.binary_search_by_key(&number, |(number, _)| *number);
            found.map_or(Counted::default(), |at| state.windows[at].1)
        };
        let mut numbers: Vec<u64> =
            expected.windows.iter().chain(&applied.windows).map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            part(records(expected, number), records(applied, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(size_ms: u64, kept: u32, disorder_ms: u64) -> Window {
        let ms = Duration::from_millis;
        Window::new(WindowOptions { size: ms(size_ms), kept, disorder: ms(disorder_ms) }, 0)
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn windows_tumble_and_close_when_they_are_no_longer_kept() {
        let window = window(10, 2, 0);
        let mut state = Windowed::default();
        for (offset, at_ms) in [(0, 0), (1, 9), (2, 10), (3, 25)] {
            assert_eq!(window.add(&mut state, offset, Time(at_ms * MS)), 1);
        }
        let counts: Vec<_> = state.windows.iter().map(|(number, records)| (*number, records.count)).collect();
        assert_eq!((counts, state.closed.count, state.late.count), (vec![(1, 1), (2, 1)], 2, 0));
    }

    #[test]
    fn a_record_whose_window_is_gone_is_late() {
        // Events lie up to 100 windows back, and only two are kept.
        let window = window(10, 2, 1_000);
        let mut state = Windowed::default();
        let outputs: u32 =
            (0..1_000).map(|offset| window.add(&mut state, offset, Time((2_000 + offset) * MS))).sum();
        assert!(state.late.count > 900, "{state:?}");
        assert_eq!(u64::from(outputs) + state.late.count, 1_000);
    }

    proptest! {
        /// Against a model that keeps every record with its window and sorts them out at the end.
        #[test]
        fn every_record_is_in_one_place(
            steps in proptest::collection::vec(0_u64..40, 1..200),
            size_ms in 1_u64..20, kept in 1_u32..5, disorder_ms in 0_u64..60,
        ) {
            let window = window(size_ms, kept, disorder_ms);
            let (mut state, mut now, mut seen) = (Windowed::default(), 0, Vec::new());
            for (offset, step) in (0..).zip(steps) {
                now += step * MS / 2;
                window.add(&mut state, offset, Time(now));
                // Cut anywhere: through a value and back changes nothing.
                let mut value = vec![0; window.value_bytes()];
                window.encode(&state, &mut value);
                assert_eq!(window.decode(&value).unwrap(), state);
                let arrival = now / (size_ms * MS);
                let event = window.event_time(offset, Time(now)).0 / (size_ms * MS);
                seen.push((offset, event, event + u64::from(kept) <= arrival));
            }
            let newest = now / (size_ms * MS);
            let mut model = Windowed::default();
            for (offset, event, late) in seen {
                match (late, event + u64::from(kept) > newest) {
                    (true, _) => model.late.add(offset),
                    (false, false) => model.closed.add(offset),
                    (false, true) => match model.windows.iter_mut().find(|(number, _)| *number == event) {
                        Some((_, records)) => records.add(offset),
                        None => {
                            let mut first = Counted::default();
                            first.add(offset);
                            model.windows.push((event, first));
                        }
                    },
                }
            }
            model.windows.sort_by_key(|(number, _)| *number);
            assert_eq!(state, model);
        }
    }
}
