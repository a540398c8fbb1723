//! Changes as JSON: what the design shows is read, what is wrong is named, and nothing panics.

use proptest::prelude::*;

use super::world;
use crate::{
    change::{self, ChangeError, Line, Meaning},
    limits::{CHANGE_OCTETS_MAX, DOCUMENT_OCTETS_MAX},
    record::Change,
};

fn read(text: &str) -> Line {
    change::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> ChangeError {
    match change::parse(text.as_bytes()) {
        Ok(line) => panic!("{text} is read as {line:?}"),
        Err(error) => error,
    }
}

/// What a line says, written again without its number and what is unknown.
fn canonical(text: &str) -> String {
    let Meaning::Change(change) = read(text).meaning else { panic!("{text} is no change") };
    let mut line = Vec::new();
    change::render(&change, None, &mut line);
    String::from_utf8(line).unwrap()
}

/// The lines of design section 4.
#[test]
fn golden() {
    let same = [
        r#"{"kind":"service","service":"svc_abc","version":[1,3],"owner":"usr_9","home_region":"oregon","regions":{"oregon":100},"policy":null}"#,
        r#"{"kind":"endpoint_set","service":"svc_abc","region":"oregon","version":[3,42],"endpoints":[{"ip":"10.2.3.4","port":10001,"state":"healthy"}]}"#,
        r#"{"kind":"domain_map","hostname":"shop.example.com","version":[1,7],"service":"svc_abc","class":"custom"}"#,
        r#"{"kind":"tombstone","hostname":"shop.example.com","version":[1,8],"reason":"transfer"}"#,
        r#"{"kind":"endpoint_set","service":"svc_old","region":"oregon","version":[3,43],"removed":true}"#,
    ];
    for text in same {
        assert_eq!(canonical(text).trim_end(), text);
    }
    let with_number = r#"{"seq":3,"kind":"domain_map","hostname":"Shop.Example.com","service":"svc_abc","version":7,"class":"custom"}"#;
    assert_eq!(canonical(with_number).trim_end(), same[2].replace("[1,7]", "[0,7]"));
    assert_eq!(read(with_number).seq, Some(3));
}

#[test]
fn unknown_kinds_fields_and_null_are_no_mistakes() {
    let line = read(r#"{"seq":5,"kind":"from_the_future","hostname":7}"#);
    assert_eq!((line.meaning, line.seq), (Meaning::UnknownKind("from_the_future".to_owned()), Some(5)));
    assert_eq!(read("null").meaning, Meaning::Nothing);
    let more = r#"{"kind":"endpoint_set","service":"s","region":"r","version":1,"since":1,"endpoints":[{"ip":"::1","port":1,"state":"dead","zone":"b"}],"by":{}}"#;
    assert_eq!(read(more).unknown_fields, 3);
    let grave = r#"{"kind":"service","service":"s","version":1,"removed":true,"owner":7,"why":"x"}"#;
    assert_eq!(read(grave).unknown_fields, 1, "a value beside a removal means nothing, but is known");
    let alive = r#"{"kind":"tombstone","hostname":"a.b","version":1,"removed":false,"reason":"takedown"}"#;
    assert!(!canonical(alive).contains("removed"));
}

/// Kinds that are kept whole: members in one order, without white space; their names say what they are about.
#[test]
fn documents() {
    let cases = [
        (
            r#"{"seq":5,"kind":"cert_ready","hostname":"Shop.example.com","version":[1,1],"serial":"04:9f","not_after":"2027-02-01T00:00:00Z"}"#,
            r#"{"kind":"cert_ready","hostname":"shop.example.com","version":[1,1],"not_after":"2027-02-01T00:00:00Z","serial":"04:9f"}"#,
            "cert:shop.example.com",
        ),
        (
            r#"{"kind":"cert_rotated","hostname":"*.example.com","version":[1,2]}"#,
            r#"{"kind":"cert_rotated","hostname":"*.example.com","version":[1,2]}"#,
            "cert:*.example.com",
        ),
        (
            r#"{"kind":"acme_challenge","token":"a-_b","version":3,"answer": "x.y"}"#,
            r#"{"kind":"acme_challenge","token":"a-_b","version":[0,3],"answer":"x.y"}"#,
            "acme:a-_b",
        ),
        (
            r#"{"kind":"policy","policy":"strict","z":[1, -2, 0.5, 1e2, 18446744073709551616],"a":{"d":null,"c":"\u00e9\n"},"version":1}"#,
            r#"{"kind":"policy","policy":"strict","version":[0,1],"a":{"c":"é\n","d":null},"z":[1,-2,0.5,100.0,1.8446744073709552e+19]}"#,
            "policy:strict",
        ),
        (
            r#"{"kind":"deny_list","deny":"sessions","version":1,"removed":true,"ids":[]}"#,
            r#"{"kind":"deny_list","deny":"sessions","version":[0,1],"removed":true}"#,
            "deny:sessions",
        ),
        (
            r#"{"kind":"config_bundle","bundle":"b1","version":1,"removed":false,"of":{}}"#,
            r#"{"kind":"config_bundle","bundle":"b1","version":[0,1],"of":{}}"#,
            "bundle:b1",
        ),
    ];
    for (text, wanted, key) in cases {
        assert_eq!(canonical(text).trim_end(), wanted);
        assert_eq!(canonical(wanted).trim_end(), wanted);
        let Meaning::Change(change) = read(text).meaning else { panic!("{text}") };
        assert_eq!(change.record.key().to_string(), key);
        assert_eq!(read(text).unknown_fields, 0);
    }
    let too_large =
        format!(r#"{{"kind":"ring","ring":"r","version":1,"nodes":"{}"}}"#, "x".repeat(DOCUMENT_OCTETS_MAX));
    assert!(matches!(refused(&too_large), ChangeError::Document));
}

/// Each mistake with words that its message must hold: the field, and what would be right.
#[test]
fn mistakes_are_named() {
    let service = |rest: &str| format!(r#"{{"kind":"service","service":"s","version":1,{rest}}}"#);
    let set = |endpoints: &str| {
        format!(r#"{{"kind":"endpoint_set","service":"s","region":"r","version":1,"endpoints":{endpoints}}}"#)
    };
    let host = |rest: &str| {
        format!(r#"{{"kind":"domain_map","hostname":"a.b","service":"s","class":"custom",{rest}}}"#)
    };
    let cases = [
        ("[]".to_owned(), ["the line", "an object or null"]),
        (r#"{"version":1}"#.to_owned(), ["`kind` is missing", "give the kind"]),
        (r#"{"kind":"service","version":1}"#.to_owned(), ["`service` is missing", "a service id"]),
        (r#"{"seq":"1","kind":"service"}"#.to_owned(), ["`seq` is a string", "an integer"]),
        (host(r#""version":[1]"#), ["`version` is an array", "[epoch, counter]"]),
        (host(r#""version":-1"#), ["`version` is a negative", "[epoch, counter]"]),
        (host(r#""version":[1,2.5]"#), ["`version[1]` is", "an integer from 0"]),
        (host(r#""version":[-1,2]"#), ["`version[0]` is a negative", "an integer from 0"]),
        (host(r#""version":1,"version":2"#), ["\"version\" twice", "write it once"]),
        (host(r#""seq":1"#), ["`version` is missing", "a counter alone"]),
        (host(r#""version":1,"removed":1"#), ["`removed` is an integer", "true or false"]),
        (r#"{"kind":"tombstone","hostname":"a..b"}"#.to_owned(), ["`hostname`", "label"]),
        (r#"{"kind":"tombstone","hostname":"*.*.b"}"#.to_owned(), ["`hostname`", "wildcard"]),
        (r#"{"kind":"policy","version":1}"#.to_owned(), ["`policy` is missing", "the name"]),
        (r#"{"kind":"acme_challenge","token":"a/b"}"#.to_owned(), ["`token`", "a token"]),
        (r#"{"kind":"cert_ready","hostname":"a_b"}"#.to_owned(), ["`hostname`", "a host name"]),
        (
            r#"{"kind":"tombstone","hostname":"a.b","version":1}"#.to_owned(),
            ["`reason` is missing", "transfer"],
        ),
        (service(r#""home_region":"r","regions":{}"#), ["`owner` is missing", "an owner id"]),
        (service(r#""owner":"o","home_region":"r","regions":[]"#), ["`regions` is an array", "an object"]),
        (
            service(r#""owner":"o","home_region":"r","regions":{"a":65536}"#),
            ["`regions.a` is \"65536\"", "65535"],
        ),
        (service(r#""owner":"o","home_region":"r","regions":{"a b":1}"#), ["`regions.a b`", "a region"]),
        (
            service(r#""owner":"o","home_region":"r","regions":{},"policy":1"#),
            ["`policy` is an integer", "null"],
        ),
        (set("{}"), ["`endpoints` is an object", "an array"]),
        (set("[7]"), ["`endpoints[0]` is an integer", "ip, port and state"]),
        (set(r#"[{"ip":"1.2.3","port":1,"state":"dead"}]"#), ["`endpoints[0].ip`", "address"]),
        (set(r#"[{"ip":"::1","port":0,"state":"dead"}]"#), ["`endpoints[0].port`", "1 to 65535"]),
        (set(r#"[{"ip":"::1","port":1,"state":"ok"}]"#), ["`endpoints[0].state`", "draining"]),
        (set(r#"[{"ip":"::1","port":1}]"#), ["`endpoints[0].state` is missing", "healthy"]),
    ];
    for (text, words) in cases {
        let message = refused(&text).to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{text}: {message}");
    }
}

#[test]
fn ambiguous_and_oversized_lines_are_refused() {
    let twice = r#"{"kind":"tombstone","hostname":"a.b","hostname":"c.d","version":1,"reason":"x"}"#;
    assert!(matches!(refused(twice), ChangeError::Members { .. }));
    let endpoint = r#"{"ip":"10.0.0.1","port":80,"state":"healthy"}"#;
    let set = |endpoints: &str| {
        format!(
            r#"{{"kind":"endpoint_set","service":"s","region":"r","version":1,"endpoints":[{endpoints}]}}"#
        )
    };
    assert!(matches!(refused(&set(&[endpoint, endpoint].join(","))), ChangeError::Set(_)));
    assert!(matches!(
        refused(&set(&vec![endpoint; 4_097].join(","))),
        ChangeError::TooMany { max: 4_096, .. }
    ));
    assert!(matches!(refused(&" ".repeat(CHANGE_OCTETS_MAX + 1)), ChangeError::TooLong { .. }));
    assert!(matches!(refused(&"[".repeat(100_000)), ChangeError::NotJson(_)), "nesting is bounded");
    assert!(matches!(refused(r#"{"kind":"service"} {}"#), ChangeError::NotJson(_)));
}

/// A line with one octet replaced: nearly right.
fn nearly_right() -> impl Strategy<Value = Vec<u8>> {
    (world::changes(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(change, at, octet)| {
        let mut line = Vec::new();
        change::render(&change, Some(1), &mut line);
        let at = at.index(line.len());
        line[at] = octet;
        line
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_rendered_is_read(change in world::changes(), seq: Option<u64>) {
        let mut line = Vec::new();
        change::render(&change, seq, &mut line);
        prop_assert_eq!(line.pop(), Some(b'\n'));
        prop_assert!(!line.contains(&b'\n'));
        let expected = Line { meaning: Meaning::Change(change), seq, unknown_fields: 0 };
        prop_assert_eq!(change::parse(&line).unwrap(), expected);
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        nearly_right(),
    ]) {
        if let Ok(Line { meaning: Meaning::Change(change), .. }) = change::parse(&octets) {
            let mut line = Vec::new();
            change::render(&change, None, &mut line);
            let again: Change = match change::parse(&line).unwrap().meaning {
                Meaning::Change(again) => again,
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(again, change, "what was read is well-formed");
        }
    }
}
