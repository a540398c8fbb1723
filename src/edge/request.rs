//! The request's head: read, settled, and kept for as long as the request lasts.

use super::admit;
use super::client::Client;
use super::core::Edge;
use super::failure::Failure;
use crate::config::{Paths, RequestLimits};
use crate::observe::Reason;
use crate::proto::http1::{Framing, HeadError, Parsed, RequestHead, ResponseHead, Scheme};
use crate::proto::path::NormalPath;
use crate::proto::trace::{RequestId, TraceContext};
use crate::runtime::Fault;

/// What a request needs room for, reused from request to request.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) head: RequestHead,
    /// What `head` was parsed from. Copied, so that a long request holds no receive buffer.
    pub(super) octets: Vec<u8>,
    /// Its path as rules see it.
    pub(super) path: NormalPath,
    pub(super) response: ResponseHead,
    /// Id of the service that the host name belongs to.
    pub(super) service: String,
}

/// Names of a request, made when its head is there.
pub(super) struct Identity {
    pub(super) request_id: RequestId,
    pub(super) trace: TraceContext,
}

impl Identity {
    /// For a request that cannot be asked for its trace.
    pub(super) fn unknown(edge: &Edge) -> Identity {
        let mut ids = edge.ids.borrow_mut();
        Identity { request_id: ids.request_id(), trace: TraceContext::begin(None, false, &mut ids) }
    }

    fn of(edge: &Edge, scratch: &Scratch) -> Identity {
        let inbound = scratch.head.traceparent(&scratch.octets);
        let mut ids = edge.ids.borrow_mut();
        Identity { request_id: ids.request_id(), trace: TraceContext::begin(inbound, false, &mut ids) }
    }
}

/// Reads the next request's head into `scratch`; `None` if the client closed before its first octet.
///
/// # Errors
/// The head is malformed, too large, too late, or cut short; nothing that follows on the connection can be trusted.
pub(super) async fn read(
    edge: &Edge,
    client: &mut Client,
    scratch: &mut Scratch,
) -> Result<Option<Identity>, Failure> {
    client.stream.set_timeout(edge.settings().timeouts.request_head);
    let limits = edge.settings().limits.request;
    let length = loop {
        let octets = client.reader.octets();
        match scratch.head.parse(octets).map_err(Failure::of_head)? {
            Parsed::Complete { len } => break len,
            Parsed::Partial if octets.len() > limits.head_bytes => {
                return Err(Reason::HeadTooLarge.into());
            }
            Parsed::Partial => {}
        }
        match client.reader.more(&client.stream).await {
            Ok(true) => {}
            Ok(false) if client.reader.is_empty() => return Ok(None),
            Ok(false) | Err(Fault::Os(_)) => return Err(Reason::ClientGone.into()),
            Err(Fault::TimedOut) if client.reader.is_empty() => return Ok(None),
            Err(Fault::TimedOut) => return Err(Reason::RequestTimeout.into()),
        }
    };
    // The look-up waits for memory longer than it works; by then it has come.
    let view = edge.view();
    let expected = view.expect(scratch.head.host());
    scratch.take(&client.reader.octets()[..length], client.scheme(), &limits)?;
    client.reader.consume(length);
    let identity = Identity::of(edge, scratch);
    view.expect_more(expected);
    Ok(Some(identity))
}

impl Scratch {
    /// Takes over `octets`, from which the head was parsed.
    ///
    /// # Errors
    /// The head is for another scheme than the listener's, or larger than the router takes.
    #[inline]
    pub(super) fn take(
        &mut self,
        octets: &[u8],
        scheme: Scheme,
        limits: &RequestLimits,
    ) -> Result<(), Failure> {
        if self.head.scheme().is_some_and(|named| named != scheme) {
            return Err(Failure::of_head(HeadError::Scheme));
        }
        admit::head(&self.head, octets, limits)?;
        self.octets.clear();
        self.octets.extend_from_slice(octets);
        self.path.read(self.head.path(&self.octets));
        Ok(())
    }

    /// The path for the origin, where it is another than the one that was sent.
    pub(super) fn path_to_origin(&self, paths: Paths) -> Option<&[u8]> {
        self.path.resolved().filter(|_| paths != Paths::Raw)
    }

    pub(super) fn has_body(&self) -> bool {
        !matches!(self.head.framing(), Framing::None | Framing::Length(0))
    }

    /// Doing it twice is as good as once: the method is idempotent (RFC 9110, 9.2.2), or the client has given it a key
    /// by which the origin knows it again.
    pub(super) fn is_repeatable(&self) -> bool {
        let mut keys = self.head.fields().values(b"idempotency-key", &self.octets);
        self.head.method().is_idempotent() || keys.any(|key| !key.is_empty())
    }

    /// Forgets the last request, so that nothing of it can show in the next.
    pub(super) fn clear(&mut self) {
        self.head.restart();
        self.octets.clear();
        self.service.clear();
    }
}
