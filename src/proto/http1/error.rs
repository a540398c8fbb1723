//! What can be wrong with a head. From [`super::RequestHead`] it is the client's fault, from
//! [`super::ResponseHead`] the origin's; the octets that follow cannot be framed, so the connection must
//! close either way.

/// Why a head was refused. Each variant names the section of RFC 9110 or RFC 9112 that it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// Bare CR, bare LF, NUL or another control octet (RFC 9112, 2.2; RFC 9110, 5.5).
    #[error("the head holds a control octet; lines end in CRLF and nothing else is control but HTAB")]
    Control,
    /// Not `method SP request-target SP HTTP-version` (RFC 9112, 3).
    #[error("the request line is not method, target and version with one space between")]
    RequestLine,
    /// Not `HTTP-version SP status-code SP [reason-phrase]` with a code of 100 to 599 (RFC 9112, 4; RFC 9110,
    /// 15).
    #[error("the status line is malformed or its code is not within 100 to 599")]
    StatusLine,
    /// Neither HTTP/1.0 nor HTTP/1.1 (RFC 9112, 2.3).
    #[error("the version is not HTTP/1.1 or HTTP/1.0")]
    Version,
    /// A method that is not offered at all: CONNECT, or one longer than any known (RFC 9110, 9.1).
    #[error("the method is not implemented here")]
    MethodUnknown,
    /// TRACE, which would echo credentials (RFC 9110, 9.3.8).
    #[error("the method TRACE is not allowed")]
    MethodNotAllowed,
    /// A request-target in none of the forms of RFC 9112, 3.2, or with an octet that no URI holds, or a
    /// fragment.
    #[error("the request target is not a path, an http or https URI, or * for OPTIONS")]
    Target,
    /// An absolute target of another scheme than the one that the request came by (RFC 9110, 7.4).
    #[error("the request target's scheme is not the one of this connection")]
    Scheme,
    /// Longer than `TARGET_OCTETS_MAX` (RFC 9112, 3).
    #[error("the request target is longer than 8 KiB")]
    TargetTooLong,
    /// A name that is no token, white space before the colon, a folded line, or no colon (RFC 9112, 5.1 and
    /// 5.2).
    #[error("a field line is not name, colon and value on one line, without white space before the colon")]
    FieldLine,
    /// More than `HEAD_OCTETS_MAX` (RFC 6585, 5).
    #[error("the head is longer than 32 KiB")]
    TooLarge,
    /// More than `FIELDS_MAX` (RFC 6585, 5).
    #[error("the head has more than 100 fields")]
    TooManyFields,
    /// No Host in an HTTP/1.1 request (RFC 9112, 3.2).
    #[error("Host is missing")]
    HostMissing,
    /// More than one Host (RFC 9112, 3.2).
    #[error("Host is given more than once")]
    HostRepeated,
    /// Host, or the authority of an absolute target, is no name or address with an optional port (RFC 9112,
    /// 3.2).
    #[error("Host is not a name or an address with an optional port")]
    HostMalformed,
    /// Not 1*DIGIT within 63 bits (RFC 9110, 8.6).
    #[error("Content-Length is not one decimal number")]
    LengthMalformed,
    /// More than one Content-Length, equal or not (RFC 9112, 6.3).
    #[error("Content-Length is given more than once")]
    LengthRepeated,
    /// Content-Length with Transfer-Encoding (RFC 9112, 6.1 and 6.3).
    #[error("Content-Length and Transfer-Encoding exclude each other")]
    LengthWithCoding,
    /// A transfer coding other than exactly `chunked`, once (RFC 9112, 6.1).
    #[error("the only transfer coding understood is chunked, once")]
    CodingUnknown,
    /// Transfer-Encoding in an HTTP/1.0 message (RFC 9112, 6.1).
    #[error("HTTP/1.0 has no Transfer-Encoding")]
    CodingInHttp10,
    /// `Content_Length` and the like: some recipients take `_` for `-` and would frame the message otherwise.
    #[error("a field name differs from one that frames the message by an underscore alone")]
    NameLookalike,
    /// Something other than `100-continue` is expected (RFC 9110, 10.1.1).
    #[error("Expect asks for something other than 100-continue")]
    Expectation,
    /// Not one decimal number, in an OPTIONS request (RFC 9110, 7.6.2).
    #[error("Max-Forwards is not one decimal number")]
    MaxForwards,
    /// Via names ringway more than `PASSES_MAX` times: the request goes in a circle (RFC 9110, 7.6 and 7.6.3).
    #[error(
        "Via says that the request came through ringway too often; a service's endpoint leads back to it"
    )]
    Loop,
    /// Connection options that are no list of tokens, too many, or nominating Host or Content-Length (RFC
    /// 9110, 7.6.1).
    #[error("Connection is not a short list of options, or nominates a field that every recipient needs")]
    Connection,
}

impl HeadError {
    /// The status code that answers a request refused so (a response refused so is a 502 to the client).
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::MethodNotAllowed => 405,
            Self::TargetTooLong => 414,
            Self::Expectation => 417,
            Self::TooLarge | Self::TooManyFields => 431,
            Self::MethodUnknown | Self::CodingUnknown => 501,
            Self::Version => 505,
            Self::Loop => 508,
            Self::Control
            | Self::RequestLine
            | Self::StatusLine
            | Self::Target
            | Self::Scheme
            | Self::MaxForwards
            | Self::FieldLine
            | Self::HostMissing
            | Self::HostRepeated
            | Self::HostMalformed
            | Self::LengthMalformed
            | Self::LengthRepeated
            | Self::LengthWithCoding
            | Self::CodingInHttp10
            | Self::NameLookalike
            | Self::Connection => 400,
        }
    }
}
