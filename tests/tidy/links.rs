//! Links between documents lead somewhere.

use std::fs;
use std::path::Path;

use crate::source;

/// Targets of `](…)` outside code blocks that are paths.
fn targets(text: &str) -> Vec<String> {
    let mut in_code = false;
    let prose = text.lines().filter(|line| {
        in_code ^= line.trim_start().starts_with("```");
        !in_code
    });
    prose
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
        .filter(|target| {
            !target.contains("://") && !target.starts_with('#') && !target.starts_with("mailto:")
        })
        .map(|target| target.split('#').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut documents = source::files("docs", "md");
    let root = fs::read_dir(source::root()).unwrap().map(|entry| entry.unwrap().path());
    documents.extend(root.filter(|path| path.extension().is_some_and(|end| end == "md")));
    documents.extend(source::files("tests", "md"));
    let mut dead = Vec::new();
    for document in &documents {
        let folder = document.parent().unwrap_or(Path::new("."));
        for target in targets(&fs::read_to_string(document).unwrap()) {
            if !folder.join(&target).exists() {
                dead.push(format!("{}: {target}", document.strip_prefix(source::root()).unwrap().display()));
            }
        }
    }
    assert!(!documents.is_empty());
    assert_eq!(dead, [""; 0]);
}

#[test]
fn targets_are_found() {
    let text = "a [b](c.md#d) [e](https://f) [g](#h)\n```\n[i](j)\n```\n[k](../l)";
    assert_eq!(targets(text), ["c.md", "../l"]);
}
