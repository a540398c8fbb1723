//! Names: of hosts, services, regions, owners and policies. A value of these types is well-formed by
//! construction.
//!
//! All are cheap to clone (shared text), ordered as octets, and borrowed as `str`.

use std::{borrow::Borrow, fmt, sync::Arc};

use crate::limits::{HOST_LABEL_OCTETS_MAX, HOST_OCTETS_MAX, ID_OCTETS_MAX};

/// Why a text is no such name. The sender's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("is empty; give {what}")]
    Empty { what: &'static str },
    #[error("has {octets} octets; {what} has at most {max}")]
    TooLong { what: &'static str, octets: usize, max: usize },
    #[error("has {found:?} at octet {at}; {what} is made of {allowed}")]
    Octet { what: &'static str, found: char, at: usize, allowed: &'static str },
    #[error("has the label {label:?}; a label has 1 to 63 octets and neither begins nor ends with a hyphen")]
    Label { label: String },
    #[error("ends with a dot; write it without")]
    TrailingDot,
    #[error("is a wildcard; give a whole host name")]
    Wildcard,
}

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// For text that was checked before it was stored.
            pub(crate) fn trusted(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        text_type!($(#[$doc])* $name);

        impl $name {
            /// 1 to 128 octets of ASCII letters, digits, `_`, `-` and `.`.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                check_id($what, text).map(|()| Self(text.into()))
            }
        }
    };
}

text_type!(
    /// A host name as it is looked up: lower case, no trailing dot, no port, at most 253 octets,
    /// letter-digit-hyphen labels (RFC 1123 section 2.1). As a key it may be a wildcard: see
    /// [`HostName::parse_pattern`].
    HostName
);
id_type!(
    /// `svc_…`
    ServiceId, "a service id");
id_type!(
    /// Where nodes and endpoints stand, for example `oregon`; `local` is the quickstart's.
    Region, "a region");
id_type!(
    /// Who owns a service, for example `usr_9`.
    OwnerId, "an owner id");
id_type!(
    /// The gateway policy that a service names.
    PolicyId, "a policy id");
id_type!(
    /// Why a host name is gone, for example `transfer` or `takedown`.
    Reason, "a reason");

impl HostName {
    /// A host name, or `*.` and one: all names with one label more, unless they are keys themselves (S6).
    pub fn parse_pattern(text: &str) -> Result<Self, NameError> {
        let Some(parent) = text.strip_prefix(WILDCARD) else { return Self::parse(text) };
        let parent = Self::parse(parent)?;
        let octets = WILDCARD.len() + parent.as_str().len();
        if octets > HOST_OCTETS_MAX {
            return Err(NameError::TooLong { what: "a wildcard", octets, max: HOST_OCTETS_MAX });
        }
        Ok(Self(format!("{WILDCARD}{parent}").into()))
    }

    pub fn is_wildcard(&self) -> bool {
        self.0.starts_with(WILDCARD)
    }

    /// Lower-cases and checks; see the type for the rules.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        const WHAT: &str = "a host name";
        let name = text.to_ascii_lowercase();
        if name.is_empty() {
            return Err(NameError::Empty { what: WHAT });
        }
        if name.len() > HOST_OCTETS_MAX {
            return Err(NameError::TooLong { what: WHAT, octets: name.len(), max: HOST_OCTETS_MAX });
        }
        if name.starts_with(WILDCARD) {
            return Err(NameError::Wildcard);
        }
        if name.ends_with('.') {
            return Err(NameError::TrailingDot);
        }
        let allowed = "letters, digits, hyphens and dots";
        check_octets(WHAT, &name, allowed, |c| c.is_ascii_alphanumeric() || c == '-' || c == '.')?;
        match name.split('.').find(|label| !is_label(label)) {
            Some(label) => Err(NameError::Label { label: label.to_owned() }),
            None => Ok(Self(name.into())),
        }
    }
}

/// What a wildcard begins with.
pub(crate) const WILDCARD: &str = "*.";

fn is_label(label: &str) -> bool {
    (1..=HOST_LABEL_OCTETS_MAX).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
}

pub(crate) fn check_id(what: &'static str, text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty { what });
    }
    if text.len() > ID_OCTETS_MAX {
        return Err(NameError::TooLong { what, octets: text.len(), max: ID_OCTETS_MAX });
    }
    let allowed = "letters, digits, '_', '-' and '.'";
    check_octets(what, text, allowed, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn check_octets(
    what: &'static str,
    text: &str,
    allowed: &'static str,
    is_allowed: impl Fn(char) -> bool,
) -> Result<(), NameError> {
    match text.char_indices().find(|&(_, c)| !is_allowed(c)) {
        Some((at, found)) => Err(NameError::Octet { what, found, at, allowed }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test that cannot set up must fail loudly
    use super::*;

    #[test]
    fn host_names_are_lower_cased_and_kept_whole() {
        assert_eq!(HostName::parse("Shop.Example.COM").unwrap().as_str(), "shop.example.com");
        for good in ["a", "1", "xn--bcher-kva.example", "127.0.0.1", "a-b.c--d.e"] {
            assert_eq!(HostName::parse(good).unwrap().as_str(), good);
        }
        let longest = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61));
        assert_eq!(longest.len(), 253);
        assert_eq!(HostName::parse(&longest).unwrap().as_str(), longest);
    }

    #[test]
    fn what_is_no_host_name_is_told_why() {
        let refused = |text: &str| HostName::parse(text).unwrap_err();
        assert!(matches!(refused(""), NameError::Empty { .. }));
        assert!(matches!(refused(&"a.".repeat(127)), NameError::TooLong { octets: 254, .. }));
        assert_eq!(refused("a.example."), NameError::TrailingDot);
        assert_eq!(refused("*.apps.example"), NameError::Wildcard);
        assert!(matches!(refused("a_b"), NameError::Octet { found: '_', at: 1, .. }));
        assert!(matches!(refused("a:80"), NameError::Octet { found: ':', .. }));
        assert!(matches!(refused("bücher.example"), NameError::Octet { found: 'ü', .. }));
        for bad in ["a..b", ".a", "-a.b", "a-.b", &format!("{}.b", "a".repeat(64))] {
            assert!(matches!(refused(bad), NameError::Label { .. }), "{bad}");
        }
    }

    #[test]
    fn a_pattern_is_a_name_or_a_wildcard() {
        assert_eq!(HostName::parse_pattern("*.Apps.Example").unwrap().as_str(), "*.apps.example");
        assert!(HostName::parse_pattern("*.example").unwrap().is_wildcard());
        assert!(!HostName::parse_pattern("apps.example").unwrap().is_wildcard());
        for bad in ["*", "*.", "*.*.example", "a*.example", "a.*.example", "**.example", "*a.example"] {
            assert!(HostName::parse_pattern(bad).is_err(), "{bad}");
        }
        let longest = format!("*.{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(59));
        assert_eq!(HostName::parse_pattern(&longest).unwrap().as_str(), longest);
        let longer = format!("*.{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(60));
        assert!(matches!(HostName::parse_pattern(&longer), Err(NameError::TooLong { octets: 254, .. })));
    }

    #[test]
    fn ids_take_their_octets_and_no_others() {
        assert_eq!(ServiceId::parse("svc_a-b.9").unwrap().as_str(), "svc_a-b.9");
        assert!(matches!(ServiceId::parse("a/b"), Err(NameError::Octet { found: '/', at: 1, .. })));
        assert!(matches!(Region::parse(""), Err(NameError::Empty { .. })));
        assert!(Reason::parse(&"r".repeat(128)).is_ok());
        assert!(matches!(OwnerId::parse(&"o".repeat(129)), Err(NameError::TooLong { octets: 129, .. })));
    }
}
