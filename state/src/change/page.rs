//! docs/reference/changes.md, held against the reader.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Line, Meaning, parse};
use crate::limits;
use crate::record::Kind;

const PAGE: &str = include_str!("../../../docs/reference/changes.md");

/// The parts of the page by their headings.
fn parts() -> Vec<(&'static str, &'static str)> {
    let parts = PAGE.split("\n## ").skip(1).map(|part| part.split_once('\n').unwrap());
    parts.collect()
}

fn examples(part: &str) -> Vec<Value> {
    let blocks = part.split("```json\n").skip(1).map(|block| block.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The cells of a table's rows whose first is code.
fn rows(part: &str) -> Vec<Vec<&str>> {
    let rows = part.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

fn code(cell: &str) -> &str {
    cell.split('`').nth(1).unwrap()
}

fn read(example: &Value) -> Line {
    parse(example.to_string().as_bytes()).unwrap_or_else(|error| panic!("{example}: {error}"))
}

#[test]
fn every_example_is_read_and_every_kind_has_one_of_a_value_and_is_removed() {
    let (mut valued, mut removed) = (BTreeSet::new(), BTreeSet::new());
    for example in parts().iter().flat_map(|(_, part)| examples(part)) {
        let line = read(&example);
        let Meaning::Change(change) = line.meaning else { panic!("{example} says nothing") };
        assert_eq!(line.unknown_fields, 0, "{example}");
        let kind = Kind::parse(example["kind"].as_str().unwrap()).unwrap();
        if change.record.is_grave() {
            removed.insert(kind)
        } else {
            valued.insert(kind)
        };
    }
    assert_eq!(valued, BTreeSet::from(Kind::ALL));
    let documents = |kind: &Kind| kind.subject().is_some();
    assert!(Kind::ALL.iter().all(|kind| documents(kind) || removed.contains(kind)), "{removed:?}");
    assert!(removed.iter().any(documents), "{removed:?}");
}

/// What a field's row says of it is what becomes of a line without it.
#[test]
fn fields_are_required_as_they_are_said_to_be() {
    let parts = parts();
    let common = rows(parts.iter().find(|(name, _)| *name == "What every change has").unwrap().1);
    for (name, part) in &parts {
        let Some(kind) = Kind::parse(name) else { continue };
        let first = examples(part).remove(0);
        let mut said: BTreeSet<String> = BTreeSet::new();
        for row in common.iter().chain(&rows(part)) {
            let (field, is_required) = (code(row[0]), row[2] == "yes");
            said.insert(field.to_owned());
            let mut without = first.clone();
            let at = match field.split_once("[].") {
                Some((list, field)) => without[list][0].as_object_mut().unwrap().remove(field),
                None => without.as_object_mut().unwrap().remove(field),
            };
            assert!(at.is_some() || !is_required, "{kind}: the example has no {field}");
            assert_eq!(parse(without.to_string().as_bytes()).is_err(), is_required, "{kind}: {field}");
        }
        let has: Vec<&String> = first.as_object().unwrap().keys().collect();
        assert!(has.iter().all(|field| said.contains(*field)), "{kind}: {has:?}");
    }
}

/// No field is read that the page does not name.
#[test]
fn every_field_that_is_read_is_on_the_page() {
    let source = include_str!("fields.rs");
    let calls = ["take(\"", "text(\"", "name(\"", "required(\""];
    let fields: BTreeSet<&str> = calls
        .iter()
        .flat_map(|call| source.split(call).skip(1).map(|rest| rest.split('"').next().unwrap()))
        .collect();
    assert!(fields.len() > 12, "{fields:?}");
    for field in fields {
        let is_said = PAGE.contains(&format!("| `{field}` |")) || PAGE.contains(&format!("[].{field}` |"));
        assert!(is_said, "{field}");
    }
}

#[test]
fn documents_are_named_and_keyed_as_they_are_said_to_be() {
    let (_, part) = parts().into_iter().find(|(name, _)| *name == "Documents").unwrap();
    let said: Vec<_> = rows(part).iter().map(|row| [0, 1, 2].map(|at| code(row[at]).to_owned())).collect();
    let documents = Kind::ALL.into_iter().filter_map(|kind| Some((kind, kind.subject()?)));
    let known: Vec<_> = documents
        .map(|(kind, subject)| {
            [kind.name().to_owned(), subject.member().to_owned(), format!("{}:NAME", subject.name())]
        })
        .collect();
    assert_eq!(said, known);
}

#[test]
fn bounds_are_those_of_the_reader() {
    for (what, most) in [
        ("a line", limits::CHANGE_OCTETS_MAX),
        ("members of an object", limits::JSON_MEMBERS_MAX),
        ("a host name, wildcards too", limits::HOST_OCTETS_MAX),
        ("a label of it", limits::HOST_LABEL_OCTETS_MAX),
        ("an id, a region, a reason, a token", limits::ID_OCTETS_MAX),
        ("endpoints of a service in a region", limits::ENDPOINTS_PER_SET_MAX),
        ("regions of a service", limits::REGIONS_PER_SERVICE_MAX),
        ("the value of a [document](#documents)", limits::DOCUMENT_OCTETS_MAX),
    ] {
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| {what} | {most}")));
        assert!(row.is_some(), "{what}: {most}");
    }
}
