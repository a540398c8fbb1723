//! Changes that were refused, kept in `state.dir` for whoever mends their sender: the last of them, a JSON object a line.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::file::Place;
use super::intake::Bad;
use crate::limits;
use crate::observe::timestamp;

/// Two files: when the one is full, it takes the place of the other.
pub(super) struct Quarantine {
    path: PathBuf,
    full: PathBuf,
}

/// The file that grows, and the one that is full.
const NAMES: [&str; 2] = ["quarantine.jsonl", "quarantine.1.jsonl"];

/// Whether a file of this name is written here.
pub(super) fn is_own(name: &str) -> bool {
    NAMES.contains(&name)
}

impl Quarantine {
    pub(super) fn new(dir: &Path) -> Quarantine {
        let [path, full] = NAMES.map(|name| dir.join(name));
        Quarantine { path, full }
    }

    /// Keeps a line that was refused, cut if it is very long.
    ///
    /// # Errors
    /// The folder takes nothing now. The line is not kept.
    pub(super) fn keep(&self, from: &Path, place: Place, line: &[u8], bad: &Bad) -> io::Result<()> {
        let cut = &line[..line.len().min(limits::QUARANTINE_LINE_OCTETS)];
        let kept = json!({
            "@timestamp": timestamp(),
            "file": from.display().to_string(),
            "line": place.line,
            "offset": place.offset,
            "reason": bad.reason.as_str(),
            "why": bad.why,
            "octets": line.len(),
            "change": String::from_utf8_lossy(cut),
        });
        self.write(format!("{kept}\n").as_bytes())
    }

    /// Opened anew each time, which is seldom: whoever has read the file may take it away.
    fn write(&self, kept: &[u8]) -> io::Result<()> {
        let mut file = File::options().create(true).append(true).open(&self.path)?;
        let before = file.metadata()?.len();
        if let Err(error) = file.write_all(kept) {
            // What has no end would spoil the next.
            file.set_len(before)?;
            return Err(error);
        }
        if before + kept.len() as u64 >= limits::QUARANTINE_OCTETS {
            fs::rename(&self.path, &self.full)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::intake::BadReason;
    use super::*;

    fn bad() -> Bad {
        Bad { reason: BadReason::NotJson, why: "the line is not JSON".to_owned() }
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_last_of_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let quarantine = Quarantine::new(dir.path());
        let line = vec![b'"'; 3 * limits::QUARANTINE_LINE_OCTETS];
        let count = 5 * limits::QUARANTINE_OCTETS / limits::QUARANTINE_LINE_OCTETS as u64;
        for at in 1..=count {
            let place = Place { line: at, offset: at * 10, sum: 0 };
            quarantine.keep(Path::new("/a/changes.jsonl"), place, &line, &bad()).unwrap();
        }
        // Another process goes on where this one was.
        let quarantine = Quarantine::new(dir.path());
        let place = Place { line: count + 1, offset: 7, sum: 0 };
        quarantine.keep(Path::new("/a/changes.jsonl"), place, b"\xff{", &bad()).unwrap();
        let text = fs::read_to_string(dir.path().join("quarantine.jsonl")).unwrap();
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(
            (&last["line"], &last["offset"], &last["octets"]),
            (&json!(count + 1), &json!(7), &json!(2))
        );
        assert_eq!((&last["reason"], &last["change"]), (&json!("not_json"), &json!("\u{fffd}{")));
        let octets: u64 =
            fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).sum();
        assert!(octets < 3 * limits::QUARANTINE_OCTETS, "{octets}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_folder_that_comes_back_is_used_again() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let quarantine = Quarantine::new(&state);
        assert!(quarantine.keep(Path::new("a"), Place::START, b"x", &bad()).is_err());
        fs::create_dir(&state).unwrap();
        quarantine.keep(Path::new("a"), Place::START, b"x", &bad()).unwrap();
        assert_eq!(fs::read_to_string(state.join("quarantine.jsonl")).unwrap().lines().count(), 1);
    }
}
