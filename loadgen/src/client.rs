//! One connection to a target: sends a request, reads its answer, and so on until the turn is over.

use std::cell::RefCell;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ringway::runtime::{Core, Fault, Stream};

use crate::answer::{Answer, AnswerReader};
use crate::limits;
use crate::mix::Mix;
use crate::record::{Failure, Record};
use crate::work::Work;

/// What the connections of one turn share.
pub struct Turn {
    pub core: Core,
    pub target: SocketAddr,
    pub timeout: Duration,
    pub keep_alive: bool,
    pub work: Rc<Work>,
    pub mix: Rc<RefCell<Mix>>,
    pub record: RefCell<Record>,
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

    /// Sends requests for as long as there is work.
    pub async fn run(mut self) {
        let turn = Rc::clone(&self.turn);
        while let Some(start) = turn.work.next().await {
            // Having waited that long, it would be too late even if its answer came at once.
            let late = turn.core.now().saturating_duration_since(start) > turn.timeout;
            let outcome = if late { Err(Failure::Timeout) } else { self.request().await };
            turn.record.borrow_mut().ended(start, turn.core.now(), outcome);
            if outcome == Err(Failure::Connect) {
                turn.core
                    .sleep_until(turn.core.now() + Duration::from_millis(limits::CONNECT_RETRY_PAUSE_MS))
                    .await;
            }
        }
    }

    /// One request and its status. A kept connection that the target closes meanwhile costs a second try, no
    /// more.
    async fn request(&mut self) -> Result<u16, Failure> {
        let kept = self.stream.take().filter(Stream::is_quiet);
        let was_kept = kept.is_some();
        let mut outcome = self.exchange(kept).await;
        let closed =
            matches!(outcome, Err(Failed { failure: Failure::Reset | Failure::Short, answered: false }));
        if was_kept && closed {
            self.turn.record.borrow_mut().retried += 1;
            outcome = self.exchange(None).await;
        }
        outcome.map(|answer| answer.status).map_err(|failed| failed.failure)
    }

    async fn exchange(&mut self, kept: Option<Stream>) -> Result<Answer, Failed> {
        let turn = &*self.turn;
        let mut stream = match kept {
            Some(stream) => stream,
            None => connect(&turn.core, turn.target, turn.timeout).await.map_err(|_| Failed::CONNECT)?,
        };
        stream.set_timeout(turn.timeout);
        let mut request = turn.core.head_buffer();
        turn.mix.borrow_mut().write_next(&mut request);
        stream.send(request);
        match read_answer(&stream, &mut self.reader).await {
            Ok(answer) => {
                if answer.keep_alive && turn.keep_alive {
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

/// A failure, and whether any octet of the answer had come.
#[derive(Clone, Copy)]
struct Failed {
    failure: Failure,
    answered: bool,
}

impl Failed {
    const CONNECT: Self = Self { failure: Failure::Connect, answered: false };
}

async fn read_answer(stream: &Stream, reader: &mut AnswerReader) -> Result<Answer, Failed> {
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
    let next = Rc::new(std::cell::Cell::new(0));
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
