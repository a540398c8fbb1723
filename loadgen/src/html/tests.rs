//! The page of made-up figures: well-formed, alone, and safe against names that look like HTML.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::time::{Duration, Instant};

use super::*;
use crate::plan::{self, Plan, Target, Turn};
use crate::record::{Failure, Record};
use crate::report::span::Span;

const SECOND: Duration = Duration::from_secs(1);

fn plan(names: &[&str]) -> Plan {
    let text =
        b"{ about: 'a <b> & c', rounds: 2, warm_up: 0s, phases: [{ for: 10s, rate: 100..200, storm: 5 }] }";
    let target = |name: &&str| Target {
        name: (*name).to_owned(),
        authority: String::new(),
        address: ([127, 0, 0, 1], 80).into(),
    };
    plan::parse("f", text).unwrap().aimed_at(names.iter().map(target).collect()).unwrap()
}

/// Two rounds of each target, with a pause and errors in them.
fn page_of(names: &[&str]) -> String {
    let plan = plan(names);
    let zero = Instant::now();
    let (mut records, mut spans) = (Vec::new(), Vec::new());
    for turn in plan.turns() {
        let mut record = Record::new(zero, zero + 10 * SECOND, Duration::from_millis(100));
        for ms in (0..10_000u64).step_by(7).filter(|ms| !(4_000..5_000).contains(ms)) {
            let start = zero + Duration::from_millis(ms);
            let outcome = if ms % 5 == 0 { Err(Failure::Reset) } else { Ok(200) };
            record.ended(start, start + Duration::from_micros(50 + ms * 3), outcome);
        }
        spans.extend(record.intervals.finish().iter().map(|interval| (turn, Span::of(interval))));
        records.push((turn, record));
    }
    page(&Report::new(&plan, &records, &spans), SystemTime::UNIX_EPOCH)
}

/// Every element is closed in order, and every attribute quoted: enough of a parser for what is written here.
fn is_well_formed(page: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
        let name = tag.split([' ', '/', '\n']).find(|part| !part.is_empty()).unwrap_or("");
        if tag.matches('"').count() % 2 != 0 {
            return Err(format!("quotes of <{tag}>"));
        } else if tag.starts_with('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes {open:?}"));
            }
        } else if !(tag.ends_with('/') || ["!doctype", "meta"].contains(&name)) {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} stay open")) }
}

#[test]
fn the_page_is_whole_and_stands_alone() {
    let page = page_of(&["ringway", "nginx"]);
    assert_eq!(is_well_formed(&page), Ok(()));
    for foreign in ["<script", "http://", "https://", "url(", "@import", "<link", "<img"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    for part in [
        "99.9 %",
        "p99",
        "Errors a second",
        "a &lt;b&gt; &amp; c",
        "prefers-color-scheme: dark",
        "lang=\"en\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf"));
    let ids: Vec<_> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let unique: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), unique.len()), (2 * (1 + 2 * 3), ids.len()), "each chart is named and described");
}

#[test]
fn names_are_text() {
    let page = page_of(&["<script>alert(1)</script>", "\" onload=\"x"]);
    assert_eq!(is_well_formed(&page), Ok(()));
    assert!(!page.contains("<script") && !page.contains("\" onload"));
}

#[test]
fn nothing_measured_is_no_page_broken() {
    let plan = plan(&["a"]);
    let zero = Instant::now();
    let record = Record::new(zero, zero + SECOND, SECOND);
    let report = Report::new(&plan, &[(Turn { round: 0, target: 0 }, record)], &[]);
    let page = page(&report, SystemTime::UNIX_EPOCH);
    assert_eq!(is_well_formed(&page), Ok(()));
    assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
}
