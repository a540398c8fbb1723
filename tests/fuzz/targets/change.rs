//! A line of the log: refused, or a change that is written as one line and read from it as the same change.

use ringway_state::change::{self, Meaning};

pub fn check(input: &[u8]) {
    let Ok(read) = change::parse(input) else { return };
    let Meaning::Change(change) = read.meaning else { return };
    let mut line = Vec::new();
    change::render(&change, read.seq, &mut line);
    assert_eq!(line.pop(), Some(b'\n'));
    assert!(!line.contains(&b'\n'));
    let again = change::parse(&line).expect("what was written is read");
    assert_eq!((again.seq, again.unknown_fields), (read.seq, 0));
    assert_eq!(again.meaning, Meaning::Change(change));
}
