//! The wait for a response's head.

use std::future::poll_fn;
use std::task::Poll;

use crate::config::{Limits, RequestLimits};
use crate::edge::core::Edge;
use crate::edge::failure::Failure;
use crate::edge::log::Record;
use crate::edge::reader::Reader;
use crate::edge::reply;
use crate::edge::request::{Identity, Scratch};
use crate::limits;
use crate::observe::Reason;
use crate::proto::http1::{Framing, Parsed, ResponseHead};
use crate::runtime::Stream;

/// A response that is waited for.
pub(super) struct Awaited<'a> {
    pub(super) edge: &'a Edge,
    pub(super) origin: &'a Stream,
    pub(super) reader: &'a mut Reader,
    pub(super) client: &'a Stream,
    pub(super) scratch: &'a mut Scratch,
    pub(super) identity: &'a Identity,
    pub(super) record: &'a Record,
}

impl Awaited<'_> {
    /// Waits for the final response's head and returns its length; interim ones are passed on (RFC 9110, 15.2).
    ///
    /// # Errors
    /// The origin broke off, took too long or answered with nonsense; or the client is gone.
    pub(super) async fn head(mut self) -> Result<usize, Failure> {
        self.scratch.response.restart();
        let mut interim = 0;
        loop {
            match self.judge()? {
                Parsed::Partial => self.more().await?,
                Parsed::Complete { len } if !self.scratch.response.is_interim() => return Ok(len),
                // Nobody waits for room for them, so they are few.
                Parsed::Complete { len } if interim < limits::INTERIM_RESPONSES_MAX => {
                    interim += 1;
                    let octets = &self.reader.octets()[..len];
                    reply::interim(self.edge, self.client, self.scratch, self.identity, self.record, octets);
                    self.reader.consume(len);
                }
                Parsed::Complete { .. } => return Err(Reason::OriginMalformed.into()),
            }
        }
    }

    /// What the octets at hand amount to.
    fn judge(&mut self) -> Result<Parsed, Failure> {
        let octets = self.reader.octets();
        if octets.is_empty() {
            return Ok(Parsed::Partial);
        }
        self.record.origin_spoke.set(true);
        let malformed = || Failure::from(Reason::OriginMalformed);
        let Scratch { head, response, .. } = &mut *self.scratch;
        let Limits { response_head_bytes, request: RequestLimits { head_fields, .. }, .. } =
            self.edge.settings().limits;
        let parsed = response.parse(octets, head.method()).map_err(|_| malformed())?;
        match parsed {
            // Nobody asked for another protocol: `Upgrade` does not pass.
            Parsed::Complete { .. } if response.status() == 101 => return Err(malformed()),
            Parsed::Complete { len }
                if len > response_head_bytes || response.fields().as_slice().len() > head_fields =>
            {
                return Err(malformed());
            }
            Parsed::Complete { len } => self.edge.metrics.octets_from_origins.add(len as u64),
            Parsed::Partial if octets.len() > response_head_bytes => return Err(malformed()),
            Parsed::Partial => {}
        }
        Ok(parsed)
    }

    /// Waits for more octets of the origin, and for a client that resets meanwhile. One that has only sent FIN may have
    /// closed its sending side alone and is owed its answer (RFC 9112, 9.6); whether it is gone, only an answer would show.
    async fn more(&mut self) -> Result<(), Failure> {
        let (origin, client) = (self.origin, self.client);
        let more = poll_fn(|cx| match self.reader.poll_more(origin, cx) {
            Poll::Pending => client.poll_broken(cx).map(|_| Err(Reason::ClientGone.into())),
            Poll::Ready(more) => Poll::Ready(more.map_err(Failure::of_origin)),
        });
        match more.await? {
            true => Ok(()),
            false if self.reader.is_empty() => Err(Reason::OriginClosed.into()),
            false => Err(Reason::OriginMalformed.into()),
        }
    }
}

/// Whether an early response leaves hope that the rest of the request's body is read before it ends; `at_hand` octets have
/// come behind its head. A client whose connection will close is told so (RFC 9112, 9.6).
pub(super) fn may_yet_be_read(response: &ResponseHead, at_hand: usize) -> bool {
    let is_whole = match response.framing() {
        Framing::None => true,
        Framing::Length(octets) => octets <= at_hand as u64,
        Framing::Chunked | Framing::UntilClose => false,
    };
    response.status() < 300 && response.keep_alive() && !is_whole
}
