//! Why a request failed, and whose fault it was.

/// Who has to mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    Client,
    Gateway,
    Origin,
}

impl Fault {
    /// `client`, `gateway` or `origin`, in metrics, log and documents alike.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Fault::Client => "client",
            Fault::Gateway => "gateway",
            Fault::Origin => "origin",
        }
    }
}

/// One line per reason: what it means, its name, its name outside, whose fault it is.
macro_rules! reasons {
    ($(#[doc = $meaning:literal] $variant:ident = $name:literal, $fault:ident;)*) => {
        /// Every way in which a request can fail here. A request that fails has exactly one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Reason {
            $(#[doc = $meaning] $variant,)*
        }

        impl Reason {
            pub const ALL: &[Reason] = &[$(Reason::$variant),*];
            pub const COUNT: usize = Self::ALL.len();

            /// The name in metrics, log and documents, snake_case.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Reason::$variant => $name,)*
                }
            }

            #[must_use]
            pub fn fault(self) -> Fault {
                match self {
                    $(Reason::$variant => Fault::$fault,)*
                }
            }

            /// One sentence for people.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Reason::$variant => $meaning.trim_ascii(),)*
                }
            }
        }
    };
}

reasons! {
    /// The head is not HTTP/1.1, or is ambiguous.
    MalformedRequest = "malformed_request", Client;
    /// The path can be read in more than one way, or its service takes paths in normal form alone.
    AmbiguousPath = "ambiguous_path", Client;
    /// The head is longer than a head may be, or has too many field lines.
    HeadTooLarge = "head_too_large", Client;
    /// The request-target is longer than a target may be.
    TargetTooLong = "target_too_long", Client;
    /// The request's content is longer than its service takes.
    ContentTooLarge = "content_too_large", Client;
    /// The request's content comes in chunks, and the endpoint is known to speak HTTP/1.0, which has none.
    LengthRequired = "length_required", Client;
    /// Something other than 100-continue is expected.
    ExpectationFailed = "expectation_failed", Client;
    /// The method is known and refused.
    MethodNotAllowed = "method_not_allowed", Client;
    /// The method or transfer coding is not known here.
    NotImplemented = "not_implemented", Client;
    /// The HTTP version is not spoken here.
    VersionNotSupported = "version_not_supported", Client;
    /// The request has come through ringway so often that it must go in a circle.
    LoopDetected = "loop_detected", Client;
    /// The head did not arrive whole in time.
    RequestTimeout = "request_timeout", Client;
    /// The client closed or reset before it had its answer.
    ClientGone = "client_gone", Client;
    /// The request's body broke its own framing.
    BodyMalformed = "body_malformed", Client;
    /// The request's body, or the reading of the answer, stood still for too long.
    BodyStalled = "body_stalled", Client;
    /// The request's body came, or the answer was read, more slowly than it may be.
    BodySlow = "body_slow", Client;
    /// No service has this host name.
    UnknownHost = "unknown_host", Client;
    /// The host name was taken down or is changing its owner.
    Tombstoned = "tombstoned", Client;
    /// The service has no endpoint that may be asked.
    NoHealthyEndpoints = "no_healthy_endpoints", Origin;
    /// The endpoint is no origin's: this router's own address, nobody's, or a Unix socket of another service.
    EndpointNotAllowed = "endpoint_not_allowed", Origin;
    /// The endpoint refused the connection.
    ConnectRefused = "connect_refused", Origin;
    /// The endpoint did not take the connection in time.
    ConnectTimeout = "connect_timeout", Origin;
    /// The connection to the endpoint failed otherwise, as with no route to it.
    ConnectFailed = "connect_failed", Origin;
    /// The endpoint reset the connection before its answer.
    OriginReset = "origin_reset", Origin;
    /// The endpoint closed the connection before its answer.
    OriginClosed = "origin_closed", Origin;
    /// The endpoint did not answer in time.
    OriginTimeout = "origin_timeout", Origin;
    /// The endpoint's answer is not HTTP/1.1, or is ambiguous.
    OriginMalformed = "origin_malformed", Origin;
    /// The answer's body ended before its length, or broke its framing.
    OriginBodyCut = "origin_body_cut", Origin;
    /// The answer's body stood still for too long.
    OriginBodyStalled = "origin_body_stalled", Origin;
    /// The answer's body came, or the request's was read, more slowly than it may be.
    OriginBodySlow = "origin_body_slow", Origin;
    /// The host name was taken from its service while the request was under way.
    HostTaken = "host_taken", Gateway;
    /// The service has as many requests in flight and waiting as it may have.
    ServiceFull = "service_full", Gateway;
    /// The request waited too long for its turn behind others of its service.
    TurnTimeout = "turn_timeout", Gateway;
    /// A limit of this process was reached.
    Overloaded = "overloaded", Gateway;
    /// A mistake in ringway itself.
    Internal = "internal", Gateway;
    /// The process is going away and takes no new requests.
    Draining = "draining", Gateway;
}

#[cfg(test)]
mod tests {
    use super::Reason;
    use std::collections::HashSet;

    #[test]
    fn every_reason_has_a_name_of_its_own_and_its_place() {
        let names: HashSet<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(names.len(), Reason::COUNT);
        for (at, &reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(reason as usize, at);
            assert!(reason.as_str().bytes().all(|octet| octet.is_ascii_lowercase() || octet == b'_'));
            assert!(reason.meaning().ends_with('.'));
        }
    }
}
