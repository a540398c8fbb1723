//! A chunked body: the same content, verdict and end for every split; and content survives being framed anew.

use super::common::{prefix_ends, step_and_octets};
use crate::limits::TRAILERS_OCTETS_MAX;
use crate::proto::http1::{BodyError, BodyReader, BodyStep, Framing, LAST_CHUNK, write_chunk};

/// Content, how many octets the body took, and trailers; `None` without an end.
type Read = (Vec<u8>, Option<(usize, Vec<u8>)>);

pub fn check(input: &[u8]) {
    let (step, octets) = step_and_octets(input);
    let whole = read(octets, octets.len().max(1));
    assert_eq!(read(octets, step), whole);
    if let Ok((content, Some((taken, trailers)))) = whole {
        assert!(taken <= octets.len() && trailers.len() < TRAILERS_OCTETS_MAX);
        let mut framed = Vec::new();
        content.chunks(step).for_each(|piece| write_chunk(&mut framed, piece));
        framed.extend_from_slice(LAST_CHUNK);
        let taken = framed.len();
        assert_eq!(read(&framed, step), Ok((content, Some((taken, Vec::new())))));
    }
}

fn read(octets: &[u8], step: usize) -> Result<Read, BodyError> {
    let (mut body, mut content, mut at) = (BodyReader::new(Framing::Chunked), Vec::new(), 0);
    for end in prefix_ends(octets.len(), step) {
        loop {
            match body.next(&octets[at..end])? {
                BodyStep::Data(range) => {
                    assert!(!range.is_empty());
                    content.extend_from_slice(&octets[at..end][range.clone()]);
                    at += range.end;
                }
                BodyStep::NeedMore => break,
                BodyStep::End { used } => return Ok((content, Some((at + used, body.trailers().to_vec())))),
            }
        }
        at = end;
    }
    assert_eq!(body.close(), Err(BodyError::Truncated));
    Ok((content, None))
}
