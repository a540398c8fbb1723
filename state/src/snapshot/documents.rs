//! Documents: what other kinds than host names, services and endpoint sets hold, in a part of the body of their own.
//!
//! ```text
//! length │ change as in [`crate::codec`]
//! ```
//! The length, a `u32`, is the change's. They stand in buckets like services' records, by the hash of the name in
//! their key; a directory says where each bucket starts.

use std::ops::Range;

use crate::{codec, record::Change};

const LENGTH_OCTETS: usize = 4;

pub(crate) fn put_document(out: &mut Vec<u8>, change: &Change) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_OCTETS]);
    codec::encode(change, out);
    let length = u32::try_from(out.len() - start - LENGTH_OCTETS).expect("a document has at most half a MiB");
    out[start..start + LENGTH_OCTETS].copy_from_slice(&length.to_le_bytes());
}

/// The encoded changes in a part of the column; ends with `None` where the octets make no sense.
pub(crate) fn documents(column: &[u8], part: Range<usize>) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = column.get(part);
    std::iter::from_fn(move || {
        let octets = rest.take()?;
        if octets.is_empty() {
            return None;
        }
        let (document, behind) = split(octets).unzip();
        rest = behind;
        Some(document)
    })
}

fn split(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = octets.split_first_chunk::<LENGTH_OCTETS>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}
