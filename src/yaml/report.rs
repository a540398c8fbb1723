//! What is wrong with a file: collected while it is read, so that one reading tells everything.
use std::cell::RefCell;
use std::fmt;

use crate::limits::{CONFIG_MISTAKES_MAX, CONFIG_QUOTE_CHARS_MAX};

/// Every mistake of one file, in the order of its lines. Displays as one line each,
/// `FILE:LINE: what and how to mend it`, without a line end after the last.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.lines())]
pub struct Mistakes {
    file: String,
    found: Vec<Mistake>,
    /// How many more there are than `found` keeps.
    more: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// From 1; `None` when the file as a whole is meant.
    pub line: Option<usize>,
    /// What is wrong, where (a path such as `listeners[0].address`), and how to mend it; one line.
    pub text: String,
}

impl Mistakes {
    /// One mistake about the file as a whole.
    pub fn of_file(file: &str, text: String) -> Self {
        Self { file: file.to_owned(), found: vec![Mistake { line: None, text }], more: 0 }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.found.iter()
    }

    fn lines(&self) -> String {
        let mut lines: Vec<String> = self.found.iter().map(|m| located(&self.file, m)).collect();
        if self.more > 0 {
            lines.push(format!("{}: {} more mistakes; mend these first", self.file, self.more));
        }
        lines.join("\n")
    }
}

fn located(file: &str, mistake: &Mistake) -> String {
    match mistake.line {
        Some(line) => format!("{file}:{line}: {}", mistake.text),
        None => format!("{file}: {}", mistake.text),
    }
}

/// What mistakes say of the kind of file that is read.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// A file that is right.
    pub example: &'static str,
    /// What to do with one that holds too much.
    pub too_large: &'static str,
}

/// Collects while the tree is read. Shared by reference, hence the cell; nothing is held across a call.
pub struct Report {
    pub file: String,
    pub(super) form: Form,
    found: RefCell<Vec<Mistake>>,
    more: RefCell<usize>,
    warnings: RefCell<Vec<Mistake>>,
}

impl Report {
    #[must_use]
    pub fn new(file: &str, form: Form) -> Self {
        Self {
            file: file.to_owned(),
            form,
            found: RefCell::default(),
            more: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    pub fn mistake(&self, line: usize, text: impl Into<String>) {
        let mut found = self.found.borrow_mut();
        if found.len() < CONFIG_MISTAKES_MAX {
            found.push(Mistake { line: Some(line), text: text.into() });
        } else {
            *self.more.borrow_mut() += 1;
        }
    }

    pub fn warning(&self, line: usize, text: &str) {
        let text = format!("warning: {text}");
        self.warnings.borrow_mut().push(Mistake { line: Some(line), text });
    }

    /// The warnings as whole lines when there was no mistake.
    pub fn finish(self) -> Result<Vec<String>, Mistakes> {
        let mut found = self.found.into_inner();
        if found.is_empty() {
            let mut warnings = self.warnings.into_inner();
            warnings.sort_by_key(|w| w.line);
            return Ok(warnings.iter().map(|w| located(&self.file, w)).collect());
        }
        found.sort_by_key(|m| m.line);
        Err(Mistakes { file: self.file, found, more: self.more.into_inner() })
    }
}

/// Outside text in a message: quoted, on one line, and cut when long.
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(CONFIG_QUOTE_CHARS_MAX) {
            None => write!(f, "{:?}", self.0),
            Some((cut, _)) => write!(f, "{:?}…", self.0.get(..cut).unwrap_or_default()),
        }
    }
}
