//! RFC 3339 timestamps in UTC, to the millisecond.

use std::time::{SystemTime, UNIX_EPOCH};

/// Formats times of about the same second at little cost: the text is kept and only what changed is written anew.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    second: u64,
    text: [u8; 24],
}

/// Of now.
#[must_use]
pub fn timestamp() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Clock::new().format(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)).to_owned()
}

/// 9999-12-31T23:59:59Z; the format has four digits for the year.
const LAST_SECOND: u64 = 253_402_300_799;

impl Clock {
    pub(super) fn new() -> Self {
        Self { second: 0, text: *b"1970-01-01T00:00:00.000Z" }
    }

    /// `2026-01-31T23:59:59.999Z` of a time in milliseconds since 1970.
    pub(super) fn format(&mut self, unix_ms: u64) -> &str {
        let second = (unix_ms / 1000).min(LAST_SECOND);
        if second != self.second {
            self.second = second;
            self.write_second();
        }
        let ms = unix_ms % 1000;
        put_two(&mut self.text, 20, ms / 10);
        self.text[22] = b'0' + (ms % 10) as u8;
        // Only ASCII was written.
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    fn write_second(&mut self) {
        let (days, second) = (self.second / 86_400, self.second % 86_400);
        let (year, month, day) = civil(days);
        for (at, number) in [
            (0, year / 100),
            (2, year % 100),
            (5, month),
            (8, day),
            (11, second / 3600),
            (14, second / 60 % 60),
            (17, second % 60),
        ] {
            put_two(&mut self.text, at, number);
        }
    }
}

fn put_two(text: &mut [u8; 24], at: usize, number: u64) {
    text[at] = b'0' + (number / 10 % 10) as u8;
    text[at + 1] = b'0' + (number % 10) as u8;
}

/// Year, month and day, both from 1, of a day counted from 1970-01-01. Years are counted from March, so that a leap
/// day is a year's last; a 400-year era has 146,097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // from 0000-03-01
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn formats_known_instants_in_any_order() {
        let mut clock = Clock::new();
        for (unix_ms, text) in [
            (784_111_777_000, "1994-11-06T08:49:37.000Z"),
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_042, "2000-02-29T00:00:00.042Z"),
            (951_782_400_999, "2000-02-29T00:00:00.999Z"),
            (1_735_689_599_100, "2024-12-31T23:59:59.100Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), // 2100 has no 29 February
            (u64::MAX, "9999-12-31T23:59:59.615Z"),
        ] {
            assert_eq!(clock.format(unix_ms), text);
        }
    }
}
