#![allow(clippy::unwrap_used)] // a test that cannot set up must fail loudly
use std::collections::{BTreeMap, BTreeSet};

use ringway_state::record::Key;

use super::*;

const HOSTS: u64 = 10_000;
const SERVICES: u64 = 2_500;

fn local() -> Region {
    Region::parse("local").unwrap()
}

fn small() -> Dataset {
    Dataset::new(HOSTS, SERVICES, local(), standard_origins())
}

/// A share as a percentage.
#[allow(clippy::cast_precision_loss)] // small counts
fn percent(part: usize, whole: u64) -> f64 {
    part as f64 * 100.0 / whole as f64
}

#[test]
fn names_are_as_the_design_has_them() {
    let data = Dataset::standard(local());
    // Every 97th of four million.
    let ranks: Vec<u64> = (0..data.hosts()).step_by(97).collect();
    let names: Vec<String> = ranks.iter().map(|&rank| data.host(rank)).collect();
    let count = names.len() as u64;
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len() as u64, count, "no name twice");
    assert!(names.iter().all(|name| HostName::parse(name).unwrap().as_str() == name));
    let octets: usize = names.iter().map(String::len).sum();
    let mean = percent(octets, count) / 100.0;
    assert!((23.5..24.5).contains(&mean), "mean {mean} octets");
    let custom = ranks.iter().filter(|&&rank| data.class(rank) == Class::Custom).count();
    assert!((29.0..31.0).contains(&percent(custom, count)), "{custom} of {count} custom");
    let platform = names.iter().filter(|name| name.ends_with(".apps.example")).count();
    assert_eq!(custom + platform, names.len());
}

#[test]
fn no_name_is_given_twice() {
    assert_eq!((0..HOSTS).map(|rank| small().host(rank)).collect::<BTreeSet<_>>().len() as u64, HOSTS);
}

#[test]
fn the_first_names_never_change() {
    let data = Dataset::standard(local());
    let first_custom = (0..).find(|&rank| data.class(rank) == Class::Custom).unwrap();
    let of = |rank: u64| format!("{rank} {} {}", data.host(rank), data.service_id(data.service_of(rank)));
    let known = [0, first_custom, 3_999_999].map(of);
    assert_eq!(
        known,
        [
            "0 echo-caaaa.apps.example svc_0000000",
            "6 www.birchgrove-4d253.com svc_0000006",
            "3999999 willow-jhqgb.apps.example svc_00bffe5",
        ]
    );
}

#[test]
fn changes_make_one_whole_state() {
    let data = small();
    let origins: BTreeSet<SocketAddr> = standard_origins().into_iter().collect();
    assert_eq!(origins.len(), 64);
    let values: BTreeMap<Key, Record> =
        data.changes().map(|change| (change.record.key(), change.record)).collect();
    assert_eq!(values.len(), data.changes().count(), "no key twice");
    let mut endpoints = 0;
    let mut sets = 0;
    for record in values.values() {
        match record {
            Record::Host(_, Some(HostValue::Mapped { service, .. })) => {
                assert!(values.contains_key(&Key::Service(service.clone())), "{service}");
                assert!(
                    values.contains_key(&Key::Endpoints(service.clone(), local())),
                    "{service} is served here"
                );
            }
            Record::Endpoints(_, _, Some(set)) => {
                assert!((1..=4).contains(&set.as_slice().len()));
                assert!(set.as_slice().iter().all(|endpoint| origins.contains(&endpoint.address)));
                sets += 1;
                endpoints += set.as_slice().len();
            }
            Record::Service(_, Some(service)) => assert!((1..=3).contains(&service.regions.len())),
            other => panic!("{other:?}"),
        }
    }
    assert!(
        (1.95..2.05).contains(&(percent(endpoints, sets) / 100.0)),
        "{endpoints} endpoints in {sets} sets"
    );
    let used: BTreeSet<u64> = (0..HOSTS).map(|rank| data.service_of(rank)).collect();
    assert_eq!(used.len() as u64, SERVICES, "each service has a host");
}

#[test]
fn few_origins_are_enough() {
    let origin: SocketAddr = "127.0.0.1:9000".parse().unwrap();
    let data = Dataset::new(10, 5, local(), vec![origin]);
    assert!((0..5).all(|service| data.endpoints(service).iter().all(|(_, set)| *set == [origin])));
}

#[test]
fn ranks_are_drawn_by_zipf() {
    let mut zipf = Zipf::new(1_000, 1);
    let mut counts = vec![0_usize; 1_000];
    let draws = 1_000_000;
    for _ in 0..draws {
        counts[usize::try_from(zipf.draw()).unwrap()] += 1;
    }
    let harmonic: f64 = (1..=1_000).map(|k| 1.0 / f64::from(k)).sum();
    for (ranks, name) in
        [(0..1, "the first"), (1..2, "the second"), (9..10, "the tenth"), (500..1_000, "the last half")]
    {
        let expected: f64 =
            ranks.clone().map(|rank| 1.0 / f64::from(rank + 1)).sum::<f64>() / harmonic * 100.0;
        let range = usize::try_from(ranks.start).unwrap()..usize::try_from(ranks.end).unwrap();
        let drawn = percent(counts[range].iter().sum(), draws);
        assert!((drawn / expected - 1.0).abs() < 0.02, "{name}: {drawn} % instead of {expected} %");
    }
}

#[test]
fn zipf_over_little_stays_within() {
    for hosts in [1, 2, 3] {
        let mut zipf = Zipf::new(hosts, 9);
        assert!((0..1_000).all(|_| zipf.draw() < hosts));
    }
}
