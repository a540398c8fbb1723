//! Look-ups through overlay and four levels beside the base alone, and what changes cost the writer.
//!
//! `cargo run --release -p ringway-state --example layers_vs_base -- FILE FOLDER [HOSTS]` builds the base FILE if it is
//! not there, and levels in FOLDER. Pin it: `taskset -c 1`. Levels have 32,768 keys, and 2, 4 and 8 times as many, and
//! the overlay 32,768; half of the changes move a host name to another service, half replace an endpoint set.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)] // figures; fails loudly
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // of figures

mod common;

use std::{collections::VecDeque, path::Path, sync::Arc};

use common::{Names, ROUNDS, RequestWork, Steps, asked, build, dataset, endpoint, median, service};
use ringway_state::{
    Layer, Outcome, Retired, Table, View, Work,
    hash::splitmix64,
    id::{HostName, Region, ServiceId},
    limits::OVERLAY_FLUSH_KEYS,
    record::{Change, Endpoint, EndpointSet, EndpointState, HostValue, Key, Record, Version},
    snapshot::Snapshot,
};

/// Of a request's work, in which its look-up is asked for: about a microsecond.
const READINGS: usize = 200;
/// Views that the writer keeps until cores have taken later ones.
const KEPT: usize = 4;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (path, folder) = (arguments.next().expect("FILE"), arguments.next().expect("FOLDER"));
    let hosts: u64 = arguments.next().map_or(dataset::STANDARD_HOSTS, |hosts| hosts.parse().unwrap());
    let local = Region::parse("local").unwrap();
    let data = common::data_set(hosts, &local);
    build(&data, Path::new(&path));
    let base = Arc::new(Snapshot::open(Path::new(&path)).unwrap());
    let mut writer = Writer::new(&data, Table::with_base(Arc::clone(&base), &local), Path::new(&folder));
    for flushes in [8, 4, 2, 1] {
        writer.make_level(flushes);
    }
    writer.fill_overlay();
    let layered = writer.table.publish();
    let levels: Vec<u64> = layered.levels().iter().map(|level| level.octets() >> 10).collect();
    println!(
        "levels of {levels:?} KiB, newest first; overlay of {:?} keys and octets",
        writer.table.overlay_size()
    );
    let bare = Table::with_base(base, &local).publish();
    let names = Names::shuffled(&data);
    compare(&names, "names of all layers", &bare, &layered);
    let layer = |name: &[u8]| {
        let name = HostName::parse(std::str::from_utf8(name).unwrap()).unwrap();
        layered.stored(&Key::Host(name)).unwrap().layer
    };
    let is_new = |name: &[u8]| layer(name) != Layer::Base;
    let has_new_set = |name: &[u8]| {
        let id = ServiceId::parse(service(&layered, name).unwrap().id()).unwrap();
        layered.stored(&Key::Endpoints(id, local.clone())).unwrap().layer != Layer::Base
    };
    let old = names.only(|name| !is_new(name));
    compare(&old.only(|name| !has_new_set(name)), "names of which all is in the base", &bare, &layered);
    compare(&old.only(has_new_set), "names with endpoints above it", &bare, &layered);
    compare(&names.only(is_new), "names above it", &bare, &layered);
    writer.print();
}

fn compare(names: &Names, label: &str, bare: &View, layered: &View) {
    println!("{} {label}:", names.count());
    let work = RequestWork::new();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push([bare, layered].map(|view| measure(names, view, &work)));
    }
    for (row, label) in LABELS.iter().enumerate() {
        let of = |view: usize| median(rounds.iter().map(|round| round[view][row]).collect());
        let ratio = median(rounds.iter().map(|round| round[1][row] / round[0][row]).collect());
        println!("{label:41} base {:7.1} ns, all layers {:7.1} ns: {ratio:.2} ×", of(0), of(1));
    }
}

const LABELS: [&str; 6] = [
    "host → service record, at once",
    "host → service record, in a row",
    "host → service → endpoint, at once",
    "host → service → endpoint, in a row",
    "work and host → service record, asked for",
    "work and host → service → endpoint, same",
];

/// Nanoseconds for one.
fn measure(names: &Names, view: &View, work: &RequestWork) -> [f64; 6] {
    let worked = |name: &[u8]| asked(view, name, name.len(), (work, READINGS)) & 1;
    [
        names.run(|name, _| usize::from(service(view, name).is_some())),
        names.run_in_a_row(|name| service(view, name).map(|service| service.class() as usize)),
        names.run(|name, at| endpoint(view, service(view, name).unwrap(), at)),
        names.run_in_a_row(|name| Some(endpoint(view, service(view, name)?, name.len()))),
        names.run_in_a_row(|name| Some(worked(name) + service(view, name)?.class() as usize)),
        names.run_in_a_row(|name| Some(worked(name) + endpoint(view, service(view, name)?, name.len()))),
    ]
}

struct Writer<'a> {
    data: &'a dataset::Dataset,
    table: Table,
    folder: &'a Path,
    files: u32,
    random: u64,
    counter: u64,
    kept: VecDeque<View>,
    /// What was replaced, and how many views are still to be published before it goes.
    retired: Option<(usize, Retired)>,
    applied: Steps,
    published: Steps,
    flushed: Steps,
    installed: Steps,
}

impl<'a> Writer<'a> {
    fn new(data: &'a dataset::Dataset, table: Table, folder: &'a Path) -> Self {
        let steps = Steps::default;
        Self {
            data,
            table,
            folder,
            files: 0,
            random: 1,
            counter: 1,
            kept: VecDeque::new(),
            retired: None,
            applied: steps(),
            published: steps(),
            flushed: steps(),
            installed: steps(),
        }
    }

    fn make_level(&mut self, flushes: u32) {
        for flush in 0..flushes {
            self.fill_overlay();
            let work = self.flushed.time(|| self.table.flush(Vec::new()).unwrap());
            // What a second or two of building leaves time for.
            (0..1_000).for_each(|_| self.apply());
            self.build(work);
            if flush > 0 {
                let work = self.table.merge(0..2).unwrap();
                self.build(work);
            }
        }
    }

    fn build(&mut self, work: Work) {
        self.files += 1;
        let path = self.folder.join(format!("{}.level", self.files));
        let built = work.build(&path, &mut |_| ()).unwrap();
        let retired = self.installed.time(|| self.table.install(&built).unwrap());
        retired.files.iter().for_each(|file| std::fs::remove_file(file.path()).unwrap());
        while self.retired.is_some() {
            self.publish();
        }
        self.retired = Some((2 * KEPT, retired));
    }

    fn fill_overlay(&mut self) {
        while self.table.overlay_size().0 < OVERLAY_FLUSH_KEYS {
            self.apply();
        }
    }

    /// One change, published at once: the dearest way.
    fn apply(&mut self) {
        self.counter += 1;
        let version = Version::new(2, self.counter);
        let service = splitmix64(&mut self.random) % self.data.services();
        let service = ServiceId::parse(&self.data.service_id(service)).unwrap();
        let record = if self.counter.is_multiple_of(2) {
            let rank = splitmix64(&mut self.random) % self.data.hosts();
            let value = HostValue::Mapped { service, class: self.data.class(rank) };
            Record::Host(HostName::parse(&self.data.host(rank)).unwrap(), Some(value))
        } else {
            let origins = dataset::standard_origins().into_iter().step_by(30);
            let set = origins.map(|address| Endpoint { address, state: EndpointState::Healthy });
            Record::Endpoints(
                service,
                self.table.publish().local().name().clone(),
                Some(EndpointSet::new(set).unwrap()),
            )
        };
        let outcome = self.applied.time(|| self.table.apply(Change { version, record }));
        assert_eq!(outcome, Outcome::Applied);
        self.publish();
    }

    fn publish(&mut self) {
        let (table, kept) = (&self.table, &mut self.kept);
        self.published.time(|| {
            kept.push_back(table.publish());
            if kept.len() > KEPT {
                kept.pop_front();
            }
        });
        // A thread of its own frees it in a router: that takes as long as thousands of changes.
        self.retired =
            self.retired.take().and_then(|(views, retired)| Some((views.checked_sub(1)?, retired)));
    }

    fn print(self) {
        self.applied.print("apply");
        self.published.print("publish, and free what is older");
        self.flushed.print("take a flush");
        self.installed.print("install a level");
    }
}
