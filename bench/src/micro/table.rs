//! The route table: look-ups in random order beside a pointer chase over as many octets, and changes applied.
use std::hint::black_box;
use std::sync::Arc;

use ringway_state::record::{Change, Class, HostValue, Record, Version};
use ringway_state::snapshot::Snapshot;
use ringway_state::{HostHit, Outcome, ServiceRef, Table, View, id::HostName, id::ServiceId};

use super::chase::{Chase, shuffle};
use super::timing::Case;
use crate::data_set::{DataSet, local};
use crate::failure::Failure;

pub(super) const NAMES: [&str; 6] = [CHASE, "look-up", IN_A_ROW, ENDPOINT, "apply", "apply and publish"];
const CHASE: &str = "pointer chase";
const IN_A_ROW: &str = "look-up, in a row";
const ENDPOINT: &str = "look-up and endpoint";

/// Names looked up: enough that none is still in a cache when its turn comes again.
const NAMES_MAX: u64 = 1_000_000;
/// Keys that changes go round: a busy second's worth, each overwriting itself.
const CHANGED_KEYS: u64 = 1_000;

pub(super) fn cases(data_set: &DataSet) -> Result<Vec<Case>, Failure> {
    let snapshot = Snapshot::open(data_set.snapshot()).map_err(|error| Failure::Snapshot {
        path: data_set.snapshot().to_owned(),
        what: error.to_string(),
    })?;
    let octets = usize::try_from(snapshot.octets()).unwrap_or(usize::MAX);
    let base = Arc::new(snapshot);
    let view = Table::with_base(Arc::clone(&base), &local()).publish();
    let names = Arc::new(Names::shuffled(data_set));
    let note = format!("{} names, {:.0} MB", data_set.hosts(), octets as f64 / 1e6);
    let mut chase = Chase::over(octets)?;
    Ok(vec![
        Case::new(CHASE, "one dependent load, 4 KiB pages, as many octets", move |count| chase.follow(count)),
        look_up("look-up", note.clone(), Arc::clone(&names), view.clone()).beside(CHASE),
        look_up_in_a_row(note.clone(), Arc::clone(&names), view.clone()).beside(CHASE),
        look_up_and_endpoint(note, names, view).beside(CHASE),
        apply("apply", Table::with_base(Arc::clone(&base), &local()), false),
        apply("apply and publish", Table::with_base(base, &local()), true),
    ])
}

fn look_up(name: &'static str, note: String, names: Arc<Names>, view: View) -> Case {
    let mut at = 0;
    Case::new(name, format!("host → service record; {note}"), move |count| {
        (0..count).fold(0, |sum, _| {
            let found =
                view.host(names.next(&mut at)).and_then(service_of).map_or(0, |service| service.id().len());
            sum + found as u64
        })
    })
}

/// Each look-up starts only when the one before has answered, as the chase must.
fn look_up_in_a_row(note: String, names: Arc<Names>, view: View) -> Case {
    let mut at = 0;
    Case::new(IN_A_ROW, format!("each waits for the one before; {note}"), move |count| {
        for _ in 0..count {
            let found =
                view.host(names.next(&mut at)).and_then(service_of).map_or(0, |service| service.id().len());
            at += black_box(found) >> 32; // zero, but known only from the answer
        }
        at as u64
    })
}

fn look_up_and_endpoint(note: String, names: Arc<Names>, view: View) -> Case {
    let mut at = 0;
    Case::new(ENDPOINT, format!("host → service → one endpoint; {note}"), move |count| {
        (0..count).fold(0, |sum, _| {
            let service = view.host(names.next(&mut at)).and_then(service_of);
            let endpoint = service.and_then(|service| service.endpoints(view.local()).get(0));
            sum + endpoint.map_or(0, |endpoint| u64::from(endpoint.address.port()))
        })
    })
}

/// Changes of host names, each newer than its key's last.
fn apply(name: &'static str, mut table: Table, publish: bool) -> Case {
    let mut counter = 0_u64;
    let hosts: Vec<Record> = (0..CHANGED_KEYS).filter_map(host_record).collect();
    Case::new(name, format!("host name changes on {CHANGED_KEYS} keys, cloned in"), move |count| {
        let applied = (0..count).filter(|_| {
            counter += 1;
            let at = usize::try_from(counter % CHANGED_KEYS).unwrap_or(0);
            let change = Change { version: Version::new(2, counter), record: hosts[at].clone() };
            let outcome = table.apply(change);
            if publish {
                black_box(table.publish());
            }
            matches!(outcome, Outcome::Applied)
        });
        let applied = applied.count() as u64;
        assert_eq!(applied, count, "every change is newer than its key's last");
        applied
    })
}

fn host_record(number: u64) -> Option<Record> {
    let host = HostName::parse(&format!("changing-{number}.apps.example")).ok()?;
    let service = ServiceId::parse(&format!("svc_{number:07x}")).ok()?;
    Some(Record::Host(host, Some(HostValue::Mapped { service, class: Class::Platform })))
}

fn service_of(hit: HostHit<'_>) -> Option<ServiceRef<'_>> {
    match hit {
        HostHit::Service(service) => Some(service),
        _ => None,
    }
}

/// Host names in random order, packed, so that fetching one costs next to nothing.
struct Names {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Names {
    fn shuffled(data_set: &DataSet) -> Self {
        let step = data_set.hosts().div_ceil(NAMES_MAX).max(1);
        let mut ranks: Vec<u64> = (0..data_set.hosts()).filter(|rank| rank.is_multiple_of(step)).collect();
        shuffle(&mut ranks);
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for rank in ranks {
            text.extend_from_slice(data_set.names().host(rank).as_bytes());
            ends.push(text.len());
        }
        Self { text, ends }
    }

    /// The name at `at`, which moves on and round.
    fn next(&self, at: &mut usize) -> &[u8] {
        let here = if *at < self.ends.len() { *at } else { 0 };
        *at = here + 1;
        let start = here.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[here]]
    }
}
