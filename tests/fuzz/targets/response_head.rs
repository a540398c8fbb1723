//! A response head: split, accepted or refused, rewritten and read again.

use super::common::{assert_head, count, prefix_ends, step_and_octets};
use super::second;
use crate::proto::date::HttpDate;
use crate::proto::http1::{
    Framing, HeadError, Method, Parsed, ResponseEdits, ResponseHead, Version, write_response_head,
};
use crate::proto::trace::IdSource;

pub fn check(input: &[u8]) {
    let (step, octets) = step_and_octets(input);
    for method in [Method::Get, Method::Head] {
        let mut head = ResponseHead::new();
        let whole = head.parse(octets, method);
        let mut pieces = ResponseHead::new();
        let verdict = prefix_ends(octets.len(), step)
            .map(|end| pieces.parse(&octets[..end], method))
            .find(|verdict| *verdict != Ok(Parsed::Partial))
            .unwrap_or(Ok(Parsed::Partial));
        assert_eq!(verdict, whole);
        second::response(octets, &whole, &head);
        if let Ok(Parsed::Complete { len }) = whole {
            assert_head(&octets[..len], head.fields());
            assert!(matches!(head.status(), 100..=599));
            rewritten(&head, &octets[..len], method, Version::Http11);
            rewritten(&head, &octets[..len], method, Version::Http10);
        }
    }
}

fn rewritten(head: &ResponseHead, octets: &[u8], method: Method, client_version: Version) {
    let (request_id, date) = (IdSource::new(1, 2, 3).request_id(), HttpDate::from_unix_seconds(0));
    let edits = ResponseEdits {
        request_id: &request_id,
        date: &date,
        client_version,
        keep_alive: true,
        upgrade: true,
    };
    let mut out = Vec::new();
    let delivery = write_response_head(&mut out, head, octets, &edits);
    let mut again = ResponseHead::new();
    match again.parse(&out, method) {
        Ok(Parsed::Complete { len }) => assert_eq!(len, out.len()),
        other => {
            assert!(matches!(other, Err(HeadError::TooLarge | HeadError::TooManyFields)));
            return;
        }
    }
    assert_head(&out, again.fields());
    assert_eq!((again.status(), again.framing()), (head.status(), delivery.framing));
    if head.status() >= 200 {
        let persists = again.keep_alive()
            && (client_version == Version::Http11 || count(again.fields(), &out, "connection") == 1);
        assert_eq!(persists, delivery.keep_alive);
        assert_eq!(count(again.fields(), &out, "x-request-id"), 1);
        assert!(count(again.fields(), &out, "date") >= 1);
    }
    assert_eq!(count(again.fields(), &out, "keep-alive"), 0);
    if client_version == Version::Http10 {
        assert_ne!(delivery.framing, Framing::Chunked);
    }
}
