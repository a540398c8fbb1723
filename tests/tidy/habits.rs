//! Things that are not done here.

use crate::source::{self, Source};

/// The one place in tests that may sleep: a helper that waits for conditions, and the pauses of slow peers.
const MAY_SLEEP: &str = "tests/support/wait.rs";

fn is_test(source: &Source) -> bool {
    source.is_in("tests/") || source.path.ends_with("/tests.rs") || source.path.contains("/tests/")
}

#[test]
fn nothing_is_left_undone() {
    let places: Vec<String> = source::all()
        .iter()
        .flat_map(|source| source.places(&["todo!", "unimplemented!", "dbg!", "#[ignore]", "#[ignore ="]))
        .collect();
    assert_eq!(places, [""; 0]);
}

#[test]
fn no_test_sleeps_in_hope() {
    let places: Vec<String> = source::all()
        .iter()
        .filter(|source| source.path != MAY_SLEEP)
        .flat_map(|source| {
            let from = if is_test(source) { Some(0) } else { source.code.find("#[cfg(test)]\nmod ") };
            let first = from.map_or(usize::MAX, |at| source.code[..at].lines().count());
            let lines = source.lines_with("sleep(").filter(move |line| *line > first);
            lines.map(|line| format!("{}:{line}", source.path)).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(places, [""; 0]);
}

#[test]
fn library_code_does_not_print() {
    let library = |source: &&Source| source.is_in("src/") && !is_test(source);
    let places: Vec<String> = source::all()
        .iter()
        .filter(library)
        .flat_map(|source| source.places(&["println!", "eprintln!", "print!", "eprint!"]))
        .collect();
    assert_eq!(places, [""; 0]);
}
