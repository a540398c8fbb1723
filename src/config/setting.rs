//! Every setting with a number in it: its name, default, range and meaning, in one table. The reader and
//! docs/reference/configuration.md both follow it.
use std::time::Duration;

use super::checked::{Limits, OriginTimeouts, RequestLimits, Timeouts, UpstreamLimits};
use super::report::Shown;
use crate::limits::{
    BODY_OCTETS_MAX, CONNECTIONS_PER_CORE as CONNECTIONS_PER_CORE_MAX, FIELDS_MAX, HEAD_OCTETS_MAX,
    TARGET_OCTETS_MAX,
};

pub(super) struct Setting<T> {
    pub name: &'static str,
    pub default: T,
    pub least: T,
    pub most: T,
}

const fn setting<T: Copy>(name: &'static str, default: T, (least, most): (T, T)) -> Setting<T> {
    Setting { name, default, least, most }
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn s(n: u64) -> Duration {
    Duration::from_secs(n)
}

const fn hours(n: u64) -> Duration {
    Duration::from_secs(n * 3600)
}

// Timeouts. The least is a few ticks of the timer wheel.
pub(super) const REQUEST_HEAD: Setting<Duration> = setting("request_head", s(10), (ms(100), s(600)));
pub(super) const IDLE: Setting<Duration> = setting("idle", s(75), (ms(100), hours(24)));
pub(super) const DRAIN: Setting<Duration> = setting("drain", s(30), (s(0), hours(24)));
// Long enough for one SYN to be lost and sent again.
pub(super) const CONNECT: Setting<Duration> = setting("connect", s(3), (ms(20), s(60)));
pub(super) const RESPONSE_HEAD: Setting<Duration> = setting("response_head", s(60), (ms(20), hours(1)));
pub(super) const BODY_PROGRESS: Setting<Duration> = setting("body_progress", s(60), (ms(100), hours(1)));
pub(super) const UPSTREAM_IDLE: Setting<Duration> = setting("upstream_idle", s(60), (ms(100), hours(1)));
pub(super) const UPSTREAM_WAIT: Setting<Duration> = setting("upstream_wait", s(1), (ms(20), s(600)));

// Limits. What the process can take at most is compiled in; a file may ask for less.
pub(super) const REQUEST_HEAD_BYTES: Setting<usize> =
    setting("request_head_bytes", HEAD_OCTETS_MAX, (1_024, HEAD_OCTETS_MAX));
pub(super) const RESPONSE_HEAD_BYTES: Setting<usize> =
    setting("response_head_bytes", HEAD_OCTETS_MAX, (1_024, HEAD_OCTETS_MAX));
pub(super) const HEAD_FIELDS: Setting<usize> = setting("head_fields", FIELDS_MAX, (16, FIELDS_MAX));
pub(super) const TARGET_BYTES: Setting<usize> =
    setting("target_bytes", TARGET_OCTETS_MAX, (64, TARGET_OCTETS_MAX));
pub(super) const REQUEST_BODY_BYTES: Setting<u64> =
    setting("request_body_bytes", BODY_OCTETS_MAX, (0, BODY_OCTETS_MAX));
/// A client that is slower than a modem of the nineties by far holds a request on purpose.
pub(super) const CLIENT_BYTES_PER_SECOND: Setting<u64> =
    setting("client_min_bytes_per_second", 64, (0, 1_000_000_000));
/// Off: an origin may have something to say once a minute, as in an event stream.
pub(super) const ORIGIN_BYTES_PER_SECOND: Setting<u64> =
    setting("origin_min_bytes_per_second", 0, (0, 1_000_000_000));
pub(super) const CONNECTIONS_PER_CORE: Setting<usize> =
    setting("connections_per_core", CONNECTIONS_PER_CORE_MAX, (1, CONNECTIONS_PER_CORE_MAX));
pub(super) const UPSTREAM_IDLE_CONNECTIONS: Setting<usize> =
    setting("upstream_idle_connections", 256, (0, 65_536));
pub(super) const UPSTREAM_CONNECTIONS: Setting<usize> =
    setting("upstream_connections", 1_024, (1, CONNECTIONS_PER_CORE_MAX));
pub(super) const UPSTREAM_REQUESTS: Setting<usize> =
    setting("upstream_requests", 1_024, (1, CONNECTIONS_PER_CORE_MAX));
pub(super) const UPSTREAM_WAITING: Setting<usize> =
    setting("upstream_waiting", 1_024, (0, CONNECTIONS_PER_CORE_MAX));

// Access log.
pub(super) const SUCCESS_SAMPLE: Setting<f64> = setting("success_sample", 0.05, (0.0, 1.0));
pub(super) const SLOW: Setting<Duration> = setting("slow", s(1), (ms(1), hours(1)));

// Words.
/// Of listening Unix sockets: the user and its group.
pub(super) const SOCKET_MODE: u32 = 0o660;
pub(super) const REGION: &str = "local";
pub(super) const POP: &str = "local";
pub(super) const ADMIN_ADDRESS: &str = "127.0.0.1:9180";
pub(super) const STATE_DIR: &str = "./var/ringway";

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            request_head: REQUEST_HEAD.default,
            idle: IDLE.default,
            drain: DRAIN.default,
            origin: OriginTimeouts::default(),
        }
    }
}

impl Default for OriginTimeouts {
    fn default() -> Self {
        Self {
            connect: CONNECT.default,
            response_head: RESPONSE_HEAD.default,
            body_progress: BODY_PROGRESS.default,
            upstream_idle: UPSTREAM_IDLE.default,
            upstream_wait: UPSTREAM_WAIT.default,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: RequestLimits::default(),
            response_head_bytes: RESPONSE_HEAD_BYTES.default,
            connections_per_core: CONNECTIONS_PER_CORE.default,
            upstream: UpstreamLimits::default(),
        }
    }
}

impl Default for UpstreamLimits {
    fn default() -> Self {
        Self {
            idle_connections: UPSTREAM_IDLE_CONNECTIONS.default,
            connections: UPSTREAM_CONNECTIONS.default,
            requests: UPSTREAM_REQUESTS.default,
            waiting: UPSTREAM_WAITING.default,
        }
    }
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            head_bytes: REQUEST_HEAD_BYTES.default,
            head_fields: HEAD_FIELDS.default,
            target_bytes: TARGET_BYTES.default,
            body_bytes: REQUEST_BODY_BYTES.default,
            client_bytes_per_second: CLIENT_BYTES_PER_SECOND.default,
            origin_bytes_per_second: ORIGIN_BYTES_PER_SECOND.default,
        }
    }
}

impl<T: Quantity> Setting<T> {
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub(super) fn parse(&self, text: &str) -> Result<T, String> {
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
    pub(super) fn parse_within(&self, routers: T, text: &str) -> Result<T, String> {
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
    pub(super) fn range(&self) -> String {
        format!("{} to {}", self.least.show(), self.most.show())
    }
}

/// A kind of number that can be written in the file.
pub(super) trait Quantity: Copy + PartialOrd {
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
            ("250ms", ms(250)),
            ("5s", s(5)),
            ("10m", s(600)),
            ("2h", hours(2)),
            ("0s", s(0)),
            ("007s", s(7)),
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
