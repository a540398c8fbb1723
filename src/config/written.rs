//! A file's values by their paths, as they were written: what tells an operator what a changed file changed.
use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Kind, Node};
use crate::limits::{CONFIG_QUOTE_CHARS_MAX, RELOAD_LINES_MAX};

/// Values by path, as in `timeouts.idle`. Listeners and services stand under what names them, not under their place
/// in the list: `services[svc_a].hostnames`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written(BTreeMap<String, Value>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Text(String),
    /// A list of single values, whose order says nothing.
    Set(BTreeSet<String>),
}

/// The fields that name an item of a list.
const NAMING: [&str; 2] = ["address", "id"];

impl Written {
    pub(super) fn of(root: &Node) -> Written {
        let mut values = BTreeMap::new();
        flatten(String::new(), root, &mut values);
        Written(values)
    }

    /// The same, with the sections named as they are in `running`: they keep what they had.
    #[must_use]
    pub fn keeping(mut self, sections: &[&str], running: &Written) -> Written {
        self.0.retain(|path, _| !is_in_any(path, sections));
        let kept = running.0.iter().filter(|(path, _)| is_in_any(path, sections));
        self.0.extend(kept.map(|(path, value)| (path.clone(), value.clone())));
        self
    }

    /// What is different in `new`, a line each, as `timeouts.idle: 75s -> 60s`: the lines of the sections named, and all
    /// others. At most [`RELOAD_LINES_MAX`] of both kinds, then how many more there are.
    #[must_use]
    pub fn changes(&self, new: &Written, sections: &[&str]) -> (Vec<String>, Vec<String>) {
        let mut items = BTreeSet::new();
        let (mut named, mut others) = (Lines::default(), Lines::default());
        let paths: BTreeSet<&String> = self.0.keys().chain(new.0.keys()).collect();
        for path in paths {
            let (before, after) = (self.0.get(path), new.0.get(path));
            if before == after {
                continue;
            }
            let lines = if is_in_any(path, sections) { &mut named } else { &mut others };
            // An item that came or went is told as one.
            match item_of(path).filter(|item| self.has(item) != new.has(item)) {
                Some(item) if !items.insert(item) => {}
                Some(item) => {
                    lines.add(|| format!("{item}: {}", if new.has(item) { "added" } else { "removed" }))
                }
                None => lines.add(|| format!("{path}: {}", difference(before, after))),
            }
        }
        (named.finish(), others.finish())
    }

    fn has(&self, item: &str) -> bool {
        self.0.range(item.to_owned()..).next().is_some_and(|(path, _)| path.starts_with(item))
    }
}

#[derive(Default)]
struct Lines {
    told: Vec<String>,
    more: usize,
}

impl Lines {
    fn add(&mut self, line: impl FnOnce() -> String) {
        if self.told.len() < RELOAD_LINES_MAX {
            self.told.push(line());
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.told.push(format!("and {} more", self.more));
        }
        self.told
    }
}

/// `services[svc_a]` of `services[svc_a].hostnames`.
fn item_of(path: &str) -> Option<&str> {
    let (before, _) = path.split_once("].")?;
    path.get(..=before.len())
}

fn is_in_any(path: &str, sections: &[&str]) -> bool {
    let top = path.split(['.', '[']).next();
    sections.iter().any(|section| top == Some(section))
}

fn flatten(path: String, node: &Node, values: &mut BTreeMap<String, Value>) {
    match &node.kind {
        Kind::Empty | Kind::Refused => {}
        Kind::Text(text) => drop(values.insert(path, Value::Text(text.clone()))),
        Kind::Map(entries) => {
            for entry in entries {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(format!("{path}{dot}{}", entry.key), &entry.value, values);
            }
        }
        Kind::List(items) => {
            let texts: Option<BTreeSet<String>> = items.iter().map(text).collect();
            if let Some(set) = texts {
                // An empty list says no more than none.
                if !set.is_empty() {
                    values.insert(path, Value::Set(set));
                }
                return;
            }
            for (at, item) in items.iter().enumerate() {
                let name = name_of(item).unwrap_or_else(|| at.to_string());
                flatten(format!("{path}[{name}]"), item, values);
            }
        }
    }
}

fn text(node: &Node) -> Option<String> {
    if let Kind::Text(text) = &node.kind { Some(text.clone()) } else { None }
}

/// What names an item of a list of sections.
pub(super) fn name_of(item: &Node) -> Option<String> {
    let Kind::Map(entries) = &item.kind else { return None };
    entries.iter().find(|entry| NAMING.contains(&entry.key.as_str())).and_then(|entry| text(&entry.value))
}

fn difference(before: Option<&Value>, after: Option<&Value>) -> String {
    if let (Some(Value::Set(before)), Some(Value::Set(after))) = (before, after) {
        let (gone, new) = (before.difference(after), after.difference(before));
        let parts = gone.map(|text| format!("- {text}")).chain(new.map(|text| format!("+ {text}")));
        return shortened(&parts.collect::<Vec<_>>().join(", "));
    }
    format!("{} -> {}", shown(before), shown(after))
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "(default)".to_owned(),
        Some(Value::Text(text)) => shortened(text),
        Some(Value::Set(set)) => {
            shortened(&format!("[{}]", set.iter().map(String::as_str).collect::<Vec<_>>().join(", ")))
        }
    }
}

/// Cut where a line would become too long to read.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(CONFIG_QUOTE_CHARS_MAX) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}...", text.get(..cut).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use crate::config::parse;

    fn written(rest: &str) -> Written {
        let file = format!("listeners: [{{ address: \"127.0.0.1:8080\", protocol: http }}]\n{rest}");
        parse("f", file.as_bytes(), "host").unwrap().written
    }

    fn changes(before: &str, after: &str) -> Vec<String> {
        written(before).changes(&written(after), &[]).1
    }

    #[test]
    fn single_values() {
        assert_eq!(changes("idle: park", "# a remark\n\nidle: park"), [""; 0]);
        assert_eq!(
            changes("timeouts: { idle: 75s }", "timeouts: { idle: 1m }"),
            ["timeouts.idle: 75s -> 1m"]
        );
        assert_eq!(changes("", "limits: { head_fields: 50 }"), ["limits.head_fields: (default) -> 50"]);
        assert_eq!(
            changes("limits: { head_fields: 50 }", "limits: {}"),
            ["limits.head_fields: 50 -> (default)"]
        );
        assert_eq!(changes("cores: auto", "cores: [1, 0]"), ["cores: auto -> [0, 1]"]);
    }

    #[test]
    fn services_by_their_ids_whatever_their_place() {
        let service = |id: &str, hosts: &str| {
            format!("{{ id: {id}, hostnames: [{hosts}], endpoints: [\"10.0.0.1:1\"] }}")
        };
        let file = |services: &[String]| format!("services: [{}]", services.join(", "));
        let (a, b, c) = (service("svc_a", "a.b, c.d"), service("svc_b", "e.f"), service("svc_c", "g.h"));
        assert_eq!(changes(&file(&[a.clone(), b.clone()]), &file(&[b.clone(), a.clone()])), [""; 0]);
        let moved = service("svc_a", "c.d, x.y");
        assert_eq!(
            changes(&file(&[a, b]), &file(&[c, moved])),
            ["services[svc_a].hostnames: - a.b, + x.y", "services[svc_b]: removed", "services[svc_c]: added"]
        );
        let two = "listeners:\n- { address: \"127.0.0.1:8080\", protocol: http, internal_from: [10.0.0.0/8] }\n\
                   - { address: \"127.0.0.1:8081\", protocol: http }\n";
        let two = parse("f", two.as_bytes(), "host").unwrap().written;
        assert_eq!(
            written("").changes(&two, &[]).1,
            [
                "listeners[127.0.0.1:8080].internal_from: (default) -> [10.0.0.0/8]",
                "listeners[127.0.0.1:8081]: added"
            ]
        );
    }

    #[test]
    fn sections_apart_and_kept() {
        let (before, after) =
            (written("idle: park\ntimeouts: { idle: 1s }"), written("idle: spin\ntimeouts: { idle: 2s }"));
        let (named, others) = before.changes(&after, &["idle"]);
        assert_eq!(
            (named, others),
            (vec!["idle: park -> spin".into()], vec!["timeouts.idle: 1s -> 2s".into()])
        );
        let kept = after.keeping(&["idle"], &before);
        assert_eq!(before.changes(&kept, &["idle"]).0, [""; 0]);
        assert_eq!(kept, written("idle: park\ntimeouts: { idle: 2s }"));
    }

    #[test]
    fn lines_are_few_and_short() {
        let services = |n: usize| {
            let one = |i| format!("{{ id: svc_{i}, hostnames: [h{i}.test], endpoints: [\"10.0.0.1:1\"] }}");
            format!("services: [{}]", (0..n).map(one).collect::<Vec<_>>().join(", "))
        };
        let told = changes(&services(1), &services(RELOAD_LINES_MAX + 31));
        assert_eq!(told.len(), RELOAD_LINES_MAX + 1);
        assert_eq!(told.last().unwrap(), "and 30 more");
        let path = "x".repeat(1000);
        let told = changes("", &format!("access_log: {{ path: {path} }}"));
        assert_eq!(told, [format!("access_log.path: (default) -> {}...", &path[..CONFIG_QUOTE_CHARS_MAX])]);
    }
}
