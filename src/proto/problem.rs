//! Errors of the gateway's own making, as Problem Details (RFC 9457, R-061). They say what the client may do,
//! never what is behind the gateway: no address, no service, no cause.

use super::date::HttpDate;
use super::http1::HeadError;
use super::trace::RequestId;

/// What went wrong, one per `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    MalformedRequest,
    UnknownHost,
    MethodNotAllowed,
    RequestTimeout,
    LengthRequired,
    ContentTooLarge,
    TargetTooLong,
    ExpectationFailed,
    Misdirected,
    HeadTooLarge,
    Internal,
    NotImplemented,
    BadOriginAnswer,
    OriginUnreachable,
    NoHealthyEndpoints,
    Overloaded,
    OriginTimeout,
    VersionNotSupported,
    LoopDetected,
}

/// A kind's status code, the last part of its `type`, and its title.
struct Entry(u16, &'static str, &'static str);

impl ProblemKind {
    fn entry(self) -> Entry {
        match self {
            Self::MalformedRequest => Entry(400, "malformed-request", "Malformed request"),
            Self::UnknownHost => Entry(404, "unknown-host", "Nothing is served under this host name"),
            Self::MethodNotAllowed => Entry(405, "method-not-allowed", "Method not allowed"),
            Self::RequestTimeout => Entry(408, "request-timeout", "The request did not arrive in time"),
            Self::LengthRequired => Entry(411, "length-required", "Content-Length required"),
            Self::ContentTooLarge => Entry(413, "content-too-large", "Request content too large"),
            Self::TargetTooLong => Entry(414, "target-too-long", "Request target too long"),
            Self::ExpectationFailed => Entry(417, "expectation-failed", "Expectation failed"),
            Self::Misdirected => Entry(421, "misdirected-request", "Wrong connection for this host name"),
            Self::HeadTooLarge => Entry(431, "head-too-large", "Request head too large"),
            Self::Internal => Entry(500, "internal", "Internal error"),
            Self::NotImplemented => Entry(501, "not-implemented", "Not implemented"),
            Self::BadOriginAnswer => Entry(502, "bad-origin-answer", "The service gave no valid answer"),
            Self::OriginUnreachable => Entry(502, "origin-unreachable", "The service could not be reached"),
            Self::NoHealthyEndpoints => Entry(503, "no-healthy-endpoints", "The service is unavailable"),
            Self::Overloaded => Entry(503, "overloaded", "The service is overloaded"),
            Self::OriginTimeout => Entry(504, "origin-timeout", "The service did not answer in time"),
            Self::VersionNotSupported => Entry(505, "version-not-supported", "HTTP version not supported"),
            Self::LoopDetected => Entry(508, "loop-detected", "The request goes in a circle"),
        }
    }

    #[must_use]
    pub fn status(self) -> u16 {
        self.entry().0
    }

    /// The last part of its `type`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    #[must_use]
    pub fn title(self) -> &'static str {
        self.entry().2
    }
}

/// The kind that answers a refused request head.
impl From<HeadError> for ProblemKind {
    fn from(error: HeadError) -> Self {
        match error.status() {
            405 => Self::MethodNotAllowed,
            414 => Self::TargetTooLong,
            417 => Self::ExpectationFailed,
            431 => Self::HeadTooLarge,
            501 => Self::NotImplemented,
            505 => Self::VersionNotSupported,
            508 => Self::LoopDetected,
            _ => Self::MalformedRequest,
        }
    }
}

/// One error and the request that met it.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    pub kind: ProblemKind,
    /// For people; what the client can mend. Empty: left out.
    pub detail: &'a str,
    /// The path asked for. Empty: left out.
    pub instance: &'a [u8],
    pub request_id: &'a RequestId,
}

/// How the answer goes out.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    pub date: &'a HttpDate,
    /// Whether the connection outlasts the answer; a malformed request's cannot.
    pub keep_alive: bool,
    /// The request was HEAD: the answer is a head alone.
    pub head_only: bool,
    /// Whole field lines to add, each ended by CRLF: `Retry-After: 1\r\n`.
    pub fields: &'a str,
}

/// The methods that a gateway passes on and knows; others pass, too.
pub const ALLOW: &str = "Allow: GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH\r\n";

/// What a `type` begins with.
pub const TYPE_BASE: &str = "urn:ringway:problem:";

impl Problem<'_> {
    /// Appends a whole HTTP/1.1 response.
    pub fn write_response(&self, out: &mut Vec<u8>, reply: &Reply<'_>) {
        let body = self.to_json();
        let status = self.kind.status();
        let connection = if reply.keep_alive { "" } else { "Connection: close\r\n" };
        // RFC 9110, 15.5.6: a 405 names what is allowed.
        let allow = match self.kind {
            ProblemKind::MethodNotAllowed => ALLOW,
            _ => "",
        };
        let head = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: application/problem+json\r\n\
             Content-Length: {length}\r\nCache-Control: no-store\r\nX-Request-Id: {id}\r\n{allow}\
             {connection}{fields}Date: ",
            reason = reason(status),
            length = body.len(),
            id = self.request_id.as_str(),
            fields = reply.fields,
        );
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(reply.date.as_octets());
        out.extend_from_slice(b"\r\n\r\n");
        if !reply.head_only {
            out.extend_from_slice(body.as_bytes());
        }
    }

    /// The document, one JSON object.
    #[must_use]
    pub fn to_json(&self) -> String {
        let Entry(status, slug, title) = self.kind.entry();
        let mut json = format!("{{\"type\":\"{TYPE_BASE}{slug}\",\"title\":\"{title}\",\"status\":{status}");
        if !self.detail.is_empty() {
            json.push_str(",\"detail\":\"");
            escape(&mut json, self.detail);
            json.push('"');
        }
        if !self.instance.is_empty() {
            json.push_str(",\"instance\":\"");
            escape(&mut json, &String::from_utf8_lossy(self.instance));
            json.push('"');
        }
        json.push_str(",\"request_id\":\"");
        json.push_str(self.request_id.as_str());
        json.push_str("\"}");
        json
    }
}

/// Appends text as the inside of a JSON string (RFC 8259, 7).
fn escape(json: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\0'..='\x1f' => json.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => json.push(character),
        }
    }
}

/// The reason phrases of RFC 9110, 15, and of RFC 6585 and RFC 5842, for the codes above.
fn reason(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        414 => "URI Too Long",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        508 => "Loop Detected",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

    use super::{Problem, ProblemKind, Reply};
    use crate::proto::date::HttpDate;
    use crate::proto::http1::{BodyReader, BodyStep, Framing, HeadError, Method, ResponseHead};
    use crate::proto::trace::{IdSource, RequestId};

    const KINDS: &[ProblemKind] = &[
        ProblemKind::MalformedRequest,
        ProblemKind::UnknownHost,
        ProblemKind::MethodNotAllowed,
        ProblemKind::RequestTimeout,
        ProblemKind::LengthRequired,
        ProblemKind::ContentTooLarge,
        ProblemKind::TargetTooLong,
        ProblemKind::ExpectationFailed,
        ProblemKind::Misdirected,
        ProblemKind::HeadTooLarge,
        ProblemKind::Internal,
        ProblemKind::NotImplemented,
        ProblemKind::BadOriginAnswer,
        ProblemKind::OriginUnreachable,
        ProblemKind::NoHealthyEndpoints,
        ProblemKind::Overloaded,
        ProblemKind::OriginTimeout,
        ProblemKind::VersionNotSupported,
        ProblemKind::LoopDetected,
    ];

    fn id() -> RequestId {
        IdSource::new(1, 2, 3).request_id()
    }

    #[test]
    fn every_kind_is_a_whole_response_with_its_own_type() {
        let (id, date) = (id(), HttpDate::from_unix_seconds(0));
        let mut types = std::collections::HashSet::new();
        assert_eq!(KINDS.len(), ProblemKind::LoopDetected as usize + 1);
        for &kind in KINDS {
            let problem = Problem { kind, detail: "why", instance: b"/x", request_id: &id };
            let mut out = Vec::new();
            let reply =
                Reply { date: &date, keep_alive: true, head_only: false, fields: "Retry-After: 1\r\n" };
            problem.write_response(&mut out, &reply);
            let mut head = ResponseHead::new();
            head.parse(&out, Method::Get).unwrap();
            assert_eq!(head.status(), kind.status());
            let body = problem.to_json();
            assert_eq!(head.framing(), Framing::Length(body.len() as u64));
            assert_eq!(out.strip_suffix(body.as_bytes()).map(|head| head.ends_with(b"\r\n\r\n")), Some(true));
            let fields = head.fields();
            assert_eq!(
                fields.values(b"content-type", &out).next(),
                Some(b"application/problem+json".as_slice())
            );
            assert_eq!(fields.values(b"x-request-id", &out).next(), Some(id.as_octets().as_slice()));
            assert_eq!(fields.values(b"retry-after", &out).count(), 1);
            assert_eq!(fields.values(b"date", &out).count(), 1);
            assert_eq!(fields.values(b"allow", &out).count(), usize::from(kind.status() == 405));
            assert!(head.keep_alive());
            assert!(types.insert(body.split(',').next().unwrap().to_owned()), "{kind:?}");
            assert!(!super::reason(kind.status()).is_empty());
        }
    }

    #[test]
    fn head_only_and_closing() {
        let (id, date) = (id(), HttpDate::from_unix_seconds(0));
        let problem = Problem { kind: ProblemKind::UnknownHost, detail: "", instance: b"", request_id: &id };
        let mut out = Vec::new();
        problem
            .write_response(&mut out, &Reply { date: &date, keep_alive: false, head_only: true, fields: "" });
        let mut head = ResponseHead::new();
        head.parse(&out, Method::Head).unwrap();
        assert!(!head.keep_alive());
        assert!(out.ends_with(b"\r\n\r\n"));
        assert_eq!(BodyReader::new(head.framing()).next(b""), Ok(BodyStep::End { used: 0 }));
    }

    #[test]
    fn documents_are_json_whatever_they_hold() {
        let id = id();
        let problem = Problem {
            kind: ProblemKind::MalformedRequest,
            detail: "a \"quoted\"\\\n\u{1f}\u{7f}\u{e9}",
            instance: b"/\xff\"}",
            request_id: &id,
        };
        let expected = format!(
            "{{\"type\":\"urn:ringway:problem:malformed-request\",\"title\":\"Malformed request\",\
             \"status\":400,\
             \"detail\":\"a \\\"quoted\\\"\\\\\\u000a\\u001f\u{7f}\u{e9}\",\"instance\":\"/\u{fffd}\\\"}}\",\
             \"request_id\":\"{}\"}}",
            id.as_str()
        );
        assert_eq!(problem.to_json(), expected);
    }

    #[test]
    fn refused_heads_get_their_status() {
        for error in [
            HeadError::Control,
            HeadError::MethodNotAllowed,
            HeadError::TargetTooLong,
            HeadError::TooLarge,
            HeadError::CodingUnknown,
            HeadError::Version,
        ] {
            assert_eq!(ProblemKind::from(error).status(), error.status());
        }
    }
}
