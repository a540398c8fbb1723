//! Changes that guards hold back, as a file of the folder: in no file of the table yet, and perhaps no more in the feed's.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use ringway_state::change::{self, Meaning};
use ringway_state::record::{Change, Record};

/// # Errors
/// The folder takes nothing now.
pub(super) fn write(path: &Path, held: &[Arc<Change>]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut line = Vec::new();
    for change in held {
        line.clear();
        change::render(change, None, &mut line);
        file.write_all(&line)?;
    }
    file.into_inner()?.sync_all()
}

/// # Errors
/// It cannot be read, or says what was not written by [`write`].
pub(super) fn read(path: &Path) -> io::Result<Vec<Change>> {
    let text = fs::read(path)?;
    let lines = text.split(|octet| *octet == b'\n').filter(|line| !line.is_empty());
    let change = |line| match change::parse(line).map_err(io::Error::other)?.meaning {
        Meaning::Change(change) if matches!(change.record, Record::Endpoints(..)) => Ok(change),
        _ => Err(io::Error::other("a line is no change of endpoints")),
    };
    lines.map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_guards_hold_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.held");
        let set =
            r#"{"kind":"endpoint_set","service":"svc_a","region":"local","endpoints":[],"version":[1,2]}"#;
        let Meaning::Change(set) = change::parse(set.as_bytes()).unwrap().meaning else {
            panic!("it is one")
        };
        write(&path, &[Arc::new(set.clone())]).unwrap();
        assert_eq!(read(&path).unwrap(), [set]);
        for wrong in [
            "x",
            "null",
            r#"{"kind":"domain_map","hostname":"a.test","service":"svc_a","class":"custom","version":[1,1]}"#,
        ] {
            fs::write(&path, wrong).unwrap();
            assert!(read(&path).is_err(), "{wrong}");
        }
    }
}
