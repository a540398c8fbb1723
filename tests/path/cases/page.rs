//! `docs/conformance.md`: what ringway, nginx and haproxy do with the corpus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::thread;
use std::time::Duration;

use super::corpus::{self, Case};
use super::peers::{Peer, version};
use super::play::Stage;
use super::recorder::Recorder;
use super::verdict::Strictness;

const PAGE: &str = "docs/conformance.md";
const PEERS: [&str; 2] = ["nginx", "haproxy"];
/// How long a peer may take with anything: what it never does costs this much.
const PATIENCE: Duration = Duration::from_millis(1200);
const LANES: usize = 16;

/// What went wrong with each case of the corpus, by its name.
type Faults = BTreeMap<String, String>;

/// With UPDATE_CONFORMANCE set, as `make conformance` does, plays the cases against the peers and writes the tables.
#[test]
fn the_conformance_page_shows_the_corpus() {
    let cases = corpus::read();
    let path = [env!("CARGO_MANIFEST_DIR"), PAGE].join("/");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (begin, end) = ("<!-- tables: made by tests/path/cases/page.rs -->\n\n", "\n<!-- end of tables -->");
    let (before, rest) = page.split_once(begin).expect("where the tables begin");
    let (shown, after) = rest.split_once(end).expect("where the tables end");
    if std::env::var_os("UPDATE_CONFORMANCE").is_some() {
        std::fs::write(&path, [before, begin, &tables(&cases), end, after].concat()).expect("the page");
        return;
    }
    // All cases hold for ringway, or another test fails; what the peers do changes with the corpus alone.
    for (family, of_family) in families(&cases) {
        let row =
            format!("| {family} | {} | {} | {} |", of_family.len(), of_family.len(), asked(&of_family).len());
        let told = format!("mend {PAGE} with: make conformance");
        assert!(shown.contains(&row), "the page lacks {row:?}; {told}");
    }
}

fn families(cases: &[Case]) -> Vec<(&str, Vec<&Case>)> {
    let mut families: Vec<(&str, Vec<&Case>)> = Vec::new();
    for case in cases {
        match families.last_mut() {
            Some((family, of_family)) if *family == case.family => of_family.push(case),
            _ => families.push((&case.family, vec![case])),
        }
    }
    families
}

/// Cases that others are asked, too.
fn asked<'a>(cases: &[&'a Case]) -> Vec<&'a Case> {
    cases.iter().copied().filter(|case| case.is_of_http()).collect()
}

fn tables(cases: &[Case]) -> String {
    let asked_of_all: Vec<&Case> = cases.iter().filter(|case| case.is_of_http()).collect();
    let faults = PEERS.map(|program| all_faults(program, &asked_of_all));
    let [nginx, haproxy] = PEERS.map(version);
    let mut text =
        format!("| | cases | ringway | asked of others | {nginx} | {haproxy} |\n|---|---|---|---|---|---|\n");
    let mut row = |name: &str, cases: &[&Case]| {
        let asked = asked(cases);
        let passed = faults.each_ref().map(|faults| asked.len() - failed(&asked, faults).len());
        let all = cases.len();
        let _ =
            writeln!(text, "| {name} | {all} | {all} | {} | {} | {} |", asked.len(), passed[0], passed[1]);
    };
    for (family, of_family) in families(cases) {
        row(family, &of_family);
    }
    row("together", &cases.iter().collect::<Vec<_>>());
    let _ = write!(text, "\n## Where they differ\n");
    for (family, of_family) in families(cases) {
        text.push_str(&differences(family, &of_family, &faults));
    }
    text
}

fn failed<'a>(cases: &[&'a Case], faults: &Faults) -> Vec<&'a Case> {
    cases.iter().copied().filter(|case| faults.contains_key(&case.name())).collect()
}

/// A table of those groups of a family in which a peer did otherwise, with the first such case of each peer.
fn differences(family: &str, cases: &[&Case], faults: &[Faults; 2]) -> String {
    let mut text = String::new();
    let mut groups: Vec<&str> = cases.iter().map(|case| case.group.as_str()).collect();
    groups.dedup();
    for group in groups {
        let of_group: Vec<&Case> = asked(cases).into_iter().filter(|case| case.group == group).collect();
        let told = faults.each_ref().map(|faults| told(&of_group, faults));
        if told.iter().any(|told| told != "as wanted") {
            let rule = &of_group[0].rule;
            let _ = writeln!(text, "| {group} ({rule}) | {} | {} |", told[0], told[1]);
        }
    }
    if text.is_empty() {
        return text;
    }
    format!("\n### {family}\n\n| | nginx | haproxy |\n|---|---|---|\n{text}")
}

fn told(cases: &[&Case], faults: &Faults) -> String {
    let failed = failed(cases, faults);
    let Some(first) = failed.first() else { return "as wanted".to_owned() };
    let row = if first.row.is_empty() { String::new() } else { format!(" `{}`:", shown(&first.row, 60)) };
    format!("{} of {}:{row} {}", failed.len(), cases.len(), shown(&faults[&first.name()], 120))
}

/// A text in one cell of a table.
fn shown(text: &str, most: usize) -> String {
    let printed = |c: char| match c {
        '«' | '»' | ' '..='~' => c.to_string(),
        '\r' | '\n' | '\t' => c.escape_default().to_string(),
        c => format!("\\x{:02x}", u32::from(c)),
    };
    let plain: String = text.chars().map(printed).collect::<String>().replace('|', "\\|").replace('`', "'");
    let cut: String = plain.chars().take(most).collect();
    if cut.len() < plain.len() { format!("{cut}…") } else { cut }
}

/// Most of the time is spent in waiting for what a peer never does, so it is many times started and asked at once.
fn all_faults(program: &str, cases: &[&Case]) -> Faults {
    thread::scope(|scope| {
        let lanes: Vec<_> = cases
            .chunks(cases.len().div_ceil(LANES))
            .map(|cases| scope.spawn(move || faults(program, cases)))
            .collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("a lane")).collect()
    })
}

fn faults(program: &str, cases: &[&Case]) -> Faults {
    let recorder = Recorder::start();
    let peer = Peer::start(program, recorder.addresses());
    let (address, strictness) = (peer.address, Strictness::Lenient);
    let stage = Stage { address, trusted: address, recorder: &recorder, strictness, patience: PATIENCE };
    cases.iter().filter_map(|case| Some((case.name(), stage.play(case).err()?.told))).collect()
}
