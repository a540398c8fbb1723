//! `verify`: asks a router for hosts of the data set while it changes, and judges each answer by what is true.
//!
//! [`ask`] asks, on a core; the main thread follows the file of what is known, and judges with [`truth`]; [`tally`] counts.

mod ask;
mod tally;
pub mod truth;

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use ringway::runtime::{Core, machine, start};

use self::ask::Questions;
use self::tally::Tally;
use self::truth::{Asked, Truth};
use crate::cli::VerifyOptions;
use crate::dataset::Dataset;
use crate::deltas::known::{self, Mark};
use crate::error::Error;
use crate::limits;
use crate::output::Output;
use crate::run::{core_options, no_core, resolve, show};

/// Asks and judges for as long as was told.
///
/// # Errors
/// An answer was wrong, nothing was answered, the file of what is known is none, or the machine lacks something.
pub fn verify(options: &VerifyOptions) -> Result<(), Error> {
    let json = Output::wanted("--json", options.json.as_deref())?;
    let target = resolve(&options.target)?;
    let mut known = Known::open(&options.known)?;
    let header = known.header()?;
    let data = header.dataset().map_err(|why| known.wrong(&format!("1: {why}")))?;
    let questions = Questions {
        data: data.clone(),
        target: target.address,
        rate: options.rate,
        connections: options.connections,
        time: options.seconds,
        timeout: options.timeout,
        seed: options.seed,
    };
    let core = core_options(options.core, options.connections)?;
    let ((tell, told), (change, changed)) = (mpsc::channel(), mpsc::channel());
    let main = move |core: Core, _| async move {
        machine::sharpen_timers();
        ask::ask(&core, questions, changed, tell).await;
        core.stop();
    };
    let (thread, _mailbox) = start::<(), _>(core, main, || ()).map_err(no_core)?;
    let window = u64::try_from(options.window.as_nanos()).unwrap_or(u64::MAX);
    let mut bench = Bench {
        data: &data,
        truth: Truth::new(&data, window),
        tally: Tally::default(),
        waiting: VecDeque::new(),
        forgotten: Instant::now(),
    };
    loop {
        let next = told.recv_timeout(Duration::from_millis(limits::KNOWN_READ_MS));
        let ended = next == Err(RecvTimeoutError::Disconnected);
        bench.waiting.extend(next);
        bench.waiting.extend(told.try_iter());
        // What is read now was written before now, and so after every answer that waits.
        let ranks = known.marks()?.into_iter().flat_map(|mark| bench.truth.take(mark)).collect();
        // A core that has ended asks for no more.
        let _ = change.send(ranks);
        bench.judge();
        // Two tries, each with a connect and an answer.
        bench.forget(5 * options.timeout);
        if ended {
            break;
        }
    }
    thread.join().map_err(no_core)?;
    publish(&bench.tally, json, options)
}

/// Judges what was answered.
struct Bench<'d> {
    data: &'d Dataset,
    truth: Truth<'d>,
    tally: Tally,
    waiting: VecDeque<Asked>,
    forgotten: Instant,
}

impl Bench<'_> {
    fn judge(&mut self) {
        for asked in self.waiting.drain(..) {
            self.tally.add(self.data, &asked, self.truth.judge(&asked));
        }
    }

    /// Now and then; `longest` is how long a question takes at most.
    fn forget(&mut self, longest: Duration) {
        if self.forgotten.elapsed() > longest.max(Duration::from_secs(1)) {
            self.forgotten = Instant::now();
            let longest = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
            self.truth.forget_before(known::now_ns().saturating_sub(longest));
        }
    }
}

fn publish(tally: &Tally, mut json: Option<Output>, options: &VerifyOptions) -> Result<(), Error> {
    let document = format!("{:#}\n", tally.document());
    show(options.json.is_some(), json.as_mut(), &tally.shown(), &document)?;
    let target = &options.target.name;
    match (tally.wrong, tally.right) {
        (0, 0) => Err(Error::Input(format!("{target}: not one question was answered; is it running?"))),
        (0, _) => Ok(()),
        (wrong, _) => Err(Error::Input(format!("{target}: {wrong} answers were wrong; see the table above"))),
    }
}

/// What to do about a file that says nothing yet.
const GIVE_KNOWN: &str =
    "give the file that --known of deltas names, once deltas says that its data set is written";

/// The file of what is known, as it grows.
struct Known {
    place: String,
    file: File,
    reader: known::Reader,
    piece: Vec<u8>,
}

impl Known {
    fn open(path: &Path) -> Result<Self, Error> {
        let place = path.display().to_string();
        let why = |e| Error::Input(format!("--known {place}: cannot be read: {e}; deltas writes it"));
        let file = File::open(path).map_err(why)?;
        Ok(Self { place, file, reader: known::Reader::default(), piece: vec![0; limits::KNOWN_PIECE_OCTETS] })
    }

    fn wrong(&self, why: &str) -> Error {
        Error::Input(format!("{}:{why}", self.place))
    }

    /// Its first line, which is there since the data set is.
    fn header(&mut self) -> Result<known::Header, Error> {
        let deadline = Instant::now() + Duration::from_millis(limits::KNOWN_WAIT_MS);
        let mut has_begun = false;
        loop {
            let mut one = [0];
            // Octet by octet, so that the marks behind it stay in the file.
            match self.file.read(&mut one) {
                Ok(0) if !has_begun => return Err(self.wrong(&format!(" is empty; {GIVE_KNOWN}"))),
                Ok(0) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(limits::KNOWN_READ_MS));
                }
                Ok(0) => return Err(self.wrong(&format!("1: the line does not end; {GIVE_KNOWN}"))),
                Ok(_) => {
                    has_begun = true;
                    self.reader.feed(&one).map_err(|why| self.wrong(&why))?;
                }
                Err(e) => return Err(self.wrong(&format!(" cannot be read: {e}"))),
            }
            if let Some(header) = self.reader.header() {
                return Ok(header.clone());
            }
        }
    }

    /// What has been written since.
    fn marks(&mut self) -> Result<Vec<Mark>, Error> {
        let mut marks = Vec::new();
        loop {
            match self.file.read(&mut self.piece) {
                Ok(0) => return Ok(marks),
                Ok(read) => {
                    let octets = self.piece.get(..read).unwrap_or_default();
                    marks.extend(
                        self.reader
                            .feed(octets)
                            .map_err(|why| Error::Input(format!("{}:{why}", self.place)))?,
                    );
                }
                Err(e) => return Err(self.wrong(&format!(" cannot be read: {e}"))),
            }
        }
    }
}

#[cfg(test)]
mod tests;
