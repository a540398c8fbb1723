//! A request's path, a file per stage:
//!
//! ```text
//!  accept ─▶ request ─▶ own ───▶ route ───▶ admit ──▶ upstream/ ─────────▶ reply ─▶ log
//!  client    head       ours?    host to    limits,   turn, pool, connect,  origin's or a
//!                                endpoint   paths     exchange, trial       problem document
//!                                                       │
//!                                                       └─▶ relay (bodies, both ways)
//! ```
//!
//! [`serve_connection`] is a client's connection, [`serve_request`] one request on it. What a core's requests share is in
//! [`core`], what can end them in [`failure`]. [`run`] is the process around it.

mod accept;
mod admit;
mod asked;
mod client;
mod core;
mod cut;
mod door;
pub mod explain;
mod failure;
mod log;
mod on_core;
mod own;
mod process;
mod reader;
mod relay;
mod reply;
mod request;
mod route;
mod settings;
mod stopwatch;
mod upstream;

use std::future::Future;
use std::time::Duration;

pub use self::core::{Edge, EdgeParts};
use accept::{InFlight, Open, Warm};
use client::{Client, Next};
use failure::{Detail, Failure};
use log::Record;
pub use process::{Refusal, RunError, rehearse, run};
use request::{Identity, Scratch};
pub use settings::Settings;

use crate::limits;
use crate::observe::Reason;

/// How long a connection keeps what a request needs after its last: the next often follows at once.
const WARM: Duration = Duration::from_millis(limits::WARM_MS);

/// Serves requests on a connection until either side ends it.
///
/// An idle connection is this future, so it is kept small: what it captures is used where it lies (an async fn would
/// hold its arguments twice), and what a request needs is boxed and goes with the request.
#[allow(clippy::manual_async_fn)]
fn serve_connection(open: Open, mut client: Client) -> impl Future<Output = ()> {
    async move {
        let edge = &*open.0;
        loop {
            match client.next(edge.idle_timeout()).await {
                Next::Request if Box::pin(serve_requests(edge, &mut client)).await => continue,
                Next::Request => return,
                Next::Nothing if edge.is_draining() => {}
                Next::Nothing => edge.metrics.idle_timeouts.inc(),
                Next::End => {}
            }
            Box::pin(client.has_taken_all(edge)).await;
            return;
        }
    }
}

/// Serves requests, pipelined ones in their order (RFC 9112, 9.3.2), until none has come for a moment; true if the
/// client may send more.
async fn serve_requests(edge: &Edge, client: &mut Client) -> bool {
    let mut in_a_row = 0;
    while client.has_room(edge).await {
        let mut scratch = edge.take_scratch();
        let goes_on = serve_request(edge, client, &mut scratch).await;
        edge.keep_scratch(scratch);
        if !goes_on {
            return false;
        }
        if !client.reader.is_empty() {
            in_a_row += 1;
            if in_a_row % limits::REQUESTS_PER_TURN == 0 {
                edge.core.yield_now().await;
            }
            continue;
        }
        let Some(_warm) = Warm::new(edge) else { return true };
        match client.next(WARM).await {
            Next::Request => {}
            // An end is met again by whoever asks next.
            Next::Nothing | Next::End => return true,
        }
    }
    false
}

/// One request, from its head to its line in the log; true if the connection may carry another.
async fn serve_request(edge: &Edge, client: &mut Client, scratch: &mut Scratch) -> bool {
    scratch.clear();
    let began = edge.core.now();
    let identity = match request::read(edge, client, scratch).await {
        Ok(Some(identity)) => Ok(identity),
        Ok(None) => return false,
        Err(failure) => Err(failure),
    };
    let record = Record::new(began, edge.core.now());
    let in_flight = InFlight::new(edge);
    let (identity, outcome) = match identity {
        Ok(identity) => {
            let outcome = answer(edge, client, scratch, &identity, &record).await;
            (identity, outcome)
        }
        Err(failure) => (Identity::unknown(edge), Err(failure)),
    };
    let outcome = outcome.map_err(|failure| match client.stream.is_severed() {
        // Whichever wait was the first to end.
        true => Failure::from(Reason::HostTaken),
        false => failure,
    });
    let cut = outcome.is_err() && record.is_answered();
    let goes_on = match &outcome {
        Ok(goes_on) => *goes_on,
        Err(failure) => fail(edge, client, scratch, &identity, &record, failure),
    };
    let reason = outcome.err().map(|failure| failure.reason);
    log::finish(edge, client, scratch, &identity, &record, reason);
    drop(in_flight);
    if cut {
        // Without a length or chunks, only a reset tells a response that was cut from one that is whole; and who has stopped
        // reading is not waited for again.
        if record.until_close.get() || matches!(reason, Some(Reason::BodyStalled | Reason::BodySlow)) {
            client.stream.reset();
        }
    } else if !goes_on {
        reply::linger(edge, client).await;
    }
    goes_on
}

/// Answers a well-formed request: what is for the router itself, all others through their service.
async fn answer(
    edge: &Edge,
    client: &mut Client,
    scratch: &mut Scratch,
    identity: &Identity,
    record: &Record,
) -> Result<bool, Failure> {
    if let Some(answered) = own::answer(edge, client, scratch, identity, record) {
        return answered;
    }
    upstream::run(upstream::Exchange { edge, client, scratch, identity, record }).await
}

/// Tells the client what went wrong, if it can still be told; true if the connection may carry another request.
fn fail(
    edge: &Edge,
    client: &mut Client,
    scratch: &Scratch,
    identity: &Identity,
    record: &Record,
    failure: &Failure,
) -> bool {
    if record.is_answered() {
        return false;
    }
    let head_is_sound = !matches!(failure.detail, Some(Detail::Head(_))) && !scratch.octets.is_empty();
    let goes_on = head_is_sound
        && !scratch.has_body()
        && scratch.head.keep_alive()
        && !client.door.is_closed()
        && !matches!(failure.reason, Reason::ClientGone | Reason::HostTaken);
    reply::problem(edge, client, scratch, identity, record, failure, goes_on);
    goes_on
}
