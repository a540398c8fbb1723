//! Bodies, either way: read by their framing, written by the framing of the other side, never held whole.

use std::cell::Cell;

use super::reader::Reader;
use super::upstream::KeptBody;
use crate::limits;
use crate::policy::Pace;
use crate::proto::http1::{
    BodyError, BodyReader, BodyStep, Framing, Nominated, write_chunk, write_last_chunk,
};
use crate::runtime::{Fault, Stream};

/// Who broke a body off, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The sender's framing is wrong.
    Malformed(BodyError),
    /// More content than may pass.
    TooLarge,
    /// The sender closed before the end.
    Cut,
    /// The sender's stream broke.
    From(Fault),
    /// The recipient's stream broke.
    To(Fault),
    /// The sender is slower than it may be.
    FromSlow,
    /// The recipient is.
    ToSlow,
}

/// One body on its way.
pub(super) struct Relay<'a> {
    pub(super) from: (&'a mut Reader, &'a Stream),
    pub(super) to: &'a Stream,
    pub(super) framing: Framing,
    /// The sender's and the recipient's.
    pub(super) paces: (Pace, Pace),
    /// Octets of content so far.
    pub(super) content: &'a Cell<u64>,
    /// Octets of content that may pass.
    pub(super) most: u64,
    /// Trailers that go no further than their sender's connection.
    pub(super) nominated: &'a Nominated,
    /// Gets what is sent, for it may have to be sent again.
    pub(super) kept: Option<&'a KeptBody>,
    /// Set once something is sent.
    pub(super) begun: &'a Cell<bool>,
}

/// Waits until at most `left` octets are queued for `to`, for as long as its peer takes some in each wait and keeps its
/// `pace`. The kernel makes room in large steps, so a slow reader moves long before it is seen here.
///
/// # Errors
/// The peer took nothing or too little, or the stream broke.
pub(super) async fn taken(to: &Stream, left: usize, pace: &mut Pace) -> Result<(), Broken> {
    let mut ahead = to.octets_ahead();
    loop {
        let (queued, asked) = (to.queued_octets(), to.core().now());
        to.set_timeout(pace.window());
        let sent = to.sent(left).await;
        let took = match sent {
            // To the kernel, that is, which has made room since its peer took as much.
            Ok(()) => queued.saturating_sub(to.queued_octets()),
            Err(Fault::TimedOut) => ahead.saturating_sub(to.octets_ahead()),
            Err(fault) => return Err(Broken::To(fault)),
        };
        if sent.is_err() && took == 0 {
            return Err(Broken::To(Fault::TimedOut));
        }
        if !pace.is_kept(to.core().now().saturating_duration_since(asked), took as u64) {
            return Err(Broken::ToSlow);
        }
        if sent.is_ok() {
            return Ok(());
        }
        ahead -= took;
    }
}

impl Relay<'_> {
    /// Sends `out`, which may hold a head already, and the body behind it. What came together goes out together.
    pub(super) async fn run(mut self, body: &mut BodyReader, mut out: Vec<u8>) -> Result<(), Broken> {
        loop {
            let step = body.next(self.from.0.octets()).map_err(Broken::Malformed)?;
            if let BodyStep::Data(data) = &step {
                self.content.set(self.content.get() + data.len() as u64);
            }
            // Whether it has come or is only announced.
            if self.content.get().saturating_add(body.announced()) > self.most {
                return Err(Broken::TooLarge);
            }
            match step {
                BodyStep::Data(data) => {
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
                    let (core, pace) = (self.to.core(), &mut self.paces.0);
                    let asked = core.now();
                    self.from.1.set_timeout(pace.window());
                    let more = self.from.0.more(self.from.1).await.map_err(Broken::From)?;
                    let came = self.from.0.octets().len() as u64;
                    if !pace.is_kept(core.now().saturating_duration_since(asked), came) {
                        return Err(Broken::FromSlow);
                    }
                    if !more {
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
            self.sending(&chunk);
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
            self.sending(&out);
            self.to.send(out);
            self.room().await?;
            return Ok(self.to.core().head_buffer());
        }
        Ok(out)
    }

    /// These octets are about to go out.
    fn sending(&self, octets: &[u8]) {
        self.begun.set(true);
        if let Some(kept) = self.kept {
            kept.add(octets);
        }
    }

    async fn room(&mut self) -> Result<(), Broken> {
        if self.to.queued_octets() <= limits::SEND_QUEUE_OCTETS {
            return Ok(());
        }
        taken(self.to, limits::SEND_QUEUE_OCTETS / 2, &mut self.paces.1).await?;
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
            self.sending(&out);
            self.to.send(out);
        }
        Ok(())
    }
}
