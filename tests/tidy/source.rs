//! The workspace's own sources, and their code without comments and texts.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold Rust of ours; the pingora peer and build output are not ours.
const FOLDERS: &[&str] = &["src", "state", "loadgen", "bench", "tests"];
const NOT_OURS: &[&str] = &["target", "pingora", "out", "corpus", "artifacts"];

pub(crate) struct Source {
    /// From the workspace's root.
    pub(crate) path: String,
    pub(crate) text: String,
    /// `text` with comments and literals blanked out: same lines, same columns.
    pub(crate) code: String,
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn all() -> Vec<Source> {
    let sources: Vec<Source> = FOLDERS.iter().flat_map(|folder| files(folder, "rs")).map(read).collect();
    assert!(sources.len() > 50, "only {} files found", sources.len());
    sources
}

/// Files with an extension under a folder of the workspace, sorted.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let (mut found, mut waiting) = (Vec::new(), vec![root().join(folder)]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() && !NOT_OURS.iter().any(|other| name == *other) {
                waiting.push(path);
            } else if path.extension().is_some_and(|end| end == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: PathBuf) -> Source {
    let text = fs::read_to_string(&path).unwrap();
    let path = path.strip_prefix(root()).unwrap().display().to_string();
    Source { code: blanked(&text), path, text }
}

impl Source {
    pub(crate) fn is_in(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }

    /// Lines whose code holds `word` with no letter, digit or underscore beside it, counted from 1.
    pub(crate) fn lines_with<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        let lines = self.code.lines().enumerate();
        lines.filter(move |(_, line)| holds(line, word)).map(|(at, _)| at + 1)
    }

    /// `FILE:LINE` for each line whose code holds one of `words`.
    pub(crate) fn places(&self, words: &[&str]) -> Vec<String> {
        let lines = |word: &&str| self.lines_with(word).map(|line| format!("{}:{line}", self.path)).collect();
        words.iter().flat_map(|word| -> Vec<String> { lines(word) }).collect()
    }
}

/// Whether `line` holds `word` as a word; a word that ends in a sign may be followed by anything.
pub(crate) fn holds(line: &str, word: &str) -> bool {
    let of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let joined_before = word.starts_with(of_word) && before.ends_with(of_word);
        let joined_after = word.ends_with(of_word) && after.starts_with(of_word);
        !joined_before && !joined_after
    })
}

/// Blanks out comments and the insides of string and character literals.
pub(crate) fn blanked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (keep, skip) = literal_or_comment(rest, out.chars().next_back());
        if skip == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        out.push_str(&rest[..keep]);
        out.extend(rest[keep..skip].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[skip..];
    }
    out
}

/// If a comment or literal begins here: how many octets of it to keep (none), and where it ends; else zeros.
fn literal_or_comment(rest: &str, before: Option<char>) -> (usize, usize) {
    let after_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        return (0, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (0, block_comment(rest));
    }
    if rest.starts_with('"') {
        return (0, quoted(rest, '"'));
    }
    let prefix = rest.find(|c: char| !matches!(c, 'r' | 'b' | 'c')).unwrap_or(0);
    if !after_word && (1..=2).contains(&prefix) {
        let hashes = rest[prefix..].bytes().take_while(|octet| *octet == b'#').count();
        let raw = rest[..prefix].contains('r');
        if raw && rest[prefix + hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let from = prefix + hashes + 1;
            return (0, rest[from..].find(&end).map_or(rest.len(), |at| from + at + end.len()));
        }
    }
    if rest.starts_with('\'') {
        let mut chars = rest.chars().skip(1);
        let (first, second) = (chars.next(), chars.next());
        // Else it is a lifetime.
        if first == Some('\\') || second == Some('\'') {
            return (0, quoted(rest, '\''));
        }
    }
    (0, 0)
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

#[test]
fn comments_and_literals_are_blanked() {
    let text = "a /* b /* c */ d */ e // f\n\"g\\\"h\" 'i' '\\'' 'j: r#\"k\" l\"# b\"m\" for_r\"n\"";
    let code = blanked(text);
    assert_eq!(code.len(), text.len());
    let left: String = code.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(left, "a e 'j: b for_r");
    assert!(holds("x.sleep(1)", "sleep(") && !holds("asleep(1)", "sleep("));
}
