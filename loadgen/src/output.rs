//! Files that a command writes: opened before it begins, since who measures for an hour must not learn at its end that there
//! is no place for what came of it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ringway::runtime::machine;

use crate::error::Error;

/// A place to write to. What stands there stays until something is written; a file that was made for it and got nothing is
/// removed.
pub struct Output {
    option: &'static str,
    path: PathBuf,
    file: File,
    is_new: bool,
    has_begun: bool,
}

impl Output {
    /// The file that an option names.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(option: &'static str, path: &Path) -> Result<Self, Error> {
        let (file, is_new) = match File::create_new(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                (File::options().write(true).open(path), false)
            }
            made => (made, true),
        };
        let file = file.map_err(|e| unwritable(option, path, &e))?;
        Ok(Self { option, path: path.to_owned(), file, is_new, has_begun: false })
    }

    /// The same, if the option names one; none for `-`, which is standard output.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn wanted(option: &'static str, path: Option<&Path>) -> Result<Option<Self>, Error> {
        let file = path.filter(|path| path.as_os_str() != "-");
        file.map(|path| Self::open(option, path)).transpose()
    }

    /// A file that is there and grows.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn growing(option: &'static str, path: &Path) -> Result<Self, Error> {
        let file = File::options().append(true).open(path).map_err(|e| unwritable(option, path, &e))?;
        Ok(Self { option, path: path.to_owned(), file, is_new: false, has_begun: true })
    }

    /// Writes on, in one call, so that a reader sees whole lines but for the rarest moments. The first takes the place of what
    /// stood there.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&mut self, octets: &[u8]) -> Result<(), Error> {
        let written = self.make_room().and_then(|()| self.file.write_all(octets));
        self.has_begun |= written.is_ok();
        written.map_err(|e| unwritable(self.option, &self.path, &e))
    }

    /// A pipe or a terminal has no end to be cut.
    fn make_room(&self) -> io::Result<()> {
        match !self.has_begun && self.file.metadata()?.is_file() {
            true => self.file.set_len(0),
            false => Ok(()),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_new && !self.has_begun {
            // It is empty, or has less than it was to have.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// An option and the file that it names cannot be used.
#[must_use]
pub fn unwritable(option: &str, path: &Path, error: &io::Error) -> Error {
    let what = format!("{option} {}: cannot be written: {error}", path.display());
    match machine::lacks_room(error) {
        true => Error::Machine(format!("{what}; make room there, or choose another place")),
        false => Error::Input(format!("{what}; choose another place")),
    }
}

/// Refuses options of which two name the same file.
///
/// # Errors
/// Two do.
pub fn ensure_apart(options: &[(&str, &Path)]) -> Result<(), Error> {
    for (at, (one, path)) in options.iter().enumerate() {
        if let Some((other, _)) = options[at + 1..].iter().find(|(_, other)| is_same(path, other)) {
            let path = path.display();
            return Err(Error::Usage(format!(
                "{one} and {other}: both would be written to {path}; give each its own file"
            )));
        }
    }
    Ok(())
}

/// Whether two paths lead to one file, be it there or yet to be made.
fn is_same(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some((folder.canonicalize().ok()?, path.file_name()?.to_owned()))
    };
    (identity(a).is_some() && identity(a) == identity(b)) || (place(a).is_some() && place(a) == place(b))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;

    #[test]
    fn what_stands_there_stays_until_something_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::write(&old, "a long text").unwrap();
        let open = |path| Output::open("--json", path).unwrap();
        drop((open(&old), open(&new)));
        assert_eq!((fs::read_to_string(&old).unwrap().as_str(), new.exists()), ("a long text", false));
        for path in [&old, &new] {
            let mut output = open(path);
            output.append(b"one, ").unwrap();
            output.append(b"two").unwrap();
            drop(output);
            assert_eq!(fs::read_to_string(path).unwrap(), "one, two");
        }
        Output::growing("--out", &new).unwrap().append(b", three").unwrap();
        assert_eq!(fs::read_to_string(&new).unwrap(), "one, two, three");
        assert!(Output::wanted("--json", Some(Path::new("-"))).unwrap().is_none());
        let refused = Output::wanted("--json", Some(dir.path())).err().unwrap().to_string();
        assert!(
            refused.starts_with("--json ") && refused.contains("cannot be written: Is a directory"),
            "{refused}"
        );
    }

    #[test]
    fn one_file_by_two_names_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a"), "").unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        let apart = |one: &str, other: &str| {
            ensure_apart(&[("--x", &at(one)), ("--y", &at("z")), ("--z", &at(other))])
        };
        for (one, other) in [("a", "a"), ("a", "hard"), ("new", "new"), ("new", "./new"), ("a", "z")] {
            let refused = apart(one, other).unwrap_err().to_string();
            assert!(refused.contains("--z: both would be written to"), "{refused}");
        }
        assert!(apart("a", "new").is_ok() && apart("none/a", "none/b").is_ok());
    }
}
