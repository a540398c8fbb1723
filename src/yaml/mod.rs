//! Strict YAML: a file is read whole, and told every mistake with its line and how to mend it.
//!
//! Bytes become a [`tree`] of text with line numbers; a [`reader`] asks it for fields by name and type, notes each mistake
//! in a [`report`] and reads on. So a file that is wrong in five places is told so in five lines.
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub use quantity::{Quantity, Setting};
pub use reader::{Field, Section};
pub use report::{Form, Mistakes, Report, Shown};
pub use suggest::word;
pub use tree::Node;

use crate::limits::CONFIG_BYTES_MAX;

pub mod quantity;
pub mod reader;
pub mod report;
pub mod suggest;
pub mod tree;

/// The bytes of the file that `option` names: at most one more than [`CONFIG_BYTES_MAX`], which is enough for [`parse`] to
/// know that it is too much.
///
/// # Errors
/// Why it cannot be read.
pub fn bytes_of(path: &Path, option: &str) -> Result<Vec<u8>, Mistakes> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(CONFIG_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let why = |e| format!("cannot be read: {e}; give a readable file with {option}");
    read().map_err(|e| Mistakes::of_file(&path.display().to_string(), why(e)))
}

/// What `check` makes of a file's content, and the warnings as whole lines. `file` is its name in messages.
///
/// # Errors
/// Every mistake in it.
pub fn parse<T>(
    file: &str,
    bytes: &[u8],
    form: Form,
    check: impl FnOnce(&Node, &Report) -> Option<T>,
) -> Result<(T, Vec<String>), Mistakes> {
    let report = Report::new(file, form);
    let checked = tree::read(bytes, &report).and_then(|root| check(&root, &report));
    let warnings = report.finish()?;
    // Without a tree there is a mistake, so this stands for a defect of ours; it must not look like success.
    let checked = checked.ok_or_else(|| Mistakes::of_file(file, "cannot be understood".to_owned()))?;
    Ok((checked, warnings))
}
