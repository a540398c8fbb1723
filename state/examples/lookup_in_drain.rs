//! What look-ups gain if many are known before the first is made, as in a drain of completions: one by one, each asking
//! for its memory some time before it reads it, or a whole batch asking first.
//!
//! `cargo run --release -p ringway-state --example lookup_in_drain -- FILE [HOSTS]` builds FILE if it is not there. Pin it:
//! `taskset -c 1`. Between two look-ups stands the work of a request, which waits for the answer before: none, about a
//! microsecond, or about five, of readings that pass through 256 KiB. Told is what a look-up, host to endpoint, adds to it.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)] // figures; fails loudly
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // of figures

mod common;

use std::{hint::black_box, sync::Arc};

use common::{Names, ROUNDS, RequestWork, asked, cpu_nanoseconds, endpoint, median, service};
use ringway_state::{Table, View, snapshot::Snapshot};

/// Look-ups of a measurement.
const LOOKUPS: usize = 1 << 18;
const BATCHES: [usize; 4] = [4, 16, 64, 256];
/// Readings that a request's work takes.
const WORKS: [usize; 3] = [0, 200, 1_000];

fn main() {
    let (data, path) = common::given();
    let view = Table::with_base(Arc::new(Snapshot::open(&path).unwrap()), data.local()).publish();
    let names = Names::shuffled(&data);
    let work = RequestWork::new();
    for readings in WORKS {
        measure(&view, &names, &work, readings);
    }
}

fn measure(view: &View, names: &Names, work: &RequestWork, readings: usize) {
    let largest = BATCHES.into_iter().max().unwrap();
    let count = LOOKUPS.min(names.count()) / largest * largest;
    let run = |each: &mut dyn FnMut(usize, usize) -> usize| {
        let (start, mut at) = (cpu_nanoseconds(), 0);
        for item in 0..count {
            at = each(item, at);
        }
        black_box(at);
        (cpu_nanoseconds() - start) as f64 / count as f64
    };
    let look = |item: usize| {
        let name = names.get(item);
        // Nothing, but the processor learns it only from the answer.
        black_box(service(view, name).map_or(0, |service| endpoint(view, service, item))) >> 32
    };
    let alone = |_, at| work.go(at, readings);
    let single = |item, at| work.go(at + look(item), readings);
    let asked = |item: usize, at| asked(view, names.get(item), at, (work, readings)) + look(item);
    let batched = |batch: usize| {
        let mut expected = Vec::with_capacity(batch);
        move |item: usize, at| {
            if item.is_multiple_of(batch) {
                expected.extend((item..item + batch).map(|item| view.expect(names.get(item))));
                expected.drain(..).for_each(|expected| view.expect_more(expected));
            }
            work.go(at + look(item), readings)
        }
    };
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let alone = run(&mut { alone });
        let mut row = vec![alone, run(&mut { single }) - alone, run(&mut { asked }) - alone];
        row.extend(BATCHES.map(|batch| run(&mut batched(batch)) - alone));
        rounds.push(row);
    }
    let of = |column: usize| median(rounds.iter().map(|row| row[column]).collect());
    println!("work of {:.0} ns between look-ups:", of(0));
    println!("  one by one {:6.1} ns, each asked for during the work before it {:6.1} ns", of(1), of(2));
    for (column, batch) in (3..).zip(BATCHES) {
        println!("  {batch:3} asked for at once {:6.1} ns", of(column));
    }
}
