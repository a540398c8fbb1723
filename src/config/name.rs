//! Names that a configuration gives to things: checked once, then carried as their own types.
use std::fmt;
use std::net::IpAddr;

use super::report::Shown;
use crate::limits::{HOST_LABEL_OCTETS_MAX, HOST_OCTETS_MAX, LABEL_BYTES_MAX, SERVICE_ID_BYTES_MAX};

/// A DNS host name in lower case, without a trailing dot (RFC 1123 section 2.1; RFC 5890 A-labels for
/// internationalised names): 1 to 253 octets, in parts of 1 to 63 between dots.
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
    /// What is wrong with `text` and how to mend it.
    pub fn parse(text: &str) -> Result<Self, String> {
        check_host(text).map_err(|wrong| format!("{} {wrong}", Shown(text)))?;
        Ok(Self(text.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// # Errors
/// The rest of a sentence that begins with the name.
fn check_host(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("is empty; give a host name such as shop.example.com".to_owned());
    }
    if text.len() > HOST_OCTETS_MAX {
        return Err(format!("has {} octets; a host name has at most {HOST_OCTETS_MAX}", text.len()));
    }
    if !text.is_ascii() {
        return Err("is not ASCII; write its A-label form (xn--…)".to_owned());
    }
    if let Some(bare) = text.strip_suffix('.') {
        return Err(format!("ends in a dot; write {bare}"));
    }
    if text.starts_with("*.") {
        return Err("is a wildcard, which is not yet supported in this version; list each name".to_owned());
    }
    if text.parse::<IpAddr>().is_ok() {
        return Err("is an address; give a host name".to_owned());
    }
    if let Some((name, port)) = text.split_once(':')
        && port.bytes().all(|b| b.is_ascii_digit())
    {
        return Err(format!("has a port; write {name}, the port is the listener's"));
    }
    text.split('.').try_for_each(check_host_label)?;
    let last = text.rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|b| b.is_ascii_digit()) {
        return Err("ends in a number; the last part of a host name has a letter".to_owned());
    }
    Ok(())
}

fn check_host_label(label: &str) -> Result<(), String> {
    if label.is_empty() {
        return Err("has an empty part; remove the extra dot".to_owned());
    }
    if let Some(odd) = label.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '-') {
        return Err(format!("contains {odd:?}; use letters, digits, hyphens and dots"));
    }
    if label.len() > HOST_LABEL_OCTETS_MAX {
        return Err(format!(
            "has a part of {} octets; at most {HOST_LABEL_OCTETS_MAX} go between dots",
            label.len()
        ));
    }
    if label.starts_with('-') || label.ends_with('-') {
        return Err(format!("has a part, {label}, that begins or ends with a hyphen; remove it"));
    }
    Ok(())
}

impl ServiceId {
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let Some(rest) = text.strip_prefix("svc_") else {
            return Err(format!(
                "{} is not a service id; service ids begin with svc_, as in svc_hello",
                Shown(text)
            ));
        };
        if rest.is_empty() || text.len() > SERVICE_ID_BYTES_MAX || !rest.chars().all(fits) {
            let most = SERVICE_ID_BYTES_MAX - "svc_".len();
            return Err(format!(
                "{} is not a service id; after svc_ put 1 to {most} of A-Z a-z 0-9 _ -",
                Shown(text)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn host_names() {
        let long_label = "a".repeat(63);
        let longest = [&*"a.".repeat(126), "a"].concat();
        for right in [
            "a",
            "localhost",
            "shop.example.com",
            "4.example",
            "x1-2.a",
            "xn--bcher-kva.de",
            &long_label,
            &longest,
        ] {
            assert_eq!(HostName::parse(right).map(|h| h.to_string()), Ok(right.to_owned()));
        }
        assert_eq!(HostName::parse("Shop.EXAMPLE").map(|h| h.to_string()), Ok("shop.example".to_owned()));
    }

    #[test]
    fn wrong_host_names() {
        let long_label = "a".repeat(64);
        let too_long = "a.".repeat(126) + "aa";
        for (wrong, told) in [
            ("", "\"\" is empty; give a host name such as shop.example.com"),
            ("bücher.de", "\"bücher.de\" is not ASCII; write its A-label form (xn--…)"),
            ("a.b.", "\"a.b.\" ends in a dot; write a.b"),
            ("*.a.b", "\"*.a.b\" is a wildcard, which is not yet supported in this version; list each name"),
            ("10.0.0.1", "\"10.0.0.1\" is an address; give a host name"),
            ("::1", "\"::1\" is an address; give a host name"),
            ("a.b:80", "\"a.b:80\" has a port; write a.b, the port is the listener's"),
            ("a..b", "\"a..b\" has an empty part; remove the extra dot"),
            (".a", "\".a\" has an empty part; remove the extra dot"),
            ("a_b.c", "\"a_b.c\" contains '_'; use letters, digits, hyphens and dots"),
            ("a b", "\"a b\" contains ' '; use letters, digits, hyphens and dots"),
            ("a\nb", "\"a\\nb\" contains '\\n'; use letters, digits, hyphens and dots"),
            ("-a.b", "\"-a.b\" has a part, -a, that begins or ends with a hyphen; remove it"),
            ("a.b-", "\"a.b-\" has a part, b-, that begins or ends with a hyphen; remove it"),
            ("a.42", "\"a.42\" ends in a number; the last part of a host name has a letter"),
            (&long_label, &format!("\"{long_label}\" has a part of 64 octets; at most 63 go between dots")),
            (&too_long, &format!("\"{}\"… has 254 octets; a host name has at most 253", "a.".repeat(40))),
        ] {
            assert_eq!(HostName::parse(wrong), Err(told.to_owned()));
        }
    }

    #[test]
    fn ids_and_labels() {
        let longest = "svc_".to_owned() + &"a".repeat(60);
        for right in ["svc_a", "svc_A-b_9", &longest] {
            assert_eq!(ServiceId::parse(right).map(|id| id.to_string()), Ok(right.to_owned()));
        }
        for wrong in ["", "svc_", "svc", "SVC_a", "svc_a b", "svc_é", "svc_a/b", &(longest.clone() + "a")] {
            assert!(ServiceId::parse(wrong).is_err(), "{wrong}");
        }
        let longest = "r".repeat(63);
        for right in ["a", "us-east.1_b", &longest] {
            assert_eq!(Label::parse(right).map(|l| l.to_string()), Ok(right.to_owned()));
        }
        for wrong in ["", "a b", "a/b", "é", "a\n", &(longest.clone() + "r")] {
            assert!(Label::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        /// Against RFC 1123 as a regular expression, its last label as in RFC 3696 section 2.
        #[test]
        fn names_of_the_grammar_are_host_names(
            name in "([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\\.){0,2}[a-z]([a-z0-9-]{0,10}[a-z0-9])?"
        ) {
            prop_assert_eq!(HostName::parse(&name).map(|h| h.to_string()), Ok(name.to_ascii_lowercase()));
        }

        #[test]
        fn a_host_name_is_in_its_own_form(text in "[a-cA-C0-9.:*_-]{0,12}") {
            if let Ok(name) = HostName::parse(&text) {
                prop_assert_eq!(name.as_str(), text.to_ascii_lowercase());
                prop_assert_eq!(HostName::parse(name.as_str()), Ok(name.clone()));
            }
        }
    }
}
