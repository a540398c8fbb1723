//! The request head (RFC 9112, 2 to 5): read once, refused whole when anything in it is ambiguous.

use super::connection::ConnectionOptions;
use super::error::HeadError;
use super::field::{Field, Fields, Known, Span};
use super::framing::{Framing, FramingFields, Parsed, Version, decimal};
use super::host::HostName;
use super::line::request_line;
use super::scan::{Found, HeadScanner};
use super::target::Target;
use super::trailers::Nominated;
use super::write_request::{PSEUDONYM, Scheme};
use crate::limits::{METHOD_OCTETS_MAX, PASSES_MAX};

/// The methods that a gateway treats on their own; all others are passed on as they are (RFC 9110, 9).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    #[default]
    Get,
    Head,
    Post,
    Put,
    Delete,
    Options,
    Patch,
    Other,
}

impl Method {
    /// Whether a second attempt may do no harm that the first did not (RFC 9110, 9.2.2).
    #[must_use]
    pub fn is_idempotent(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Put | Self::Delete | Self::Options)
    }

    fn parse(method: &[u8]) -> Result<Self, HeadError> {
        match method {
            b"GET" => Ok(Self::Get),
            b"HEAD" => Ok(Self::Head),
            b"POST" => Ok(Self::Post),
            b"PUT" => Ok(Self::Put),
            b"DELETE" => Ok(Self::Delete),
            b"OPTIONS" => Ok(Self::Options),
            b"PATCH" => Ok(Self::Patch),
            b"TRACE" => Err(HeadError::MethodNotAllowed),
            b"CONNECT" => Err(HeadError::MethodUnknown),
            _ if method.len() > METHOD_OCTETS_MAX => Err(HeadError::MethodUnknown),
            _ => Ok(Self::Other),
        }
    }
}

/// A request head: positions in the octets it was parsed from, and what they mean. About 1.5 KB, to be kept
/// and reused.
#[derive(Debug)]
pub struct RequestHead {
    scan: HeadScanner,
    whole: Span,
    method: Method,
    method_text: Span,
    target: Target,
    version: Version,
    host: HostName,
    fields: Fields,
    connection: ConnectionOptions,
    framing: Framing,
    expects_continue: bool,
    asks_upgrade: bool,
    takes_trailers: bool,
    max_forwards: Option<u64>,
}

impl Default for RequestHead {
    fn default() -> Self {
        Self::new()
    }
}

impl RequestHead {
    #[must_use]
    pub fn new() -> Self {
        Self {
            scan: HeadScanner::new(),
            whole: Span::default(),
            method: Method::Get,
            method_text: Span::default(),
            target: Target::default(),
            version: Version::Http11,
            host: HostName::empty(),
            fields: Fields::new(),
            connection: ConnectionOptions::default(),
            framing: Framing::None,
            expects_continue: false,
            asks_upgrade: false,
            takes_trailers: false,
            max_forwards: None,
        }
    }

    /// Forgets a head that was begun, so that the next call of [`parse`](Self::parse) begins a new one.
    pub fn restart(&mut self) {
        self.scan.restart();
    }

    /// Parses the head at the start of `octets`, which may hold more behind it. After `Partial`, call again
    /// with the same octets and more behind them: none is looked at twice. After `Complete` or an error the
    /// next call begins a new head.
    pub fn parse(&mut self, octets: &[u8]) -> Result<Parsed, HeadError> {
        let outcome = match self.scan.advance(octets) {
            Ok(None) => return Ok(Parsed::Partial),
            Ok(Some(found)) => self.read(octets, found),
            Err(error) => Err(error),
        };
        self.scan.restart();
        outcome
    }

    fn read(&mut self, octets: &[u8], found: Found) -> Result<Parsed, HeadError> {
        let (method, target, version) = request_line(self.scan.lines().first(octets, found.start))?;
        self.fields.read(self.scan.lines(), octets)?;
        self.whole = Span::between(found.start, found.end);
        self.method = Method::parse(method)?;
        self.method_text = Span::of(method, octets);
        self.target = Target::parse(target, self.method, octets)?;
        self.version = version;
        self.act_on_fields(octets)?;
        Ok(Parsed::Complete { len: found.end })
    }

    fn act_on_fields(&mut self, octets: &[u8]) -> Result<(), HeadError> {
        self.connection.clear();
        self.host.clear();
        (self.expects_continue, self.max_forwards) = (false, None);
        let (mut framing, mut hosts) = (FramingFields::default(), 0);
        let (mut upgrade, mut trailers, mut passes) = (false, false, 0);
        for at in 0..self.fields.as_slice().len() {
            let field = self.fields.as_slice()[at];
            let value = field.value(octets);
            match field.known() {
                Known::ContentLength => framing.content_length(value)?,
                Known::TransferEncoding => framing.transfer_encoding(value)?,
                Known::Connection => self.connection.absorb(value, octets)?,
                Known::Lookalike => return Err(HeadError::NameLookalike),
                Known::Host => {
                    hosts += 1;
                    self.host.set(value)?;
                }
                // HTTP/1.0 has no expectations (RFC 9110, 10.1.1).
                Known::Expect if self.version == Version::Http11 => self.expect(value)?,
                Known::MaxForwards if self.method == Method::Options => self.bound_forwards(value)?,
                Known::Upgrade => upgrade = true,
                Known::Via => passes += own_passes(value),
                Known::Te => {
                    trailers |= elements(value).any(|coding| coding.eq_ignore_ascii_case(b"trailers"));
                }
                _ => {}
            }
        }
        if passes > PASSES_MAX {
            return Err(HeadError::Loop);
        }
        match hosts {
            0 if self.version == Version::Http11 => return Err(HeadError::HostMissing),
            0 | 1 => {}
            _ => return Err(HeadError::HostRepeated),
        }
        if let Some(authority) = self.target.authority {
            self.host.set(authority.within(octets))?;
        }
        self.framing = framing.settle(self.version, Framing::None)?;
        // HTTP/1.0 knows neither (RFC 9110, 7.8 and 10.1.4).
        self.takes_trailers = trailers && self.connection.te && self.version == Version::Http11;
        self.asks_upgrade = upgrade && self.connection.upgrade && self.version == Version::Http11;
        Ok(())
    }

    /// One Expect value, a list (RFC 9110, 10.1.1).
    fn expect(&mut self, value: &[u8]) -> Result<(), HeadError> {
        for expectation in elements(value) {
            if !expectation.eq_ignore_ascii_case(b"100-continue") {
                return Err(HeadError::Expectation);
            }
            self.expects_continue = true;
        }
        Ok(())
    }

    /// One Max-Forwards value: 1*DIGIT (RFC 9110, 7.6.2). What does not fit in 64 bits is as good as the most that does.
    fn bound_forwards(&mut self, value: &[u8]) -> Result<(), HeadError> {
        let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        if self.max_forwards.is_some() || !is_number {
            return Err(HeadError::MaxForwards);
        }
        self.max_forwards = Some(decimal(value).unwrap_or(u64::MAX));
        Ok(())
    }

    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// The method as sent; a token.
    #[must_use]
    pub fn method_text<'a>(&self, octets: &'a [u8]) -> &'a [u8] {
        self.method_text.within(octets)
    }

    /// The request-target as sent.
    #[must_use]
    pub fn target<'a>(&self, octets: &'a [u8]) -> &'a [u8] {
        self.target.whole.within(octets)
    }

    /// The path, not decoded: `/…`, or `*` of an OPTIONS request for the server as a whole.
    #[must_use]
    pub fn path<'a>(&self, octets: &'a [u8]) -> &'a [u8] {
        match self.target.path.within(octets) {
            // An absolute target without a path (RFC 9112, 3.2.1 and 3.2.4).
            b"" if self.method == Method::Options && self.target.query.is_none() => b"*",
            b"" => b"/",
            path => path,
        }
    }

    /// What follows the `?`, not decoded.
    #[must_use]
    pub fn query<'a>(&self, octets: &'a [u8]) -> Option<&'a [u8]> {
        self.target.query.map(|query| query.within(octets))
    }

    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The host name in lower case without port and trailing dot, an IPv6 address in its brackets. Empty only
    /// where an HTTP/1.0 request names none.
    #[must_use]
    pub fn host(&self) -> &[u8] {
        self.host.as_octets()
    }

    /// Host as it goes on to the origin: the authority of an absolute target, else the field (RFC 9112,
    /// 3.2.2).
    #[must_use]
    pub fn authority<'a>(&self, octets: &'a [u8]) -> &'a [u8] {
        match self.target.authority {
            Some(authority) => authority.within(octets),
            None => self.fields.find(Known::Host).map(|field| field.value(octets)).unwrap_or_default(),
        }
    }

    /// The traceparent value; two of them are as good as none (W3C Trace Context, 3.2).
    #[must_use]
    pub fn traceparent<'a>(&self, octets: &'a [u8]) -> Option<&'a [u8]> {
        let mut values = self.fields.as_slice().iter().filter(|field| field.known() == Known::Traceparent);
        let value = values.next()?.value(octets);
        values.next().is_none().then_some(value)
    }

    #[must_use]
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// How long the body is; never `UntilClose`.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether the client means to send another request on this connection (RFC 9112, 9.3).
    #[must_use]
    pub fn keep_alive(&self) -> bool {
        self.connection.persists(self.version)
    }

    /// Whether the client waits for 100 (Continue) before its body (RFC 9110, 10.1.1).
    #[must_use]
    pub fn expects_continue(&self) -> bool {
        self.expects_continue
    }

    /// Whether the client asks for another protocol (RFC 9110, 7.8).
    #[must_use]
    pub fn asks_upgrade(&self) -> bool {
        self.asks_upgrade
    }

    /// The scheme of an absolute target.
    #[must_use]
    pub fn scheme(&self) -> Option<Scheme> {
        self.target.scheme
    }

    /// How often an OPTIONS request may still be passed on (RFC 9110, 7.6.2): not at all at 0.
    #[must_use]
    pub fn max_forwards(&self) -> Option<u64> {
        self.max_forwards
    }

    /// Whether the client says that it does not discard trailers (RFC 9110, 10.1.4).
    #[must_use]
    pub fn takes_trailers(&self) -> bool {
        self.takes_trailers
    }

    /// Whether `Connection` took this field along (RFC 9110, 7.6.1).
    #[inline]
    pub(super) fn nominates(&self, field: &Field, octets: &[u8]) -> bool {
        let name = field.name(octets);
        self.connection
            .nominated()
            .iter()
            .any(|nominated| nominated.within(octets).eq_ignore_ascii_case(name))
    }

    pub(super) fn has_absolute_target(&self) -> bool {
        self.target.authority.is_some()
    }

    /// The field names that `Connection` took along, for the trailers behind the body.
    #[must_use]
    pub fn nominated(&self, octets: &[u8]) -> Nominated {
        // Elsewhere there are no trailers.
        let names = if self.framing == Framing::Chunked { self.connection.nominated() } else { &[] };
        Nominated::of(names.iter().map(|name| name.within(octets)))
    }

    pub(super) fn whole(&self) -> Span {
        self.whole
    }
}

/// How many members of one Via value are ours: protocol, then our pseudonym (RFC 9110, 7.6.3).
fn own_passes(value: &[u8]) -> usize {
    let received_by = |member: &&[u8]| {
        let mut words = member.split(|octet| matches!(octet, b' ' | b'\t')).filter(|word| !word.is_empty());
        words.nth(1).is_some_and(|word| word.eq_ignore_ascii_case(PSEUDONYM))
    };
    elements(value).filter(received_by).count()
}

/// The elements of a list (RFC 9110, 5.6.1.2).
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&octet| octet == b',').map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}
