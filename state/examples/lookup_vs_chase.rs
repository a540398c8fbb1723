//! Look-ups in the standard data set beside a pointer chase over as many octets, taking turns on one core.
//!
//! `cargo run --release -p ringway-state --example lookup_vs_chase -- FILE [HOSTS]` builds FILE if it is not
//! there. Pin it: `taskset -c 1`. A look-up takes host octets to the service's record, the whole name
//! compared; "in a row" starts each look-up only when the one before has answered, as the chase must, "at
//! once" lets the processor overlap them.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)] // figures; fails loudly

// The generator's own package depends on more than look-ups need.
#[allow(dead_code, unreachable_pub)]
#[path = "../../loadgen/src/dataset.rs"]
mod dataset;

use std::{
    hint::black_box,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use memmap2::{Advice, MmapMut};
use ringway_state::{
    HostHit, ServiceRef, Table, View,
    hash::splitmix64,
    id::Region,
    snapshot::{self, BuildOptions, Snapshot},
};

const ROUNDS: usize = 7;
const LINE: usize = 64;
/// Look-ups in a round: enough to pass through all caches many times.
const SAMPLE: usize = 1_000_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("FILE");
    let hosts: u64 = arguments.next().map_or(dataset::STANDARD_HOSTS, |hosts| hosts.parse().unwrap());
    let local = Region::parse("local").unwrap();
    let data = dataset::Dataset::new(hosts, hosts / 4, local.clone(), dataset::standard_origins());
    build(&data, Path::new(&path));
    let view = open(&data, Path::new(&path), &local);
    compare(&data, &view);
}

fn build(data: &dataset::Dataset, path: &Path) {
    if path.exists() {
        return;
    }
    let start = Instant::now();
    let options = BuildOptions { seed: Some(1), ..BuildOptions::default() };
    let stats = snapshot::build(data.changes(), path, &options, &mut |_| ()).unwrap();
    println!("built in {:.1?}: {} octets, {:?}", start.elapsed(), stats.file_octets, stats.counts);
}

fn open(data: &dataset::Dataset, path: &Path, local: &Region) -> View {
    let name = data.host(data.hosts() - 1);
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let table = Table::with_base(Arc::new(Snapshot::open(path).unwrap()), local);
            assert!(table.publish().host(name.as_bytes()).is_some());
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("open to first answer: median {:.1?}, worst {:.1?}", times[ROUNDS / 2], times[ROUNDS - 1]);
    let table = Table::with_base(Arc::new(Snapshot::open(path).unwrap()), local);
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
    let median = |column: usize| {
        let mut times: Vec<f64> = rounds.iter().map(|round| round[column]).collect();
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    };
    for (column, label) in labels.iter().enumerate() {
        println!("{label:32} {:7.1} ns  {:5.2} × chase", median(column), median(column) / median(0));
    }
}

fn service<'v>(view: &'v View, name: &[u8]) -> Option<ServiceRef<'v>> {
    match view.host(name) {
        Some(HostHit::Service(service)) => Some(service),
        _ => None,
    }
}

fn endpoint(view: &View, service: ServiceRef<'_>, at: usize) -> usize {
    let endpoints = service.endpoints(view.local());
    let endpoint = endpoints.get(at % endpoints.len()).unwrap();
    usize::from(endpoint.address.port())
}

/// Host names drawn at random, packed, so that fetching them costs next to nothing.
struct Names {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Names {
    fn shuffled(data: &dataset::Dataset) -> Self {
        let mut ranks: Vec<u64> = (0..data.hosts()).collect();
        shuffle(&mut ranks);
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for rank in ranks.into_iter().take(SAMPLE) {
            text.extend_from_slice(data.host(rank).as_bytes());
            ends.push(text.len());
        }
        Self { text, ends }
    }

    fn count(&self) -> usize {
        self.ends.len()
    }

    /// Nanoseconds for one of `each`.
    fn run(&self, each: impl Fn(&[u8], usize) -> usize) -> f64 {
        let (start, mut from, mut sum) = (cpu_nanoseconds(), 0, 0);
        for &end in &self.ends {
            sum += each(&self.text[from..end], end);
            from = end;
        }
        black_box(sum);
        (cpu_nanoseconds() - start) as f64 / self.count() as f64
    }

    /// The same with each start depending on the answer before.
    fn run_in_a_row(&self, each: impl Fn(&[u8]) -> Option<usize>) -> f64 {
        let (start, mut from) = (cpu_nanoseconds(), 0);
        for &end in &self.ends {
            let answer = each(&self.text[from..end]).unwrap();
            // Zero, but the processor learns it only from the answer.
            from = end + (black_box(answer) >> 32);
        }
        black_box(from);
        (cpu_nanoseconds() - start) as f64 / self.count() as f64
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

fn shuffle<T>(items: &mut [T]) {
    let mut random = 1;
    for last in (1..items.len()).rev() {
        items.swap(last, usize::try_from(splitmix64(&mut random) % (last as u64 + 1)).unwrap());
    }
}

/// This thread's time on a processor so far: others may share the machine.
fn cpu_nanoseconds() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split_whitespace().next().unwrap().parse().unwrap()
}

/// A field of /proc/self/status, in KiB.
fn status(field: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().to_owned()
}
