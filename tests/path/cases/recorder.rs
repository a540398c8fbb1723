//! The origin of all cases: it does what the case at hand says, and keeps what it was sent.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::message::{Kind, Message, read};
use super::script::Step;
use crate::support::{Origin, Visit, pause};

/// Long enough for the kernel to send what came before in a segment of its own.
pub const PAUSE: Duration = Duration::from_millis(20);

/// Two origins with one memory: `a.test` is the first, `b.test` the second.
pub struct Recorder {
    pub a: Origin,
    pub b: Origin,
    memory: Arc<Mutex<Memory>>,
}

/// A request as it came to an origin.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub message: Message,
    /// `b` came to the second origin.
    pub second: bool,
    /// The router has ended the connection.
    pub closed: bool,
}

#[derive(Default)]
struct Memory {
    /// Which case this is.
    round: usize,
    answers: BTreeMap<String, Vec<Step>>,
    asked: Vec<Asked>,
    faults: Vec<String>,
}

/// One connection.
struct Talk {
    visit: Visit,
    second: bool,
    memory: Arc<Mutex<Memory>>,
    /// Received and not yet used.
    octets: Vec<u8>,
    /// The router has ended its side.
    ended: bool,
    /// Where in the memory the last request stands: its case and place.
    last: Option<(usize, usize)>,
}

impl Recorder {
    pub fn start() -> Recorder {
        let memory = Arc::new(Mutex::new(Memory::default()));
        let origin = |second| {
            let memory = Arc::clone(&memory);
            Origin::start(move |visit| {
                let memory = Arc::clone(&memory);
                Talk { visit, second, memory, octets: Vec::new(), ended: false, last: None }.run();
            })
        };
        Recorder { a: origin(false), b: origin(true), memory }
    }

    /// Forgets the last case and does as `answers` says from now on.
    pub fn begin(&self, answers: &BTreeMap<String, Vec<Step>>) {
        let mut memory = lock(&self.memory);
        let round = memory.round + 1;
        *memory = Memory { round, answers: answers.clone(), ..Memory::default() };
    }

    /// What has come since, and what of it was malformed.
    pub fn seen(&self) -> (Vec<Asked>, Vec<String>) {
        let memory = lock(&self.memory);
        (memory.asked.clone(), memory.faults.clone())
    }

    pub fn addresses(&self) -> [SocketAddr; 2] {
        [self.a.address, self.b.address]
    }
}

fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What the answer to a plain request says, and that of others that the test itself makes.
pub fn plain_answer(message: &Message) -> Vec<u8> {
    let body = message.asked();
    let shown = if message.start.starts_with("HEAD ") { "" } else { body };
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{shown}", body.len()).into_bytes()
}

impl Talk {
    fn run(mut self) {
        while let Some(message) = self.head() {
            let steps = self.remember(message.clone());
            let steps = steps.unwrap_or_else(|| vec![Step::Octets(plain_answer(&message))]);
            if steps.first() != Some(&Step::Head) {
                self.body();
            }
            for step in steps {
                match step {
                    Step::Octets(octets) => self.say(&octets),
                    Step::Pause => pause(PAUSE),
                    Step::Body => self.body(),
                    Step::Fin => {
                        let _ = self.visit.wire.stream.shutdown(Shutdown::Write);
                        while self.more() {}
                        return;
                    }
                    Step::Reset => return self.visit.reset(),
                    Step::Head | Step::Await => {}
                }
            }
            self.body();
            let used = read(Kind::Request, &self.octets, false).ok().flatten().map_or(0, |(_, used)| used);
            self.octets.drain(..used);
        }
        if !self.octets.is_empty() {
            self.fault(format!("octets that are no request: {:?}", String::from_utf8_lossy(&self.octets)));
        }
    }

    /// The next request, of which its head at least is there.
    fn head(&mut self) -> Option<Message> {
        loop {
            match read(Kind::Request, &self.octets, self.ended) {
                Ok(Some((message, _))) => return Some(message),
                Ok(None) if self.more() => {}
                Ok(None) => return None,
                Err(fault) => {
                    self.fault(fault);
                    self.octets.clear();
                    return None;
                }
            }
        }
    }

    /// Reads the request at hand to its end, or as far as it goes.
    fn body(&mut self) {
        while let Ok(Some((message, _))) =
            read(Kind::Request, &self.octets, self.ended).map_err(|e| self.fault(e))
        {
            let whole = message.whole;
            self.update(|asked| asked.message = message);
            if whole || !self.more() {
                return;
            }
        }
    }

    /// Receives once; false at the end.
    fn more(&mut self) -> bool {
        let mut room = [0; 16 << 10];
        let got = self.visit.wire.stream.read(&mut room).unwrap_or(0);
        self.octets.extend_from_slice(&room[..got]);
        if got == 0 {
            self.ended = true;
            self.update(|asked| asked.closed = true);
        }
        got > 0
    }

    fn say(&mut self, octets: &[u8]) {
        let _ = self.visit.wire.stream.write_all(octets);
    }

    /// Keeps a request, and tells how it is answered, if not plainly.
    fn remember(&mut self, message: Message) -> Option<Vec<Step>> {
        let mut memory = lock(&self.memory);
        let target = message.target().to_owned();
        if ["/open", "/probe"].contains(&target.as_str()) {
            self.last = None;
            return None;
        }
        self.last = Some((memory.round, memory.asked.len()));
        memory.asked.push(Asked { message, second: self.second, closed: false });
        let any = memory.answers.get("").filter(|_| target != "/next");
        memory.answers.get(&target).or(any).cloned()
    }

    fn update(&self, change: impl FnOnce(&mut Asked)) {
        let Some((round, at)) = self.last else { return };
        let mut memory = lock(&self.memory);
        if memory.round == round {
            change(&mut memory.asked[at]);
        }
    }

    fn fault(&self, fault: String) {
        lock(&self.memory).faults.push(fault);
    }
}
