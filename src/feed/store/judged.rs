//! What is on record of the guards' judgement: files of the folder, each named by a number, to which lines are added. What
//! they say holds for good, so that a line more than is needed does no harm.
//!
//! A line is its CRC32C, hexadecimal, and what it says, JSON. One that is not right, as the last one that a crash has torn,
//! says nothing.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Bound::Excluded;
use std::path::{Path, PathBuf};

use ringway_state::id::{Region, ServiceId};
use ringway_state::record::{Key, Version};
use serde::{Deserialize, Serialize};

use super::manifest::numeral;
use crate::feed::file::Position;
use crate::feed::guards::{Meant, Rule};

/// What is kept of the guards' judgement, since it cannot be come by again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::feed) enum Fact {
    /// Guards have let go of this version of a set, or have not stood against it. So many healthy endpoints it has.
    LetGo(Key, Version, u64),
    /// What somebody said is meant, and until when: milliseconds since 1970.
    Meant(Meant, u64),
    /// What stands before it in the feed's file was read before the router was ever ready, and is not judged.
    History(Position),
}

/// A fact as it is written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    LetGo { service: String, region: String, version: [u64; 2], healthy: u64 },
    Rule { rule: String, until: u64 },
    Service { service: String, until: u64 },
    History(Position),
}

/// What was let go of: the versions of each set, and the healthy endpoints that each has.
#[derive(Debug, Default)]
pub(in crate::feed) struct LetGo(HashMap<Key, BTreeMap<Version, u64>>);

impl LetGo {
    pub(in crate::feed) fn has(&self, key: &Key, version: Version) -> bool {
        self.0.get(key).is_some_and(|versions| versions.contains_key(&version))
    }

    /// What a set last had between two versions.
    pub(in crate::feed) fn between(&self, key: &Key, after: Version, before: Version) -> Option<u64> {
        let mut versions =
            self.0.get(key).filter(|_| after < before)?.range((Excluded(after), Excluded(before)));
        versions.next_back().map(|(_, healthy)| *healthy)
    }

    pub(in crate::feed) fn clear(&mut self) {
        self.0 = HashMap::new();
    }
}

/// All that is on record.
#[derive(Debug, Default)]
pub(in crate::feed) struct Judged {
    pub(in crate::feed) let_go: LetGo,
    pub(in crate::feed) meant: Vec<(Meant, u64)>,
    pub(in crate::feed) history: Option<Position>,
    /// The number of the next file.
    pub(in crate::feed) next: u64,
    /// Lines with an end that are not right.
    pub(in crate::feed) damaged: usize,
}

const SUFFIX: &str = ".judged";

pub(super) fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number}{SUFFIX}"))
}

/// Of a file of the record.
pub(super) fn number_of(name: &str) -> Option<u64> {
    numeral(name.strip_suffix(SUFFIX)?)
}

/// Everything that the files from `first` on say.
///
/// # Errors
/// One cannot be read.
pub(super) fn read(dir: &Path, first: u64) -> io::Result<Judged> {
    let mut judged = Judged { next: first, ..Judged::default() };
    let mut numbers = match numbers(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        numbers => numbers?,
    };
    numbers.retain(|number| *number >= first);
    numbers.sort_unstable();
    for number in numbers {
        judged.next = number.saturating_add(1);
        let text = fs::read(path(dir, number))?;
        for line in text.split_inclusive(|octet| *octet == b'\n') {
            judged.add(line);
        }
    }
    Ok(judged)
}

fn numbers(dir: &Path) -> io::Result<Vec<u64>> {
    let number = |entry: io::Result<fs::DirEntry>| {
        entry.map(|entry| number_of(entry.file_name().to_str().unwrap_or_default())).transpose()
    };
    fs::read_dir(dir)?.filter_map(number).collect()
}

impl Judged {
    fn add(&mut self, line: &[u8]) {
        let Some(line) = line.strip_suffix(b"\n") else { return };
        match parse(line) {
            _ if line.is_empty() => {}
            Some(Fact::LetGo(key, version, healthy)) => {
                self.let_go.0.entry(key).or_default().insert(version, healthy);
            }
            Some(Fact::Meant(meant, until)) => self.meant.push((meant, until)),
            Some(Fact::History(position)) => self.history = Some(position),
            None => self.damaged += 1,
        }
    }
}

/// Adds facts to a file, and returns when they are on the disk.
///
/// # Errors
/// The folder takes nothing now. Some of it may be there all the same.
pub(super) fn append(dir: &Path, number: u64, facts: &[Fact]) -> io::Result<()> {
    // The line before may have been torn.
    let mut text = vec![b'\n'];
    for fact in facts {
        render(fact, &mut text)?;
    }
    let path = path(dir, number);
    let is_new = !path.exists();
    // Opened anew each time: the folder may be another by now.
    let mut file = File::options().create(true).append(true).open(&path)?;
    file.write_all(&text)?;
    file.sync_data()?;
    if is_new {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

fn render(fact: &Fact, out: &mut Vec<u8>) -> io::Result<()> {
    let line = match fact {
        Fact::LetGo(Key::Endpoints(service, region), version, healthy) => Line::LetGo {
            service: service.as_str().to_owned(),
            region: region.as_str().to_owned(),
            version: [version.epoch, version.counter],
            healthy: *healthy,
        },
        // Guards judge sets of endpoints only.
        Fact::LetGo(..) => return Ok(()),
        Fact::Meant(Meant::Rule(rule), until) => Line::Rule { rule: rule.as_str().to_owned(), until: *until },
        Fact::Meant(Meant::Service(service), until) => {
            Line::Service { service: service.as_str().to_owned(), until: *until }
        }
        Fact::History(position) => Line::History(position.clone()),
    };
    let json = serde_json::to_string(&line)?;
    writeln!(out, "{:08x} {json}", crc32c::crc32c(json.as_bytes()))
}

/// What a line without its LF says; none if it is not right.
fn parse(line: &[u8]) -> Option<Fact> {
    let (sum, json) = line.split_at_checked(9)?;
    let sum = std::str::from_utf8(sum).ok()?.strip_suffix(' ')?;
    if u32::from_str_radix(sum, 16).ok()? != crc32c::crc32c(json) {
        return None;
    }
    Some(match serde_json::from_slice(json).ok()? {
        Line::LetGo { service, region, version: [epoch, counter], healthy } => {
            let key = Key::Endpoints(ServiceId::parse(&service).ok()?, Region::parse(&region).ok()?);
            Fact::LetGo(key, Version::new(epoch, counter), healthy)
        }
        Line::Rule { rule, until } => Fact::Meant(Meant::Rule(Rule::parse(&rule)?), until),
        Line::Service { service, until } => {
            Fact::Meant(Meant::Service(ServiceId::parse(&service).ok()?), until)
        }
        Line::History(position) => Fact::History(position),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn let_go(service: &str, version: u64) -> Fact {
        let key = Key::Endpoints(ServiceId::parse(service).unwrap(), Region::parse("local").unwrap());
        Fact::LetGo(key, Version::new(1, version), 10 * version)
    }

    fn pairs(judged: &Judged) -> Vec<String> {
        let all = judged
            .let_go
            .0
            .iter()
            .flat_map(|(key, versions)| versions.keys().map(move |version| (key, version)));
        let mut pairs: Vec<_> = all.map(|(key, version)| format!("{key} {version}")).collect();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn what_is_added_is_read_from_the_first_file_on_that_is_wanted() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(&dir.path().join("none"), 3).unwrap().next, 3);
        let meant =
            [(Meant::Rule(Rule::Fleet), 77), (Meant::Service(ServiceId::parse("svc_b").unwrap()), u64::MAX)];
        let facts: Vec<_> = meant.iter().cloned().map(|(meant, until)| Fact::Meant(meant, until)).collect();
        append(dir.path(), 2, &[let_go("svc_old", 9)]).unwrap();
        append(dir.path(), 9, &[let_go("svc_a", 1), let_go("svc_a", 2)]).unwrap();
        append(dir.path(), 9, &facts).unwrap();
        append(dir.path(), 10, &[let_go("svc_a", 1)]).unwrap();
        let judged = read(dir.path(), 3).unwrap();
        assert_eq!(pairs(&judged), ["eps:svc_a/local [1,1]", "eps:svc_a/local [1,2]"]);
        let Fact::LetGo(key, ..) = let_go("svc_a", 1) else { panic!("it is one") };
        let between =
            |after, before| judged.let_go.between(&key, Version::new(1, after), Version::new(1, before));
        assert_eq!(
            [between(0, 9), between(0, 2), between(1, 2), between(9, 1)],
            [Some(20), Some(10), None, None]
        );
        assert_eq!((judged.meant, judged.next, judged.damaged), (meant.to_vec(), 11, 0));
    }

    /// Cut anywhere, every whole line says what it said; with any bit flipped, every other line does.
    #[test]
    fn what_is_torn_or_damaged_says_nothing_and_spoils_nothing() {
        let dir = tempfile::tempdir().unwrap();
        append(dir.path(), 0, &[let_go("svc_a", 1), let_go("svc_b", 2)]).unwrap();
        let whole = fs::read(path(dir.path(), 0)).unwrap();
        for cut in 0..whole.len() {
            fs::write(path(dir.path(), 0), &whole[..cut]).unwrap();
            let lines = whole[..cut].split(|octet| *octet == b'\n').count().saturating_sub(2);
            let judged = read(dir.path(), 0).unwrap();
            assert_eq!((pairs(&judged).len(), judged.damaged), (lines, 0), "cut at {cut}");
            append(dir.path(), 0, &[let_go("svc_c", 3)]).unwrap();
            // A line that only lacked its end has got one.
            assert!(pairs(&read(dir.path(), 0).unwrap()).len() > lines, "cut at {cut}");
        }
        for (at, bit) in (1..whole.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            fs::write(path(dir.path(), 0), &flipped).unwrap();
            let found = pairs(&read(dir.path(), 0).unwrap());
            let is_right =
                |pair: &String| ["eps:svc_a/local [1,1]", "eps:svc_b/local [1,2]"].contains(&&**pair);
            // A letter of a checksum may be a large one.
            assert!(found.iter().all(is_right), "octet {at}, bit {bit}: {found:?}");
        }
    }
}
