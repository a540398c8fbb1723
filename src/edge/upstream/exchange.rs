//! One request to the origin and its response back, with a second attempt where that can do no harm (design S6).

use std::net::SocketAddr;
use std::pin::pin;

use super::KeptBody;
use super::connect::{self, Origin};
use super::response::{Awaited, may_yet_be_read};
use super::trial::{Trial, end_of};
use super::turn::Turn;
use super::upload::{RequestBody, Upload, UploadState};
use crate::config::{Paths, ServiceSettings};
use crate::edge::admit;
use crate::edge::client::Client;
use crate::edge::core::Edge;
use crate::edge::failure::Failure;
use crate::edge::log::Record;
use crate::edge::reply::{Done, Reply};
use crate::edge::request::{Identity, Scratch};
use crate::edge::route::{self, Found, Wanted};
use crate::observe::{Reason, Stage};
use crate::policy::{ATTEMPTS_MAX, End};
use crate::proto::http1::{
    BodyReader, BodyStep, Framing, RequestEdits, Version, idle_time, keep_alive_timeout, write_request_head,
};

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
    let (edge, record, kept) = (*edge, *record, KeptBody::new());
    let found = (&mut scratch.service, Some(&client.work));
    let Found { service, mut address } = route::find(edge, scratch.head.host(), Wanted::Any, found)?;
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
        let is_chunked = self.scratch.head.framing() == Framing::Chunked;
        if is_chunked && service.speaks_http10(address, self.edge.core.now()) {
            return Err(Reason::LengthRequired.into());
        }
        let fresh = self.record.attempts() > 1;
        self.record.watch.enter(Stage::Connect, self.edge.core.now());
        let work = &self.client.work;
        let mut origin = match connect::to(self.edge, service, address, settings, (fresh, work)).await {
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
            // The endpoint has no part in it.
            Err(failure) if self.client.stream.is_severed() => Err(failure),
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
            scheme: self.client.scheme(),
            peer_is_trusted: self.client.is_trusted(),
            path: self.scratch.path_to_origin(paths),
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
        let (clients, origins) = trial.settings.paces();
        let Exchange { edge, client, scratch, identity, record } = self;
        let (up, down, door) = (&origin.stream, &client.stream, &*client.door);
        let body = scratch.has_body().then(|| RequestBody {
            framing: scratch.head.framing(),
            awaits_leave: scratch.head.expects_continue(),
            // A last attempt leaves nothing to keep it for.
            keep: record.attempts() < ATTEMPTS_MAX && scratch.is_repeatable(),
            paces: (clients, origins),
            most: most.body_bytes,
            nominated: scratch.head.nominated(&scratch.octets),
        });
        let upload = pin!(async {
            if let Some(body) = body {
                body.send((&mut client.reader, down), up, trial.kept, record).await?;
            }
            up.set_timeout(timeouts.response_head);
            Ok(())
        });
        let mut upload = Upload { body: upload, state: UploadState::Going };
        let reader = &mut origin.reader;
        let awaited = Awaited { edge, origin: up, reader, client: down, scratch, identity, record };
        record.watch.enter(Stage::Wait, edge.core.now());
        let length = upload.beside(awaited.head()).await?;
        record.watch.enter(Stage::Body, edge.core.now());
        let theirs = keep_alive_timeout(scratch.response.fields(), &origin.reader.octets()[..length]);
        let version = scratch.response.version();
        origin.answered(version, idle_time(timeouts.upstream_idle, theirs));
        if let status @ (502 | 503) = scratch.response.status()
            && let Some(next) = trial.again(edge, scratch, record, End::Answered(status))
        {
            origin.reader.consume(length);
            return Ok(Conversed::Declined(next));
        }
        let reply = Reply {
            edge,
            client: down,
            door,
            scratch,
            identity,
            record,
            paces: (origins, clients),
            is_read: upload.is_done()
                || may_yet_be_read(&scratch.response, origin.reader.octets().len() - length),
        };
        let done = upload.beside(reply.pass_on(&mut origin.reader, up, length)).await?;
        // What is left of a request's body would be taken for the next request, as would chunks by HTTP/1.0.
        let uploaded = upload.is_done();
        let is_read = version == Version::Http11 || scratch.head.framing() != Framing::Chunked;
        Ok(Conversed::Done(Done {
            client_goes_on: uploaded && done.client_goes_on,
            origin_goes_on: uploaded && is_read && done.origin_goes_on,
        }))
    }
}
