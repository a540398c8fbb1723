//! Numbers and names as a page shows them. Pure.

use std::fmt::Write;

/// With the characters that HTML gives a meaning written so that they have none.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
        out
    })
}

/// Microseconds in the unit that suits them, with three digits: `85.0 µs`, `1.20 ms`.
#[must_use]
pub fn time(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 1e3 => (us, "µs"),
        us if us < 1e6 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// The same on an axis, whose values are round: `20 µs`, `5 ms`.
#[must_use]
pub fn round_time(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{} µs", round(us)),
        us if us < 1e6 => format!("{} ms", round(us / 1e3)),
        us => format!("{} s", round(us / 1e6)),
    }
}

/// Whole numbers with their thousands apart, others with what they have.
#[must_use]
pub fn round(value: f64) -> String {
    let value = (value * 1e3).round() / 1e3;
    if value.fract() != 0.0 {
        return value.to_string();
    }
    grouped(&format!("{value:.0}"))
}

#[must_use]
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// Narrow spaces that no line breaks at between groups of three.
fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A share as people say it: `99.9 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write!(out, "{}", (share * 1e7).round() / 1e5);
    out + " %"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let times = [0.5, 85.0, 1_204.0, 99_960.0, 1_000_000.0, 12_345_678.0].map(time);
        assert_eq!(times, ["0.50 µs", "85.0 µs", "1.20 ms", "100.0 ms", "1.00 s", "12.3 s"]);
        assert_eq!([20.0, 5_000.0, 2e6].map(round_time), ["20 µs", "5 ms", "2 s"]);
        assert_eq!([0.0, 0.2, 999.0, 1_000.0].map(round), ["0", "0.2", "999", "1\u{202f}000"]);
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!([0.9, 0.99999, 0.0].map(percent), ["90 %", "99.999 %", "0 %"]);
        assert_eq!(escaped("<a href='x'>\"&"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
    }
}
