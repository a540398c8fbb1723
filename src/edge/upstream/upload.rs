//! A request's body on its way to the origin.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use super::KeptBody;
use crate::edge::failure::Failure;
use crate::edge::log::Record;
use crate::edge::reader::Reader;
use crate::edge::relay::{Broken, Relay};
use crate::edge::reply;
use crate::limits;
use crate::policy::Pace;
use crate::proto::http1::{BodyReader, Framing, Nominated};
use crate::runtime::{Fault, Stream};

/// What is to be sent.
pub(super) struct RequestBody {
    pub(super) framing: Framing,
    /// The client waits for 100 (Continue).
    pub(super) awaits_leave: bool,
    /// It is kept for a second attempt, as long as it is small.
    pub(super) keep: bool,
    /// The client's and the origin's.
    pub(super) paces: (Pace, Pace),
    /// Octets of content that may pass.
    pub(super) most: u64,
    /// Trailers that go no further than the client's connection.
    pub(super) nominated: Nominated,
}

impl RequestBody {
    /// Sends it: what an attempt before has read and kept, or else what the client sends.
    pub(super) async fn send(
        self,
        mut from: (&mut Reader, &Stream),
        to: &Stream,
        kept: &KeptBody,
        record: &Record,
    ) -> Result<(), Broken> {
        if let Some(octets) = kept.take() {
            to.send(octets);
            return Ok(());
        }
        if self.awaits_leave {
            begin(&mut from, record).await?;
        }
        let core = to.core();
        kept.begin(self.keep.then(|| core.head_buffer()));
        let RequestBody { framing, paces, most, ref nominated, .. } = self;
        let content = &record.content_in;
        let begun = &Cell::new(false);
        let relay = Relay { from, to, framing, paces, content, most, nominated, kept: Some(kept), begun };
        relay.run(&mut BodyReader::new(framing), core.head_buffer()).await?;
        kept.end();
        Ok(())
    }
}

/// Waits for the first octet of the body. An origin of HTTP/1.0, or one that does not care, never tells the client to send
/// it (RFC 9110, 10.1.1), so after a moment the router does.
async fn begin((reader, client): &mut (&mut Reader, &Stream), record: &Record) -> Result<(), Broken> {
    if !reader.is_empty() {
        return Ok(());
    }
    client.set_timeout(Duration::from_millis(limits::CONTINUE_MS));
    match reader.more(client).await {
        // A FIN is met again by whoever reads the body.
        Ok(_) => Ok(()),
        Err(Fault::TimedOut) => {
            reply::go_on(client, record);
            Ok(())
        }
        Err(fault) => Err(Broken::From(fault)),
    }
}

/// The same, polled beside whatever else goes on.
pub(super) struct Upload<'a, F> {
    pub(super) body: Pin<&'a mut F>,
    pub(super) state: UploadState,
}

pub(super) enum UploadState {
    Going,
    Done,
    /// The origin reads no further; it may still answer.
    Refused,
}

impl<F: Future<Output = Result<(), Broken>>> Upload<'_, F> {
    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, UploadState::Done)
    }

    /// Runs `main` to its end and the upload as far as it gets meanwhile. A body that its sender breaks off ends both.
    pub(super) async fn beside<T>(
        &mut self,
        main: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
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
