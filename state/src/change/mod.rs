//! A change on the log, as JSON (design section 4): strict about what it knows, indifferent to what it does
//! not.
//!
//! Known fields must have their types; unknown fields are counted; a kind not known here is skipped; `null`
//! says nothing.

mod fields;
#[cfg(test)]
mod page;
mod render;

use serde_json::error::Category;

use crate::{
    id::NameError,
    json::Json,
    limits::{CHANGE_OCTETS_MAX, DOCUMENT_OCTETS_MAX},
    record::{Change, SetError},
};

pub use render::render;

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub meaning: Meaning,
    /// The sender's numbering; informs, nothing orders by it.
    pub seq: Option<u64>,
    /// Fields that nothing here reads, nested ones included.
    pub unknown_fields: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    Change(Change),
    /// `null`: lets the log forget a grave, changes nothing.
    Nothing,
    /// A kind that this version does not know, by its name.
    UnknownKind(String),
}

/// Why a line is refused whole. The sender's fault.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("the line has {octets} octets; a change has at most {CHANGE_OCTETS_MAX}")]
    TooLong { octets: usize },
    #[error("the line is not JSON; write one change on each line")]
    NotJson(#[source] serde_json::Error),
    #[error("{told}")]
    Members { told: String },
    #[error("`{field}` is missing; give {expected}")]
    Missing { field: String, expected: &'static str },
    #[error("`{field}` is {found}; give {expected}")]
    Type { field: String, found: &'static str, expected: &'static str },
    #[error("`{field}` {reason}")]
    Name { field: String, reason: NameError },
    #[error("`{field}` is {found:?}; give {expected}")]
    Value { field: String, found: String, expected: &'static str },
    #[error("`{field}` has {found} members; it has at most {max}")]
    TooMany { field: String, found: usize, max: usize },
    #[error("`endpoints` {0}")]
    Set(SetError),
    #[error("the value has more than {DOCUMENT_OCTETS_MAX} octets, its most; give less")]
    Document,
}

/// Reads one line, without its line end.
pub fn parse(line: &[u8]) -> Result<Line, ChangeError> {
    if line.len() > CHANGE_OCTETS_MAX {
        return Err(ChangeError::TooLong { octets: line.len() });
    }
    match serde_json::from_slice(line).map_err(refused)? {
        Json::Null => Ok(Line { meaning: Meaning::Nothing, seq: None, unknown_fields: 0 }),
        Json::Object(members) => fields::line(members),
        other => Err(ChangeError::Type {
            field: "the line".to_owned(),
            found: other.describe(),
            expected: "an object or null",
        }),
    }
}

/// What is JSON, and no value that is read here, has been told by [`Json`] itself.
fn refused(error: serde_json::Error) -> ChangeError {
    if error.classify() != Category::Data {
        return ChangeError::NotJson(error);
    }
    let told = error.to_string();
    // The line in it is the value's own, which has one.
    let told = told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told).to_owned();
    ChangeError::Members { told }
}
