//! Names that a configuration gives to things.
use std::fmt;

pub use ringway_state::id::{HostName, Region, ServiceId};

use super::report::Shown;
use crate::limits::LABEL_BYTES_MAX;

/// The name of a node or PoP: 1 to 63 of `A-Z a-z 0-9 . _ -`, so that it can stand in keys, labels and file
/// names as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label(String);

impl Label {
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if text.is_empty() || text.len() > LABEL_BYTES_MAX || !text.chars().all(fits) {
            return Err(format!(
                "{} is not a name; use 1 to {LABEL_BYTES_MAX} of A-Z a-z 0-9 . _ -",
                Shown(text)
            ));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// # Errors
/// What is wrong with `text` and how to mend it.
pub(super) fn host_name(text: &str) -> Result<HostName, String> {
    HostName::parse(text).map_err(|wrong| {
        let shown = Shown(text);
        match text.split_once(':') {
            Some((name, port)) if HostName::parse(name).is_ok() && port.parse::<u16>().is_ok() => {
                format!("{shown} has a port; write {name}, the port is the listener's")
            }
            _ if text.contains("://") => format!("{shown} is a URL; write its host name alone"),
            _ if !text.is_ascii() => format!("{shown} is not ASCII; write its A-label form (xn--…)"),
            _ => format!("{shown} {wrong}"),
        }
    })
}

/// # Errors
/// What is wrong with `text` and how to mend it.
pub(super) fn service_id(text: &str) -> Result<ServiceId, String> {
    let shown = Shown(text);
    match text.strip_prefix("svc_") {
        None => Err(format!("{shown} does not begin with svc_; service ids do, as in svc_hello")),
        Some("") => Err(format!("{shown} ends after svc_; go on with a name, as in svc_hello")),
        Some(_) => ServiceId::parse(text).map_err(|wrong| format!("{shown} {wrong}")),
    }
}

/// # Errors
/// What is wrong with `text` and how to mend it.
pub(super) fn region(text: &str) -> Result<Region, String> {
    Region::parse(text).map_err(|wrong| format!("{} {wrong}", Shown(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names() {
        for (right, name) in
            [("a", "a"), ("Shop.EXAMPLE", "shop.example"), ("xn--bcher-kva.de", "xn--bcher-kva.de")]
        {
            assert_eq!(host_name(right).map(|h| h.to_string()), Ok(name.to_owned()));
        }
        for (wrong, told) in [
            ("", "is empty; give a host name"),
            ("bücher.de", "is not ASCII; write its A-label form (xn--…)"),
            ("a.b.", "ends with a dot; write it without"),
            ("*.a.b", "is a wildcard; give a whole host name"),
            ("a.b:80", "has a port; write a.b, the port is the listener's"),
            ("http://a.b", "is a URL; write its host name alone"),
            ("::1", "has ':' at octet 0; a host name is made of letters, digits, hyphens and dots"),
            ("a_b.c", "has '_' at octet 1; a host name is made of letters, digits, hyphens and dots"),
            ("a\nb", "has '\\n' at octet 1; a host name is made of letters, digits, hyphens and dots"),
            (
                "-a.b",
                "has the label \"-a\"; a label has 1 to 63 octets and neither begins nor ends with a hyphen",
            ),
        ] {
            assert_eq!(host_name(wrong), Err(format!("{wrong:?} {told}")));
        }
        let told = format!("\"{}\"… has 254 octets; a host name has at most 253", "a.".repeat(40));
        assert_eq!(host_name(&("a.".repeat(126) + "aa")), Err(told));
    }

    #[test]
    fn service_ids() {
        for right in ["svc_a", "svc_A-b_9.x"] {
            assert_eq!(service_id(right).map(|id| id.to_string()), Ok(right.to_owned()));
        }
        for (wrong, told) in [
            ("", "does not begin with svc_; service ids do, as in svc_hello"),
            ("SVC_a", "does not begin with svc_; service ids do, as in svc_hello"),
            ("svc_", "ends after svc_; go on with a name, as in svc_hello"),
            ("svc_a/b", "has '/' at octet 5; a service id is made of letters, digits, '_', '-' and '.'"),
        ] {
            assert_eq!(service_id(wrong), Err(format!("{wrong:?} {told}")));
        }
    }

    #[test]
    fn labels() {
        let longest = "r".repeat(63);
        for right in ["a", "us-east.1_b", &longest] {
            assert_eq!(Label::parse(right).map(|l| l.to_string()), Ok(right.to_owned()));
        }
        for wrong in ["", "a b", "a/b", "é", "a\n", &(longest.clone() + "r")] {
            assert!(Label::parse(wrong).is_err(), "{wrong}");
        }
    }
}
