//! A case played: the client's part, and what both sides saw.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::corpus::{Case, End, Reply, Want};
use super::message::{Kind, Message, read};
use super::recorder::{Asked, PAUSE, Recorder};
use super::script::Step;
use super::verdict::{self, Mismatch, Strictness};
use crate::support::pause;

/// Who is asked.
pub struct Stage<'a> {
    pub address: SocketAddr,
    /// Where clients come in that are trusted.
    pub trusted: SocketAddr,
    pub recorder: &'a Recorder,
    pub strictness: Strictness,
    /// How long anything may take.
    pub patience: Duration,
}

/// What came of a case.
#[derive(Debug, Default)]
pub struct Seen {
    pub replies: Vec<Message>,
    pub end: Ended,
    pub asked: Vec<Asked>,
    /// What was malformed, either way, or is wrong in itself.
    pub faults: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ended {
    /// Another request was answered on the connection.
    Open,
    Closed,
    Reset,
    /// Nothing came that had to.
    #[default]
    Silent,
}

struct Client<'a> {
    stream: TcpStream,
    octets: Vec<u8>,
    wants: Vec<&'a Want>,
    seen: Seen,
}

impl Stage<'_> {
    /// Plays a case.
    ///
    /// # Errors
    /// What came of it is not what the case wants.
    pub fn play(&self, case: &Case) -> Result<(), Mismatch> {
        self.recorder.begin(&case.answers);
        let wants: Vec<&Want> = std::iter::once(&case.want).chain(&case.allowed).collect();
        let wants = if self.strictness == Strictness::Exact { &wants[..1] } else { &wants[..] };
        let address = if case.trusted { self.trusted } else { self.address };
        let mut client = Client::new(address, wants.to_vec(), self.patience);
        client.run(&case.send, self.strictness);
        let mut seen = client.seen;
        drop(client.stream);
        let deadline = Instant::now() + self.patience;
        loop {
            (seen.asked, _) = self.recorder.seen();
            if wants.iter().any(|want| verdict::reached(want, &seen)) || Instant::now() > deadline {
                break;
            }
            pause(Duration::from_millis(1));
        }
        if let Err(fault) = self.probe() {
            seen.faults.push(fault);
        }
        // Again: what must not come has had its time.
        let (asked, faults) = self.recorder.seen();
        seen.asked = asked;
        seen.faults.extend(faults.into_iter().map(|fault| format!("the origin got {fault}")));
        match verdict::mismatch(wants, &seen, self.strictness) {
            None => Ok(()),
            Some(mismatch) => Err(mismatch),
        }
    }

    /// Whether a stranger's plain request is answered, and with its own answer.
    fn probe(&self) -> Result<(), String> {
        let want = Want::plain("GET /probe");
        let mut client = Client::new(self.address, vec![&want], self.patience);
        let request = b"GET /probe HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
        client.run(&[Step::Octets(request.to_vec())], self.strictness);
        match verdict::mismatch(&[&want], &client.seen, Strictness::Lenient) {
            None => Ok(()),
            Some(mismatch) => Err(format!("a stranger's request after it: {}", mismatch.told)),
        }
    }
}

impl Want {
    /// One answer to a plain request of the test's own, and the end.
    fn plain(asked: &str) -> Want {
        let reply = Reply { to_head: false, status: 200, body: Some(asked.to_owned()), cut: false };
        Want { replies: vec![reply], end: End::Closed, ..Want::default() }
    }
}

impl<'a> Client<'a> {
    fn new(address: SocketAddr, wants: Vec<&'a Want>, patience: Duration) -> Client<'a> {
        let stream = TcpStream::connect(address).unwrap_or_else(|e| panic!("{address}: {e}"));
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(patience)).expect("a socket");
        stream.set_write_timeout(Some(patience)).expect("a socket");
        Client { stream, octets: Vec::new(), wants, seen: Seen::default() }
    }

    /// Sends, then reads for as long as some want has more to come.
    fn run(&mut self, steps: &[Step], strictness: Strictness) {
        for step in steps {
            match step {
                // Fails when the router has had enough, which what it said before tells.
                Step::Octets(octets) => drop(self.stream.write_all(octets)),
                Step::Pause => pause(PAUSE),
                Step::Await => drop(self.reply(strictness)),
                Step::Fin => drop(self.stream.shutdown(Shutdown::Write)),
                Step::Reset => {
                    let _ = socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
                    self.seen.end = Ended::Reset;
                    return;
                }
                Step::Head | Step::Body => {}
            }
        }
        loop {
            let got = self.seen.replies.len();
            let all_said = self.wants.iter().all(|want| want.replies.len() == got);
            if all_said && self.wants.iter().any(|want| want.end == End::Open) {
                return self.ask_again();
            }
            if !self.reply(strictness) {
                return;
            }
        }
    }

    /// Reads one more response and forgets the wants that it does not fit; false if none comes, or nobody wants it.
    fn reply(&mut self, strictness: Strictness) -> bool {
        let at = self.seen.replies.len();
        let to_head = self.wants.iter().any(|want| want.replies.get(at).is_some_and(|reply| reply.to_head));
        let Some(message) = self.message(to_head) else { return false };
        let whole = message.whole;
        self.wants.retain(|want| {
            want.replies.get(at).is_some_and(|reply| verdict::fits(reply, &message, strictness))
        });
        self.seen.replies.push(message);
        whole && !self.wants.is_empty()
    }

    /// The next response, or what there is of it in the end.
    fn message(&mut self, to_head: bool) -> Option<Message> {
        loop {
            let closed = self.seen.end == Ended::Closed;
            match read(Kind::Response { to_head }, &self.octets, closed) {
                Err(fault) => {
                    self.seen.faults.push(format!("the client got {fault}"));
                    return None;
                }
                Ok(Some((message, used))) if message.whole => {
                    self.octets.drain(..used);
                    return Some(message);
                }
                // The end itself makes a response whole that lasts until the connection ends: look once more.
                Ok(partial) if !self.more() && (closed || self.seen.end != Ended::Closed) => {
                    return partial.map(|(message, _)| message);
                }
                Ok(_) => {}
            }
        }
    }

    /// Receives once; false at the end, which is noted.
    fn more(&mut self) -> bool {
        let mut room = [0; 16 << 10];
        self.seen.end = match self.stream.read(&mut room) {
            Ok(0) => Ended::Closed,
            Ok(got) => {
                self.octets.extend_from_slice(&room[..got]);
                return true;
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ended::Silent,
            Err(_) => Ended::Reset,
        };
        false
    }

    /// Whether the connection carries another request.
    fn ask_again(&mut self) {
        let _ = self.stream.write_all(b"GET /open HTTP/1.1\r\nHost: a.test\r\n\r\n");
        match self.message(false) {
            Some(message) if message.status() == 200 && message.body == "GET /open" => {
                self.seen.end = Ended::Open
            }
            Some(message) => self.seen.faults.push(format!("the next request's answer is {message:?}")),
            None => {}
        }
    }
}
