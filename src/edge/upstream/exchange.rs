//! One request to the origin and its response back, with a second attempt where that can do no harm (design S6).

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;

use super::Kept;
use super::connect::{self, Origin};
use super::trial::{Trial, end_of};
use super::turn::Turn;
use super::upload::{RequestBody, Upload, UploadState};
use crate::config::{Limits, Paths, RequestLimits, ServiceSettings};
use crate::edge::admit;
use crate::edge::client::Client;
use crate::edge::core::Edge;
use crate::edge::failure::Failure;
use crate::edge::log::Record;
use crate::edge::reader::Reader;
use crate::edge::reply::{self, Done, Reply};
use crate::edge::request::{Identity, Scratch};
use crate::edge::route::{self, Found, Wanted};
use crate::limits;
use crate::observe::{Reason, Stage};
use crate::policy::{ATTEMPTS_MAX, End};
use crate::proto::http1::{
    BodyReader, BodyStep, Parsed, RequestEdits, Scheme, idle_time, keep_alive_timeout, write_request_head,
};
use crate::runtime::Stream;

/// Everything one exchange works with.
pub(in crate::edge) struct Exchange<'a> {
    pub(in crate::edge) edge: &'a Edge,
    pub(in crate::edge) client: &'a mut Client,
    pub(in crate::edge) scratch: &'a mut Scratch,
    pub(in crate::edge) identity: &'a Identity,
    pub(in crate::edge) record: &'a Record,
}

/// What an attempt came to, unless it failed.
enum Attempted {
    /// The response was passed on; true if the client's connection may go on.
    Answered(bool),
    /// The request is to be tried again, at this endpoint.
    Again(SocketAddr),
}

/// What an exchange came to, unless it failed.
enum Conversed {
    Done(Done),
    /// The response has come and is not passed on, since another endpoint may do better.
    Declined(SocketAddr),
}

/// Sends the request to its service and passes the response on; true if the client's connection may go on.
///
/// # Errors
/// What ended it early. `record.is_answered` tells whether the client has got a part of a response by then.
pub(in crate::edge) async fn run(mut exchange: Exchange<'_>) -> Result<bool, Failure> {
    let Exchange { edge, client, scratch, record, .. } = &mut exchange;
    let (edge, record, kept) = (*edge, *record, Kept::new());
    let Found { service, mut address } =
        route::find(edge, scratch.head.host(), Wanted::Any, &mut scratch.service)?;
    let settings = edge.settings().of_service(&scratch.service);
    admit::request(scratch, &settings)?;
    let _turn = match Turn::at_once(edge, &service, &settings) {
        Some(turn) => turn,
        None => {
            record.watch.enter(Stage::Queue, edge.core.now());
            let turn = Turn::wait(edge, &service, &settings, &client.stream).await?;
            record.watch.enter(Stage::Route, edge.core.now());
            // The endpoint that was good then may be dead by now.
            address = route::again(edge, scratch, Wanted::Any)?;
            turn
        }
    };
    loop {
        record.attempt(address);
        let trial = Trial { service: &service, address, kept: &kept, settings: &settings };
        match exchange.attempt(trial).await? {
            Attempted::Answered(goes_on) => {
                edge.core.keep_head_buffer(kept.into_room());
                return Ok(goes_on);
            }
            Attempted::Again(next) => {
                edge.metrics.second_attempts.inc();
                address = next;
            }
        }
    }
}

impl Exchange<'_> {
    async fn attempt(&mut self, trial: Trial<'_>) -> Result<Attempted, Failure> {
        let Trial { service, address, settings, .. } = trial;
        let fresh = self.record.attempts() > 1;
        self.record.watch.enter(Stage::Connect, self.edge.core.now());
        let mut origin = match connect::to(self.edge, service, address, settings, fresh).await {
            Ok(origin) => origin,
            Err(failure) => return self.again(trial, End::NotConnected, failure),
        };
        self.send_head(&origin, trial.settings.paths);
        match self.converse(&mut origin, trial).await {
            Ok(Conversed::Done(done)) => {
                if done.origin_goes_on {
                    origin.keep(self.edge, service, settings);
                }
                Ok(Attempted::Answered(done.client_goes_on))
            }
            Ok(Conversed::Declined(next)) => {
                self.decline(origin, trial);
                Ok(Attempted::Again(next))
            }
            Err(failure) => {
                let end = end_of(failure.reason, self.record, origin.reused);
                if end == (End::Closed { reused: false }) {
                    origin.failed(self.edge);
                }
                drop(origin);
                self.again(trial, end, failure)
            }
        }
    }

    fn again(&mut self, trial: Trial<'_>, end: End, failure: Failure) -> Result<Attempted, Failure> {
        trial.again(self.edge, self.scratch, self.record, end).map(Attempted::Again).ok_or(failure)
    }

    /// Drops a response; its connection goes on if all of it has come.
    fn decline(&self, mut origin: Origin, trial: Trial<'_>) {
        let mut body = BodyReader::new(self.scratch.response.framing());
        loop {
            match body.next(origin.reader.octets()) {
                Ok(BodyStep::Data(data)) => origin.reader.consume(data.end),
                Ok(BodyStep::End { used }) if self.scratch.response.keep_alive() => {
                    origin.reader.consume(used);
                    return origin.keep(self.edge, trial.service, trial.settings);
                }
                _ => return,
            }
        }
    }

    fn send_head(&self, origin: &Origin, paths: Paths) {
        let edits = RequestEdits {
            request_id: &self.identity.request_id,
            trace: &self.identity.trace,
            attempt: self.record.attempts(),
            client_address: self.client.address_text(),
            scheme: Scheme::Http,
            peer_is_trusted: self.client.is_trusted(),
            path: self.scratch.path.resolved().filter(|_| paths != Paths::Raw),
            upgrade: false,
        };
        let mut out = self.edge.core.head_buffer();
        write_request_head(&mut out, &self.scratch.head, &self.scratch.octets, &edits);
        self.edge.metrics.octets_to_origins.add(out.len() as u64);
        origin.stream.send(out);
    }

    /// The request's body goes up while the response comes down: an origin may answer before it has read all.
    async fn converse(&mut self, origin: &mut Origin, trial: Trial<'_>) -> Result<Conversed, Failure> {
        let ServiceSettings { timeouts, limits: most, .. } = trial.settings;
        let Exchange { edge, client, scratch, identity, record } = self;
        let (up, down, door) = (&origin.stream, &client.stream, &*client.door);
        let body = scratch.has_body().then(|| RequestBody {
            framing: scratch.head.framing(),
            // A last attempt leaves nothing to keep it for.
            keep: record.attempts() < ATTEMPTS_MAX && scratch.is_repeatable(),
            progress: timeouts.body_progress,
            most: most.body_bytes,
            nominated: scratch.head.nominated(&scratch.octets),
        });
        let upload = pin!(async {
            if let Some(body) = body {
                body.send((&mut client.reader, down), up, trial.kept, &record.content_in).await?;
            }
            up.set_timeout(timeouts.response_head);
            Ok(())
        });
        let mut upload = Upload { body: upload, state: UploadState::Going };
        record.watch.enter(Stage::Wait, edge.core.now());
        let length = upload
            .beside(read_head(edge, &mut origin.reader, (up, down), scratch, (identity, record)))
            .await?;
        record.watch.enter(Stage::Body, edge.core.now());
        let theirs = keep_alive_timeout(scratch.response.fields(), &origin.reader.octets()[..length]);
        origin.answered(idle_time(timeouts.upstream_idle, theirs));
        if let status @ (502 | 503) = scratch.response.status()
            && let Some(next) = trial.again(edge, scratch, record, End::Answered(status))
        {
            origin.reader.consume(length);
            return Ok(Conversed::Declined(next));
        }
        let reply =
            Reply { edge, client: down, door, scratch, identity, record, progress: timeouts.body_progress };
        let done = upload.beside(reply.pass_on(&mut origin.reader, up, length)).await?;
        // What is left of a request's body would be taken for the next request.
        let uploaded = matches!(upload.state, UploadState::Done);
        Ok(Conversed::Done(Done {
            client_goes_on: uploaded && done.client_goes_on,
            origin_goes_on: uploaded && done.origin_goes_on,
        }))
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
            record.origin_spoke.set(true);
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
