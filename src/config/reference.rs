//! The table of docs/reference/configuration.md, made from [`super::table`], and that held against the reader.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
use std::collections::BTreeSet;
use std::fmt::Write;

use super::parse;
use super::table::{Row, rows};

const PAGE: &str = "docs/reference/configuration.md";

fn table() -> String {
    let mut table =
        "| Field | Default | Values | Per service | Meaning |\n|---|---|---|---|---|\n".to_owned();
    for Row { field, default, values, per_service, meaning } in rows() {
        let default = match default.strip_prefix('(').and_then(|d| d.strip_suffix(')')) {
            Some(remark) => remark.to_owned(),
            None => format!("`{default}`"),
        };
        let per_service = if per_service { "yes" } else { "" };
        writeln!(table, "| `{field}` | {default} | {} | {per_service} | {meaning} |", values.told).unwrap();
    }
    table
}

/// `UPDATE_REFERENCE=1 cargo test reference` writes the table into the page.
#[test]
fn the_page_shows_the_table() {
    let path = [env!("CARGO_MANIFEST_DIR"), PAGE].join("/");
    let page = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- fields: made by src/config/table.rs -->\n\n", "\n<!-- end of fields -->");
    let (before, rest) = page.split_once(begin).unwrap();
    let (shown, after) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, [before, begin, &table(), end, after].concat()).unwrap();
    } else {
        let told = format!("mend {PAGE} with: UPDATE_REFERENCE=1 cargo test reference");
        for (shown, made) in shown.lines().zip(table().lines()) {
            assert_eq!(shown, made, "{told}");
        }
        assert_eq!(shown.lines().count(), table().lines().count(), "{told}");
    }
}

/// A file with a field that no section knows in every section; each then lists the fields that it does know.
const NONSENSE_EVERYWHERE: &str = "
qqqqqqqqqqqq: 1
node: { qqqqqqqqqqqq: 1 }
listeners: [{ qqqqqqqqqqqq: 1 }]
admin: { qqqqqqqqqqqq: 1 }
resolver: { qqqqqqqqqqqq: 1 }
state: { qqqqqqqqqqqq: 1, feed: { kind: inline, qqqqqqqqqqqq: 1 } }
services: [{ qqqqqqqqqqqq: 1, timeouts: { qqqqqqqqqqqq: 1 }, retry: { qqqqqqqqqqqq: 1 }, limits: { qqqqqqqqqqqq: 1 } }]
timeouts: { qqqqqqqqqqqq: 1 }
retry: { qqqqqqqqqqqq: 1 }
limits: { qqqqqqqqqqqq: 1 }
access_log: { qqqqqqqqqqqq: 1 }
process_log: { qqqqqqqqqqqq: 1 }
";

/// Full paths of the fields that the reader asks for, sections themselves left out.
fn known_to_the_reader() -> BTreeSet<String> {
    // Some fields belong to one kind of feed only.
    let with_file = NONSENSE_EVERYWHERE.replace("kind: inline", "kind: file");
    let mistakes = [NONSENSE_EVERYWHERE, &with_file].map(|text| parse("", text.as_bytes(), "").unwrap_err());
    let mut fields = BTreeSet::new();
    for mistake in mistakes.iter().flat_map(|mistakes| mistakes.iter()) {
        let Some((path, names)) =
            mistake.text.split_once("unknown field \"qqqqqqqqqqqq\"; the fields here are ")
        else {
            continue;
        };
        let prefix = path.replace("[0]", "[]").replace(": ", ".");
        fields.extend(names.split(", ").map(|name| format!("{prefix}{name}")));
    }
    let is_section = |f: &String| {
        fields.iter().any(|g| g.starts_with(&format!("{f}.")) || g.starts_with(&format!("{f}[]")))
    };
    fields.iter().filter(|f| !is_section(f)).cloned().collect()
}

#[test]
fn the_table_has_every_field_and_no_other() {
    let mut told = BTreeSet::new();
    for row in rows() {
        if row.per_service {
            told.insert(format!("services[].{}", row.field));
        }
        told.insert(row.field);
    }
    // Sections, told by their own fields.
    told.remove("services[].timeouts");
    told.remove("services[].limits");
    assert_eq!(told, known_to_the_reader());
}

#[test]
fn the_defaults_are_those_of_the_table() {
    let listeners = "listeners: [{ address: \"127.0.0.1:8080\", protocol: http }]\nservices: []\n";
    let mut written = listeners.to_owned();
    let mut open = String::new();
    for Row { field, default, .. } in rows().iter().filter(|r| !r.default.starts_with('(')) {
        match field.rsplit_once('.') {
            None => writeln!(written, "{field}: {default}").unwrap(),
            Some(("state.feed", name)) => writeln!(written, "  feed: {{ {name}: {default} }}").unwrap(),
            Some((section, name)) => {
                if section != open {
                    writeln!(written, "{section}:").unwrap();
                    section.clone_into(&mut open);
                }
                writeln!(written, "  {name}: {default}").unwrap();
            }
        }
    }
    let of = |text: &str| {
        let config = parse("edge.yaml", text.as_bytes(), "host").unwrap();
        super::Config { written: super::Written::default(), places: super::Places::default(), ..config }
    };
    assert_eq!(of(&written), of(listeners));
}

/// What `ringway explain` shows of a service is what a service may override.
#[test]
fn what_holds_for_a_service_is_what_the_table_says_it_may_override() {
    let held: BTreeSet<String> =
        super::ServiceSettings::default().held().into_iter().map(|held| held.name).collect();
    let own = |row: &Row| row.field.strip_prefix("services[].").map(str::to_owned);
    let told: BTreeSet<String> = rows()
        .iter()
        .filter_map(|row| if row.per_service { Some(row.field.clone()) } else { own(row) })
        .filter(|field| !["id", "hostnames", "endpoints", "timeouts", "limits"].contains(&field.as_str()))
        .collect();
    assert_eq!(held, told);
}
