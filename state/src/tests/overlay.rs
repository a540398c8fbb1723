//! The overlay's bounds hold, and what it refuses leaves no trace.

use super::world;
use crate::{
    Outcome, Refusal, Table,
    id::{HostName, Reason},
    limits::{ENDPOINTS_PER_SET_MAX, OVERLAY_KEYS_MAX, OVERLAY_OCTETS_MAX},
    record::{Change, Endpoint, EndpointSet, EndpointState, HostValue, Record, Version},
};

fn tombstone(n: usize, counter: u64) -> Change {
    let reason = Reason::parse("takedown").unwrap();
    let name = HostName::parse(&format!("host-{n}.example")).unwrap();
    let record = Record::Host(name, Some(HostValue::Tombstone { reason }));
    Change { version: Version::new(1, counter), record }
}

#[test]
fn as_many_keys_as_the_bound_says() {
    let mut table = Table::new(&world::region(0));
    for n in 0..OVERLAY_KEYS_MAX {
        assert_eq!(table.apply(tombstone(n, 1)), Outcome::Applied);
    }
    let (digest, size) = (table.digest(), table.overlay_size());
    assert_eq!(size.0, OVERLAY_KEYS_MAX);
    assert_eq!(table.apply(tombstone(OVERLAY_KEYS_MAX, 1)), Outcome::Refused(Refusal::OverlayKeys));
    assert_eq!((table.digest(), table.overlay_size()), (digest, size));
    assert!(table.publish().host(format!("host-{OVERLAY_KEYS_MAX}.example").as_bytes()).is_none());
    assert_eq!(
        table.apply(tombstone(0, 2)),
        Outcome::Applied,
        "a key that is there already takes no more room"
    );
    assert_eq!(table.overlay_size(), size);
}

#[test]
fn as_many_octets_as_the_bound_says() {
    let endpoints = (0..ENDPOINTS_PER_SET_MAX).map(|n| {
        let ip = u32::try_from(n).unwrap().to_be_bytes();
        Endpoint { address: (ip, 80).into(), state: EndpointState::Healthy }
    });
    let set = EndpointSet::new(endpoints).unwrap();
    let of = |n: usize| {
        let service = crate::id::ServiceId::parse(&format!("svc_{n}")).unwrap();
        Change {
            version: Version::new(1, 1),
            record: Record::Endpoints(service, world::region(0), Some(set.clone())),
        }
    };
    let mut table = Table::new(&world::region(0));
    let applied = (0..).take_while(|&n| table.apply(of(n)) == Outcome::Applied).count();
    assert_eq!(table.apply(of(applied)), Outcome::Refused(Refusal::OverlayOctets));
    let (keys, octets) = table.overlay_size();
    assert_eq!(keys, applied);
    assert!(octets <= OVERLAY_OCTETS_MAX, "{octets}");
    assert!(octets > OVERLAY_OCTETS_MAX - (1 << 20), "{octets}: refused too early");
    assert_eq!(table.apply(tombstone(0, 1)), Outcome::Applied, "something small still fits");
}
