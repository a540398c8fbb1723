//! A small world of keys, so that changes meet: what each key's writer says at each version, and how a view
//! is compared with the model.

use std::{
    net::{IpAddr, SocketAddr},
    sync::LazyLock,
};

use proptest::prelude::*;

use crate::{
    HostHit, RegionKey, Table, View,
    hash::{hash64, splitmix64},
    id::{HostName, OwnerId, PolicyId, Reason, Region, ServiceId},
    json::Json,
    model::Model,
    record::{
        Change, Class, Document, DocumentKey, Endpoint, EndpointSet, EndpointState, HostValue, Key, Kind,
        Record, Service, Subject, Version,
    },
};

const HOSTS: u8 = 12;
const WILDCARDS: u8 = 3;
const DOCUMENTS: u8 = 16;
const SERVICES: u8 = 6;
const REGIONS: u8 = 3;

/// Any change that some writer of this world may send.
pub(crate) fn changes() -> impl Strategy<Value = Change> {
    let versions = (0_u64..3, 0_u64..6).prop_map(|(epoch, counter)| Version::new(epoch, counter));
    (keys(), versions).prop_map(|(key, version)| said(&key, version))
}

pub(crate) fn keys() -> impl Strategy<Value = Key> {
    prop_oneof![
        (0..HOSTS + WILDCARDS).prop_map(|n| Key::Host(host(n))),
        (0..SERVICES).prop_map(|n| Key::Service(service(n))),
        (0..SERVICES, 0..REGIONS).prop_map(|(n, at)| Key::Endpoints(service(n), region(at))),
        (0..DOCUMENTS).prop_map(|n| Key::Document(document_key(n))),
    ]
}

pub(crate) fn all_keys() -> impl Iterator<Item = Key> {
    KEYS.iter().cloned()
}

static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let hosts = (0..HOSTS + WILDCARDS).map(|n| Key::Host(host(n)));
    let services = (0..SERVICES).map(|n| Key::Service(service(n)));
    let sets = (0..SERVICES).flat_map(|n| (0..REGIONS).map(move |at| Key::Endpoints(service(n), region(at))));
    let documents = (0..DOCUMENTS).map(|n| Key::Document(document_key(n)));
    hosts.chain(services).chain(sets).chain(documents).collect()
});

/// Two names for each subject, the same two for all.
fn document_key(n: u8) -> DocumentKey {
    let subjects = [
        Subject::Cert,
        Subject::Acme,
        Subject::Policy,
        Subject::Ruleset,
        Subject::Origin,
        Subject::Ring,
        Subject::Deny,
        Subject::Bundle,
    ];
    DocumentKey::parse(subjects[usize::from(n / 2)], ["a", "svc-0.example"][usize::from(n % 2)]).unwrap()
}

/// Names that are asked for: keys, and others that may fall to a wildcard.
pub(crate) fn asked() -> Vec<String> {
    let keys = (0..HOSTS + WILDCARDS).map(|n| host(n).to_string());
    let others = [
        "other.apps.example",
        "other.deep.apps.example",
        "more.other.apps.example",
        "apps.example",
        "other.example",
        "unknown.test",
        "*.other.apps.example",
        "*",
        "*.",
        ".apps.example",
        ".",
        "",
    ];
    keys.chain(others.map(str::to_owned)).collect()
}

/// Names of 1 to 253 octets, then wildcards.
fn host(n: u8) -> HostName {
    let label = "x".repeat(usize::from(n) * 5);
    let name = match n {
        0 => "a".to_owned(),
        1 => format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61)),
        HOSTS.. => ["*.apps.example", "*.deep.apps.example", "*.example"][usize::from(n - HOSTS)].to_owned(),
        _ => format!("h{n}-{label}.apps.example"),
    };
    HostName::parse_pattern(&name).unwrap()
}

pub(crate) fn service(n: u8) -> ServiceId {
    ServiceId::parse(&format!("svc_{n}")).unwrap()
}

pub(crate) fn region(n: u8) -> Region {
    Region::parse(["local", "oregon", "eu-1"][usize::from(n)]).unwrap()
}

/// The one value that the key's writer gave this version.
pub(crate) fn said(key: &Key, version: Version) -> Change {
    let mut random = hash64(1, format!("{key} {version}").as_bytes());
    let removed = splitmix64(&mut random).is_multiple_of(5);
    let record = match key.clone() {
        Key::Host(name) => Record::Host(name, (!removed).then(|| host_value(&mut random))),
        Key::Service(id) => Record::Service(id, (!removed).then(|| service_value(&mut random))),
        Key::Endpoints(id, region) => {
            Record::Endpoints(id, region, (!removed).then(|| endpoint_set(&mut random)))
        }
        Key::Document(key) => {
            let value = (!removed).then(|| document(key.subject(), &mut random));
            Record::Document(key, value)
        }
    };
    Change { version, record }
}

fn host_value(random: &mut u64) -> HostValue {
    if splitmix64(random).is_multiple_of(4) {
        return HostValue::Tombstone { reason: Reason::parse("transfer").unwrap() };
    }
    let class = if splitmix64(random).is_multiple_of(2) { Class::Custom } else { Class::Platform };
    HostValue::Mapped { service: service(below(SERVICES, random)), class }
}

fn service_value(random: &mut u64) -> Service {
    let mut regions: Vec<_> = (0..REGIONS).map(|n| (region(n), u16::from(below(101, random)))).collect();
    regions.sort_unstable();
    regions.truncate(usize::from(below(REGIONS + 1, random)));
    Service {
        owner: OwnerId::parse(&format!("usr_{}", below(9, random))).unwrap(),
        home_region: region(below(REGIONS, random)),
        regions,
        policy: splitmix64(random).is_multiple_of(2).then(|| PolicyId::parse("strict").unwrap()),
    }
}

fn endpoint_set(random: &mut u64) -> EndpointSet {
    let states =
        [EndpointState::Starting, EndpointState::Healthy, EndpointState::Draining, EndpointState::Dead];
    let endpoints = (0..below(5, random)).map(|n| {
        let ip = if splitmix64(random).is_multiple_of(2) {
            IpAddr::from([10, 0, 0, n])
        } else {
            IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(n)])
        };
        let port = 1 + u16::from(below(255, random));
        Endpoint { address: SocketAddr::new(ip, port), state: states[usize::from(below(4, random))] }
    });
    EndpointSet::new(endpoints).unwrap()
}

fn document(subject: Subject, random: &mut u64) -> Document {
    let kind = match subject {
        Subject::Cert if splitmix64(random).is_multiple_of(2) => Kind::CertRotated,
        other => other.kind(),
    };
    let members = [
        ("text", Json::Text(["plain", "\u{fc}ml\"aut\n\u{1}", ""][usize::from(below(3, random))].to_owned())),
        ("double", Json::Double(f64::from(below(200, random)) / 7.0)),
        ("negative", Json::Negative(-1 - i64::from(below(9, random)))),
        ("array", Json::Array(vec![Json::Null, Json::Bool(true), Json::Unsigned(u64::MAX)])),
        (
            "object",
            Json::Object(vec![("z".to_owned(), Json::Null), ("a".to_owned(), Json::Object(Vec::new()))]),
        ),
    ];
    let members = members.into_iter().filter(|_| below(2, random) == 0);
    Document::of_members(kind, members.map(|(name, value)| (name.to_owned(), value)).collect()).unwrap()
}

fn below(bound: u8, random: &mut u64) -> u8 {
    u8::try_from(splitmix64(random) % u64::from(bound)).unwrap()
}

/// All regions as another table knows them.
static STRANGE: LazyLock<Vec<RegionKey>> =
    LazyLock::new(|| (0..REGIONS).map(|n| Table::new(&region(n)).publish().local().clone()).collect());

/// Every question that a view answers, answered as the model does.
pub(crate) fn assert_equal(view: &View, model: &Model) {
    let mut stored: Vec<Change> = view.changes().map(Result::unwrap).collect();
    stored.sort_by_key(|change| change.record.key());
    assert_eq!(stored, model.changes().cloned().collect::<Vec<_>>(), "each key once, with its newest value");
    for key in all_keys() {
        assert_eq!(view.change(&key).as_ref(), model.change(&key), "{key}");
        if let Key::Document(key) = &key {
            let found = view.document(key).map(|found| (found.kind, found.text));
            assert_eq!(found, model.document(key).map(|known| (known.kind(), known.as_str())), "{key}");
        }
    }
    for name in asked() {
        assert_answer(view, model, &name);
    }
}

fn assert_answer(view: &View, model: &Model, name: &str) {
    match (view.host(name.as_bytes()), model.answer(name)) {
        (None, None) => {}
        (Some(HostHit::Tombstone { reason }), Some(HostValue::Tombstone { reason: wanted })) => {
            assert_eq!(reason, wanted.as_str(), "{name}");
        }
        (Some(HostHit::Service(found)), Some(HostValue::Mapped { service, class })) => {
            assert_eq!((found.id(), found.class()), (service.as_str(), *class), "{name}");
            assert_eq!(found.is_known(), model.is_known(service), "{name}");
            for region in (0..REGIONS).map(region) {
                let endpoints = found.endpoints(&view.region(&region));
                let wanted = model.endpoints(service, &region);
                assert_eq!(endpoints.iter().collect::<Vec<_>>(), wanted, "{name} in {region}");
                assert_eq!(endpoints.get(wanted.len()), None);
            }
            for region in STRANGE.iter() {
                let endpoints = found.endpoints(region);
                assert_eq!(
                    endpoints.iter().collect::<Vec<_>>(),
                    model.endpoints(service, region.name()),
                    "{name}"
                );
            }
        }
        (Some(HostHit::Service(found)), wanted) => panic!("{name}: {} instead of {wanted:?}", found.id()),
        (Some(HostHit::Tombstone { .. }), wanted) => panic!("{name}: a tombstone instead of {wanted:?}"),
        (None, wanted) => panic!("{name}: nothing instead of {wanted:?}"),
    }
    if let Ok(name) = HostName::parse(name) {
        let key = view.host_key(&name);
        assert_eq!(key.is_some(), model.answer(name.as_str()).is_some(), "{name}");
        assert_eq!(key.and_then(|key| model.host(&key)), model.answer(name.as_str()), "{name}");
    }
}
