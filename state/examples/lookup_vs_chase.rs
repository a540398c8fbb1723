//! Look-ups in the standard data set beside a pointer chase over as many octets, taking turns on one core.
//!
//! `cargo run --release -p ringway-state --example lookup_vs_chase -- FILE [HOSTS]` builds FILE if it is not
//! there. Pin it: `taskset -c 1`. A look-up takes host octets to the service's record, the whole name
//! compared; "in a row" starts each look-up only when the one before has answered, as the chase must, "at
//! once" lets the processor overlap them.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)] // figures; fails loudly
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // of figures

mod common;

use std::{
    hint::black_box,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use common::{Names, ROUNDS, cpu_nanoseconds, dataset, endpoint, median, service, shuffle, status};
use memmap2::{Advice, MmapMut};
use ringway_state::{Table, View, snapshot::Snapshot};

const LINE: usize = 64;

fn main() {
    let (data, path) = common::given();
    let view = open(&data, &path);
    compare(&data, &view);
}

fn open(data: &dataset::Dataset, path: &Path) -> View {
    let name = data.host(data.hosts() - 1);
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let table = Table::with_base(Arc::new(Snapshot::open(path).unwrap()), data.local());
            assert!(table.publish().host(name.as_bytes()).is_some());
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("open to first answer: median {:.1?}, worst {:.1?}", times[ROUNDS / 2], times[ROUNDS - 1]);
    let table = Table::with_base(Arc::new(Snapshot::open(path).unwrap()), data.local());
    println!("private memory, open: {} KiB", status("RssAnon"));
    table.publish()
}

fn compare(data: &dataset::Dataset, view: &View) {
    let names = Names::shuffled(data);
    let octets = usize::try_from(view.base().unwrap().octets()).unwrap();
    let chase = Chase::over(octets);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push([
            chase.run(names.count()),
            names.run(|name, _| usize::from(service(view, name).is_some())),
            names.run_in_a_row(|name| service(view, name).map(|service| service.class() as usize)),
            names.run(|name, _| service(view, name).unwrap().id().len()),
            names.run(|name, at| endpoint(view, service(view, name).unwrap(), at)),
        ]);
    }
    let labels = [
        "pointer chase",
        "host → service record, at once",
        "host → service record, in a row",
        "host → service → id",
        "host → service → endpoint",
    ];
    let median = |column: usize| median(rounds.iter().map(|round| round[column]).collect());
    for (column, label) in labels.iter().enumerate() {
        println!("{label:32} {:7.1} ns  {:5.2} × chase", median(column), median(column) / median(0));
    }
}

/// A ring through all lines of a mapping with 4 KiB pages, in random order.
struct Chase(MmapMut);

impl Chase {
    fn over(octets: usize) -> Self {
        let lines = octets / LINE;
        let mut map = MmapMut::map_anon(lines * LINE).unwrap();
        map.advise(Advice::NoHugePage).unwrap();
        let mut order: Vec<usize> = (0..lines).collect();
        shuffle(&mut order);
        for (&here, &next) in order.iter().zip(order.iter().cycle().skip(1)) {
            map[here * LINE..here * LINE + 8].copy_from_slice(&(next * LINE).to_le_bytes());
        }
        Self(map)
    }

    /// Nanoseconds for one step.
    fn run(&self, steps: usize) -> f64 {
        let (start, mut at) = (cpu_nanoseconds(), 0);
        for _ in 0..steps {
            at = usize::from_le_bytes(self.0[at..at + 8].try_into().unwrap());
        }
        black_box(at);
        (cpu_nanoseconds() - start) as f64 / steps as f64
    }
}
