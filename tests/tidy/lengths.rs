//! The planning figures: lengths of files and functions.

use crate::source::{self, Source};

const FILE_MAX: usize = 900;
const FILE_MEDIAN: usize = 180;
const FILE_P90: usize = 450;
const FUNCTION_MAX: usize = 70;

#[test]
fn files_keep_to_the_planning_figures() {
    let mut lengths: Vec<(usize, String)> =
        source::all().into_iter().map(|source| (source.text.lines().count(), source.path)).collect();
    lengths.sort_unstable();
    let at = |share: usize| lengths[(lengths.len() - 1) * share / 100].0;
    let (longest, path) = lengths.last().unwrap();
    println!(
        "{} files: median {}, 90th percentile {}, longest {longest} ({path})",
        lengths.len(),
        at(50),
        at(90)
    );
    assert!(*longest <= FILE_MAX, "{path}: {longest} lines");
    assert!(at(50) < FILE_MEDIAN && at(90) < FILE_P90, "median {}, 90th percentile {}", at(50), at(90));
}

#[test]
fn functions_are_shorter_than_a_screen() {
    let sources = source::all();
    let mut functions: Vec<(usize, String)> = sources.iter().flat_map(functions).collect();
    functions.sort_unstable();
    let at = |share: usize| functions[(functions.len() - 1) * share / 100].0;
    println!("{} functions: median {}, 90th percentile {}", functions.len(), at(50), at(90));
    let long: Vec<_> = functions.into_iter().filter(|(length, _)| *length >= FUNCTION_MAX).collect();
    assert_eq!(long, [], "functions of {FUNCTION_MAX} lines or more");
}

/// Length in lines, signature included, and `FILE:LINE name` of each function with a body.
fn functions(source: &Source) -> Vec<(usize, String)> {
    let code = &source.code;
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let Some(body) = body(&code[at..]) else { continue };
        if !name.is_empty() {
            let line = code[..at].matches('\n').count() + 1;
            found.push((code[at..at + body].lines().count(), format!("{}:{line} {name}", source.path)));
        }
    }
    found
}

/// Where the body of the function that begins here ends; `None` if it has none.
fn body(code: &str) -> Option<usize> {
    let (mut braces, mut brackets) = (0, 0);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if braces == 0 && brackets == 0 => return None,
            '{' => braces += 1,
            '}' if braces == 1 => return Some(at + 1),
            '}' => braces -= 1,
            _ => {}
        }
    }
    None
}

#[test]
fn bodies_are_found() {
    let code = "fn a(x: [u8; 2]) -> u8 {\n    if x { {} }\n}\nfn b();\nfn c() {}\n";
    let source = Source { path: "x.rs".into(), text: code.into(), code: code.into() };
    assert_eq!(functions(&source), [(3, "x.rs:1 a".into()), (1, "x.rs:5 c".into())]);
}
