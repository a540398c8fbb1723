//! What a line of the access log can say: a closed set that the writer, the configuration and the reference share.

/// One line per field: what it says, its name here, its name in the log.
macro_rules! fields {
    ($(#[doc = $meaning:literal] $variant:ident = $name:literal;)*) => {
        /// A field of the access log. Names are those of the Elastic Common Schema where it has one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field {
            $(#[doc = $meaning] $variant,)*
        }

        impl Field {
            /// In the order in which a line has them.
            pub const ALL: &[Field] = &[$(Field::$variant),*];

            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Field::$variant => $name,)*
                }
            }

            /// `"name":` as octets.
            pub(super) fn key(self) -> &'static [u8] {
                match self {
                    $(Field::$variant => concat!("\"", $name, "\":").as_bytes(),)*
                }
            }

            /// For people.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Field::$variant => $meaning.trim_ascii(),)*
                }
            }
        }
    };
}

fields! {
    /// when the request's first octet arrived, UTC, to the millisecond
    Timestamp = "@timestamp";
    /// `error` for a 5xx, `warn` for any other failure, else `info`
    Level = "log.level";
    /// `ringway.access`
    Dataset = "event.dataset";
    /// ringway's version, as `ringway --version` prints it
    Version = "service.version";
    /// as in `X-Request-Id` and in problem documents
    RequestId = "http.request.id";
    /// the trace that the request belongs to, as in `traceparent`
    TraceId = "trace.id";
    /// this router's part of the trace, as in the `traceparent` that the origin got
    SpanId = "span.id";
    /// the client's address, or `unix`
    Client = "client.ip";
    /// the method that the client sent
    Method = "http.request.method";
    /// the host name that the client sent
    Host = "url.domain";
    /// the path that the client sent, without the query
    Path = "url.path";
    /// the status sent
    Status = "http.response.status_code";
    /// octets received from the client, heads included
    OctetsIn = "http.request.bytes";
    /// octets sent to the client, heads included
    OctetsOut = "http.response.bytes";
    /// from the end of the request's head to the answer's last octet, ns; to the turn of the ring
    Duration = "event.duration";
    /// what of it was waiting for the origin, ns
    Origin = "ringway.origin_duration";
    /// of slow requests, where their time went, ns: `head` (before the rest), `route`, `queue`, `connect`, `wait`, `body`
    Stages = "ringway.stages";
    /// how often an origin was asked
    Attempts = "ringway.attempts";
    /// the core that answered
    Core = "ringway.core";
    /// the service that the host name belongs to; absent if there is none
    Service = "ringway.service";
    /// who was asked last; absent if nobody was
    Endpoint = "ringway.endpoint";
    /// why it failed; absent if it did not
    Reason = "ringway.reason";
    /// who can mend that; absent if it did not fail
    Fault = "ringway.fault";
}

/// Some of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields(u32);

const _: () = assert!(Field::ALL.len() <= 32, "a bit for each");

impl Fields {
    pub const ALL: Fields = Fields(u32::MAX >> (32 - Field::ALL.len()));
    pub const NONE: Fields = Fields(0);

    #[must_use]
    pub fn with(self, field: Field) -> Fields {
        Fields(self.0 | 1 << field as u32)
    }

    #[inline]
    #[must_use]
    pub fn has(self, field: Field) -> bool {
        self.0 & 1 << field as u32 != 0
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Field> {
        Field::ALL.iter().copied().filter(move |field| self.has(*field))
    }
}

#[cfg(test)]
mod tests {
    use super::{Field, Fields};

    #[test]
    fn a_set_has_what_it_was_given() {
        assert_eq!(Fields::ALL.iter().count(), Field::ALL.len());
        assert_eq!(Fields::NONE.iter().count(), 0);
        let two = Fields::NONE.with(Field::Path).with(Field::Timestamp).with(Field::Path);
        assert_eq!(two.iter().map(Field::name).collect::<Vec<_>>(), ["@timestamp", "url.path"]);
    }
}
