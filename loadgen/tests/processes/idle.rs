//! `idle`: connections held and counted.

use crate::support::{Origin, Started, ended};

#[test]
fn connections_are_held_and_found_alive() {
    let origin = Origin::start("");
    let line = format!("idle --target {} --connections 500 --host a.example --hold 0.3", origin.address);
    let (code, out, err) = ended(&line);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, "holding 500 connections, 0 failed\nalive 500 of 500\n");
}

#[test]
fn connections_that_the_target_closes_are_not_alive() {
    let origin = Origin::start("");
    let line = format!("idle --target {} --connections 20 --hold 1", origin.address);
    let held = Started::new(&line);
    assert_eq!(held.first_line, "holding 20 connections, 0 failed\n");
    drop(origin);
    let (rest, status) = held.end();
    assert_eq!((rest.as_str(), status.code()), ("alive 0 of 20\n", Some(0)));
}

#[test]
fn a_target_that_does_not_keep_connections_is_told() {
    let origin = Origin::start("");
    let line = format!("idle --target {} --connections 3 --path /close/5 --hold 1", origin.address);
    let (code, out, err) = ended(&line);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("the target closes the connection after its answer"), "{err}");
}
