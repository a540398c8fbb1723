//! Which files of `state.dir` are the table, and up to where of the feed they reach. Replaced as a whole: a crash leaves
//! the one before or the one after.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::judged;
use crate::feed::file::Position;
use crate::limits;

const NAME: &str = "manifest.json";
/// The next one, until it is whole.
const BESIDE: &str = "manifest.json.partial";
const FORMAT: u32 = 2;
/// Without a checksum.
const FORMAT_BEFORE: u32 = 1;
/// Before the CRC32C, 8 hexadecimal digits, of the rest; and after it.
const SUM: (&str, &str) = ("{\"crc32c\":\"", "\",");

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::feed) struct Manifest {
    format: u32,
    /// Files of the folder, the levels newest first.
    pub(super) base: Option<String>,
    pub(super) levels: Vec<String>,
    /// The number that the next file gets.
    pub(super) next: u64,
    /// When the base was made: seconds since 1970.
    pub(super) base_made: u64,
    /// Changes that guards hold back, and that are in no other file.
    pub(super) held: Option<String>,
    /// All of the feed before it is in these files; none if it has to be read from its start.
    pub(super) feed: Option<Position>,
    /// The feed's file by its name, for people and for a start with another; none in what was written before it was noted.
    #[serde(default)]
    pub(super) source: Option<String>,
    /// Everything before `feed` is history, or was judged; so was what was written before this was noted.
    #[serde(default = "yes")]
    pub(super) guarded: bool,
    /// The first file of the guards' record that says something that the files of the table have not.
    #[serde(default)]
    pub(super) judged: u64,
    /// Numbers of files that somebody else has put here, before the table's came to them: they are not given to any.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) others: BTreeSet<u64>,
}

fn yes() -> bool {
    true
}

impl Manifest {
    pub(super) fn new() -> Manifest {
        Manifest { format: FORMAT, ..Manifest::default() }
    }

    /// Whether it says nothing but that the folder is in use: nothing is on record of a table.
    pub(super) fn is_bare(&self) -> bool {
        self.files().next().is_none() && self.feed.is_none() && !self.guarded
    }

    /// The one that stands in a folder.
    ///
    /// # Errors
    /// It cannot be read, or was not written by this version.
    pub(super) fn read(dir: &Path) -> io::Result<Option<Manifest>> {
        let text = match fs::read(dir.join(NAME)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let manifest = Manifest::parse(&text)?;
        let is_other = |name: &&str| number_of(name).is_none_or(|number| number >= manifest.next);
        if let Some(name) = manifest.files().find(is_other) {
            return Err(io::Error::other(format!("it names {name:?}, which is no file of the table")));
        }
        Ok(Some(manifest))
    }

    fn parse(text: &[u8]) -> io::Result<Manifest> {
        let summed =
            summed(text).ok_or_else(|| io::Error::other("its checksum is not that of its octets"))?;
        let (format, json) = match &summed {
            Some(json) => (FORMAT, &json[..]),
            None => (FORMAT_BEFORE, text),
        };
        let manifest: Manifest = serde_json::from_slice(json).map_err(io::Error::other)?;
        if manifest.format != format {
            let found = manifest.format;
            let why = format!(
                "it has format {found}, and this version reads {FORMAT} with a checksum, and {FORMAT_BEFORE}"
            );
            return Err(io::Error::other(why));
        }
        Ok(Manifest { format: FORMAT, ..manifest })
    }

    /// Puts it in the place of the one before.
    ///
    /// # Errors
    /// The folder takes nothing now; the one before stands.
    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        let (place, beside) = (dir.join(NAME), dir.join(BESIDE));
        let mut file = File::create(&beside)?;
        let json = serde_json::to_string(self)?;
        let (before, after) = SUM;
        // An object still, so that people and programs read it as they did.
        let text = format!("{before}{:08x}{after}{}\n", crc32c::crc32c(json.as_bytes()), &json[1..]);
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, &place)?;
        File::open(dir)?.sync_all()
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.levels.iter().chain(&self.base).chain(&self.held).map(String::as_str)
    }

    /// Of a new file of the table.
    pub(super) fn take_name(&mut self) -> String {
        format!("{}.snap", self.take_number())
    }

    /// Of a new file of held changes.
    pub(super) fn take_held_name(&mut self) -> String {
        format!("{}.held", self.take_number())
    }

    fn take_number(&mut self) -> u64 {
        while self.others.contains(&self.next) {
            self.next += 1;
        }
        self.next += 1;
        self.next - 1
    }
}

/// The manifest in a text with a checksum; `Some(None)` if it has none, and `None` if it is not right.
#[allow(clippy::option_option)] // each is another thing
fn summed(text: &[u8]) -> Option<Option<Vec<u8>>> {
    let Some(rest) = text.strip_prefix(SUM.0.as_bytes()) else { return Some(None) };
    let (sum, rest) = rest.split_at_checked(8)?;
    let json = [b"{", rest.strip_prefix(SUM.1.as_bytes())?.strip_suffix(b"\n")?].concat();
    (sum == format!("{:08x}", crc32c::crc32c(&json)).as_bytes()).then_some(Some(json))
}

/// Of a file of the table, or of one that was being written.
fn number_of(name: &str) -> Option<u64> {
    let (number, rest) = name.split_once('.')?;
    matches!(rest, "snap" | "held").then(|| numeral(number))?
}

/// A number as it is written here: digits alone, no 0 in front.
pub(super) fn numeral(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// A file of the table that was being written.
fn is_partial(name: &str) -> bool {
    let parts = name.split_once(".snap.").and_then(|(number, rest)| {
        let process = rest.strip_suffix(".partial")?;
        numeral(number).zip(numeral(process))
    });
    parts.is_some()
}

/// A file of a table, or of the guards' record, that stands in a folder; none if the folder is not there.
///
/// # Errors
/// It cannot be read.
pub(super) fn any_file(dir: &Path) -> io::Result<Option<String>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        if number_of(name).or(judged::number_of(name)).is_some() {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

/// Sees that a manifest stands in a folder before the first other file does: another folder may be in the place of the one that
/// there was. Files whose manifest is gone are left to whoever took it.
///
/// # Errors
/// The folder takes nothing now.
pub(super) fn begin(dir: &Path, manifest: &Manifest) -> io::Result<()> {
    if dir.join(NAME).exists() || any_file(dir)?.is_some() {
        return Ok(());
    }
    let bare = Manifest { source: manifest.source.clone(), ..Manifest::new() };
    bare.write(dir)
}

/// Whether a file of this name is written, replaced or removed here.
pub(in crate::feed) fn is_own(name: &str) -> bool {
    [NAME, BESIDE].contains(&name)
        || number_of(name).is_some()
        || judged::number_of(name).is_some()
        || is_partial(name)
}

/// Removes what a process that was killed has left: files that it may have made since the manifest was written. What has a number
/// that it cannot have come to is somebody else's; it stays, and the manifest keeps its number from being given.
///
/// # Errors
/// Some could not be removed; the others are.
pub(super) fn settle(dir: &Path, manifest: &mut Manifest) -> io::Result<()> {
    let until = manifest.next.saturating_add(limits::STATE_NUMBERS_AHEAD);
    let mut others = BTreeSet::new();
    for entry in fs::read_dir(dir)? {
        let Some(number) = entry?.file_name().to_str().and_then(number_of) else { continue };
        let is_other = number >= until || manifest.others.contains(&number);
        if is_other && others.len() < limits::STATE_OTHERS {
            others.insert(number);
        }
    }
    manifest.others = others;
    remove(dir, manifest, None, until)
}

/// Removes the files that have been the table's and that neither the manifest names nor `also`, and what was left half written.
///
/// # Errors
/// Some could not be removed; the others are.
pub(super) fn clean(dir: &Path, manifest: &Manifest, also: Option<&str>) -> io::Result<()> {
    remove(dir, manifest, also, manifest.next)
}

/// Of files whose number is below `until`: no other is the table's.
fn remove(dir: &Path, manifest: &Manifest, also: Option<&str>, until: u64) -> io::Result<()> {
    let is_ours = |number: u64| number < until && !manifest.others.contains(&number);
    let mut outcome = Ok(());
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_named = manifest.files().chain(also).any(|named| named == name);
        let is_past = judged::number_of(name).is_some_and(|number| number < manifest.judged);
        if is_partial(name) || is_past || (number_of(name).is_some_and(is_ours) && !is_named) {
            outcome = fs::remove_file(entry.path()).and(outcome);
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Manifest {
        Manifest {
            base: Some("3.snap".to_owned()),
            levels: vec!["9.snap".to_owned(), "7.snap".to_owned()],
            held: Some("4.held".to_owned()),
            next: 10,
            base_made: 5,
            source: Some("/a/changes.jsonl".to_owned()),
            judged: 6,
            ..Manifest::new()
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(dir.path()).unwrap(), None);
        let mut manifest = some();
        manifest.write(dir.path()).unwrap();
        assert_eq!(Manifest::read(dir.path()).unwrap(), Some(manifest.clone()));
        assert_eq!((manifest.take_name(), manifest.next), ("10.snap".to_owned(), 11));
        manifest.write(dir.path()).unwrap();
        assert_eq!(Manifest::read(dir.path()).unwrap(), Some(manifest));
    }

    #[test]
    fn any_flipped_bit_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        some().write(dir.path()).unwrap();
        let whole = fs::read(dir.path().join(NAME)).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&whole).is_ok_and(|json| json["next"] == 10));
        for (at, bit) in (0..whole.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            fs::write(dir.path().join(NAME), &flipped).unwrap();
            assert!(Manifest::read(dir.path()).is_err(), "octet {at}, bit {bit}");
        }
    }

    #[test]
    fn the_format_before_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"{"format":1,"base":"3.snap","levels":["9.snap","7.snap"],"next":10,"base_made":5,"held":"4.held","feed":null,"source":"/a/changes.jsonl"}"#;
        fs::write(dir.path().join(NAME), text).unwrap();
        let manifest = Manifest { guarded: true, judged: 0, ..some() };
        assert_eq!(Manifest::read(dir.path()).unwrap(), Some(manifest));
    }

    #[test]
    fn what_nobody_wrote_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for text in [
            "",
            "{",
            "null",
            "{\"format\":1}",
            "{\"format\":2,\"base\":null,\"levels\":[],\"next\":0,\"base_made\":0,\"held\":null,\"feed\":null}",
            "{\"format\":1,\"base\":\"../x.snap\",\"levels\":[],\"next\":9,\"base_made\":0,\"held\":null,\"feed\":null}",
            "{\"format\":1,\"base\":\"9.snap\",\"levels\":[],\"next\":9,\"base_made\":0,\"held\":null,\"feed\":null}",
        ] {
            fs::write(dir.path().join(NAME), text).unwrap();
            assert!(Manifest::read(dir.path()).is_err(), "{text}");
        }
    }

    #[test]
    fn only_files_of_the_table_that_nobody_names_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let gone =
            ["1.held", "2.snap", "8.snap", "10.snap", "11.snap.77.partial", "9.snap.3.partial", "5.judged"];
        let stay = [
            "3.snap",
            "4.held",
            "7.snap",
            "9.snap",
            "12.snap",
            "6.judged",
            "20.judged",
            "base.snap",
            "x.snap.1.partial",
            "2.snap.x.partial",
            "02.snap",
            "+2.held",
            "+5.judged",
            "manifest.json",
            "4.snapshot",
        ];
        gone.iter().chain(&stay).for_each(|name| fs::write(dir.path().join(name), "").unwrap());
        clean(dir.path(), &Manifest { next: 13, ..some() }, Some("12.snap")).unwrap();
        assert_eq!(names(dir.path()), sorted(&stay));
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    fn sorted(names: &[&str]) -> Vec<String> {
        let mut names: Vec<_> = names.iter().map(ToString::to_string).collect();
        names.sort_unstable();
        names
    }

    /// An operator's own, named by the year: the table's numbers come to it some day.
    #[test]
    fn a_file_with_a_number_that_was_never_given_stays_whenever_that_would_be() {
        let dir = tempfile::tempdir().unwrap();
        let mut manifest = some();
        let left_by_a_crash = format!("{}.held", manifest.next + limits::STATE_NUMBERS_AHEAD - 1);
        let stay = ["2026.snap", "3.snap", "4.held", "7.snap", "9.snap"];
        [&left_by_a_crash[..], "10.snap"].iter().chain(&stay).for_each(|name| {
            fs::write(dir.path().join(name), "").unwrap();
        });
        settle(dir.path(), &mut manifest).unwrap();
        assert_eq!((names(dir.path()), manifest.others.len()), (sorted(&stay), 1));
        clean(dir.path(), &manifest, None).unwrap();
        assert_eq!(names(dir.path()), sorted(&stay));
        // Years later, in another process.
        manifest.next = 2025;
        manifest.write(dir.path()).unwrap();
        let mut manifest = Manifest::read(dir.path()).unwrap().unwrap();
        settle(dir.path(), &mut manifest).unwrap();
        assert_eq!([manifest.take_name(), manifest.take_held_name()], ["2025.snap", "2027.held"]);
        clean(dir.path(), &manifest, None).unwrap();
        assert!(dir.path().join("2026.snap").exists());
        // When it is gone, its number is as good as any other.
        fs::remove_file(dir.path().join("2026.snap")).unwrap();
        settle(dir.path(), &mut manifest).unwrap();
        assert!(manifest.others.is_empty());
    }
}
