//! One connection to a target: sends a request, reads its answer, thinks, and so on until the turn is over.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ringway::runtime::{Core, Fault, Stream};

use crate::alarm::Alarm;
use crate::answer::{Answer, AnswerReader};
use crate::draw::Delay;
use crate::limits;
use crate::mix::{Ask, Mix};
use crate::record::{Failure, Record};
use crate::work::Work;

/// What the connections of one turn share.
pub struct Turn {
    pub core: Core,
    pub alarm: Alarm,
    pub target: SocketAddr,
    pub timeout: Duration,
    pub think: Delay,
    pub work: Rc<Work>,
    pub mix: Rc<RefCell<Mix>>,
    /// Octets of bodies, sent again and again.
    pub body: Rc<[u8]>,
    /// Of what clients think.
    pub rng: RefCell<fastrand::Rng>,
    pub record: RefCell<Record>,
}

impl Turn {
    /// Lets a client think; false if nothing would come of it, since the turn is over before.
    async fn thought(&self) -> bool {
        if self.think == Delay::NONE {
            return true;
        }
        let until = self.core.now() + self.think.draw(&mut self.rng.borrow_mut());
        let in_time = until < self.work.until();
        if in_time {
            self.alarm.sleep_until(until).await;
        }
        in_time
    }
}

/// A connection as its client sees it: there or not, fresh or used.
pub struct Client {
    turn: Rc<Turn>,
    stream: Option<Stream>,
    reader: AnswerReader,
}

impl Client {
    /// Begins with a fresh connection, if there is one already.
    #[must_use]
    pub fn new(turn: Rc<Turn>, stream: Option<Stream>) -> Self {
        Self { turn, stream, reader: AnswerReader::new() }
    }

    /// Sends requests for as long as there is work. Who thinks does so before the first, too, so that not all begin at once.
    pub async fn run(mut self) {
        let turn = Rc::clone(&self.turn);
        if !turn.thought().await {
            return;
        }
        while let Some(start) = turn.work.next().await {
            // Having waited that long, it would be too late even if its answer came at once.
            let late = turn.core.now().saturating_duration_since(start) > turn.timeout;
            let outcome = if late { Err(Failure::Timeout) } else { self.request(true).await };
            turn.record.borrow_mut().ended(start, turn.core.now(), outcome);
            if outcome == Err(Failure::Connect) {
                turn.alarm.sleep(Duration::from_millis(limits::CONNECT_RETRY_PAUSE_MS)).await;
            }
            if !turn.thought().await {
                return;
            }
        }
    }

    /// One request, meant to start at `start`, on a connection of its own.
    pub async fn once(mut self, start: Instant) {
        let outcome = self.request(false).await;
        let turn = &*self.turn;
        turn.record.borrow_mut().ended(start, turn.core.now(), outcome);
    }

    /// One request and its status; `may_keep` its connection. A kept one that the target closes meanwhile costs a second
    /// try, no more.
    async fn request(&mut self, may_keep: bool) -> Result<u16, Failure> {
        let mut ask = self.turn.mix.borrow_mut().draw();
        ask.keep_alive &= may_keep;
        let kept = self.stream.take().filter(Stream::is_quiet);
        let was_kept = kept.is_some();
        let mut outcome = self.exchange(&ask, kept).await;
        let closed =
            matches!(outcome, Err(Failed { failure: Failure::Reset | Failure::Short, answered: false }));
        if was_kept && closed {
            self.turn.record.borrow_mut().retried += 1;
            outcome = self.exchange(&ask, None).await;
        }
        outcome.map(|answer| answer.status).map_err(|failed| failed.failure)
    }

    async fn exchange(&mut self, ask: &Ask, kept: Option<Stream>) -> Result<Answer, Failed> {
        let turn = &*self.turn;
        let mut stream = match kept {
            Some(stream) => stream,
            None => connect(&turn.core, turn.target, turn.timeout).await.map_err(|_| Failed::CONNECT)?,
        };
        stream.set_timeout(turn.timeout);
        let mut request = turn.core.head_buffer();
        {
            let mix = turn.mix.borrow();
            self.reader.expect(mix.method(ask));
            mix.write_head(ask, &mut request);
        }
        let left = append(&turn.body, ask.body, &mut request);
        stream.send(request);
        // A target may answer before it has all, or without wanting it.
        let sent = Cell::new(left == 0);
        let answered = match left {
            0 => read_answer(&stream, &mut self.reader).await,
            _ => {
                let answer = read_answer(&stream, &mut self.reader);
                futures_lite::future::or(answer, send_rest(&turn.core, &stream, &turn.body, left, &sent))
                    .await
            }
        };
        match answered {
            Ok(answer) => {
                if answer.keep_alive && ask.keep_alive && sent.get() {
                    self.stream = Some(stream);
                }
                Ok(answer)
            }
            Err(failed) => {
                self.reader.reset();
                stream.reset();
                Err(failed)
            }
        }
    }
}

/// Appends as much of a body as fits a buffer that is reused; returns what is left.
fn append(body: &[u8], octets: u64, request: &mut Vec<u8>) -> u64 {
    let room = ringway::limits::HEAD_BUFFER_KEPT_OCTETS.saturating_sub(request.len()).min(body.len());
    let now = usize::try_from(octets).unwrap_or(usize::MAX).min(room);
    request.extend_from_slice(&body[..now]);
    octets - now as u64
}

/// Sends so many octets as the target takes them, notes when all are on their way, and then waits for ever.
async fn send_rest<T>(core: &Core, stream: &Stream, body: &[u8], mut left: u64, sent: &Cell<bool>) -> T {
    while left > 0 {
        // Whoever waits for the answer is told of a broken stream too.
        if stream.sent(ringway::limits::SEND_QUEUE_OCTETS).await.is_err() {
            break;
        }
        let mut piece = core.head_buffer();
        left = append(body, left, &mut piece);
        stream.send(piece);
    }
    sent.set(left == 0);
    std::future::pending().await
}

/// A failure, and whether any octet of the answer had come.
#[derive(Clone, Copy)]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    pub(crate) answered: bool,
}

impl Failed {
    pub(crate) const CONNECT: Self = Self { failure: Failure::Connect, answered: false };
}

/// The whole answer to what was sent.
pub(crate) async fn read_answer(stream: &Stream, reader: &mut AnswerReader) -> Result<Answer, Failed> {
    loop {
        let received = stream.recv().await;
        let answered = reader.has_begun();
        let failed = |failure| Failed { failure, answered };
        match received {
            Ok(Some(octets)) => match reader.feed(&octets) {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => {}
                Err(_) => return Err(failed(Failure::Malformed)),
            },
            Ok(None) => return reader.close().map_err(|_| failed(Failure::Short)),
            Err(Fault::TimedOut) => return Err(failed(Failure::Timeout)),
            Err(Fault::Os(_)) => return Err(failed(Failure::Reset)),
        }
    }
}

/// Opens a connection.
///
/// # Errors
/// What the target or the kernel said, in words.
pub async fn connect(core: &Core, target: SocketAddr, timeout: Duration) -> Result<Stream, String> {
    let stream = core.connect(target).map_err(|e| e.to_string())?;
    stream.set_timeout(timeout);
    stream.connected().await.map_err(|fault| fault.to_string())?;
    Ok(stream)
}

/// Asks once on a fresh connection, and keeps it.
///
/// # Errors
/// Why there was no answer with a good status, in words.
pub async fn ask_once(
    stream: &Stream,
    request: Vec<u8>,
    timeout: Duration,
    reader: &mut AnswerReader,
) -> Result<(), String> {
    stream.set_timeout(timeout);
    stream.send(request);
    let answered = read_answer(stream, reader);
    match answered.await {
        Ok(Answer { status: 100..400, keep_alive: true }) => Ok(()),
        Ok(Answer { keep_alive: false, .. }) => {
            Err("the target closes the connection after its answer".to_owned())
        }
        Ok(Answer { status, .. }) => Err(format!("the target answers with status {status}")),
        Err(Failed { failure, .. }) => Err(format!("no answer ({failure:?})").to_lowercase()),
    }
}

/// Runs `open` for each number below `count`, few at a time, and waits for all.
pub async fn few_at_a_time<F: Future<Output = ()> + 'static>(
    core: &Core,
    count: usize,
    open: impl Fn(usize) -> F + Clone + 'static,
) {
    let latch = crate::latch::Latch::new(core);
    let next = Rc::new(Cell::new(0));
    for _ in 0..count.min(limits::CONNECTING_MAX) {
        let (hold, open, next) = (latch.hold(), open.clone(), Rc::clone(&next));
        core.spawn(async move {
            let _hold = hold;
            while next.get() < count {
                let number = next.replace(next.get() + 1);
                open(number).await;
            }
        });
    }
    latch.released().await;
}
