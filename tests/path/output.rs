//! What a command tells, and how it ends if that cannot be told: never as if it had been.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::*;

/// Commands that tell something, as they are typed in a folder that has what they need.
const TELLING: [&str; 11] = [
    "--help",
    "schema",
    "completions bash",
    "check --config edge.yaml",
    "explain --config edge.yaml --host a.test",
    "state build --from changes.jsonl --out again.snap",
    "state inspect base.snap",
    "state inspect base.snap --host a.test",
    "state verify base.snap",
    "state export base.snap",
    "state diff base.snap base.snap",
];

fn folder() -> Setup {
    let setup = Setup::to(&[ports::free_address()]);
    setup.write();
    let line = changes::maps("a.test", "svc_a", 1);
    std::fs::write(setup.dir.path().join("changes.jsonl"), line).unwrap();
    let built = output("state build --from changes.jsonl --out base.snap", setup.dir.path(), Stdio::piped());
    assert_eq!(built.status.code(), Some(0), "{built:?}");
    setup
}

fn output(line: &str, dir: &Path, stdout: Stdio) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringway"));
    command.args(line.split(' ')).current_dir(dir).stdin(Stdio::null()).stdout(stdout);
    command.stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap()
}

/// How it ends if what it tells goes to a file that takes nothing.
#[track_caller]
fn without_room(line: &str, dir: &Path) -> Option<i32> {
    let script =
        format!("cd {}; ulimit -f 0; exec {} {line} > told", dir.display(), env!("CARGO_BIN_EXE_ringway"),);
    let ended = part::run(&["bash", "-c", &script], "bash");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("standard output cannot be written to: File too large"), "{line}: {said}");
    ended.status.code()
}

#[test]
fn a_result_that_finds_no_room_is_not_fine() {
    let setup = folder();
    for line in TELLING {
        assert_eq!(output(line, setup.dir.path(), Stdio::piped()).status.code(), Some(0), "{line}");
        assert_eq!(without_room(line, setup.dir.path()), Some(3), "{line}");
    }
}

/// As on a disk that is full, where standard output goes or files do.
#[test]
fn a_full_disk_is_the_machines_lack() {
    let setup = folder();
    for line in TELLING {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = output(line, setup.dir.path(), full.into());
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(3), "{line}: {said}");
        assert!(
            said.contains("standard output cannot be written to: No space left on device"),
            "{line}: {said}"
        );
    }
    for line in [
        "state build --from changes.jsonl --out new.snap",
        "state export base.snap --out new.jsonl",
        "man new",
    ] {
        let script = format!(
            "cd {}; trap '' XFSZ; ulimit -f 0; exec {} {line} 2>&1 | cat; exit ${{PIPESTATUS[0]}}",
            setup.dir.path().display(),
            env!("CARGO_BIN_EXE_ringway"),
        );
        let ended = part::run(&["bash", "-c", &script], "bash");
        let said = String::from_utf8_lossy(&ended.stdout);
        assert_eq!(ended.status.code(), Some(3), "{line}: {said}");
        assert!(said.contains("File too large") && said.contains("make room there"), "{line}: {said}");
    }
}

#[test]
fn a_verdict_stands_though_nobody_can_read_it() {
    let setup = folder();
    std::fs::write(setup.dir.path().join("edge.yaml"), "listeners: []\nnod: {}\n").unwrap();
    assert_eq!(without_room("check --config edge.yaml", setup.dir.path()), Some(1));
}

#[test]
fn a_result_that_nobody_reads_is_not_fine_and_not_a_word_is_said() {
    let setup = folder();
    for line in TELLING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = output(line, setup.dir.path(), writer.into());
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), &*said), (Some(141), ""), "{line}");
    }
}
