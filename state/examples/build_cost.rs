//! What a snapshot of the standard data set costs: time, memory, size, and the time to open it.
//!
//! `cargo run --release -p ringway-state --example build_cost -- FOLDER [HOSTS…]`, of 1 and 4 million hosts unless told.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)] // figures; fails loudly
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // of figures

mod common;

use std::{path::Path, time::Instant};

use common::{data_set, dataset::STANDARD_HOSTS, status};
use ringway_state::{
    id::Region,
    snapshot::{self, BuildOptions, Snapshot},
};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("FOLDER");
    let mut sizes: Vec<u64> = arguments.map(|hosts| hosts.parse().unwrap()).collect();
    if sizes.is_empty() {
        sizes = vec![STANDARD_HOSTS / 4, STANDARD_HOSTS];
    }
    for hosts in sizes {
        let path = Path::new(&folder).join(format!("{hosts}.snap"));
        build(hosts, &path);
        std::fs::remove_file(&path).unwrap();
    }
}

fn build(hosts: u64, path: &Path) {
    let data = data_set(hosts, &Region::parse("local").unwrap());
    let generated = Instant::now();
    let changes = data.changes().count();
    let generated = generated.elapsed();
    forget_peak();
    let before = status("VmHWM");
    let start = Instant::now();
    let options = BuildOptions { seed: Some(1), ..BuildOptions::default() };
    let stats = snapshot::build(data.changes(), path, &options, &mut |_| ()).unwrap();
    let (built, peak) = (start.elapsed(), status("VmHWM") - before);
    let start = Instant::now();
    drop(Snapshot::open(path).unwrap());
    println!(
        "{hosts} hosts, {changes} changes: built in {built:.1?} ({generated:.1?} of it to generate them), \
         {} MiB at the peak, file of {} MiB ({} octets a host), opened in {:.1?}",
        peak >> 10,
        stats.file_octets >> 20,
        stats.file_octets / hosts,
        start.elapsed()
    );
}

/// Lets the kernel begin its highest mark of resident memory anew.
fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}
