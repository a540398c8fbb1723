//! One request to the origin and its response back, with a second attempt where that can do no harm (design S6).

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::Poll;

use super::connect::{self, Origin};
use crate::config::{Limits, RequestLimits, ServiceSettings};
use crate::edge::admit;
use crate::edge::client::Client;
use crate::edge::core::Edge;
use crate::edge::failure::Failure;
use crate::edge::log::Record;
use crate::edge::reader::Reader;
use crate::edge::relay::{Broken, Relay};
use crate::edge::reply::{self, Done, Reply};
use crate::edge::request::{Identity, Scratch};
use crate::edge::route;
use crate::limits;
use crate::observe::Reason;
use crate::proto::http1::{BodyReader, Parsed, RequestEdits, Scheme, write_request_head};
use crate::runtime::{Fault, Stream};

/// Everything one exchange works with.
pub(in crate::edge) struct Exchange<'a> {
    pub(in crate::edge) edge: &'a Edge,
    pub(in crate::edge) client: &'a mut Client,
    pub(in crate::edge) scratch: &'a mut Scratch,
    pub(in crate::edge) identity: &'a Identity,
    pub(in crate::edge) record: &'a Record,
}

/// Why an attempt ended, and whether another may be made.
struct Ended {
    failure: Failure,
    /// Nothing of the request can have been acted on, or acting on it twice does no harm.
    again: bool,
}

/// Sends the request to its service and passes the response on; true if the client's connection may go on.
///
/// # Errors
/// What ended it early. `record.is_answered` tells whether the client has got a part of a response by then.
pub(in crate::edge) async fn run(mut exchange: Exchange<'_>) -> Result<bool, Failure> {
    let mut tried: Option<SocketAddr> = None;
    loop {
        let Exchange { edge, scratch, record, .. } = &mut exchange;
        let address = route::find(edge, scratch.head.host(), tried, &mut scratch.service)?;
        let settings = edge.settings().of_service(&scratch.service);
        admit::request(scratch, &settings.limits)?;
        record.attempt(address);
        if tried.is_some() {
            edge.metrics.second_attempts.inc();
        }
        match exchange.attempt(address, &settings).await {
            Ok(goes_on) => return Ok(goes_on),
            Err(Ended { again: true, .. }) if tried.is_none() => tried = Some(address),
            Err(Ended { failure, .. }) => return Err(failure),
        }
    }
}

impl Exchange<'_> {
    async fn attempt(&mut self, address: SocketAddr, settings: &ServiceSettings) -> Result<bool, Ended> {
        let timeouts = &settings.timeouts;
        let fresh = self.record.attempts() > 1;
        let mut origin = connect::to(self.edge, address, timeouts.connect, fresh)
            .await
            .map_err(|failure| Ended { failure, again: true })?;
        self.send_head(&origin);
        let safe = origin.reused && !self.scratch.has_body() && self.scratch.head.method().is_idempotent();
        let done = self.converse(&mut origin, settings).await.map_err(|failure| Ended {
            again: safe
                && !self.record.is_answered()
                && matches!(failure.reason, Reason::OriginClosed | Reason::OriginReset),
            failure,
        })?;
        if done.origin_goes_on {
            origin.keep(self.edge, timeouts.upstream_idle);
        }
        Ok(done.client_goes_on)
    }

    fn send_head(&self, origin: &Origin) {
        let edits = RequestEdits {
            request_id: &self.identity.request_id,
            trace: &self.identity.trace,
            attempt: self.record.attempts(),
            client_address: self.client.address_text(),
            scheme: Scheme::Http,
            peer_is_trusted: self.client.is_trusted(),
            upgrade: false,
        };
        let mut out = self.edge.core.head_buffer();
        write_request_head(&mut out, &self.scratch.head, &self.scratch.octets, &edits);
        self.edge.metrics.octets_to_origins.add(out.len() as u64);
        origin.stream.send(out);
    }

    /// The request's body goes up while the response comes down: an origin may answer before it has read all.
    async fn converse(&mut self, origin: &mut Origin, settings: &ServiceSettings) -> Result<Done, Failure> {
        let ServiceSettings { timeouts, limits: most } = settings;
        let Exchange { edge, client, scratch, identity, record } = self;
        let (up, down) = (&origin.stream, &client.stream);
        let has_body = scratch.has_body();
        let framing = scratch.head.framing();
        let upload = pin!(async {
            if has_body {
                let from = (&mut client.reader, down);
                let relay = Relay {
                    from,
                    to: up,
                    framing,
                    progress: timeouts.body_progress,
                    content: &record.content_in,
                    most: most.body_bytes,
                };
                relay.run(&mut BodyReader::new(framing), edge.core.head_buffer()).await?;
            }
            up.set_timeout(timeouts.response_head);
            Ok(())
        });
        let mut upload = Upload { body: upload, state: UploadState::Going };
        let asked = edge.core.now();
        let length = upload
            .beside(read_head(edge, &mut origin.reader, (up, down), scratch, (identity, record)))
            .await
            .inspect(|_| record.origin_wait.set(edge.core.now() - asked))?;
        let reply = Reply { edge, client: down, scratch, identity, record, progress: timeouts.body_progress };
        let done = upload.beside(reply.pass_on(&mut origin.reader, up, length)).await?;
        // What is left of a request's body would be taken for the next request.
        let uploaded = matches!(upload.state, UploadState::Done);
        Ok(Done {
            client_goes_on: uploaded && done.client_goes_on,
            origin_goes_on: uploaded && done.origin_goes_on,
        })
    }
}

/// Waits for the final response's head and returns its length; interim ones are passed on (RFC 9110, 15.2).
async fn read_head(
    edge: &Edge,
    reader: &mut Reader,
    (origin, client): (&Stream, &Stream),
    scratch: &mut Scratch,
    (identity, record): (&Identity, &Record),
) -> Result<usize, Failure> {
    scratch.response.restart();
    let Limits { response_head_bytes: most, request: RequestLimits { head_fields: most_fields, .. }, .. } =
        edge.settings().limits;
    let mut interim = 0;
    loop {
        if !reader.is_empty() {
            let octets = reader.octets();
            let malformed = |_| Failure::from(Reason::OriginMalformed);
            match scratch.response.parse(octets, scratch.head.method()).map_err(malformed)? {
                // Nobody waits for room for them, so they are few.
                Parsed::Complete { len }
                    if scratch.response.is_interim() && interim < limits::INTERIM_RESPONSES_MAX =>
                {
                    interim += 1;
                    edge.metrics.octets_from_origins.add(len as u64);
                    reply::interim(edge, client, scratch, identity, record, &octets[..len]);
                    reader.consume(len);
                    continue;
                }
                Parsed::Complete { .. } if scratch.response.is_interim() => {
                    return Err(Reason::OriginMalformed.into());
                }
                // Nobody asked for another protocol: `Upgrade` does not pass.
                Parsed::Complete { .. } if scratch.response.status() == 101 => {
                    return Err(Reason::OriginMalformed.into());
                }
                Parsed::Complete { len }
                    if len <= most && scratch.response.fields().as_slice().len() <= most_fields =>
                {
                    edge.metrics.octets_from_origins.add(len as u64);
                    return Ok(len);
                }
                Parsed::Partial if octets.len() <= most => {}
                _ => return Err(Reason::OriginMalformed.into()),
            }
        }
        let more = poll_fn(|cx| {
            let more = reader.poll_more(origin, cx).map_err(Failure::of_origin);
            match more {
                Poll::Pending => client.poll_broken(cx).map(|_| Err(Reason::ClientGone.into())),
                ready => ready,
            }
        });
        if !more.await? {
            let reason = if reader.is_empty() { Reason::OriginClosed } else { Reason::OriginMalformed };
            return Err(reason.into());
        }
    }
}

/// A request's body on its way, polled beside whatever else goes on.
struct Upload<'a, F> {
    body: Pin<&'a mut F>,
    state: UploadState,
}

enum UploadState {
    Going,
    Done,
    /// The origin reads no further; it may still answer.
    Refused,
}

impl<F: Future<Output = Result<(), Broken>>> Upload<'_, F> {
    /// Runs `main` to its end and the upload as far as it gets meanwhile. A body that its sender breaks off ends both.
    async fn beside<T>(&mut self, main: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let mut main = pin!(main);
        poll_fn(|cx| {
            if matches!(self.state, UploadState::Going)
                && let Poll::Ready(ended) = self.body.as_mut().poll(cx)
            {
                match ended {
                    Ok(()) => self.state = UploadState::Done,
                    Err(Broken::To(Fault::Os(_))) => self.state = UploadState::Refused,
                    Err(broken) => return Poll::Ready(Err(Failure::of_upload(broken))),
                }
            }
            main.as_mut().poll(cx)
        })
        .await
    }
}
