//! Kinds whose members mean something only to later features: kept whole, in one canonical form, found by key.

use std::{fmt, sync::Arc};

use super::{Kind, Subject};
use crate::{
    id::{HostName, NameError, check_id},
    json::Json,
    limits::DOCUMENT_OCTETS_MAX,
};

/// `SUBJECT:NAME`, for example `policy:strict`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentKey {
    subject: Subject,
    name: Arc<str>,
}

impl DocumentKey {
    /// A certificate's name is a host name or a wildcard; all others are ids.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(subject: Subject, name: &str) -> Result<Self, NameError> {
        let what = match subject {
            Subject::Cert => {
                let name = HostName::parse_pattern(name)?;
                return Ok(Self::trusted(subject, name.as_str()));
            }
            Subject::Acme => "a token",
            Subject::Policy => "a policy id",
            Subject::Ruleset => "a ruleset id",
            Subject::Origin => "an origin id",
            Subject::Ring => "a ring id",
            Subject::Deny => "a deny list id",
            Subject::Bundle => "a bundle id",
        };
        check_id(what, name).map(|()| Self::trusted(subject, name))
    }

    /// For text that was checked before it was stored.
    pub(crate) fn trusted(subject: Subject, name: &str) -> Self {
        Self { subject, name: name.into() }
    }

    pub fn subject(&self) -> Subject {
        self.subject
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for DocumentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.subject.name(), self.name)
    }
}

/// The members of a change that are its value, as a JSON object without white space, members ordered by name at
/// every depth, numbers that are no 64-bit integers as the shortest double. So equal values have equal text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    kind: Kind,
    text: Arc<str>,
}

impl Document {
    /// `None` if the text has more than [`DOCUMENT_OCTETS_MAX`] octets.
    pub(crate) fn of_members(kind: Kind, members: Vec<(String, Json)>) -> Option<Self> {
        let text = Json::Object(members).canonical();
        (text.len() <= DOCUMENT_OCTETS_MAX).then(|| Self::trusted(kind, &text))
    }

    /// For text that was made canonical before it was stored.
    pub(crate) fn trusted(kind: Kind, text: &str) -> Self {
        Self { kind, text: text.into() }
    }

    /// One of those with a [`Kind::subject`].
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// A JSON object.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}
