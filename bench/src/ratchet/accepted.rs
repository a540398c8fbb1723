//! bench/accepted.toml: what was last accepted, and how far it may rise.
use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Counted;
use crate::failure::Failure;

const HEADER: &str = "\
# Counts for each proxied request that do not drift with the machine. `ringway-bench ratchet` fails when one
# rises above what is accepted here by more than its tolerance; `ringway-bench ratchet --accept` writes what
# it counts. A rise needs its reason in the commit; a fall should be accepted, or it may be lost unseen.

";

/// How far a count may rise unless its entry says otherwise.
const TOLERANCE_PERCENT: f64 = 3.0;

#[derive(Debug, Default, PartialEq, Deserialize, Serialize)]
pub(super) struct Accepted(BTreeMap<String, Entry>);

#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    per_request: f64,
    #[serde(default = "tolerance")]
    tolerance_percent: f64,
    /// Of a tolerance that is not the usual one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    why: String,
}

fn tolerance() -> f64 {
    TOLERANCE_PERCENT
}

impl Accepted {
    /// Of a file that is not there: nothing.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        match std::fs::read_to_string(path) {
            Ok(text) => toml::from_str(&text)
                .map_err(|error| Failure::Accepted { path: path.to_owned(), what: error.to_string() }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Failure::file(path)(error)),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = toml::to_string(self)
            .map_err(|error| Failure::Accepted { path: path.to_owned(), what: error.to_string() })?;
        std::fs::write(path, HEADER.to_owned() + &text).map_err(Failure::file(path))
    }

    /// Takes over `counted`, to four decimals; tolerances and reasons stay.
    pub(super) fn accept(&mut self, counted: &[Counted]) {
        for one in counted {
            let entry = self.0.entry(one.name.to_owned()).or_insert(Entry {
                per_request: 0.0,
                tolerance_percent: TOLERANCE_PERCENT,
                why: String::new(),
            });
            entry.per_request = (one.per_request * 10_000.0).round() / 10_000.0;
        }
    }

    /// What is accepted for `name`, and the most that passes.
    pub(super) fn bound(&self, name: &str) -> Option<(f64, f64)> {
        let entry = self.0.get(name)?;
        Some((entry.per_request, entry.per_request * (1.0 + entry.tolerance_percent / 100.0)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is the test's failure
    use super::*;

    #[test]
    fn what_is_accepted_is_read_again_and_tolerances_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("accepted.toml");
        assert_eq!(Accepted::read(&path).unwrap(), Accepted::default());
        std::fs::write(&path, "[enters]\nper_request = 4.0\ntolerance_percent = 10.0\nwhy = \"w\"\n")
            .unwrap();
        let mut accepted = Accepted::read(&path).unwrap();
        accepted.accept(&[
            Counted { name: "enters", per_request: 5.000_04 },
            Counted { name: "instructions", per_request: 9000.0 },
        ]);
        accepted.write(&path).unwrap();
        let again = Accepted::read(&path).unwrap();
        assert_eq!(again, accepted);
        assert_eq!(again.0["enters"].why, "w");
        assert_eq!(again.bound("enters"), Some((5.0, 5.5)));
        assert_eq!(again.bound("instructions"), Some((9000.0, 9270.0)));
        assert_eq!(again.bound("other"), None);
    }

    #[test]
    fn a_misspelt_field_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("accepted.toml");
        std::fs::write(&path, "[enters]\nper_request = 4.0\ntolerence_percent = 10.0\n").unwrap();
        assert!(matches!(Accepted::read(&path), Err(Failure::Accepted { .. })));
    }
}
