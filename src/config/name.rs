//! Names that a configuration gives to things: checked once, then carried as their own types.
use std::fmt;

use crate::limits::{LABEL_BYTES_MAX, SERVICE_ID_BYTES_MAX};

/// A DNS host name in lower case, without a trailing dot (RFC 1123 section 2.1; RFC 5890 A-labels for
/// internationalised names).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

/// A service's id: `svc_` and 1 to 60 of `A-Z a-z 0-9 _ -`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceId(String);

/// The name of a node, region or PoP: 1 to 63 of `A-Z a-z 0-9 . _ -`, so that it can stand in keys, labels and
/// file names as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(String);

impl HostName {
    /// # Errors
    /// What is wrong with `text` and how to mend it, fit to follow "hostname: ".
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("is empty; give a host name such as shop.example.com".to_owned());
        }
        if !text.is_ascii() {
            return Err(format!("{text:?} is not ASCII; write its A-label form (xn--…)"));
        }
        if let Some(bare) = text.strip_suffix('.') {
            return Err(format!("{text:?} ends in a dot; write {bare:?}"));
        }
        if text.starts_with("*.") {
            return Err(format!("{text:?}: wildcards are not yet supported; list each name"));
        }
        if text.len() > 253 {
            return Err(format!("has {} octets; a host name has at most 253", text.len()));
        }
        if text.parse::<std::net::IpAddr>().is_ok() {
            return Err(format!("{text:?} is an address; give a host name"));
        }
        if let Some((name, port)) = text.split_once(':')
            && port.bytes().all(|b| b.is_ascii_digit())
        {
            return Err(format!("{text:?} has a port; write {name:?}, the listener has the port"));
        }
        for label in text.split('.') {
            check_host_label(text, label)?;
        }
        if text.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit())) {
            return Err(format!("{text:?} ends in a number; the last label of a host name has a letter"));
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn check_host_label(text: &str, label: &str) -> Result<(), String> {
    if label.is_empty() {
        return Err(format!("{text:?} has two dots in a row or begins with one; remove it"));
    }
    if label.len() > 63 {
        return Err(format!("{text:?}: a label has at most 63 octets, {label:?} has {}", label.len()));
    }
    if label.starts_with('-') || label.ends_with('-') {
        return Err(format!("{text:?}: the label {label:?} begins or ends with a hyphen; remove it"));
    }
    match label.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '-') {
        Some(odd) => Err(format!("{text:?} contains {odd:?}; use letters, digits, hyphens and dots")),
        None => Ok(()),
    }
}

impl ServiceId {
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let Some(rest) = text.strip_prefix("svc_") else {
            return Err(format!(
                "{text:?} is not a service id; service ids begin with svc_, as in svc_hello"
            ));
        };
        if rest.is_empty() || text.len() > SERVICE_ID_BYTES_MAX || !rest.chars().all(fits) {
            let most = SERVICE_ID_BYTES_MAX - "svc_".len();
            return Err(format!(
                "{text:?} is not a service id; after svc_ put 1 to {most} of A-Z a-z 0-9 _ -"
            ));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Label {
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if text.is_empty() || text.len() > LABEL_BYTES_MAX || !text.chars().all(fits) {
            return Err(format!("{text:?} is not a name; use 1 to {LABEL_BYTES_MAX} of A-Z a-z 0-9 . _ -"));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ServiceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
