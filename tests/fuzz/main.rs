//! Every input that fuzzing has kept, through the targets' checks: on the stable compiler, without a fuzzer.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
#![allow(unreachable_pub)] // the targets say `pub` as the fuzzers' library does; a test binary has no outside
#![allow(clippy::print_stdout)] // how many inputs there were

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use ringway::{limits, proto};
use serde::de::DeserializeOwned;

#[path = "../path/cases/message.rs"]
#[allow(dead_code, reason = "half of it is for responses")]
mod message;
#[path = "../path/cases/script.rs"]
#[allow(dead_code, reason = "the parser needs one function")]
mod script;
mod targets;

use targets::{TARGETS, Target};

/// An input that once broke a promise.
#[derive(serde::Deserialize)]
struct Regression {
    target: String,
    fault: String,
    input: String,
}

#[test]
fn every_corpus_passes() {
    for target @ (name, _) in TARGETS {
        let inputs: Vec<String> = lines(&folder().join(format!("corpus/{name}.jsonl")));
        assert!(!inputs.is_empty(), "{name}: the corpus is empty");
        inputs.iter().for_each(|input| pass(target, input, "in the corpus"));
        println!("{name}: {} inputs", inputs.len());
    }
}

#[test]
fn every_regression_passes() {
    let regressions: Vec<Regression> = lines(&folder().join("regressions.jsonl"));
    assert!(!regressions.is_empty(), "no regressions");
    for Regression { target: of, fault, input } in &regressions {
        let target = TARGETS.iter().find(|(name, _)| name == of).expect(of);
        assert!(!fault.is_empty(), "a regression says what was wrong");
        pass(target, input, fault);
    }
    println!("{} regressions", regressions.len());
}

#[test]
fn each_target_has_a_program_and_a_corpus() {
    let names = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(stems("fuzz_targets"), names);
    assert_eq!(stems("corpus"), names);
}

/// Of a text with a character for each octet.
fn pass((name, check): &Target, input: &str, what: &str) {
    let octets: Vec<u8> = input.chars().map(|c| u8::try_from(c).expect("characters are octets")).collect();
    let passed = catch_unwind(|| check(&octets)).is_ok();
    assert!(passed, "{name}: {what}: \"{}\"", octets.escape_ascii());
}

/// The values of a file of JSON lines.
fn lines<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let value = |(at, line)| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{}:{}: {error}", path.display(), at + 1))
    };
    text.lines().enumerate().map(value).collect()
}

/// Names of a folder's files, without what follows the dot.
fn stems(name: &str) -> BTreeSet<String> {
    let stem = |path: PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    fs::read_dir(folder().join(name)).unwrap().map(|entry| stem(entry.unwrap().path())).collect()
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz"))
}
