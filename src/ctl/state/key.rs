//! Keys as they are given on the command line.

use ringway_state::id::{HostName, Region, ServiceId};
use ringway_state::record::{DocumentKey, Key, Kind, Subject};

const FORMS: &str = "host:NAME, svc:ID, eps:SERVICE/REGION, or a subject as in policy:ID";

/// A key as [`Key`] is shown.
///
/// # Errors
/// What is wrong with it and how to mend it.
pub(super) fn key(text: &str) -> Result<Key, String> {
    let (subject, name) = text.split_once(':').ok_or_else(|| format!("has no colon; write {FORMS}"))?;
    let wrong = |error: ringway_state::id::NameError| format!("{name:?} {error}");
    match subject {
        "host" => HostName::parse_pattern(name).map(Key::Host).map_err(wrong),
        "svc" => ServiceId::parse(name).map(Key::Service).map_err(wrong),
        "eps" => {
            let (id, region) = name
                .split_once('/')
                .ok_or_else(|| format!("{name:?} has no slash; write eps:SERVICE/REGION"))?;
            let id = ServiceId::parse(id).map_err(wrong)?;
            Region::parse(region).map(|region| Key::Endpoints(id, region)).map_err(wrong)
        }
        _ => {
            let known = Kind::ALL.into_iter().filter_map(Kind::subject).find(|known| known.name() == subject);
            let known: Subject = known.ok_or_else(|| format!("{subject:?} is no subject; write {FORMS}"))?;
            DocumentKey::parse(known, name).map(Key::Document).map_err(wrong)
        }
    }
}

/// A host name or a wildcard.
///
/// # Errors
/// What is wrong with it.
pub(super) fn pattern(text: &str) -> Result<HostName, String> {
    HostName::parse_pattern(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_as_they_are_shown() {
        for text in [
            "host:shop.example.com",
            "host:*.apps.example",
            "svc:svc_1",
            "eps:svc_1/oregon",
            "cert:*.apps.example",
            "acme:tok-1",
            "policy:strict",
            "ruleset:r",
            "origin:o",
            "ring:r",
            "deny:d",
            "bundle:b",
        ] {
            assert_eq!(key(text).map(|key| key.to_string()), Ok(text.to_owned()));
        }
        for wrong in
            ["", "host", "host:", "host:a b", "svc:a/b", "eps:svc_1", "eps:svc_1/", "polic:a", "policy:a b"]
        {
            assert!(key(wrong).is_err(), "{wrong}");
        }
    }
}
