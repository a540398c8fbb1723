//! The commands on files, one after the other.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::path::{Path, PathBuf};

use super::diff::Differing;
use super::*;

/// A change of every kind, and one that removes.
const CHANGES: &str = r#"{"kind":"service","service":"svc_a","version":[1,1],"owner":"usr_1","home_region":"local","regions":{"local":100},"policy":null}
{"kind":"endpoint_set","service":"svc_a","region":"local","version":[1,1],"endpoints":[{"ip":"10.0.0.1","port":80,"state":"healthy"}]}
{"kind":"domain_map","hostname":"a.test","version":[1,1],"service":"svc_a","class":"custom"}
{"kind":"domain_map","hostname":"*.apps.test","version":[1,1],"service":"svc_a","class":"platform"}
{"kind":"domain_map","hostname":"removed.apps.test","version":[1,9],"removed":true}
{"kind":"tombstone","hostname":"gone.test","version":[1,2],"reason":"transfer"}
{"kind":"cert_ready","hostname":"a.test","version":[1,1],"serial":"04:9f","not_after":"2027-02-01T00:00:00Z"}
{"kind":"acme_challenge","token":"tok_1","version":[1,1],"answer":"x"}
{"kind":"policy","policy":"strict","version":[1,1],"rules":[1,2]}
{"kind":"ruleset","ruleset":"rs_1","version":[1,1]}
{"kind":"origin","origin":"or_1","version":[1,1]}
{"kind":"ring","ring":"ri_1","version":[1,1]}
{"kind":"deny_list","deny":"de_1","version":[1,1]}
{"kind":"config_bundle","bundle":"bu_1","version":[1,1]}
"#;

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Builds a snapshot of that name from changes.
    #[track_caller]
    fn build(&self, name: &str, changes: &str) -> PathBuf {
        let (from, file) = (self.at("changes.jsonl"), self.at(name));
        std::fs::write(&from, changes).unwrap();
        let (exit, said) = said(|out| build(&from, &file, out));
        assert_eq!(exit, Exit::Fine, "{said}");
        file
    }
}

fn said<T>(command: impl FnOnce(&mut Vec<u8>) -> io::Result<T>) -> (T, String) {
    let mut out = Vec::new();
    let ended = command(&mut out).unwrap();
    (ended, String::from_utf8(out).unwrap())
}

fn exported(file: &Path, kind: Option<Kind>) -> String {
    let (mut lines, mut err) = (Vec::new(), Vec::new());
    let exit = export(file, kind, None, &mut lines, &mut err).unwrap();
    assert_eq!((exit, err.as_slice()), (Exit::Fine, &b""[..]));
    String::from_utf8(lines).unwrap()
}

fn sorted(lines: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn every_kind_is_counted_found_and_exported() {
    let files = Files::new();
    let file = files.build("a.snap", CHANGES);
    let (exit, told) = said(|out| survey(&file, false, out));
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(exit, Exit::Fine);
    assert!(lines[0].starts_with("file ") && lines[1] == "format    2, all of a state", "{told}");
    assert!(lines[2].ends_with("1 removed keys; 1 wildcards") && lines[4].starts_with("offsets "), "{told}");
    let columns = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let of_kind = |kind: Kind| {
        lines.iter().map(|line| columns(line)).find(|row| row[..].first() == Some(&kind.name().to_owned()))
    };
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::CertRotated) {
        let mine = CHANGES.lines().filter(|line| line.starts_with(&format!("{{\"kind\":\"{kind}\"")));
        let (removed, live): (Vec<&str>, Vec<&str>) = mine.partition(|line| line.contains("removed\":true"));
        let row = of_kind(kind).unwrap();
        assert_eq!(row[1..3], [live.len().to_string(), removed.len().to_string()], "{kind}: {told}");
    }
    assert_eq!(of_kind(Kind::CertRotated), None);
    assert_eq!(of_kind(Kind::DomainMap).unwrap()[5..], ["[1,1]", "to", "[1,9]"]);
    let parts = ["1 platform", "1 custom", "1 wildcards, tombstones too", "1 healthy", "at most 1 in a set"];
    let found: Vec<&str> =
        lines.iter().filter(|line| line.starts_with(' ')).map(|line| line.trim()).collect();
    assert_eq!(sorted(&found.join("\n")), sorted(&parts.join("\n")));
    let (exit, header) = said(|out| survey(&file, true, out));
    assert!(exit == Exit::Fine && told.starts_with(&header) && header.lines().count() == 5, "{header}");

    let lines = exported(&file, None);
    assert_eq!(lines.lines().count(), CHANGES.lines().count());
    let mut kind_by_kind = String::new();
    for kind in Kind::ALL {
        let of_kind = exported(&file, Some(kind));
        assert!(
            of_kind.lines().all(|line| line.starts_with(&format!("{{\"kind\":\"{kind}\","))),
            "{of_kind}"
        );
        kind_by_kind += &of_kind;
    }
    assert_eq!(sorted(&kind_by_kind), sorted(&lines));
    // Key by key, as the export has it.
    for (given, holds) in [
        ("host:a.test", "\"domain_map\""),
        ("host:*.apps.test", "\"platform\""),
        ("host:gone.test", "\"tombstone\""),
        ("svc:svc_a", "\"usr_1\""),
        ("eps:svc_a/local", "10.0.0.1"),
        ("cert:a.test", "04:9f"),
        ("acme:tok_1", "\"answer\":\"x\""),
        ("policy:strict", "[1,2]"),
        ("ruleset:rs_1", "rs_1"),
        ("origin:or_1", "or_1"),
        ("ring:ri_1", "ri_1"),
        ("deny:de_1", "de_1"),
        ("bundle:bu_1", "bu_1"),
        ("host:removed.apps.test", "\"removed\":true"),
    ] {
        let (exit, told) = said(|out| find(&file, &key(given).unwrap(), out));
        assert!(exit == Exit::Fine && told.contains(holds) && told.lines().count() == 1, "{given}: {told}");
        assert!(lines.contains(&told), "{given}");
    }
    let (exit, told) = said(|out| find(&file, &key("policy:none").unwrap(), out));
    assert_eq!((exit, told), (Exit::WrongInput, format!("policy:none: not in {}\n", file.display())));
}

#[test]
fn a_host_name_is_told_with_all_that_belongs_to_it() {
    let files = Files::new();
    let file = files.build("a.snap", CHANGES);
    let told = |host: &str| said(|out| find_host(&file, &pattern(host).unwrap(), out));
    let kinds = |told: &str| -> Vec<String> {
        let kind = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["kind"].as_str().unwrap().to_owned()
        };
        told.lines().map(kind).collect()
    };
    let (exit, of_a) = told("a.test");
    assert_eq!(exit, Exit::Fine);
    let (first, rest) =
        kinds(&of_a).split_first().map(|(first, rest)| (first.clone(), rest.to_vec())).unwrap();
    assert_eq!(
        (first.as_str(), sorted(&rest.join("\n"))),
        ("domain_map", vec!["cert_ready", "endpoint_set", "service"])
    );
    // A wildcard answers for names that are not there, and for those that are removed.
    for host in ["x.apps.test", "removed.apps.test", "*.apps.test"] {
        let (exit, told) = told(host);
        assert!(
            exit == Exit::Fine && told.starts_with(r#"{"kind":"domain_map","hostname":"*.apps.test""#),
            "{host}: {told}"
        );
    }
    let (exit, gone) = told("gone.test");
    assert_eq!((exit, kinds(&gone)), (Exit::Fine, vec!["tombstone".to_owned()]));
    assert_eq!(told("y.x.apps.test").0, Exit::WrongInput, "one label");
}

#[test]
fn differences_are_told_as_diff_tells_them() {
    let files = Files::new();
    let before = files.build("before.snap", CHANGES);
    let changed = CHANGES
        .replace(r#""version":[1,1],"rules":[1,2]"#, r#""version":[1,2],"rules":[1]"#)
        .replace(
            r#""hostname":"a.test","version":[1,1],"service""#,
            r#""hostname":"a.test","version":[1,2],"service""#,
        )
        .replace(
            r#""kind":"ring","ring":"ri_1","version":[1,1]"#,
            r#""kind":"ring","ring":"ri_1","version":[1,2],"removed":true"#,
        )
        .replace(r#""ruleset":"rs_1""#, r#""ruleset":"rs_2""#);
    let after = files.build("after.snap", &changed);
    let differ = |summary, values| {
        let mut err = Vec::new();
        let (ended, told) = said(|out| diff((&before, &after), Told { summary, values }, out, &mut err));
        assert!(err.is_empty());
        (ended, told)
    };
    let (ended, told) = differ(false, true);
    let marked =
        |mark: &str| told.lines().filter(|line| line.starts_with(mark)).collect::<Vec<_>>().join("\n");
    assert_eq!(ended, Differing::Yes);
    assert!(told.starts_with(&format!("--- {}\n+++ {}\n", before.display(), after.display())), "{told}");
    let (gone, new) = (marked("- "), marked("+ "));
    assert_eq!((gone.lines().count(), new.lines().count()), (3, 2), "{told}");
    assert!(gone.contains("ri_1") && gone.contains("rs_1") && gone.contains("[1,2]"), "{told}");
    assert!(new.contains("rs_2") && new.contains("\"rules\":[1]"), "{told}");
    assert!(
        told.contains("\nall            1 added, 2 removed, 1 changed\n1 more differ in versions"),
        "{told}"
    );
    let (ended, told) = differ(true, false);
    let summary = "\
domain_map     0 added, 0 removed, 1 changed
policy         0 added, 0 removed, 1 changed
ruleset        1 added, 1 removed, 0 changed
ring           0 added, 0 removed, 1 changed
all            1 added, 1 removed, 3 changed
";
    assert_eq!((ended, told.as_str()), (Differing::Yes, summary));
    let (ended, told) = differ(false, false);
    assert_eq!((ended, told.lines().count()), (Differing::Yes, 2 + 4 + 4 + 5), "{told}");
    assert!(
        told.contains("\n- {\"kind\":\"domain_map\",\"hostname\":\"a.test\",\"version\":[1,1]"),
        "{told}"
    );
    assert!(
        told.contains("\n+ {\"kind\":\"domain_map\",\"hostname\":\"a.test\",\"version\":[1,2]"),
        "{told}"
    );

    let again = files.build("again.snap", CHANGES);
    let told = Told { summary: false, values: false };
    let (ended, said_of_same) = said(|out| diff((&before, &again), told, out, &mut Vec::new()));
    let none = "all            0 added, 0 removed, 0 changed\n";
    assert_eq!((ended, said_of_same.as_str()), (Differing::No, none));
    let mut err = Vec::new();
    let (ended, said) = said(|out| diff((&before, Path::new("/nowhere")), told, out, &mut err));
    assert_eq!((ended, said.as_str()), (Differing::Unknown, ""));
    assert!(String::from_utf8(err).unwrap().contains("/nowhere"));
}

#[test]
fn an_export_to_a_file_is_whole_or_not_there() {
    let files = Files::new();
    let file = files.build("a.snap", CHANGES);
    let to = files.at("exported.jsonl");
    let (exit, told) = said(|err| export(&file, None, Some(&to), &mut Vec::new(), err));
    assert_eq!((exit, told), (Exit::Fine, format!("{}: 14 changes\n", to.display())));
    let again = files.build("again.snap", &std::fs::read_to_string(&to).unwrap());
    let told = Told { summary: true, values: false };
    assert_eq!(diff((&file, &again), told, &mut Vec::new(), &mut Vec::new()).unwrap(), Differing::No);
    let nowhere = files.at("none/exported.jsonl");
    let (exit, told) = said(|err| export(&file, None, Some(&nowhere), &mut Vec::new(), err));
    assert!(exit == Exit::WrongInput && told.starts_with(&nowhere.display().to_string()), "{told}");
    let folder = files.at("folder");
    std::fs::create_dir(&folder).unwrap();
    let (exit, told) = said(|err| export(&file, None, Some(&folder), &mut Vec::new(), err));
    assert!(exit == Exit::WrongInput && told.contains("folder: "), "{told}");
    let left: Vec<_> =
        std::fs::read_dir(files.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("partial")), "{left:?}");
}

/// Neither a device nor a link is replaced, nor the file that is read.
#[test]
fn what_is_no_file_of_its_own_is_not_replaced() {
    let files = Files::new();
    let (file, changes) = (files.build("a.snap", CHANGES), files.at("changes.jsonl"));
    std::fs::write(&changes, CHANGES).unwrap();
    let (link, folder) = (files.at("link"), files.at("folder"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    std::fs::create_dir(&folder).unwrap();
    let null = std::path::PathBuf::from("/dev/null");
    for (to, what) in [(&link, "symbolic link"), (&folder, "a folder"), (&null, "a device")] {
        let (exit, told) = said(|out| build(&changes, to, out));
        assert!(exit == Exit::WrongInput && told.contains(what) && told.contains("--out"), "{told}");
        let (exit, told) = said(|err| export(&file, None, Some(to), &mut Vec::new(), err));
        assert!(exit == Exit::WrongInput && told.contains(what) && told.contains("--out"), "{told}");
    }
    let (exit, told) = said(|out| build(&changes, &changes, out));
    assert!(exit == Exit::WrongInput && told.contains("is to be made of"), "{told}");
    let (exit, _) = said(|err| export(&file, None, Some(&file), &mut Vec::new(), err));
    assert_eq!((exit, std::fs::read_to_string(&changes).unwrap().as_str()), (Exit::WrongInput, CHANGES));
}
