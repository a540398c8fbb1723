//! The Keep-Alive field of a response (RFC 2068, 19.7.1.1): how long its sender keeps the connection without a request.

use std::time::Duration;

use super::field::{Fields, Known};

/// The sender's `timeout`, in whole seconds; `None` if it says none that can be read.
#[must_use]
pub fn keep_alive_timeout(fields: &Fields, octets: &[u8]) -> Option<Duration> {
    let value = fields.find(Known::KeepAlive)?.value(octets);
    let seconds = value.split(|octet| matches!(octet, b',' | b';')).find_map(|parameter| {
        let (name, value) = parameter.split_at_checked(parameter.iter().position(|octet| *octet == b'=')?)?;
        let named = name.trim_ascii().eq_ignore_ascii_case(b"timeout");
        let digits = value[1..].trim_ascii();
        let digits = digits.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(digits);
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        // More digits than fit are a long time.
        let number = || {
            digits
                .iter()
                .fold(0u32, |sum, digit| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
        };
        (named && is_number).then(number)
    })?;
    Some(Duration::from_secs(u64::from(seconds)))
}

/// How long a connection may wait for its next request: as long as `ours`, but end before `theirs` does, so that no request
/// meets a close on its way. The margin is a second, or half of a short time.
#[must_use]
pub fn idle_time(ours: Duration, theirs: Option<Duration>) -> Duration {
    theirs.map_or(ours, |theirs| ours.min(theirs - Duration::from_secs(1).min(theirs / 2)))
}

#[cfg(test)]
mod tests {
    use super::super::{Method, Parsed, ResponseHead};
    use super::*;
    use proptest::prelude::*;

    fn timeout(value: &[u8]) -> Option<Duration> {
        let octets = [b"HTTP/1.1 200 OK\r\nKeep-Alive: ", value, b"\r\nContent-Length: 0\r\n\r\n"].concat();
        let mut head = ResponseHead::default();
        let parsed = head.parse(&octets, Method::Get);
        assert!(matches!(parsed, Ok(Parsed::Complete { .. })), "{parsed:?}");
        keep_alive_timeout(head.fields(), &octets)
    }

    #[test]
    fn values() {
        for (value, seconds) in [
            ("timeout=5", Some(5)),
            ("timeout=5, max=100", Some(5)),
            ("max=100,Timeout = 75", Some(75)),
            ("timeout=\"7\"", Some(7)),
            ("max=100; timeout=0", Some(0)),
            ("timeout=99999999999999", Some(u64::from(u32::MAX))),
            ("", None),
            ("300", None),
            ("timeout", None),
            ("timeout=", None),
            ("timeout=-1", None),
            ("timeout=5s", None),
            ("xtimeout=5", None),
        ] {
            assert_eq!(timeout(value.as_bytes()), seconds.map(Duration::from_secs), "{value}");
        }
    }

    #[test]
    fn ours_ends_first() {
        let ms = Duration::from_millis;
        for (ours, theirs, idle) in [
            (ms(60_000), None, ms(60_000)),
            (ms(60_000), Some(ms(75_000)), ms(60_000)),
            (ms(60_000), Some(ms(60_000)), ms(59_000)),
            (ms(60_000), Some(ms(5_000)), ms(4_000)),
            (ms(60_000), Some(ms(1_000)), ms(500)),
            (ms(60_000), Some(ms(0)), ms(0)),
            (ms(100), Some(ms(5_000)), ms(100)),
        ] {
            assert_eq!(idle_time(ours, theirs), idle);
        }
    }

    proptest! {
        #[test]
        fn any_value_is_read(value in "[ -~]{0,40}") {
            let _ = timeout(value.trim().as_bytes());
        }
    }
}
