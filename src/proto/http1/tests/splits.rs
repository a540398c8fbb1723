//! However its octets are split, a message is understood alike; and no octets bring the codec down.

use proptest::collection::vec;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::sample::{Index, select};

use crate::limits::{HEAD_OCTETS_MAX, TARGET_OCTETS_MAX};
use crate::proto::date::HttpDate;
use crate::proto::http1::{
    BodyError, BodyReader, BodyStep, Field, Fields, Framing, HeadError, Method, Parsed, RequestEdits,
    RequestHead, ResponseEdits, ResponseHead, Scheme, Version, write_request_head, write_response_head,
};
use crate::proto::trace::{IdSource, TraceContext, TraceParent};

/// All that a parsed head says, as text.
type Told = Result<(usize, String), HeadError>;

fn tell_fields(fields: &Fields, octets: &[u8]) -> String {
    let tell = |field: &Field| {
        let (name, value) = (field.name(octets).escape_ascii(), field.value(octets).escape_ascii());
        format!("{:?} {name}={value};", field.known())
    };
    fields.as_slice().iter().map(tell).collect()
}

fn tell_request(head: &RequestHead, octets: &[u8]) -> String {
    let texts = [
        Some(head.method_text(octets)),
        Some(head.path(octets)),
        head.query(octets),
        Some(head.host()),
        Some(head.authority(octets)),
    ];
    let flags = (head.keep_alive(), head.expects_continue(), head.asks_upgrade());
    let fields = tell_fields(head.fields(), octets);
    format!("{texts:?} {:?} {:?} {flags:?} {fields}", head.version(), head.framing())
}

/// Feeds growing prefixes, one for each end, until there is a verdict; the last is the whole.
fn request_in_pieces(octets: &[u8], ends: impl Iterator<Item = usize>) -> Option<Told> {
    let mut head = RequestHead::new();
    for end in ends.chain([octets.len()]) {
        match head.parse(&octets[..end]) {
            Ok(Parsed::Partial) => {}
            Ok(Parsed::Complete { len }) => return Some(Ok((len, tell_request(&head, octets)))),
            Err(error) => return Some(Err(error)),
        }
    }
    None
}

fn response_in_pieces(octets: &[u8], ends: impl Iterator<Item = usize>) -> Option<Told> {
    let mut head = ResponseHead::new();
    for end in ends.chain([octets.len()]) {
        match head.parse(&octets[..end], Method::Get) {
            Ok(Parsed::Partial) => {}
            Ok(Parsed::Complete { len }) => {
                let told = (head.status(), head.version(), head.framing(), head.keep_alive());
                return Some(Ok((len, format!("{told:?} {}", tell_fields(head.fields(), octets)))));
            }
            Err(error) => return Some(Err(error)),
        }
    }
    None
}

/// Data, and the surplus or the error that ended the body; `None` if it did not end.
type BodyTold = (Vec<u8>, Option<Result<usize, BodyError>>, Vec<u8>);

fn body_in_pieces(octets: &[u8], framing: Framing, ends: impl Iterator<Item = usize>) -> BodyTold {
    let (mut body, mut data, mut at) = (BodyReader::new(framing), Vec::new(), 0);
    for end in ends.chain([octets.len()]) {
        while let Some(piece) = octets.get(at..end) {
            match body.next(piece) {
                Ok(BodyStep::Data(range)) => {
                    data.extend_from_slice(&piece[range.clone()]);
                    at += range.end;
                }
                Ok(BodyStep::NeedMore) => {
                    at = end;
                    break;
                }
                Ok(BodyStep::End { used }) => {
                    assert!(body.is_done() && body.close().is_ok());
                    return (data, Some(Ok(octets.len() - at - used)), body.trailers().to_vec());
                }
                Err(error) => return (data, Some(Err(error)), Vec::new()),
            }
        }
    }
    (data, None, Vec::new())
}

/// Lines and scraps that make heads which are mostly right and often not quite.
fn scrap() -> impl Strategy<Value = Vec<u8>> {
    let fixed: Vec<&'static [u8]> = vec![
        b"GET / HTTP/1.1\r\n",
        b"POST http://b.example:80/p?q HTTP/1.0\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 304\r\n",
        b"Host: A.example\r\n",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close, x-a, te\r\n",
        b"X-A:\t1 \r\n",
        b"Expect: 100-continue\r\n",
        b"Upgrade: websocket\r\n",
        b"X-Verified-Subject: root\r\n",
        b"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n",
        b"\r\n",
        b"\r\n\r\n",
        b"\r",
        b"\n",
        b" ",
        b"\0",
        b":",
    ];
    prop_oneof![8 => select(fixed).prop_map(<[u8]>::to_vec), 1 => vec(any::<u8>(), 0..70)]
}

fn heads() -> impl Strategy<Value = Vec<u8>> {
    let good_start = select(vec![
        b"GET /index HTTP/1.1\r\nHost: a.example\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\nServer: x\r\n".to_vec(),
        Vec::new(),
    ]);
    (good_start, vec(scrap(), 0..12), Just(b"\r\n\r\n"))
        .prop_map(|(start, scraps, end)| [start, scraps.concat(), end.to_vec()].concat())
}

fn chunked_bodies() -> impl Strategy<Value = Vec<u8>> {
    let fixed: Vec<&'static [u8]> = vec![
        b"5\r\nhello\r\n",
        b"00A;x=\"y z\"\t;b\r\n0123456789\r\n",
        b"1 ;e\r\nx\r\n",
        b"0\r\n",
        b"000\r\n",
        b"Trailer-A: b\r\n",
        b"X-Verified-Subject: root\r\n",
        b"Content-Length: 5\r\n",
        b"\r\n",
        b"ffffffffffffffff\r\n",
        b"0ffffffffffffffff\r\n",
        b"3\r\nabc",
        b"\n",
        b"g\r\n",
        b"5;\n",
        b"-1\r\n",
    ];
    let scrap = prop_oneof![9 => select(fixed).prop_map(<[u8]>::to_vec), 1 => vec(any::<u8>(), 0..9)];
    vec(scrap, 0..10).prop_map(|scraps| scraps.concat())
}

fn cuts(octets: &[u8], mut cuts: Vec<Index>) -> Vec<usize> {
    let mut ends: Vec<usize> = cuts.drain(..).map(|cut| cut.index(octets.len() + 1)).collect();
    ends.sort_unstable();
    ends
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn heads_do_not_depend_on_splits(octets in heads(), at in vec(any::<Index>(), 0..5)) {
        let ends = cuts(&octets, at);
        let whole = request_in_pieces(&octets, std::iter::empty());
        prop_assert_eq!(&request_in_pieces(&octets, ends.iter().copied()), &whole);
        prop_assert_eq!(&request_in_pieces(&octets, 0..octets.len()), &whole);
        let whole = response_in_pieces(&octets, std::iter::empty());
        prop_assert_eq!(&response_in_pieces(&octets, ends.into_iter()), &whole);
        prop_assert_eq!(&response_in_pieces(&octets, 0..octets.len()), &whole);
    }

    #[test]
    fn bodies_do_not_depend_on_splits(octets in chunked_bodies(), at in vec(any::<Index>(), 0..5)) {
        let ends = cuts(&octets, at);
        for framing in [Framing::Chunked, Framing::Length(7), Framing::None, Framing::UntilClose] {
            let whole = body_in_pieces(&octets, framing, std::iter::empty());
            prop_assert_eq!(&body_in_pieces(&octets, framing, ends.iter().copied()), &whole);
            prop_assert_eq!(&body_in_pieces(&octets, framing, 0..octets.len()), &whole);
        }
    }

    #[test]
    fn what_follows_a_head_changes_nothing(octets in heads(), surplus in vec(any::<u8>(), 0..80)) {
        let alone = request_in_pieces(&octets, std::iter::empty());
        let followed = request_in_pieces(&[octets, surplus].concat(), std::iter::empty());
        prop_assert!(alone.is_none() || alone == followed);
    }

    #[test]
    fn no_octets_panic(octets in prop_oneof![vec(any::<u8>(), 0..300), heads()]) {
        drive(&octets);
    }
}

/// Every entry with the same octets.
fn drive(octets: &[u8]) {
    let mut ids = IdSource::new(1, 2, 3);
    let (id, trace) = (ids.request_id(), TraceContext::begin(Some(octets), false, &mut ids));
    let _ = TraceParent::parse(octets);
    let mut out = Vec::new();
    for peer_is_trusted in [false, true] {
        let mut head = RequestHead::new();
        if let Ok(Parsed::Complete { .. }) = head.parse(octets) {
            let client_address = b"192.0.2.1".as_slice();
            let (request_id, trace, attempt, scheme) = (&id, &trace, 1, Scheme::Http);
            let edits = RequestEdits {
                request_id,
                trace,
                attempt,
                client_address,
                scheme,
                peer_is_trusted,
                path: None,
                upgrade: true,
            };
            write_request_head(&mut out, &head, octets, &edits);
            // The wrong octets give wrong text, and no more.
            write_request_head(&mut out, &head, &octets[..octets.len() / 2], &edits);
        }
    }
    for client_version in [Version::Http10, Version::Http11] {
        let mut head = ResponseHead::new();
        if let Ok(Parsed::Complete { .. }) = head.parse(octets, Method::Get) {
            let date = &HttpDate::from_unix_seconds(0);
            let edits =
                ResponseEdits { request_id: &id, date, client_version, keep_alive: true, upgrade: true };
            write_response_head(&mut out, &head, octets, &edits);
            write_response_head(&mut out, &head, &octets[..octets.len() / 2], &edits);
        }
    }
}

/// Limits are met at the same octet whether it comes alone or with all others.
#[test]
fn limits_do_not_depend_on_splits() {
    let long_target =
        format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(TARGET_OCTETS_MAX)).into_bytes();
    let long_line = [b"GET /".to_vec(), vec![b'x'; TARGET_OCTETS_MAX + 40], b"\0".to_vec()].concat();
    let long_head =
        [b"GET / HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; HEAD_OCTETS_MAX], b"\0\r\n\r\n".to_vec()].concat();
    for (octets, error) in [
        (long_target, HeadError::TargetTooLong),
        (long_line, HeadError::TargetTooLong),
        (long_head, HeadError::TooLarge),
    ] {
        for step in [1, 2, 63, 64, 65, 4096] {
            let ends = (0..octets.len()).step_by(step);
            assert_eq!(request_in_pieces(&octets, ends), Some(Err(error)), "step {step}");
        }
        assert_eq!(request_in_pieces(&octets, std::iter::empty()), Some(Err(error)));
    }
}
