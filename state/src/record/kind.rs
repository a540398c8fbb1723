//! What a change can be about, as the log names it.

use std::fmt;

/// The kinds of design section 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    Service,
    EndpointSet,
    DomainMap,
    Tombstone,
    CertReady,
    CertRotated,
    AcmeChallenge,
    Policy,
    Ruleset,
    Origin,
    Ring,
    DenyList,
    ConfigBundle,
}

impl Kind {
    pub const ALL: [Kind; 13] = [
        Kind::Service,
        Kind::EndpointSet,
        Kind::DomainMap,
        Kind::Tombstone,
        Kind::CertReady,
        Kind::CertRotated,
        Kind::AcmeChallenge,
        Kind::Policy,
        Kind::Ruleset,
        Kind::Origin,
        Kind::Ring,
        Kind::DenyList,
        Kind::ConfigBundle,
    ];

    /// As a change's `kind` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Service => "service",
            Kind::EndpointSet => "endpoint_set",
            Kind::DomainMap => "domain_map",
            Kind::Tombstone => "tombstone",
            Kind::CertReady => "cert_ready",
            Kind::CertRotated => "cert_rotated",
            Kind::AcmeChallenge => "acme_challenge",
            Kind::Policy => "policy",
            Kind::Ruleset => "ruleset",
            Kind::Origin => "origin",
            Kind::Ring => "ring",
            Kind::DenyList => "deny_list",
            Kind::ConfigBundle => "config_bundle",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What a document of this kind is about; `None` for kinds whose members this package reads.
    pub const fn subject(self) -> Option<Subject> {
        Some(match self {
            Kind::Service | Kind::EndpointSet | Kind::DomainMap | Kind::Tombstone => return None,
            Kind::CertReady | Kind::CertRotated => Subject::Cert,
            Kind::AcmeChallenge => Subject::Acme,
            Kind::Policy => Subject::Policy,
            Kind::Ruleset => Subject::Ruleset,
            Kind::Origin => Subject::Origin,
            Kind::Ring => Subject::Ring,
            Kind::DenyList => Subject::Deny,
            Kind::ConfigBundle => Subject::Bundle,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a document is about: the first part of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Subject {
    /// A certificate, by its host name.
    Cert,
    /// A challenge, by its token.
    Acme,
    Policy,
    Ruleset,
    Origin,
    Ring,
    Deny,
    Bundle,
}

impl Subject {
    /// As keys have it, in front of the colon.
    pub const fn name(self) -> &'static str {
        match self {
            Subject::Cert => "cert",
            Subject::Acme => "acme",
            Subject::Policy => "policy",
            Subject::Ruleset => "ruleset",
            Subject::Origin => "origin",
            Subject::Ring => "ring",
            Subject::Deny => "deny",
            Subject::Bundle => "bundle",
        }
    }

    /// The member of a change that names it.
    pub const fn member(self) -> &'static str {
        match self {
            Subject::Cert => "hostname",
            Subject::Acme => "token",
            _ => self.name(),
        }
    }

    /// The kind of its removal, and of its values unless there are two.
    pub const fn kind(self) -> Kind {
        match self {
            Subject::Cert => Kind::CertReady,
            Subject::Acme => Kind::AcmeChallenge,
            Subject::Policy => Kind::Policy,
            Subject::Ruleset => Kind::Ruleset,
            Subject::Origin => Kind::Origin,
            Subject::Ring => Kind::Ring,
            Subject::Deny => Kind::DenyList,
            Subject::Bundle => Kind::ConfigBundle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_read_by_its_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.name()), Some(kind));
            if let Some(subject) = kind.subject() {
                assert_eq!(subject.kind().subject(), Some(subject));
            }
        }
        assert_eq!(Kind::parse("from_the_future"), None);
    }
}
