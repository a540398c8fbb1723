//! What requests say: the octets of their kind but for the host name and the body, which are drawn.

use std::fs;
use std::io::Write;
use std::path::Path;

use ringway::proto::http1::Method;
use ringway_state::id::Region;

use crate::cli::{Draw, HostField};
use crate::dataset::{Dataset, STANDARD_SERVICES, Zipf, standard_origins};
use crate::draw::{Sizes, Weighted};
use crate::error::Error;
use crate::limits;
use crate::plan::{Kind, Names, Plan, name_of};

/// The fields of a browser that calls an API, with Host 12 of them; the whole request has about 600 octets.
pub const FIELDS: &str = "\
User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
Chrome/126.0.0.0 Safari/537.36\r\n\
Accept: application/json, text/plain, */*\r\n\
Accept-Language: en-GB,en;q=0.9,de;q=0.7\r\n\
Accept-Encoding: gzip, deflate, br, zstd\r\n\
Referer: https://shop.example.com/catalogue/spring\r\n\
Cookie: session=7f3c1e0b9a5d48e2b6c4f1a7d8e9c0b2; csrf=1f0e9d8c7b6a59483726150493827160; \
basket=4711; theme=dark\r\n\
Cache-Control: no-cache\r\n\
Sec-Fetch-Dest: empty\r\n\
Sec-Fetch-Mode: cors\r\n\
Sec-Fetch-Site: same-origin\r\n";

/// Host names drawn in advance, in the order in which they are asked for, so that drawing costs a request
/// nothing.
#[derive(Debug, PartialEq)]
pub struct Tape {
    octets: Vec<u8>,
    /// Where each name ends; it begins where the one before ends.
    ends: Vec<u32>,
}

impl Tape {
    fn new() -> Self {
        Self { octets: Vec::new(), ends: Vec::new() }
    }

    fn push(&mut self, name: &[u8]) {
        self.octets.extend_from_slice(name);
        self.ends.push(u32::try_from(self.octets.len()).unwrap_or(u32::MAX));
    }

    /// The `at`-th name, beginning anew after the last.
    fn name(&self, at: usize) -> &[u8] {
        let at = at % self.ends.len().max(1);
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let start = if at == 0 { 0 } else { end(at - 1) };
        self.octets.get(start..end(at)).unwrap_or_default()
    }
}

/// One request, drawn and not yet written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    kind: usize,
    name: usize,
    /// Octets to be sent with it.
    pub body: u64,
    /// Whether the connection is kept for another request.
    pub keep_alive: bool,
}

/// Draws requests and writes their heads.
#[derive(Debug)]
pub struct Mix {
    kinds: Weighted<Written>,
    keep_alive: f64,
    tape: Tape,
    at: usize,
    rng: fastrand::Rng,
}

/// A kind of request, its octets but for what is drawn.
#[derive(Debug)]
struct Written {
    method: Method,
    front: Vec<u8>,
    body: Option<Sizes>,
}

impl Mix {
    /// Requests of these kinds, to the names of `tape` in order; so large a share of them keeps its connection.
    #[must_use]
    pub fn new(kinds: &Weighted<Kind>, keep_alive: f64, tape: Tape) -> Self {
        let kinds = kinds.map(|kind| {
            let front = format!("{} {} HTTP/1.1\r\nHost: ", name_of(kind.method), kind.path).into_bytes();
            Written { method: kind.method, front, body: kind.body.clone() }
        });
        Self { kinds, keep_alive, tape, at: 0, rng: fastrand::Rng::with_seed(0) }
    }

    /// GET requests for one path, on connections that are kept.
    #[must_use]
    pub fn gets(path: &str, tape: Tape) -> Self {
        let kind = Kind { method: Method::Get, path: path.to_owned(), body: None };
        Self::new(&Weighted::one(kind), 1.0, tape)
    }

    /// The next request.
    pub fn draw(&mut self) -> Ask {
        let kind = self.kinds.draw(&mut self.rng);
        let body = self.kinds[kind].body.as_ref().map_or(0, |sizes| sizes.octets(&mut self.rng));
        // Whole shares need no number.
        let keep_alive =
            self.keep_alive >= 1.0 || (self.keep_alive > 0.0 && self.rng.f64() < self.keep_alive);
        let name = self.at;
        self.at = self.at.wrapping_add(1);
        Ask { kind, name, body, keep_alive }
    }

    /// Appends a request's head.
    pub fn write_head(&self, ask: &Ask, out: &mut Vec<u8>) {
        let kind = &self.kinds[ask.kind];
        out.extend_from_slice(&kind.front);
        out.extend_from_slice(self.tape.name(ask.name));
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(FIELDS.as_bytes());
        if kind.body.is_some() {
            out.extend_from_slice(b"Content-Type: application/octet-stream\r\nContent-Length: ");
            // Writing to memory cannot fail.
            let _ = write!(out, "{}\r\n", ask.body);
        }
        let connection: &[u8] = match ask.keep_alive {
            true => b"Connection: keep-alive\r\n\r\n",
            false => b"Connection: close\r\n\r\n",
        };
        out.extend_from_slice(connection);
    }

    #[must_use]
    pub fn method(&self, ask: &Ask) -> Method {
        self.kinds[ask.kind].method
    }

    /// Goes to the place on the tape, and in all that is drawn, that belongs to a seed.
    pub fn seek(&mut self, seed: u64) {
        self.rng = fastrand::Rng::with_seed(seed);
        self.at = self.rng.usize(..self.tape.ends.len().max(1));
    }
}

/// The names that a plan asks for, at most `requests` of them.
///
/// # Errors
/// The file cannot be read, or a line of it is no host name.
pub fn tape(plan: &Plan, requests: u64) -> Result<Tape, Error> {
    let length = usize::try_from(requests).unwrap_or(usize::MAX).min(limits::TAPE_NAMES);
    match &plan.names {
        Names::Target => Ok(one(plan.targets.first().map_or("", |target| target.authority.as_str()))),
        Names::One(name) => Ok(one(name)),
        Names::File(path, draw) => {
            let names = read_names(path)?;
            let draws = draws(*draw, names.ends.len() as u64, plan.seed).take(length);
            Ok(drawn(draws.map(|rank| names.name(usize::try_from(rank).unwrap_or(0)))))
        }
        Names::Dataset(count, draw) => {
            let set = dataset(*count);
            Ok(drawn(draws(*draw, *count, plan.seed).take(length).map(|rank| set.host(rank))))
        }
    }
}

/// A tape of one name.
#[must_use]
pub fn one(name: &str) -> Tape {
    drawn([name].into_iter())
}

/// The standard data set's host names do not depend on its services, and only ranks below `count` are asked
/// for.
fn dataset(count: u64) -> Dataset {
    let local = Region::parse("local").expect("a well-formed name");
    Dataset::new(count, count.min(STANDARD_SERVICES), local, standard_origins())
}

fn drawn<N: AsRef<[u8]>>(names: impl Iterator<Item = N>) -> Tape {
    let mut tape = Tape::new();
    names.for_each(|name| tape.push(name.as_ref()));
    tape
}

/// Ranks below `count`, for ever.
fn draws(draw: Draw, count: u64, seed: u64) -> Box<dyn Iterator<Item = u64>> {
    match draw {
        Draw::Uniform => {
            let mut rng = fastrand::Rng::with_seed(seed);
            Box::new(std::iter::repeat_with(move || rng.u64(..count.max(1))))
        }
        Draw::Zipf => {
            let mut zipf = Zipf::new(count, seed);
            Box::new(std::iter::repeat_with(move || zipf.draw()))
        }
    }
}

fn read_names(path: &Path) -> Result<Tape, Error> {
    let place = path.display();
    let wrong =
        |e| Error::Input(format!("{place}: cannot be read: {e}; give a file with one host name a line"));
    if fs::metadata(path).map_err(wrong)?.len() > limits::HOSTS_FILE_OCTETS_MAX {
        return Err(Error::Input(format!("{place}: larger than 1 GiB; give fewer host names")));
    }
    parse_names(&fs::read_to_string(path).map_err(wrong)?).map_err(|e| Error::Input(format!("{place}:{e}")))
}

/// One name a line; empty lines and lines that start with `#` say nothing.
fn parse_names(text: &str) -> Result<Tape, String> {
    let mut names = Tape::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let name: HostField = line.parse().map_err(|e| format!("{}: {e}", number + 1))?;
        names.push(name.0.as_bytes());
    }
    if names.ends.is_empty() { Err("1: holds no host name; write one a line".to_owned()) } else { Ok(names) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use crate::cli::{Command, CommandLine};
    use crate::draw::Size;
    use crate::plan::Target;
    use clap::Parser;
    use ringway::proto::http1::{Framing, Parsed, RequestHead};

    fn plan(line: &str) -> Plan {
        let line = format!("x run --target here:80 {line}");
        let Command::Run(options) = CommandLine::try_parse_from(line.split_whitespace()).unwrap().command
        else {
            unreachable!("run was typed")
        };
        let here =
            Target { name: "a".into(), authority: "here".into(), address: ([127, 0, 0, 1], 80).into() };
        Plan::typed(&options).unwrap().aimed_at(vec![here]).unwrap()
    }

    fn next(mix: &mut Mix) -> (Ask, Vec<u8>) {
        let (ask, mut out) = (mix.draw(), Vec::new());
        mix.write_head(&ask, &mut out);
        (ask, out)
    }

    fn hosts(tape: Tape, count: usize) -> Vec<String> {
        let mut mix = Mix::gets("/a?b=c", tape);
        let mut host = || {
            let (_, out) = next(&mut mix);
            let mut head = RequestHead::new();
            assert_eq!(head.parse(&out), Ok(Parsed::Complete { len: out.len() }));
            assert_eq!(head.target(&out), b"/a?b=c");
            String::from_utf8(head.host().to_vec()).unwrap()
        };
        std::iter::repeat_with(&mut host).take(count).collect()
    }

    #[test]
    fn a_request_has_12_fields_and_about_600_octets() {
        for keep_alive in [true, false] {
            let kinds = Weighted::one(Kind { method: Method::Get, path: "/".into(), body: None });
            let tape = one("amber-abcde.apps.example");
            let (ask, out) = next(&mut Mix::new(&kinds, f64::from(u8::from(keep_alive)), tape));
            assert_eq!((ask.body, ask.keep_alive), (0, keep_alive));
            assert!((550..650).contains(&out.len()), "{}", out.len());
            let mut head = RequestHead::new();
            head.parse(&out).unwrap();
            assert_eq!(out.iter().filter(|octet| **octet == b'\n').count(), 1 + 12 + 1);
            assert_eq!((head.framing(), head.keep_alive()), (Framing::None, keep_alive));
        }
    }

    /// What is drawn is what is written, in the shares that the plan asks for, and again for the same seed.
    #[test]
    fn kinds_bodies_and_closes_are_drawn() {
        let kinds =
            [(Method::Post, "10..90"), (Method::Put, "0"), (Method::Head, "")].map(|(method, body)| {
                (Kind { method, path: "/".into(), body: Size::parse(body).ok().map(Weighted::one) }, 1)
            });
        let mut mix = Mix::new(&Weighted::new(kinds).unwrap(), 0.75, one("a.example"));
        let mut draws = |seed| {
            mix.seek(seed);
            (0..3_000).map(|_| next(&mut mix)).collect::<Vec<_>>()
        };
        let drawn = draws(9);
        assert!(drawn == draws(9) && drawn != draws(8));
        for (ask, out) in &drawn {
            let mut head = RequestHead::new();
            assert_eq!(head.parse(out), Ok(Parsed::Complete { len: out.len() }));
            let body = if head.method() == Method::Head { Framing::None } else { Framing::Length(ask.body) };
            assert_eq!((head.framing(), head.keep_alive()), (body, ask.keep_alive));
            assert!(head.method() != Method::Post || (10..=90).contains(&ask.body));
        }
        let share = |of: &dyn Fn(&Ask) -> bool| {
            drawn.iter().filter(|(ask, _)| of(ask)).count() as f64 / drawn.len() as f64
        };
        assert!((share(&|ask| ask.keep_alive) - 0.75).abs() < 0.04);
        assert!((share(&|ask| ask.kind == 1) - 1.0 / 3.0).abs() < 0.04);
    }

    #[test]
    fn names_come_from_the_target_the_option_or_the_file() {
        assert_eq!(hosts(tape(&plan(""), 9).unwrap(), 2), ["here", "here"]);
        assert_eq!(hosts(tape(&plan("--host x.example"), 9).unwrap(), 1), ["x.example"]);
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "# two\nA.example\n\n  b.example\r\n").unwrap();
        let tape = tape(&plan(&format!("--hosts {}", file.path().display())), 1000).unwrap();
        let hosts = hosts(tape, 1000);
        let first = hosts.iter().filter(|host| *host == "a.example").count();
        assert_eq!(hosts.iter().filter(|host| *host == "b.example").count(), 1000 - first);
        assert!((400..600).contains(&first), "{first}");
    }

    #[test]
    fn the_data_set_is_drawn_by_rank_and_repeatably() {
        let plan = plan("--hosts dataset:100000");
        let names = hosts(tape(&plan, 2000).unwrap(), 2000);
        assert_eq!(names, hosts(tape(&plan, 2000).unwrap(), 2000));
        let most = dataset(100_000).host(0);
        let share = names.iter().filter(|name| **name == most).count();
        // 1 / H(100000) = 0.083 of all draws.
        assert!((110..230).contains(&share), "{share}");
    }

    #[test]
    fn wrong_files_are_told_with_their_line() {
        assert_eq!(parse_names("").unwrap_err(), "1: holds no host name; write one a line");
        assert!(parse_names("ok.example\nnot ok\n").unwrap_err().starts_with("2: "));
        let missing = tape(&plan("--hosts /nowhere/hosts"), 9).unwrap_err();
        assert!(missing.to_string().starts_with("/nowhere/hosts: cannot be read: No such file"), "{missing}");
    }
}
