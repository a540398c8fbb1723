//! Bodies, either way: read by their framing, written by the framing of the other side, never held whole.

use std::cell::Cell;
use std::time::Duration;

use super::reader::Reader;
use super::upstream::Kept;
use crate::limits;
use crate::proto::http1::{BodyReader, BodyStep, Framing, Nominated, write_chunk, write_last_chunk};
use crate::runtime::{Fault, Stream};

/// Who broke a body off, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The sender's framing is wrong.
    Malformed,
    /// More content than may pass.
    TooLarge,
    /// The sender closed before the end.
    Cut,
    /// The sender's stream broke.
    From(Fault),
    /// The recipient's stream broke.
    To(Fault),
}

/// One body on its way.
pub(super) struct Relay<'a> {
    pub(super) from: (&'a mut Reader, &'a Stream),
    pub(super) to: &'a Stream,
    pub(super) framing: Framing,
    /// Longest wait for the next octet, either side.
    pub(super) progress: Duration,
    /// Octets of content so far.
    pub(super) content: &'a Cell<u64>,
    /// Octets of content that may pass.
    pub(super) most: u64,
    /// Trailers that go no further than their sender's connection.
    pub(super) nominated: &'a Nominated,
    /// Gets what is sent, for it may have to be sent again.
    pub(super) kept: Option<&'a Kept>,
}

/// Waits until at most `left` octets are queued for `to`, for as long as its peer takes some in each `progress`. The
/// kernel makes room in large steps, so a slow reader moves long before it is seen here.
///
/// # Errors
/// The peer took nothing, or the stream broke.
pub(super) async fn taken(to: &Stream, left: usize, progress: Duration) -> Result<(), Fault> {
    let mut ahead = to.octets_ahead();
    loop {
        to.set_timeout(progress);
        match to.sent(left).await {
            Err(Fault::TimedOut) if to.octets_ahead() < ahead => ahead = to.octets_ahead(),
            taken => return taken,
        }
    }
}

impl Relay<'_> {
    /// Sends `out`, which may hold a head already, and the body behind it. What came together goes out together.
    pub(super) async fn run(mut self, body: &mut BodyReader, mut out: Vec<u8>) -> Result<(), Broken> {
        loop {
            match body.next(self.from.0.octets()).map_err(|_| Broken::Malformed)? {
                BodyStep::Data(data) => {
                    self.content.set(self.content.get() + data.len() as u64);
                    if self.content.get() > self.most {
                        return Err(Broken::TooLarge);
                    }
                    out = self.pass_on(data, out).await?;
                }
                BodyStep::End { used } => {
                    self.from.0.consume(used);
                    return self.finish(body, out);
                }
                BodyStep::NeedMore => {
                    let used = self.from.0.octets().len();
                    self.from.0.consume(used);
                    out = self.flush(out).await?;
                    self.from.1.set_timeout(self.progress);
                    if !self.from.0.more(self.from.1).await.map_err(Broken::From)? {
                        body.close().map_err(|_| Broken::Cut)?;
                        return self.finish(body, out);
                    }
                }
            }
        }
    }

    /// Takes one piece of content into `out`, or sends it from where it lies.
    async fn pass_on(&mut self, data: std::ops::Range<usize>, mut out: Vec<u8>) -> Result<Vec<u8>, Broken> {
        let end = data.end;
        if self.framing == Framing::Chunked {
            write_chunk(&mut out, &self.from.0.octets()[data]);
        } else if out.is_empty()
            && let Some(chunk) = self.from.0.take_whole(&data)
        {
            self.keep(&chunk);
            self.to.send_chunk(chunk);
            self.room().await?;
            return Ok(out);
        } else {
            out.extend_from_slice(&self.from.0.octets()[data]);
        }
        self.from.0.consume(end);
        if out.len() < limits::HEAD_BUFFER_KEPT_OCTETS {
            return Ok(out);
        }
        self.flush(out).await
    }

    /// Sends what is gathered and waits until the recipient has room for more.
    async fn flush(&mut self, out: Vec<u8>) -> Result<Vec<u8>, Broken> {
        if !out.is_empty() {
            self.keep(&out);
            self.to.send(out);
            self.room().await?;
            return Ok(self.to.core().head_buffer());
        }
        Ok(out)
    }

    fn keep(&self, octets: &[u8]) {
        if let Some(kept) = self.kept {
            kept.add(octets);
        }
    }

    async fn room(&self) -> Result<(), Broken> {
        if self.to.queued_octets() <= limits::SEND_QUEUE_OCTETS {
            return Ok(());
        }
        taken(self.to, limits::SEND_QUEUE_OCTETS / 2, self.progress).await.map_err(Broken::To)?;
        // Whoever waits for an answer on that stream meanwhile has a deadline of his own.
        self.to.clear_timeout();
        Ok(())
    }

    fn finish(self, body: &BodyReader, mut out: Vec<u8>) -> Result<(), Broken> {
        if self.framing == Framing::Chunked {
            write_last_chunk(&mut out, body.trailers(), self.nominated);
        }
        if out.is_empty() {
            self.to.core().keep_head_buffer(out);
        } else {
            self.keep(&out);
            self.to.send(out);
        }
        Ok(())
    }
}
