//! What a path asks of the origin. Pure.

use std::time::Duration;

use crate::limits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The fixed answer, prepared beforehand.
    Fixed,
    /// So many octets of the pattern, with Content-Length.
    Size(u64),
    /// The same in the chunked coding.
    Chunked(u64),
    /// The same, ended by the connection.
    UntilClose(u64),
    /// The fixed body with this status.
    Status(u16),
    /// The fixed answer, that much later.
    Delay(Duration),
    /// Tells the SHA-256 of what was sent.
    Digest,
    /// Tells which address was asked, and for what.
    Whoami,
}

impl Route {
    /// The route of a path without its query. What is not understood gets the fixed answer, like every other
    /// path.
    pub(super) fn of(path: &[u8]) -> Self {
        let Ok(path) = std::str::from_utf8(path) else { return Self::Fixed };
        if path == "/digest" {
            return Self::Digest;
        }
        if path == "/whoami" || path.starts_with("/whoami/") {
            return Self::Whoami;
        }
        let Some((kind, number)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
            return Self::Fixed;
        };
        let Some(number) = decimal(number) else { return Self::Fixed };
        match (kind, number) {
            ("size", octets) => Self::Size(octets),
            ("chunked", octets) => Self::Chunked(octets),
            ("close", octets) => Self::UntilClose(octets),
            ("status", 200..=599) => u16::try_from(number).map_or(Self::Fixed, Self::Status),
            ("delay", ms) => Self::Delay(Duration::from_millis(ms.min(limits::DELAY_MS_MAX))),
            _ => Self::Fixed,
        }
    }
}

fn decimal(digits: &str) -> Option<u64> {
    if digits.bytes().all(|octet| octet.is_ascii_digit()) { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (path, route) in [
            ("/", Route::Fixed),
            ("*", Route::Fixed),
            ("/sink", Route::Fixed),
            ("/size", Route::Fixed),
            ("/size/", Route::Fixed),
            ("/size/+1", Route::Fixed),
            ("/size/99999999999999999999", Route::Fixed),
            ("/size/0", Route::Size(0)),
            ("/size/8589934592", Route::Size(8_589_934_592)),
            ("/chunked/7", Route::Chunked(7)),
            ("/close/7", Route::UntilClose(7)),
            ("/status/503", Route::Status(503)),
            ("/status/199", Route::Fixed),
            ("/status/600", Route::Fixed),
            ("/delay/250", Route::Delay(Duration::from_millis(250))),
            ("/delay/999999999", Route::Delay(Duration::from_secs(60))),
            ("/digest", Route::Digest),
            ("/digest/1", Route::Fixed),
            ("/whoami", Route::Whoami),
            ("/whoami/7/x", Route::Whoami),
            ("/whoamI", Route::Fixed),
        ] {
            assert_eq!(Route::of(path.as_bytes()), route, "{path}");
        }
        assert_eq!(Route::of(b"/\xff/1"), Route::Fixed);
    }
}
