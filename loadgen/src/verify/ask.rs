//! On the core: asks for hosts at a rate, and tells who answered.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use ringway::runtime::{Core, Stream};

use super::truth::{Asked, Seen};
use crate::answer::AnswerReader;
use crate::arrivals::{Arrivals, Spacing};
use crate::client::{Failed, connect, read_answer};
use crate::dataset::{Dataset, Zipf};
use crate::deltas::known::now_ns;
use crate::latch::Latch;
use crate::limits;
use crate::plan::{Load, Profile};
use crate::record::Failure;
use crate::work::Work;

/// What is asked, and how fast.
pub(super) struct Questions {
    pub(super) data: Dataset,
    pub(super) target: SocketAddr,
    pub(super) rate: f64,
    pub(super) connections: usize,
    pub(super) time: Duration,
    pub(super) timeout: Duration,
    pub(super) seed: u64,
}

/// What the connections share.
struct Desk {
    core: Core,
    questions: Questions,
    work: Rc<Work>,
    choice: RefCell<Choice>,
    asked: Cell<u64>,
    tell: mpsc::Sender<Asked>,
}

/// Which host is asked for next: one in two has changed lately, if any has.
struct Choice {
    ranks: Zipf,
    rng: fastrand::Rng,
    changed: mpsc::Receiver<Vec<u64>>,
    recent: VecDeque<u64>,
}

impl Choice {
    fn next(&mut self) -> u64 {
        for ranks in self.changed.try_iter() {
            self.recent.extend(ranks);
        }
        let beyond = self.recent.len().saturating_sub(limits::RECENT_MAX);
        self.recent.drain(..beyond);
        if self.rng.bool() {
            // The newest first: their changes are still on their way.
            if let Some(rank) = self.recent.pop_back() {
                return rank;
            }
        }
        self.ranks.draw()
    }
}

/// Asks for as long as was told; returns when all is answered.
pub(super) async fn ask(
    core: &Core,
    questions: Questions,
    changed: mpsc::Receiver<Vec<u64>>,
    tell: mpsc::Sender<Asked>,
) {
    let start = core.now();
    let rate = Profile::constant(questions.rate);
    let load = Load::Open { rate: rate.clone(), spacing: Spacing::Poisson };
    let work = Work::new(core, &load, None, start + questions.time);
    let arrivals = Arrivals::new(rate, Spacing::Poisson, questions.seed);
    let choice = RefCell::new(Choice {
        ranks: Zipf::new(questions.data.hosts(), questions.seed),
        rng: fastrand::Rng::with_seed(questions.seed),
        changed,
        recent: VecDeque::new(),
    });
    let (latch, connections) = (Latch::new(core), questions.connections);
    let (core, asked) = (core.clone(), Cell::new(0));
    let desk = Rc::new(Desk { core: core.clone(), questions, work: Rc::clone(&work), choice, asked, tell });
    for _ in 0..connections {
        let (hold, desk) = (latch.hold(), Rc::clone(&desk));
        core.spawn(async move {
            let _hold = hold;
            serve(&desk).await;
        });
    }
    // Questions that nobody could ask are not asked.
    core.spawn(async move { work.pace(start, arrivals, |_| ()).await });
    latch.released().await;
}

async fn serve(desk: &Desk) {
    let mut reader = AnswerReader::new();
    reader.keep(limits::WHOAMI_OCTETS_MAX);
    let mut kept: Option<Stream> = None;
    while desk.work.next().await.is_some() {
        let rank = desk.choice.borrow_mut().next();
        let asked = now_ns();
        let number = desk.asked.replace(desk.asked.get() + 1);
        let host = desk.questions.data.host(rank);
        let path = format!("/whoami/{number}");
        let old = kept.take().filter(Stream::is_quiet);
        let was_kept = old.is_some();
        let mut outcome = exchange(desk, &host, &path, old, &mut reader).await;
        // The router may close an idle connection whenever it likes.
        if was_kept
            && matches!(outcome, Err(Failed { answered: false, failure: Failure::Short | Failure::Reset }))
        {
            outcome = exchange(desk, &host, &path, None, &mut reader).await;
        }
        let seen = match outcome {
            Ok((status, stream)) => {
                kept = stream;
                seen(status, reader.kept(), &host, &path)
            }
            Err(failed) => {
                reader.reset();
                let pause = Duration::from_millis(limits::CONNECT_RETRY_PAUSE_MS);
                desk.core.sleep_until(desk.core.now() + pause).await;
                Seen::Failed(format!("no answer ({:?})", failed.failure).to_lowercase())
            }
        };
        // Nobody listens only when the process ends.
        let _ = desk.tell.send(Asked { rank, asked, answered: now_ns(), seen });
    }
}

/// The status, and the connection if it may be used again.
async fn exchange(
    desk: &Desk,
    host: &str,
    path: &str,
    kept: Option<Stream>,
    reader: &mut AnswerReader,
) -> Result<(u16, Option<Stream>), Failed> {
    let (core, questions) = (&desk.core, &desk.questions);
    let stream = match kept {
        Some(stream) => stream,
        None => connect(core, questions.target, questions.timeout).await.map_err(|_| Failed::CONNECT)?,
    };
    stream.set_timeout(questions.timeout);
    let mut request = core.head_buffer();
    request.extend_from_slice(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
    stream.send(request);
    reader.reset();
    let answer = read_answer(&stream, reader).await?;
    Ok((answer.status, answer.keep_alive.then_some(stream)))
}

/// What an answer says of where the question went.
fn seen(status: u16, body: &[u8], host: &str, path: &str) -> Seen {
    let strange = || {
        let body: String = String::from_utf8_lossy(body).chars().take(100).collect();
        Seen::Strange(format!("{status} {body:?}"))
    };
    match status {
        200 => {
            let text = std::str::from_utf8(body).unwrap_or_default();
            let told = text.strip_suffix('\n').and_then(|text| text.split_once(' '));
            let address = told.filter(|(_, asked)| *asked == format!("{host} {path}"));
            address.and_then(|(address, _)| address.parse().ok()).map_or_else(strange, Seen::Endpoint)
        }
        404 => Seen::Nowhere,
        500..=599 => Seen::Failed(format!("status {status}")),
        _ => strange(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_say_where_the_question_went() {
        let at = |status, body: &str| seen(status, body.as_bytes(), "a.example", "/whoami/7");
        assert_eq!(
            at(200, "127.0.1.2:9001 a.example /whoami/7\n"),
            Seen::Endpoint(([127, 0, 1, 2], 9001).into())
        );
        for astray in [
            "127.0.1.2:9001 b.example /whoami/7\n",
            "127.0.1.2:9001 a.example /whoami/8\n",
            "127.0.1.2:9001 a.example /whoami/7",
            "nobody a.example /whoami/7\n",
            "hello",
        ] {
            assert!(matches!(at(200, astray), Seen::Strange(_)), "{astray}");
        }
        assert_eq!((at(404, ""), at(503, "")), (Seen::Nowhere, Seen::Failed("status 503".into())));
        assert!(matches!(at(301, ""), Seen::Strange(_)));
    }
}
