//! What the targets share.

use crate::proto::http1::{Field, Fields, Known};

/// Splits a target's input: how many octets come at a time, and the octets.
pub fn step_and_octets(input: &[u8]) -> (usize, &[u8]) {
    match input.split_first() {
        Some((&step, octets)) => (usize::from(step).max(1), octets),
        None => (1, input),
    }
}

/// The ends of growing prefixes of `len` octets, `step` apart, the whole last.
pub fn prefix_ends(len: usize, step: usize) -> impl Iterator<Item = usize> {
    (0..len).step_by(step).chain([len])
}

/// What holds of every head that was accepted: CR and LF in pairs alone, no other control octet but HTAB, and
/// field lines of a token and a value without white space around it.
pub fn assert_head(head: &[u8], fields: &Fields) {
    assert!(head.ends_with(b"\r\n\r\n"));
    for (at, &octet) in head.iter().enumerate() {
        match octet {
            b'\r' => assert_eq!(head.get(at + 1), Some(&b'\n')),
            b'\n' => assert_eq!(at.checked_sub(1).and_then(|at| head.get(at)), Some(&b'\r')),
            b'\t' => {}
            _ => assert!(octet >= b' ' && octet != 0x7f),
        }
    }
    for field in fields.as_slice() {
        assert_field(field, head);
    }
    for known in [Known::ContentLength, Known::TransferEncoding] {
        assert!(fields.as_slice().iter().filter(|field| field.known() == known).count() <= 1);
    }
}

fn assert_field(field: &Field, head: &[u8]) {
    let (name, value) = (field.name(head), field.value(head));
    let is_token = |octet: &u8| octet.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(octet);
    assert!(!name.is_empty() && name.iter().all(is_token));
    assert_eq!(value, value.trim_ascii());
    assert_ne!(field.known(), Known::Lookalike);
    let framing = [
        ("content-length", Known::ContentLength),
        ("transfer-encoding", Known::TransferEncoding),
        ("host", Known::Host),
    ];
    for (text, known) in framing {
        assert_eq!(name.eq_ignore_ascii_case(text.as_bytes()), field.known() == known);
    }
}

/// How many fields bear `name`, with `_` for `-` as well.
pub fn count(fields: &Fields, head: &[u8], name: &str) -> usize {
    let fold = |field: &Field| {
        field.name(head).to_ascii_lowercase().iter().map(|&o| if o == b'_' { b'-' } else { o }).collect()
    };
    fields.as_slice().iter().filter(|field| Vec::<u8>::eq(&fold(field), name.as_bytes())).count()
}
