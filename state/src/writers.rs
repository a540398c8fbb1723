//! Who may write what: no key has two writers (R-104, S6 "Writers name themselves"). A guard against mistakes; the
//! broker's access lists are the one against attack.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::Kind;

/// The writers of each kind. A kind that is not listed is anybody's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writers(BTreeMap<Kind, BTreeSet<String>>);

/// Why a change is not its writer's to make. The sender's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotItsWriter {
    #[error("{kind} has listed writers and the change names none; send the header `ringway-writer`")]
    Unnamed { kind: Kind },
    #[error("{writer:?} is no writer of {kind}; list it, or stop it")]
    Unlisted { writer: String, kind: Kind },
}

impl Writers {
    pub fn new(list: impl IntoIterator<Item = (Kind, String)>) -> Self {
        let mut writers = BTreeMap::<Kind, BTreeSet<String>>::new();
        for (kind, writer) in list {
            writers.entry(kind).or_default().insert(writer);
        }
        Self(writers)
    }

    /// Whether `writer`, as a change's header names it, may write that kind.
    pub fn check(&self, writer: Option<&str>, kind: Kind) -> Result<(), NotItsWriter> {
        match (self.0.get(&kind), writer) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(NotItsWriter::Unnamed { kind }),
            (Some(listed), Some(writer)) if listed.contains(writer) => Ok(()),
            (Some(_), Some(writer)) => Err(NotItsWriter::Unlisted { writer: writer.to_owned(), kind }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_kind_has_its_writers_and_no_others() {
        let list = [
            (Kind::EndpointSet, "health-oregon"),
            (Kind::EndpointSet, "health-eu"),
            (Kind::DomainMap, "cdc"),
        ];
        let writers = Writers::new(list.map(|(kind, writer)| (kind, writer.to_owned())));
        assert_eq!(writers.check(Some("health-eu"), Kind::EndpointSet), Ok(()));
        assert_eq!(writers.check(Some("cdc"), Kind::DomainMap), Ok(()));
        let refused = NotItsWriter::Unlisted { writer: "cdc".to_owned(), kind: Kind::EndpointSet };
        assert_eq!(writers.check(Some("cdc"), Kind::EndpointSet), Err(refused));
        let unnamed = NotItsWriter::Unnamed { kind: Kind::DomainMap };
        assert_eq!(writers.check(None, Kind::DomainMap), Err(unnamed));
        assert_eq!(writers.check(Some("anyone"), Kind::Policy), Ok(()), "not listed");
        assert_eq!(Writers::default().check(None, Kind::Service), Ok(()));
    }
}
