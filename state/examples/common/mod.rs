//! What these programs share: the standard data set, names in random order, and clocks.
#![allow(dead_code, unreachable_pub)] // each uses a part of it

// The generator's own package depends on more than is needed here.
#[path = "../../../loadgen/src/dataset.rs"]
pub mod dataset;

use std::{
    hint::black_box,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ringway_state::{
    HostHit, ServiceRef, View,
    hash::splitmix64,
    id::Region,
    snapshot::{self, BuildOptions},
};

pub const ROUNDS: usize = 7;
/// Look-ups in a round: enough to pass through all caches many times.
const SAMPLE: usize = 1_000_000;

/// So many hosts of the standard data set, on a node in `local`.
pub fn data_set(hosts: u64, local: &Region) -> dataset::Dataset {
    dataset::Dataset::new(hosts, hosts / 4, local.clone(), dataset::standard_origins())
}

/// The data set of so many hosts as were typed behind FILE, all of them unless told, and FILE with its snapshot.
pub fn given() -> (dataset::Dataset, PathBuf) {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().expect("FILE"));
    let hosts: u64 = arguments.next().map_or(dataset::STANDARD_HOSTS, |hosts| hosts.parse().unwrap());
    let data = data_set(hosts, &Region::parse("local").unwrap());
    build(&data, &path);
    (data, path)
}

/// Builds a snapshot of all that, if it is not there.
pub fn build(data: &dataset::Dataset, path: &Path) {
    if path.exists() {
        return;
    }
    let start = Instant::now();
    let options = BuildOptions { seed: Some(1), ..BuildOptions::default() };
    let stats = snapshot::build(data.changes(), path, &options, &mut |_| ()).unwrap();
    println!("built in {:.1?}: {} octets, {}", start.elapsed(), stats.file_octets, stats.counts);
}

pub fn service<'v>(view: &'v View, name: &[u8]) -> Option<ServiceRef<'v>> {
    match view.host(name) {
        Some(HostHit::Service(service)) => Some(service),
        _ => None,
    }
}

/// The port of one endpoint in the node's region.
pub fn endpoint(view: &View, service: ServiceRef<'_>, at: usize) -> usize {
    let endpoints = service.endpoints(view.local());
    let endpoint = endpoints.get(at % endpoints.len()).unwrap();
    usize::from(endpoint.address.port())
}

/// Host names drawn at random, packed, so that fetching them costs next to nothing.
pub struct Names {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Names {
    pub fn shuffled(data: &dataset::Dataset) -> Self {
        let mut ranks: Vec<u64> = (0..data.hosts()).collect();
        shuffle(&mut ranks);
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for rank in ranks.into_iter().take(SAMPLE) {
            text.extend_from_slice(data.host(rank).as_bytes());
            ends.push(text.len());
        }
        Self { text, ends }
    }

    /// Those of them that are `wanted`.
    pub fn only(&self, wanted: impl Fn(&[u8]) -> bool) -> Self {
        let (mut text, mut ends, mut from) = (Vec::new(), Vec::new(), 0);
        for &end in &self.ends {
            let name = &self.text[from..end];
            if wanted(name) {
                text.extend_from_slice(name);
                ends.push(text.len());
            }
            from = end;
        }
        Self { text, ends }
    }

    pub fn count(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, at: usize) -> &[u8] {
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[from..self.ends[at]]
    }

    /// Nanoseconds for one of `each`.
    pub fn run(&self, each: impl Fn(&[u8], usize) -> usize) -> f64 {
        let (start, mut from, mut sum) = (cpu_nanoseconds(), 0, 0);
        for &end in &self.ends {
            sum += each(&self.text[from..end], end);
            from = end;
        }
        black_box(sum);
        (cpu_nanoseconds() - start) as f64 / self.count() as f64
    }

    /// The same with each start depending on the answer before.
    pub fn run_in_a_row(&self, each: impl Fn(&[u8]) -> Option<usize>) -> f64 {
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

/// The work of a request, which waits for the answer before: a ring through 256 KiB, a line a step.
pub struct RequestWork(Vec<[usize; 8]>);

impl RequestWork {
    pub fn new() -> Self {
        let lines = (256 << 10) / size_of::<[usize; 8]>();
        let mut order: Vec<usize> = (0..lines).collect();
        shuffle(&mut order);
        let mut ring = vec![[0; 8]; lines];
        for (&here, &next) in order.iter().zip(order.iter().cycle().skip(1)) {
            ring[here][0] = next;
        }
        Self(ring)
    }

    pub fn go(&self, mut at: usize, readings: usize) -> usize {
        for _ in 0..readings {
            at = self.0[at][0];
        }
        at
    }
}

/// So many readings of work, during which `view` is asked to have `name` at hand.
pub fn asked(view: &View, name: &[u8], at: usize, (work, readings): (&RequestWork, usize)) -> usize {
    let expected = view.expect(name);
    let at = work.go(at, readings / 2);
    view.expect_more(expected);
    work.go(at, readings - readings / 2)
}

pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

pub fn shuffle<T>(items: &mut [T]) {
    let mut random = 1;
    for last in (1..items.len()).rev() {
        items.swap(last, usize::try_from(splitmix64(&mut random) % (last as u64 + 1)).unwrap());
    }
}

/// This thread's time on a processor so far: others may share the machine.
pub fn cpu_nanoseconds() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split_whitespace().next().unwrap().parse().unwrap()
}

/// A field of /proc/self/status, in KiB.
pub fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Steps that were timed one by one. Those that the kernel took the processor away from tell nothing, and are only
/// counted.
#[derive(Default)]
pub struct Steps {
    times: Vec<Duration>,
    switches: u64,
    interrupted: u64,
}

impl Steps {
    /// Shorter ones are taken as they are: to look would take longer.
    const SUSPECT: Duration = Duration::from_micros(20);

    pub fn time<T>(&mut self, step: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = step();
        let took = start.elapsed();
        if took > Self::SUSPECT && self.was_interrupted() {
            self.interrupted += 1;
        } else {
            self.times.push(took);
        }
        result
    }

    /// Or anything was since it was asked last.
    fn was_interrupted(&mut self) -> bool {
        let switches = status("nonvoluntary_ctxt_switches");
        std::mem::replace(&mut self.switches, switches) != switches
    }

    pub fn print(mut self, label: &str) {
        self.times.sort();
        let micro = |time: Duration| time.as_secs_f64() * 1e6;
        let at = |share: f64| micro(self.times[((self.times.len() - 1) as f64 * share) as usize]);
        let mean = micro(self.times.iter().sum::<Duration>()) / self.times.len() as f64;
        println!(
            "{label:32} {:7} times, {} interrupted: mean {mean:6.2} µs, median {:6.2}, p99 {:6.2}, p99.9 {:6.2}, \
             longest {:6.2}",
            self.times.len(),
            self.interrupted,
            at(0.5),
            at(0.99),
            at(0.999),
            at(1.0)
        );
    }
}
