//! The request path allocates nothing.
#![allow(unsafe_code)] // an allocator that counts

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    path::Path,
    sync::Arc,
};

use super::world;
use crate::{
    HostHit, Table, View,
    limits::LEVELS_MAX,
    record::Version,
    snapshot::{self, BuildOptions, Snapshot},
};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged; counting touches a cell without
// destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise that `block` came from here, thus from `System`, is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Octets of all ports and ids behind all host names.
fn ask_all(view: &View, hosts: &[String]) -> usize {
    let mut sum = 0;
    for name in hosts {
        view.expect_more(view.expect(name.as_bytes()));
        sum += match view.host(name.as_bytes()) {
            Some(HostHit::Service(service)) => {
                let endpoints = service.endpoints(view.local());
                service.id().len()
                    + endpoints.iter().map(|endpoint| usize::from(endpoint.address.port())).sum::<usize>()
            }
            Some(HostHit::Tombstone { reason }) => reason.len(),
            None => 0,
        };
    }
    sum
}

/// What is known, spread over as many levels as there may be, and the overlay.
fn layered(mut table: Table, folder: &Path) -> View {
    for counter in 0..5 {
        for (at, key) in world::all_keys().enumerate() {
            if at % 5 == counter {
                table.apply(world::said(&key, Version::new(2, at as u64)));
            }
        }
        if counter < LEVELS_MAX {
            let path = folder.join(counter.to_string());
            let built = table.flush(Vec::new()).unwrap().build(&path, &mut |_| ()).unwrap();
            table.install(&built).unwrap();
        }
    }
    table.publish()
}

#[test]
fn asking_allocates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.snap");
    let changes = |counter| world::all_keys().map(move |key| world::said(&key, Version::new(1, counter)));
    snapshot::build(changes(1), &path, &BuildOptions::default(), &mut |_| ()).unwrap();
    let mut table = Table::with_base(Arc::new(Snapshot::open(&path).unwrap()), &world::region(0));
    let base_alone = table.publish();
    for change in changes(2).step_by(2) {
        table.apply(change);
    }
    let both = table.publish();
    let layered = layered(table, folder.path());
    assert_eq!(layered.levels().len(), LEVELS_MAX);
    let hosts = world::asked();

    let before = ALLOCATIONS.get();
    let answers = [&base_alone, &both, &layered].map(|view| ask_all(view, &hosts));
    assert_eq!(ALLOCATIONS.get(), before);
    assert!(answers.iter().all(|&answer| answer > 0));
}
