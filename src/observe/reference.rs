//! docs/reference/metrics.md, held against what is really exported.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use super::access::Field;
use super::reason::Reason;
use super::registry::tests::{exposition, families};
use std::fmt::Write;

const PAGE: &str = "docs/reference/metrics.md";

/// One row per family, made from the exposition itself.
fn metrics_table() -> String {
    let mut table = "| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n".to_owned();
    for family in families(&exposition(1)) {
        let labels: Vec<String> = family.labels().iter().map(|label| format!("`{label}`")).collect();
        let (name, kind, labels, help) =
            (family.exported_name(), &family.kind, labels.join(", "), &family.help);
        writeln!(table, "| `{name}` | {kind} | {labels} | {help} |").unwrap();
    }
    table
}

fn fields_table() -> String {
    let mut table = "| Field | Value |\n|---|---|\n".to_owned();
    for field in Field::ALL {
        writeln!(table, "| `{}` | {} |", field.name(), field.meaning()).unwrap();
    }
    table
}

fn reasons_table() -> String {
    let mut table = "| Reason | Fault | Meaning |\n|---|---|---|\n".to_owned();
    for reason in Reason::ALL {
        let (name, fault, meaning) = (reason.as_str(), reason.fault().as_str(), reason.meaning());
        writeln!(table, "| `{name}` | {fault} | {meaning} |").unwrap();
    }
    table
}

/// The page with a table put between its marks.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let (begin, end) =
        (format!("<!-- {name}: made by src/observe/reference.rs -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{PAGE} has no line {begin:?}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{PAGE} has no {end:?}"));
    format!("{before}{begin}\n{table}\n{end}{after}")
}

/// With `RINGWAY_WRITE_DOCS=1` the page is written rather than compared.
#[test]
fn the_page_shows_what_is_exported() {
    let path = format!("{}/{PAGE}", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).unwrap();
    let tables = [("metrics", metrics_table()), ("reasons", reasons_table()), ("fields", fields_table())];
    let made = tables.iter().fold(page, |page, (name, table)| with_table(&page, name, table));
    if std::env::var_os("RINGWAY_WRITE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let now = std::fs::read_to_string(&path).unwrap();
    assert!(now == made, "{PAGE} is out of date; run RINGWAY_WRITE_DOCS=1 cargo test observe::reference");
}
