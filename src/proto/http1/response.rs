//! The response head (RFC 9112, 4 and 6.3). Whatever is wrong with it is the origin's fault: 502 to the
//! client.

use super::connection::ConnectionOptions;
use super::error::HeadError;
use super::field::{Field, Fields, Known, Span};
use super::framing::{Framing, FramingFields, Parsed, Version};
use super::line::status_line;
use super::request::Method;
use super::scan::{Found, HeadScanner};
use super::trailers::Nominated;

/// A response head: positions in the octets it was parsed from, and what they mean. About 1.2 KB, to be kept
/// and reused.
#[derive(Debug)]
pub struct ResponseHead {
    scan: HeadScanner,
    whole: Span,
    status: u16,
    version: Version,
    fields: Fields,
    connection: ConnectionOptions,
    framing: Framing,
}

impl Default for ResponseHead {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseHead {
    #[must_use]
    pub fn new() -> Self {
        Self {
            scan: HeadScanner::new(),
            whole: Span::default(),
            status: 0,
            version: Version::Http11,
            fields: Fields::new(),
            connection: ConnectionOptions::default(),
            framing: Framing::None,
        }
    }

    /// Forgets a head that was begun, so that the next call of [`parse`](Self::parse) begins a new one.
    pub fn restart(&mut self) {
        self.scan.restart();
    }

    /// Parses the head at the start of `octets`, the answer to a request with `method`; see
    /// [`super::RequestHead::parse`] for how calls go on. An interim answer (1xx) is a head of its own: after
    /// all but 101, parse again behind it.
    pub fn parse(&mut self, octets: &[u8], method: Method) -> Result<Parsed, HeadError> {
        let outcome = match self.scan.advance(octets) {
            Ok(None) => return Ok(Parsed::Partial),
            Ok(Some(found)) => self.read(octets, found, method),
            // The scan measures the first line as it would a request's.
            Err(HeadError::TargetTooLong) => Err(HeadError::StatusLine),
            Err(error) => Err(error),
        };
        self.scan.restart();
        outcome
    }

    fn read(&mut self, octets: &[u8], found: Found, method: Method) -> Result<Parsed, HeadError> {
        // Only requests may have an empty line before them.
        if found.start != 0 {
            return Err(HeadError::StatusLine);
        }
        (self.version, self.status) = status_line(self.scan.lines().first(octets, 0))?;
        self.fields.read(self.scan.lines(), octets)?;
        self.whole = Span::between(0, found.end);
        self.act_on_fields(octets, method)?;
        Ok(Parsed::Complete { len: found.end })
    }

    fn act_on_fields(&mut self, octets: &[u8], method: Method) -> Result<(), HeadError> {
        self.connection.clear();
        let mut framing = FramingFields::default();
        for field in self.fields.as_slice() {
            let value = field.value(octets);
            match field.known() {
                Known::ContentLength => framing.content_length(value)?,
                Known::TransferEncoding => framing.transfer_encoding(value)?,
                Known::Connection => self.connection.absorb(value, octets)?,
                Known::Lookalike => return Err(HeadError::NameLookalike),
                _ => {}
            }
        }
        let framing = framing.settle(self.version, Framing::UntilClose)?;
        // RFC 9112, 6.3, first rule: these end with their head, whatever their fields say.
        let bodyless = method == Method::Head || matches!(self.status, 100..=199 | 204 | 304);
        self.framing = if bodyless { Framing::None } else { framing };
        Ok(())
    }

    /// 100 to 599.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether another head follows before the answer is complete; 101 is final in that nothing of HTTP
    /// follows it.
    #[must_use]
    pub fn is_interim(&self) -> bool {
        matches!(self.status, 100 | 102..=199)
    }

    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    #[must_use]
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// How long the body is.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether the origin's connection may be used again once the body has been read (RFC 9112, 9.3).
    #[must_use]
    pub fn keep_alive(&self) -> bool {
        self.framing != Framing::UntilClose && self.connection.persists(self.version)
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
