//! Numbers as a file writes them, and the ranges that they must lie in.
use std::time::Duration;

use super::report::Shown;

pub struct Setting<T> {
    pub name: &'static str,
    pub default: T,
    pub least: T,
    pub most: T,
}

#[must_use]
pub const fn setting<T: Copy>(name: &'static str, default: T, (least, most): (T, T)) -> Setting<T> {
    Setting { name, default, least, most }
}

impl<T: Quantity> Setting<T> {
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub fn parse(&self, text: &str) -> Result<T, String> {
        let value = T::parse(text)?;
        if self.least <= value && value <= self.most {
            return Ok(value);
        }
        Err(format!("{} is out of range; give {}", Shown(text), self.range()))
    }

    /// The same for a service, which cannot have more than the router, whose own limit holds first.
    ///
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub fn parse_within(&self, routers: T, text: &str) -> Result<T, String> {
        let value = self.parse(text)?;
        if value <= routers {
            return Ok(value);
        }
        let (name, routers) = (self.name, routers.show());
        Err(format!(
            "{} is above the router's {routers}, which holds first; raise limits.{name} too",
            Shown(text)
        ))
    }

    /// As `100ms to 10m`.
    pub fn range(&self) -> String {
        format!("{} to {}", self.least.show(), self.most.show())
    }
}

/// A kind of number that can be written in the file.
pub trait Quantity: Copy + PartialOrd {
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    fn parse(text: &str) -> Result<Self, String>;
    /// As one would write it in the file.
    fn show(self) -> String;
}

impl Quantity for Duration {
    /// A whole number and a unit: `250ms`, `5s`, `10m`, `1h`.
    fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{} is not a duration; write a whole number and ms, s, m or h, as in 5s", Shown(text));
        let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at_checked(unit_at).ok_or_else(wrong)?;
        let unit_ms = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(wrong()),
        };
        let number: u64 = number.parse().map_err(|_| wrong())?;
        number.checked_mul(unit_ms).map(Duration::from_millis).ok_or_else(wrong)
    }

    fn show(self) -> String {
        let ms = self.as_millis();
        let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
        match units.into_iter().find(|(_, unit_ms)| ms.is_multiple_of(*unit_ms)) {
            Some(_) if ms == 0 => "0s".to_owned(),
            Some((unit, unit_ms)) => format!("{}{unit}", ms / unit_ms),
            None => format!("{ms}ms"),
        }
    }
}

/// Digits alone.
macro_rules! whole_numbers {
    ($($number:ty),*) => {$(
        impl Quantity for $number {
            fn parse(text: &str) -> Result<Self, String> {
                let digits = text.bytes().all(|b| b.is_ascii_digit());
                let wrong = || format!("{} is not a whole number; write digits alone, as in 100", Shown(text));
                // Digits that are too many are the largest number, which no range takes in.
                if digits && !text.is_empty() { Ok(text.parse().unwrap_or(<$number>::MAX)) } else { Err(wrong()) }
            }

            fn show(self) -> String {
                self.to_string()
            }
        }
    )*};
}

whole_numbers!(usize, u64);

impl Quantity for f64 {
    /// Digits with at most one point; no exponent, infinity or NaN.
    fn parse(text: &str) -> Result<Self, String> {
        let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let wrong = || format!("{} is not a share; write a number from 0 to 1, as in 0.05", Shown(text));
        if plain { text.parse().map_err(|_| wrong()) } else { Err(wrong()) }
    }

    fn show(self) -> String {
        self.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations() {
        for (text, value) in [
            ("250ms", Duration::from_millis(250)),
            ("5s", Duration::from_secs(5)),
            ("10m", Duration::from_secs(600)),
            ("2h", Duration::from_secs(7_200)),
            ("0s", Duration::ZERO),
            ("007s", Duration::from_secs(7)),
        ] {
            assert_eq!(Duration::parse(text), Ok(value));
        }
        for wrong in [
            "",
            "5",
            "s",
            "5 s",
            " 5s",
            "5S",
            "-5s",
            "+5s",
            "1.5s",
            "5sec",
            "1m30s",
            "५s",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert!(Duration::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(usize::parse("100"), Ok(100));
        for wrong in ["", "+1", "-1", "1_000", "1e3", "0x10", "1.0"] {
            assert!(usize::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(usize::parse("99999999999999999999999"), Ok(usize::MAX), "out of every range");
        for (text, value) in [("0.05", 0.05), ("1", 1.0), (".5", 0.5), ("0.", 0.0)] {
            assert_eq!(f64::parse(text), Ok(value));
        }
        for wrong in ["", ".", "nan", "inf", "-0.1", "1e-3", "0,5", "0.5.5", "5%"] {
            assert!(f64::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_shown_duration_reads_back(n in 0..100_000_u64, unit in 0..4_usize) {
            let value = Duration::from_millis(n * [1, 1_000, 60_000, 3_600_000][unit]);
            prop_assert_eq!(Duration::parse(&value.show()), Ok(value));
        }
    }
}
