//! "Did you mean": the known word that a mistyped one most likely stands for.
use super::report::Shown;

/// The nearest of `known` to `word` by edit distance, unless even that is more than a third of the word away.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    // The distance is quadratic; no field's name is nearly this long.
    if word.len() > 64 {
        return None;
    }
    let word: Vec<char> = word.to_lowercase().replace('-', "_").chars().collect();
    let furthest = 1 + word.len() / 3;
    let of = |candidate: &'k str| (distance(&word, &candidate.chars().collect::<Vec<_>>()), candidate);
    let (away, candidate) = known.iter().copied().map(of).min()?;
    (away <= furthest && away < candidate.chars().count()).then_some(candidate)
}

/// The value of one of a few words.
///
/// # Errors
/// `text` is none of them; the nearest, or `choices`.
pub fn word<T: Clone>(text: &str, words: &[(&'static str, T)], choices: &str) -> Result<T, String> {
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(value.clone());
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    Err(match nearest(text, &known) {
        Some(near) => format!("unknown value {}; did you mean {near}?", Shown(text)),
        None => format!("unknown value {}; use {choices}", Shown(text)),
    })
}

/// Insertions, deletions and substitutions between two words, swapped neighbours counting once (optimal
/// string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut cost = (above[j] + usize::from(x != y)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chars(word: &str) -> Vec<char> {
        word.chars().collect()
    }

    #[test]
    fn distances() {
        for (a, b, away) in [
            ("", "", 0),
            ("", "abc", 3),
            ("idle", "idle", 0),
            ("idel", "idle", 1),
            ("conect", "connect", 1),
            ("ab", "cd", 2),
        ] {
            assert_eq!(distance(&chars(a), &chars(b)), away, "{a} {b}");
            assert_eq!(distance(&chars(b), &chars(a)), away, "{b} {a}");
        }
    }

    #[test]
    fn suggestions() {
        let known = ["listeners", "services", "timeouts", "idle"];
        assert_eq!(nearest("listener", &known), Some("listeners"));
        assert_eq!(nearest("Timeouts", &known), Some("timeouts"));
        assert_eq!(nearest("iddle", &known), Some("idle"));
        assert_eq!(nearest("upstreams", &known), None);
        assert_eq!(nearest("", &known), None);
        assert_eq!(nearest(&"x".repeat(10_000), &known), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
