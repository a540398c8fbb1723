//! One connection of the origin: reads requests whole, answers each.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ringway::limits::SEND_QUEUE_OCTETS;
use ringway::proto::http1::{
    BodyReader, BodyStep, ChunkHeader, Framing, HeadError, LAST_CHUNK, Method, Parsed, RequestHead,
};
use ringway::runtime::{Chunk, Core, Fault, Listener, Stream};
use sha2::{Digest, Sha256};

use super::answer::Answers;
use super::play::{Acting, Play};
use super::route::Route;
use super::script::Does;
use crate::alarm::Alarm;
use crate::{limits, pattern};

const STALL: Duration = Duration::from_secs(limits::ORIGIN_STALL_SECONDS);

/// What all connections share.
pub(super) struct Site {
    pub(super) core: Core,
    pub(super) alarm: Alarm,
    seed: u64,
    answers: RefCell<Answers>,
    pub(super) play: Option<Play>,
}

impl Site {
    pub(super) fn new(core: &Core, body: &[u8], fields: usize, seed: u64, play: Option<Play>) -> Self {
        let answers = RefCell::new(Answers::new(body, fields, core.now()));
        Self { core: core.clone(), alarm: Alarm::new(core), seed, answers, play }
    }
}

/// Serves what a listener accepts, until it stops.
pub(super) async fn accept(listener: Rc<Listener>, address: SocketAddr, site: Rc<Site>) {
    while let Some(stream) = listener.accept().await {
        let site = Rc::clone(&site);
        let connection = Connection { stream, address, site, chunk: None, carry: Vec::new() };
        connection.site.core.clone().spawn(connection.serve());
    }
}

struct Connection {
    stream: Stream,
    /// That it was accepted at.
    address: SocketAddr,
    site: Rc<Site>,
    /// Received and not yet read.
    chunk: Option<Chunk>,
    /// The octets of a head that has not ended yet.
    carry: Vec<u8>,
}

/// What of a request outlives its head.
struct Request {
    method: Method,
    route: Route,
    framing: Framing,
    keep_alive: bool,
    expects_continue: bool,
    /// Host and target, where the answer tells them.
    asked: Option<Box<str>>,
}

/// What was sent with a request.
#[derive(Default)]
struct Received {
    octets: u64,
    sha: Option<Sha256>,
}

/// The connection ends: its client went, stalled, or sent no HTTP.
struct Gone;

impl From<Fault> for Gone {
    fn from(_: Fault) -> Self {
        Self
    }
}

impl Connection {
    async fn serve(mut self) {
        let mut head = RequestHead::new();
        loop {
            match self.read_head(&mut head).await {
                Ok(Some(request)) => match self.answer(&request).await {
                    Ok(()) if request.keep_alive => {}
                    _ => return,
                },
                Ok(None) => return,
                Err(wrong) => return self.refuse(&wrong),
            }
        }
    }

    /// The next request's head; `None` when the client has gone.
    async fn read_head(&mut self, head: &mut RequestHead) -> Result<Option<Request>, HeadError> {
        loop {
            let chunk = match self.chunk.take() {
                Some(chunk) => chunk,
                None => match self.stream.recv().await {
                    Ok(Some(chunk)) => chunk,
                    _ => return Ok(None),
                },
            };
            let carried = self.carry.len();
            if carried > 0 {
                self.carry.extend_from_slice(&chunk);
            }
            let octets = if carried > 0 { &self.carry[..] } else { &chunk[..] };
            match head.parse(octets)? {
                Parsed::Complete { len } => {
                    let request = Request::of(head, octets);
                    self.carry.clear();
                    self.keep(chunk, len.saturating_sub(carried));
                    return Ok(Some(request));
                }
                Parsed::Partial if carried == 0 => self.carry.extend_from_slice(&chunk),
                Parsed::Partial => {}
            }
        }
    }

    /// Keeps what lies behind the first `used` octets.
    fn keep(&mut self, mut chunk: Chunk, used: usize) {
        chunk.advance(used);
        self.chunk = Some(chunk).filter(|chunk| !chunk.is_empty());
    }

    async fn answer(&mut self, request: &Request) -> Result<(), Gone> {
        let received = match request.framing {
            Framing::None => None,
            _ => Some(self.read_body(request).await?),
        };
        if let Route::Delay(delay) = request.route {
            self.site.alarm.sleep(delay).await;
        }
        if let (Route::Fixed, Some(play)) = (request.route, &self.site.play) {
            let act = play.next(&self.site).await;
            return self.act(request, &act).await;
        }
        self.site.answers.borrow_mut().refresh(self.site.core.now());
        match (request.route, &received) {
            (Route::Whoami, _) => self.send_whoami(request),
            (Route::Fixed | Route::Delay(_), None) if request.keep_alive => self.send_fixed(request.method),
            (Route::Size(octets), _) => {
                self.stream_body(request, 200, octets, Framing::Length(octets)).await?
            }
            (Route::Chunked(octets), _) => self.stream_body(request, 200, octets, Framing::Chunked).await?,
            (Route::UntilClose(octets), _) => {
                self.stream_body(request, 200, octets, Framing::UntilClose).await?;
            }
            _ => self.send_described(request, received),
        }
        // A client that pipelines and does not read waits here.
        Ok(self.stream.sent(SEND_QUEUE_OCTETS).await?)
    }

    async fn read_body(&mut self, request: &Request) -> Result<Received, Gone> {
        if request.expects_continue && self.chunk.is_none() {
            self.stream.send(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec());
        }
        let sha = (request.route == Route::Digest).then(Sha256::new);
        let (mut reader, mut received) = (BodyReader::new(request.framing), Received { octets: 0, sha });
        loop {
            let chunk = match self.chunk.take() {
                Some(chunk) => chunk,
                None => {
                    self.stream.set_timeout(STALL);
                    self.stream.recv().await?.ok_or(Gone)?
                }
            };
            if let Some(used) = received.take(&mut reader, &chunk)? {
                self.keep(chunk, used);
                self.stream.clear_timeout();
                return Ok(received);
            }
        }
    }

    fn send_fixed(&self, method: Method) {
        let answers = self.site.answers.borrow();
        let mut out = self.site.core.head_buffer();
        out.extend_from_slice(if method == Method::Head { answers.fixed_head() } else { answers.fixed() });
        self.stream.send(out);
    }

    /// `ADDRESS HOST TARGET`: who was asked, and for what, so that an answer that went astray shows.
    fn send_whoami(&self, request: &Request) {
        let body = format!("{} {}\n", self.address, request.asked.as_deref().unwrap_or_default());
        let mut out = self.site.core.head_buffer();
        let framing = Framing::Length(body.len() as u64);
        self.site.answers.borrow().write_head(&mut out, 200, framing, request.keep_alive, &[]);
        if request.method != Method::Head {
            out.extend_from_slice(body.as_bytes());
        }
        self.stream.send(out);
    }

    /// The fixed body, with a head that tells what was received.
    fn send_described(&self, request: &Request, received: Option<Received>) {
        let answers = self.site.answers.borrow();
        let (octets, digest) = received.unwrap_or_default().described(request.route);
        let more: &[_] = &[("X-Received-Octets", octets.as_str()), ("X-Received-Sha256", digest.as_str())];
        let more = if request.route == Route::Digest { more } else { &more[..1] };
        let status = if let Route::Status(status) = request.route { status } else { 200 };
        let bodyless = matches!(status, 204 | 304);
        let body = if bodyless { b"" } else { answers.fixed_body() };
        let framing = if bodyless { Framing::None } else { Framing::Length(body.len() as u64) };
        let mut out = self.site.core.head_buffer();
        answers.write_head(&mut out, status, framing, request.keep_alive, more);
        if request.method != Method::Head {
            out.extend_from_slice(body);
        }
        self.stream.send(out);
    }

    /// So many octets of the pattern, made as the client takes them.
    async fn stream_body(
        &mut self,
        request: &Request,
        status: u16,
        octets: u64,
        framing: Framing,
    ) -> Result<(), Gone> {
        let keep_alive = request.keep_alive && framing != Framing::UntilClose;
        let mut out = self.site.core.head_buffer();
        self.site.answers.borrow().write_head(&mut out, status, framing, keep_alive, &[]);
        self.stream.send(out);
        if request.method == Method::Head {
            return if keep_alive { Ok(()) } else { Err(Gone) };
        }
        self.send_octets(octets, framing).await?;
        if framing == Framing::Chunked {
            self.stream.send(LAST_CHUNK.to_vec());
        }
        self.stream.clear_timeout();
        if keep_alive { Ok(()) } else { Err(Gone) }
    }

    /// The first octets of the pattern.
    async fn send_octets(&mut self, octets: u64, framing: Framing) -> Result<(), Gone> {
        let mut at = 0;
        while at < octets {
            let left = usize::try_from(octets - at).unwrap_or(usize::MAX);
            let here = left.min(limits::PIECE_OCTETS);
            self.stream.send(self.piece(at, here, framing));
            at += here as u64;
            self.stream.set_timeout(STALL);
            self.stream.sent(SEND_QUEUE_OCTETS).await?;
        }
        Ok(())
    }

    /// Does to the client what the script says.
    async fn act(&mut self, request: &Request, act: &Acting) -> Result<(), Gone> {
        self.site.answers.borrow_mut().refresh(self.site.core.now());
        let fixed = self.site.answers.borrow().fixed_body().len() as u64;
        let bodyless = matches!(act.status, 204 | 304) || request.method == Method::Head;
        let octets = if matches!(act.status, 204 | 304) { 0 } else { act.octets.unwrap_or(fixed) };
        let framing = if matches!(act.status, 204 | 304) { Framing::None } else { Framing::Length(octets) };
        match act.does {
            Does::Answer => self.stream_body(request, act.status, octets, framing).await?,
            Does::Close => return Err(Gone),
            Does::Never => return self.wait_for_end().await,
            Does::Reset => {
                let mut out = self.site.core.head_buffer();
                self.site.answers.borrow().write_head(&mut out, act.status, framing, request.keep_alive, &[]);
                self.stream.send(out);
                self.send_octets(octets / 2, framing).await?;
                self.stream.sent(0).await?;
                self.stream.reset();
                return Err(Gone);
            }
            Does::Trickle(pause) => {
                let body = if bodyless { 0 } else { octets };
                self.trickle(request, act.status, framing, body, pause).await?;
            }
        }
        Ok(self.stream.sent(SEND_QUEUE_OCTETS).await?)
    }

    /// Until the client has gone.
    async fn wait_for_end(&mut self) -> Result<(), Gone> {
        while self.stream.recv().await?.is_some() {}
        Err(Gone)
    }

    async fn trickle(
        &mut self,
        request: &Request,
        status: u16,
        framing: Framing,
        body: u64,
        pause: Duration,
    ) -> Result<(), Gone> {
        let mut head = Vec::new();
        self.site.answers.borrow().write_head(&mut head, status, framing, request.keep_alive, &[]);
        let mut octet = [0];
        let all = head.len() as u64 + body;
        for at in 0..all {
            match head.get(usize::try_from(at).unwrap_or(usize::MAX)) {
                Some(of_head) => octet[0] = *of_head,
                None => pattern::fill(self.site.seed, at - head.len() as u64, &mut octet),
            }
            self.stream.send(octet.to_vec());
            self.stream.sent(0).await?;
            self.site.alarm.sleep(pause).await;
        }
        Ok(())
    }

    /// The `octets` octets at `at` of the pattern, as a chunk where the coding asks for it.
    fn piece(&self, at: u64, octets: usize, framing: Framing) -> Vec<u8> {
        let mut piece = self.site.core.head_buffer();
        if framing == Framing::Chunked {
            piece.extend_from_slice(ChunkHeader::new(octets).as_slice());
        }
        let start = piece.len();
        piece.resize(start + octets, 0);
        pattern::fill(self.site.seed, at, &mut piece[start..]);
        if framing == Framing::Chunked {
            piece.extend_from_slice(b"\r\n");
        }
        piece
    }

    fn refuse(&self, wrong: &HeadError) {
        let body = format!("{wrong}\n");
        let mut out = self.site.core.head_buffer();
        let framing = Framing::Length(body.len() as u64);
        self.site.answers.borrow().write_head(&mut out, 400, framing, false, &[]);
        out.extend_from_slice(body.as_bytes());
        self.stream.send(out);
    }
}

impl Request {
    fn of(head: &RequestHead, octets: &[u8]) -> Self {
        let route = Route::of(head.path(octets));
        Self {
            method: head.method(),
            route,
            framing: head.framing(),
            keep_alive: head.keep_alive(),
            expects_continue: head.expects_continue(),
            asked: (route == Route::Whoami).then(|| {
                let text = |octets| String::from_utf8_lossy(octets);
                format!("{} {}", text(head.host()), text(head.target(octets))).into()
            }),
        }
    }
}

impl Received {
    /// Takes octets of the body; how many of them belong to it, once it has ended.
    fn take(&mut self, reader: &mut BodyReader, octets: &[u8]) -> Result<Option<usize>, Gone> {
        let mut at = 0;
        loop {
            match reader.next(&octets[at..]).map_err(|_| Gone)? {
                BodyStep::Data(data) => {
                    self.octets += data.len() as u64;
                    if let Some(sha) = &mut self.sha {
                        sha.update(&octets[at + data.start..at + data.end]);
                    }
                    at += data.end;
                }
                BodyStep::NeedMore => return Ok(None),
                BodyStep::End { used } => return Ok(Some(at + used)),
            }
        }
    }

    /// The count, and the digest where it was asked for.
    fn described(self, route: Route) -> (String, String) {
        let sha = self.sha.or_else(|| (route == Route::Digest).then(Sha256::new));
        (self.octets.to_string(), sha.map(|sha| pattern::hex(&sha.finalize())).unwrap_or_default())
    }
}
