//! What a request may measure: the router's limits hold for every head that is read, a service's own for those
//! that were routed to it.

use super::failure::Failure;
use super::request::Scratch;
use crate::config::RequestLimits;
use crate::observe::Reason;
use crate::proto::http1::{Framing, RequestHead};

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

/// Judges a request by the limits of its service, before anything of it goes on. What a body does not say of its length
/// is measured as it passes.
///
/// # Errors
/// 431, 414 or 413.
pub(super) fn request(scratch: &Scratch, limits: &RequestLimits) -> Result<(), Failure> {
    head(&scratch.head, &scratch.octets, limits)?;
    match scratch.head.framing() {
        Framing::Length(octets) if octets > limits.body_bytes => Err(Reason::ContentTooLarge.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a failed unwrap is a failed test
mod tests {
    use super::*;

    fn verdict(text: &str, limits: &RequestLimits) -> Option<Reason> {
        let mut scratch = Scratch { octets: text.as_bytes().to_vec(), ..Scratch::default() };
        scratch.head.parse(text.as_bytes()).unwrap();
        request(&scratch, limits).err().map(|failure| failure.reason)
    }

    #[test]
    fn each_limit_to_the_octet() {
        let post = "POST /abc HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n";
        let fits = RequestLimits { head_bytes: post.len(), head_fields: 2, target_bytes: 4, body_bytes: 5 };
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
}
