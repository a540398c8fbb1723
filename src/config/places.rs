//! On which lines a file says what, for mistakes that only show when what it says is used.
use std::collections::BTreeMap;
use std::path::Path;

use super::tree::{Kind, Node};
use super::written::name_of;

/// The lines of a file's fields. Those of listeners and services stand under what names them, as in
/// `services[svc_a].timeouts.connect`; items of other lists have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    file: String,
    lines: BTreeMap<String, usize>,
}

impl Places {
    pub(super) fn new(file: &str, root: &Node) -> Places {
        let mut lines = BTreeMap::new();
        collect("", root, &mut lines);
        Places { file: file.to_owned(), lines }
    }

    /// The file itself.
    pub fn file(&self) -> &Path {
        Path::new(&self.file)
    }

    /// What a mistake in a field begins with: `FILE:LINE: state.snapshot`. Without the line if the file does not have it.
    pub fn of(&self, field: &str) -> String {
        format!("{}: {field}", self.line(field))
    }

    /// The same of a warning.
    pub fn warning(&self, field: &str) -> String {
        format!("{}: warning: {field}", self.line(field))
    }

    /// Where the file has a field: `FILE:LINE`; `None` if it does not have it.
    pub fn find(&self, field: &str) -> Option<String> {
        self.lines.get(field).map(|line| format!("{}:{line}", self.file))
    }

    fn line(&self, field: &str) -> String {
        self.find(field).unwrap_or_else(|| self.file.clone())
    }
}

fn collect(path: &str, node: &Node, lines: &mut BTreeMap<String, usize>) {
    match &node.kind {
        Kind::Map(entries) => {
            for entry in entries {
                let path = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
                collect(&path, &entry.value, lines);
                lines.insert(path, entry.line_of_value());
            }
        }
        Kind::List(items) => {
            for item in items {
                let Some(name) = name_of(item) else { continue };
                let path = format!("{path}[{name}]");
                collect(&path, item, lines);
                lines.insert(path, item.line);
            }
        }
        Kind::Empty | Kind::Text(_) | Kind::Refused => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use crate::config::parse;

    #[test]
    fn fields_are_found_where_they_are_written() {
        let file = "listeners: [{ address: \"127.0.0.1:8080\", protocol: http }]\nstate:\n  dir: a\n  snapshot:\n    b\n\
                    cores:\n\n  [0]\n";
        let places = parse("f", file.as_bytes(), "host").unwrap().places;
        assert_eq!(places.of("state.snapshot"), "f:5: state.snapshot");
        assert_eq!(places.warning("state.dir"), "f:3: warning: state.dir");
        assert_eq!(places.of("cores"), "f:6: cores");
        assert_eq!(places.find("listeners[127.0.0.1:8080].protocol").as_deref(), Some("f:1"));
        assert_eq!(places.find("listeners[127.0.0.1:8080]").as_deref(), Some("f:1"));
        assert_eq!(
            (places.of("idle"), places.warning("idle")),
            ("f: idle".into(), "f: warning: idle".into())
        );
    }
}
