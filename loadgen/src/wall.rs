//! Wall time, taken once a run: for names and headers, never for measuring.

use std::time::{SystemTime, UNIX_EPOCH};

/// The wall time now.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one adapter to wall time")]
pub fn now() -> SystemTime {
    SystemTime::now()
}

/// A moment in UTC, as in `2026-11-29T14:42:35Z`.
#[must_use]
pub fn utc(time: SystemTime) -> String {
    let (year, month, day, [hour, minute, second]) = parts(time);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The same for a file's name, as in `20261129T144235Z`.
#[must_use]
pub fn utc_compact(time: SystemTime) -> String {
    utc(time).replace(['-', ':'], "")
}

/// Year, month, day, and the time of day. Days to a date as in Howard Hinnant's `civil_from_days`:
/// <https://howardhinnant.github.io/date_algorithms.html>. Moments before 1970 count as 1970's first.
fn parts(time: SystemTime) -> (u64, u64, u64, [u64; 3]) {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day, [seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn known_moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_796_049_755, "2026-11-30T14:42:35Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        assert_eq!(utc_compact(UNIX_EPOCH), "19700101T000000Z");
    }
}
