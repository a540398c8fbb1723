//! Who may name whom.

use crate::source::{self, Source};

/// Things that act, by how code names them.
const ACTING: &[&str] = &[
    "crate::runtime",
    "crate::edge",
    "crate::feed",
    "std::process::Command",
    "std::thread",
    "Instant::now",
    "SystemTime::now",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "UnixListener",
    "tokio",
    "glommio",
    "io_uring",
    "rdkafka",
];

/// What waits, or may: locks, channels, threads, files, name look-ups, programs, standard streams. On a core all
/// connections would wait with it.
const BLOCKING: &[&str] = &[
    "Mutex",
    "RwLock",
    "Condvar",
    "Barrier",
    "mpsc",
    "recv_timeout",
    "block_on",
    "std::thread",
    "thread::",
    "std::fs",
    "File::",
    "std::process::Command",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "UnixListener",
    "ToSocketAddrs",
    "to_socket_addrs",
    "io::stdin",
    "io::stdout",
    "io::stderr",
    "process_log",
];

/// Files that may say `unsafe`. clippy sees to it that each site says why it is sound.
const UNSAFE: &[&str] = &[
    "bench/src/micro/clock.rs",
    "bench/src/neighbours/background.rs",
    "bench/src/owned.rs",
    "src/proto/http1/mask.rs",
    "src/runtime/machine.rs",
    "src/runtime/mailbox.rs",
    "src/runtime/resident.rs",
    "src/runtime/ring/accept.rs",
    "src/runtime/ring/buffers.rs",
    "src/runtime/ring/fake/mod.rs",
    "src/runtime/ring/fake/perform.rs",
    "src/runtime/ring/fake/socket.rs",
    "src/runtime/ring/fetch.rs",
    "src/runtime/ring/tx.rs",
    "src/runtime/ring/uring.rs",
    "src/runtime/stream.rs",
    "src/runtime/tests/idle.rs",
    "state/src/prefetch.rs",
    "state/src/snapshot/file.rs",
    "state/src/tests/memory.rs",
];

fn places(of: impl Fn(&Source) -> bool, words: &[&str]) -> Vec<String> {
    source::all().iter().filter(|source| of(source)).flat_map(|source| source.places(words)).collect()
}

#[test]
fn only_the_runtime_names_the_ring() {
    let outside = |source: &Source| !source.is_in("src/runtime/") && !source.is_in("tests/");
    assert_eq!(places(outside, &["glommio", "io_uring"]), [""; 0]);
}

#[test]
fn what_decides_does_not_act() {
    let pure = |source: &Source| {
        let folders = ["src/proto/", "src/policy/", "src/pick/", "state/src/"];
        folders.iter().any(|folder| source.is_in(folder))
    };
    assert_eq!(places(pure, ACTING), [""; 0]);
    // Snapshots are files; nothing else of these is.
    let without_files =
        |source: &Source| pure(source) && !source.is_in("state/src/snapshot/") && !is_test(source);
    assert_eq!(places(without_files, &["std::fs", "File::open", "memmap2"]), [""; 0]);
}

#[test]
fn the_request_path_knows_no_control_plane() {
    let path = |source: &Source| {
        ["src/edge/", "src/balancer/", "src/nameserver/"].iter().any(|folder| source.is_in(folder))
    };
    assert_eq!(places(path, &["tokio", "rdkafka", "crate::control", "axum"]), [""; 0]);
}

#[test]
fn nothing_on_a_core_blocks() {
    let on_core = |source: &Source| {
        let folders = ["src/edge/", "src/pick/", "src/policy/", "src/proto/"];
        // The main thread's part may wait: it runs on no core.
        folders.iter().any(|folder| source.is_in(folder))
            && !source.is_in("src/edge/process/")
            && !is_test(source)
    };
    assert_eq!(places(on_core, BLOCKING), [""; 0]);
    // The words are those that the code would use: the main thread's part has some of them.
    assert!(!places(|source| source.is_in("src/edge/process/"), BLOCKING).is_empty());
}

#[test]
fn unsafe_stands_in_named_files_only() {
    let unsafe_files: Vec<String> = source::all()
        .into_iter()
        .filter(|source| source.lines_with("unsafe").next().is_some())
        .map(|source| source.path)
        .collect();
    let mut named = UNSAFE.to_vec();
    named.sort_unstable();
    let mut found = unsafe_files;
    found.sort_unstable();
    assert_eq!(found, named, "left: what says unsafe; right: the list in this test");
}

fn is_test(source: &Source) -> bool {
    source.path.ends_with("/tests.rs") || source.path.contains("/tests/")
}
