//! The Date field (RFC 9110, 5.6.7 and 6.6.1).

/// IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`. Valid for the second it was made of; the caller keeps it
/// that long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpDate([u8; 29]);

const DAY_NAMES: &[[u8; 3]; 7] = &[*b"Thu", *b"Fri", *b"Sat", *b"Sun", *b"Mon", *b"Tue", *b"Wed"];
const MONTH_NAMES: &[[u8; 3]; 12] = &[
    *b"Jan", *b"Feb", *b"Mar", *b"Apr", *b"May", *b"Jun", *b"Jul", *b"Aug", *b"Sep", *b"Oct", *b"Nov",
    *b"Dec",
];
/// 9999-12-31T23:59:59Z; the format has four digits for the year.
const LAST_SECOND: u64 = 253_402_300_799;

impl HttpDate {
    /// The date of a time in seconds since 1970-01-01T00:00:00Z, at most the year 9999.
    #[must_use]
    pub fn from_unix_seconds(seconds: u64) -> Self {
        let seconds = seconds.min(LAST_SECOND);
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = civil(days);
        let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
        text[..3].copy_from_slice(&DAY_NAMES[(days % 7) as usize]);
        text[8..11].copy_from_slice(&MONTH_NAMES[month]);
        put_two(&mut text, 5, day);
        put_two(&mut text, 12, year / 100);
        put_two(&mut text, 14, year % 100);
        put_two(&mut text, 17, second / 3600);
        put_two(&mut text, 20, second / 60 % 60);
        put_two(&mut text, 23, second % 60);
        Self(text)
    }

    #[must_use]
    pub fn as_octets(&self) -> &[u8] {
        &self.0
    }
}

fn put_two(text: &mut [u8; 29], at: usize, number: u64) {
    text[at] = b'0' + (number / 10 % 10) as u8;
    text[at + 1] = b'0' + (number % 10) as u8;
}

/// Year, month from 0 and day from 1 of a day counted from 1970-01-01.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let is_leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    // A cycle of 400 years has 146,097 days; what remains is walked, once a second at most.
    let mut year = 1970 + days / 146_097 * 400;
    days %= 146_097;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 0;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::HttpDate;

    #[test]
    fn formats_known_instants() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), // RFC 9110, 5.6.7
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), // 2100 has no 29 February
            (super::LAST_SECOND, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            let date = HttpDate::from_unix_seconds(seconds);
            assert_eq!(std::str::from_utf8(date.as_octets()), Ok(text));
        }
    }
}
