//! What a request may measure, and which paths may go on: the router's limits hold for every head that is
//! read, a service's own settings for those that were routed to it.

use super::failure::Failure;
use super::request::Scratch;
use crate::config::{Paths, RequestLimits, ServiceSettings};
use crate::observe::Reason;
use crate::proto::http1::{Framing, RequestHead};
use crate::proto::path::PathError;

/// Judges a head; `octets` is all of it.
///
/// # Errors
/// 431 or 414.
pub(super) fn head(head: &RequestHead, octets: &[u8], limits: &RequestLimits) -> Result<(), Failure> {
    if octets.len() > limits.head_bytes || head.fields().as_slice().len() > limits.head_fields {
        return Err(Reason::HeadTooLarge.into());
    }
    if head.target(octets).len() > limits.target_bytes {
        return Err(Reason::TargetTooLong.into());
    }
    Ok(())
}

/// Judges a request by what its service takes, before anything of it goes on. What a body does not say of its length is
/// measured as it passes.
///
/// # Errors
/// 431, 414, 413, or 400 for its path.
pub(super) fn request(scratch: &Scratch, settings: &ServiceSettings) -> Result<(), Failure> {
    head(&scratch.head, &scratch.octets, &settings.limits)?;
    path(scratch, settings.paths).map_err(Failure::of_path)?;
    match scratch.head.framing() {
        Framing::Length(octets) if octets > settings.limits.body_bytes => Err(Reason::ContentTooLarge.into()),
        _ => Ok(()),
    }
}

/// Judges a path by what its service says of them.
///
/// # Errors
/// What its readers could disagree about.
pub(super) fn path(scratch: &Scratch, paths: Paths) -> Result<(), PathError> {
    match (paths, scratch.path.error()) {
        (Paths::Raw, _) => Ok(()),
        (_, Some(error)) => Err(error),
        (Paths::Strict, None) if !scratch.path.is_normal(scratch.head.path(&scratch.octets)) => {
            Err(PathError::NotNormal)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a failed unwrap is a failed test
mod tests {
    use super::*;

    fn judge(text: &str, settings: &ServiceSettings) -> Option<Reason> {
        let mut scratch = Scratch { octets: text.as_bytes().to_vec(), ..Scratch::default() };
        scratch.head.parse(text.as_bytes()).unwrap();
        scratch.path.read(scratch.head.path(text.as_bytes()));
        request(&scratch, settings).err().map(|failure| failure.reason)
    }

    fn verdict(text: &str, limits: &RequestLimits) -> Option<Reason> {
        judge(text, &ServiceSettings { limits: *limits, ..ServiceSettings::default() })
    }

    #[test]
    fn each_limit_to_the_octet() {
        let post = "POST /abc HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n";
        let fits = RequestLimits {
            head_bytes: post.len(),
            head_fields: 2,
            target_bytes: 4,
            body_bytes: 5,
            ..RequestLimits::default()
        };
        assert_eq!(verdict(post, &fits), None);
        let narrower = |narrow: fn(&mut RequestLimits)| {
            let mut limits = fits;
            narrow(&mut limits);
            verdict(post, &limits)
        };
        assert_eq!(narrower(|limits| limits.head_bytes -= 1), Some(Reason::HeadTooLarge));
        assert_eq!(narrower(|limits| limits.head_fields -= 1), Some(Reason::HeadTooLarge));
        assert_eq!(narrower(|limits| limits.target_bytes -= 1), Some(Reason::TargetTooLong));
        assert_eq!(narrower(|limits| limits.body_bytes -= 1), Some(Reason::ContentTooLarge));
    }

    /// Chunks say nothing of their sum, and no body is never too long.
    #[test]
    fn what_is_not_announced_is_not_refused_here() {
        let limits = RequestLimits { body_bytes: 0, ..RequestLimits::default() };
        for fields in ["", "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n"] {
            assert_eq!(verdict(&format!("POST / HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n"), &limits), None);
        }
    }

    #[test]
    fn paths_by_the_services_choice() {
        for (path, refused) in [
            ("/a/b", [false, false, false]),
            ("*", [false, false, false]),
            ("/a/../b", [false, true, false]),
            ("/%41", [false, true, false]),
            ("//a", [false, true, false]),
            ("/a%2fb", [true, true, false]),
        ] {
            let text = format!("OPTIONS {path} HTTP/1.1\r\nHost: a.test\r\n\r\n");
            let verdict = |paths| judge(&text, &ServiceSettings { paths, ..ServiceSettings::default() });
            let verdicts = [Paths::Normalize, Paths::Strict, Paths::Raw].map(verdict);
            let expected = refused.map(|refused| refused.then_some(Reason::AmbiguousPath));
            assert_eq!(verdicts, expected, "{path}");
        }
    }
}
