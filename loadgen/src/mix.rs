//! What requests say: the same octets but for the host name, which is drawn.

use std::fs;
use std::path::Path;

use ringway_state::id::Region;

use crate::cli::{Draw, HostField, HostSource, RunOptions};
use crate::dataset::{Dataset, STANDARD_SERVICES, Zipf, standard_origins};
use crate::error::Error;
use crate::limits;

/// The fields of a browser that calls an API, with Host 12 of them; the whole request has about 600 octets.
const FIELDS: &str = "\
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

/// Writes requests, one after the other.
#[derive(Debug)]
pub struct Mix {
    front: Vec<u8>,
    back: Vec<u8>,
    tape: Tape,
    at: usize,
}

impl Mix {
    /// GET requests for `path`, to the names of `tape` in order.
    #[must_use]
    pub fn new(path: &str, keep_alive: bool, tape: Tape) -> Self {
        let connection = if keep_alive { "keep-alive" } else { "close" };
        Self {
            front: format!("GET {path} HTTP/1.1\r\nHost: ").into_bytes(),
            back: format!("\r\n{FIELDS}Connection: {connection}\r\n\r\n").into_bytes(),
            tape,
            at: 0,
        }
    }

    /// Appends the next request.
    pub fn write_next(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.front);
        out.extend_from_slice(self.tape.name(self.at));
        out.extend_from_slice(&self.back);
        self.at = self.at.wrapping_add(1);
    }

    /// Goes to the place on the tape that belongs to a seed.
    pub fn seek(&mut self, seed: u64) {
        self.at = fastrand::Rng::with_seed(seed).usize(..self.tape.ends.len().max(1));
    }
}

/// The names that a run asks for, at most `requests` of them.
///
/// # Errors
/// The file cannot be read, or a line of it is no host name.
pub fn tape(options: &RunOptions, requests: u64) -> Result<Tape, Error> {
    let length = usize::try_from(requests).unwrap_or(usize::MAX).min(limits::TAPE_NAMES);
    match &options.hosts {
        None => {
            let own = || options.target.first().map(|target| target.authority.clone());
            Ok(one(&options.host.clone().map(|host| host.0).or_else(own).unwrap_or_default()))
        }
        Some(HostSource::File(path)) => {
            let names = read_names(path)?;
            let draw = options.draw.unwrap_or(Draw::Uniform);
            let draws = draws(draw, names.ends.len() as u64, options.seed).take(length);
            Ok(drawn(draws.map(|rank| names.name(usize::try_from(rank).unwrap_or(0)))))
        }
        Some(HostSource::Dataset(count)) => {
            let set = dataset(*count);
            let draws = draws(options.draw.unwrap_or(Draw::Zipf), *count, options.seed).take(length);
            Ok(drawn(draws.map(|rank| set.host(rank))))
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
    use clap::Parser;
    use ringway::proto::http1::{Framing, Parsed, RequestHead};

    fn options(line: &str) -> RunOptions {
        let line = format!("x run --target here:80 {line}");
        match CommandLine::try_parse_from(line.split_whitespace()).unwrap().command {
            Command::Run(options) => options,
            other => unreachable!("{other:?}"),
        }
    }

    fn hosts(tape: Tape, count: usize) -> Vec<String> {
        let mut mix = Mix::new("/a?b=c", true, tape);
        let mut host = || {
            let mut out = Vec::new();
            mix.write_next(&mut out);
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
            let mut out = Vec::new();
            Mix::new("/", keep_alive, one("amber-abcde.apps.example")).write_next(&mut out);
            assert!((550..650).contains(&out.len()), "{}", out.len());
            let mut head = RequestHead::new();
            head.parse(&out).unwrap();
            assert_eq!(out.iter().filter(|octet| **octet == b'\n').count(), 1 + 12 + 1);
            assert_eq!((head.framing(), head.keep_alive()), (Framing::None, keep_alive));
        }
    }

    #[test]
    fn names_come_from_the_target_the_option_or_the_file() {
        assert_eq!(hosts(tape(&options(""), 9).unwrap(), 2), ["here", "here"]);
        assert_eq!(hosts(tape(&options("--host x.example"), 9).unwrap(), 1), ["x.example"]);
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "# two\nA.example\n\n  b.example\r\n").unwrap();
        let tape = tape(&options(&format!("--hosts {}", file.path().display())), 1000).unwrap();
        let hosts = hosts(tape, 1000);
        let first = hosts.iter().filter(|host| *host == "a.example").count();
        assert_eq!(hosts.iter().filter(|host| *host == "b.example").count(), 1000 - first);
        assert!((400..600).contains(&first), "{first}");
    }

    #[test]
    fn the_data_set_is_drawn_by_rank_and_repeatably() {
        let options = options("--hosts dataset:100000");
        let names = hosts(tape(&options, 2000).unwrap(), 2000);
        assert_eq!(names, hosts(tape(&options, 2000).unwrap(), 2000));
        let most = dataset(100_000).host(0);
        let share = names.iter().filter(|name| **name == most).count();
        // 1 / H(100000) = 0.083 of all draws.
        assert!((110..230).contains(&share), "{share}");
    }

    #[test]
    fn wrong_files_are_told_with_their_line() {
        assert_eq!(parse_names("").unwrap_err(), "1: holds no host name; write one a line");
        assert!(parse_names("ok.example\nnot ok\n").unwrap_err().starts_with("2: "));
        let missing = tape(&options("--hosts /nowhere/hosts"), 9).unwrap_err();
        assert!(missing.to_string().starts_with("/nowhere/hosts: cannot be read: No such file"), "{missing}");
    }
}
