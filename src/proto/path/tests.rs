//! Known bypasses, and properties against readers that are simpler, or more careless, than this one.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;

use super::{NormalPath, PathError};

/// Matched and resolved, or why not.
fn read(path: &str) -> Result<(String, Option<String>), PathError> {
    let mut normal = NormalPath::default();
    normal.read(path.as_bytes());
    let text = |octets: &[u8]| String::from_utf8(octets.to_vec()).expect("a path in ASCII");
    match normal.error() {
        Some(error) => Err(error),
        None => Ok((text(normal.matched(path.as_bytes())), normal.resolved().map(text))),
    }
}

#[test]
fn forms() {
    // Path, matched, resolved where it is another.
    for (path, matched, resolved) in [
        ("/", "/", None),
        ("/a/b", "/a/b", None),
        ("/a/b/", "/a/b/", None),
        ("*", "*", None),
        ("/.well-known/x", "/.well-known/x", None),
        ("/a/...", "/a/...", None),
        ("/a.b/..c/.d", "/a.b/..c/.d", None),
        ("/~u/%7Eu", "/~u/~u", None),
        ("/%41%2d%5f", "/A-_", None),
        ("/caf%c3%a9", "/caf%C3%A9", None),
        ("/%e0%a4%b9%ef%bc%8e", "/%E0%A4%B9%EF%BC%8E", None),
        ("/%C0ngel%c0", "/%C0ngel%C0", None),
        ("/..%20a/...%20", "/..%20a/...%20", None),
        ("/a%20b%3bc%2Cd", "/a%20b%3Bc%2Cd", None),
        ("/100%25", "/100%25", None),
        ("/100%2541", "/100%2541", None),
        ("//a", "/a", None),
        ("/a//b///", "/a/b/", None),
        ("//", "/", None),
        ("/a;v=1/b;jsessionid=2", "/a/b", None),
        ("/;x/a", "/a", None),
        ("/a/.;b", "", None),
        ("/a/./b", "/a/b", Some("/a/b")),
        ("/a/../b", "/b", Some("/b")),
        ("/a/b/..", "/a/", Some("/a/")),
        ("/a/b/.", "/a/b/", Some("/a/b/")),
        ("/a/..", "/", Some("/")),
        ("/.", "/", Some("/")),
        ("/a/%2e%2E/b", "/b", Some("/b")),
        ("/a/.%2e/%62", "/b", Some("/%62")),
        ("/a;x/../b;y", "/b", Some("/b;y")),
        ("/x//a/../b", "/x/b", Some("/x//b")),
        ("/a//../b", "/a/b", Some("/a/b")),
        ("/a/;/../b", "/a/b", Some("/a/b")),
        ("/a/%2e/../b", "/b", Some("/b")),
    ] {
        match matched {
            "" => assert_eq!(read(path), Err(PathError::DotParameters), "{path}"),
            _ => assert_eq!(read(path), Ok((matched.to_owned(), resolved.map(str::to_owned))), "{path}"),
        }
    }
}

#[test]
fn refused() {
    for (path, error) in [
        ("/%", PathError::Escape),
        ("/a%2", PathError::Escape),
        ("/a%2/b", PathError::Escape),
        ("/a%zz", PathError::Escape),
        ("/a%u002e", PathError::Escape),
        ("/%%32%65", PathError::Escape),
        ("/a%2fb", PathError::Separator),
        ("/a%2Fb", PathError::Separator),
        ("/..%2fadmin", PathError::Separator),
        ("/a%5cb", PathError::Separator),
        ("/a\\..\\b", PathError::Separator),
        ("/a;x=%2f..", PathError::Separator),
        ("/a%00.png", PathError::Nul),
        ("/%252e%252e/admin", PathError::TwiceEncoded),
        ("/a%252fb", PathError::TwiceEncoded),
        ("/a%255cb", PathError::TwiceEncoded),
        ("/a%2500", PathError::TwiceEncoded),
        ("/%25%32%65", PathError::TwiceEncoded),
        ("/%25252e", PathError::TwiceEncoded),
        ("/%25%2532e", PathError::TwiceEncoded),
        ("/%2525252525252525", PathError::TwiceEncoded),
        ("/%c0%ae%c0%ae/admin", PathError::Overlong),
        ("/a%C0%AFb", PathError::Overlong),
        ("/a%c1%9cb", PathError::Overlong),
        ("/a%c0%80b", PathError::Overlong),
        ("/%c0%2e%c0./b", PathError::Overlong),
        ("/a/%e0%80%ae%e0%80%ae/b", PathError::Overlong),
        ("/a/..%e0%80%afb", PathError::Overlong),
        ("/a/%e0%81%9cb", PathError::Overlong),
        ("/a/%f0%80%80%ae/b", PathError::Overlong),
        ("/a/%f8%80%80%80%ae/b", PathError::Overlong),
        ("/a/%fc%80%80%80%80%80", PathError::Overlong),
        ("/a/%25c0%25ae/b", PathError::Overlong),
        ("/a/%25e0%2580%25af/b", PathError::Overlong),
        ("/a/..;/b", PathError::DotParameters),
        ("/a/..;x=y/b", PathError::DotParameters),
        ("/a/%2e%2e;/b", PathError::DotParameters),
        ("/a/..%3b/b", PathError::DotParameters),
        ("/a/..%253b/b", PathError::DotParameters),
        ("/a/.%2520", PathError::DotParameters),
        ("/a/.%20;x", PathError::DotParameters),
        ("/a/%2e.%0b", PathError::DotParameters),
        ("/a/.%3Bx/b", PathError::DotParameters),
        ("/a/..%20/b", PathError::DotParameters),
        ("/a/..%0d%0a/b", PathError::DotParameters),
        ("/a/%2e%09", PathError::DotParameters),
        ("//../..", PathError::AboveRoot),
        ("/..", PathError::AboveRoot),
        ("/../admin", PathError::AboveRoot),
        ("/a/../../b", PathError::AboveRoot),
    ] {
        assert_eq!(read(path), Err(error), "{path}");
    }
}

/// What was read last does not show in what is read next.
#[test]
fn forms_are_of_the_last_path_alone() {
    let mut normal = NormalPath::default();
    for path in ["/a/../b", "/x%41", "/%2f", "/plain", "/%2f", "/a/./b"] {
        normal.read(path.as_bytes());
        let now = match normal.error() {
            Some(error) => Err(error),
            None => Ok((
                String::from_utf8_lossy(normal.matched(path.as_bytes())).into_owned(),
                normal.resolved().map(|resolved| String::from_utf8_lossy(resolved).into_owned()),
            )),
        };
        assert_eq!(now, read(path), "{path}");
    }
}

fn path() -> impl Strategy<Value = String> {
    let parts = [
        "/",
        "/",
        "/",
        "a",
        "b",
        ".",
        "..",
        "/..",
        "/../",
        "/./",
        ";",
        ";x=",
        "%2e",
        "%2E",
        "%2f",
        "%5C",
        "\\",
        "%",
        "%25",
        "%252e",
        "%41",
        "%61",
        "%7e",
        "%c3%a9",
        "%C0",
        "%AE",
        "%e0%80",
        "%f0%80%80",
        "%00",
        "%20",
        "2",
        "5",
        "e",
        "f",
        "admin",
    ];
    vec(select(parts.to_vec()), 0..12).prop_map(|parts| format!("/{}", parts.concat()))
}

/// RFC 3986, 5.2.4 to the letter, on segments.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    for (at, segment) in segments.iter().enumerate() {
        let last = at + 1 == segments.len();
        match *segment {
            "." => {}
            ".." => drop(kept.pop()),
            other => kept.push(other),
        }
        if last && matches!(*segment, "." | "..") {
            kept.push("");
        }
    }
    kept.iter().map(|segment| format!("/{segment}")).collect()
}

fn without_parameters(path: &str) -> String {
    let names = path.split('/').skip(1).map(|segment| segment.split(';').next().unwrap_or_default());
    names.map(|name| format!("/{name}")).collect()
}

fn with_joined_slashes(path: &str) -> String {
    let mut path = path.to_owned();
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    path
}

/// Decodes every escape but those of `%` and of what is not ASCII, which say nothing of segments here.
fn decoded(path: &str) -> String {
    let mut parts = path.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let octet = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match octet {
            Some(octet @ (1..=0x24 | 0x26..=0x7e)) => {
                decoded.push(char::from(octet));
                decoded.push_str(&part[2..]);
            }
            _ => decoded.extend(["%", part]),
        }
    }
    decoded
}

/// Every order in which an origin may do what it does.
fn readings(path: &str) -> Vec<String> {
    let steps: [fn(&str) -> String; 4] = [without_dots, without_parameters, with_joined_slashes, decoded];
    let mut readings = Vec::new();
    for order in 0..4_usize.pow(4) {
        let order = [order % 4, order / 4 % 4, order / 16 % 4, order / 64];
        if (0..4).all(|step| order.contains(&step)) {
            readings.push(order.iter().fold(path.to_owned(), |path, &step| steps[step](&path)));
        }
    }
    readings
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    /// Whatever an origin does first, what it gets of an accepted path takes it to what was matched.
    #[test]
    fn all_readers_of_an_accepted_path_agree(path in path()) {
        if let Ok((matched, resolved)) = read(&path) {
            prop_assert!(resolved.is_some() || !path.split('/').any(|segment| matches!(segment, "." | "..")));
            for reading in readings(resolved.as_ref().unwrap_or(&path)) {
                prop_assert_eq!(&without_dots(&reading), &reading, "dots are left");
                let reading = decoded(&with_joined_slashes(&without_parameters(&reading)));
                // Hexadecimal digits may be in either case.
                prop_assert_eq!(reading.to_uppercase(), decoded(&matched).to_uppercase(), "{}", path);
            }
        }
    }

    #[test]
    fn normal_forms_stay(path in path()) {
        if let Ok((matched, resolved)) = read(&path) {
            prop_assert_eq!(read(&matched), Ok((matched.clone(), None)));
            if let Some(resolved) = resolved {
                prop_assert_eq!(read(&resolved), Ok((matched, None)));
            }
        }
    }

    /// However often it is decoded, it leads nowhere else.
    #[test]
    fn nothing_hides_below(path in path()) {
        if let Ok((matched, _)) = read(&path) {
            let mut below = matched.clone();
            for _ in 0..16 {
                below = decoded(&below).replace("%25", "%");
            }
            let depth = |path: &str| path.matches('/').count();
            prop_assert_eq!(depth(&below), depth(&matched), "{}", below);
            prop_assert!(!below.contains('\\') && !below.contains("%00"));
            prop_assert!(below.split('/').all(|segment| !matches!(segment, "." | "..")), "{}", below);
        }
    }
}
