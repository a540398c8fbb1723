//! The table that `state.dir` keeps: made while changes come, found again after a restart, whatever moment the process was
//! killed at.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::changes::{append, ask, endpoints, maps, removes, replace, tombstone};
use crate::support::*;

/// More than are kept in memory alone.
const MANY: usize = 40_000;

fn file(router: &Router) -> PathBuf {
    router.folder().join("changes.jsonl")
}

/// What stands on record, once it is as wanted.
#[track_caller]
fn wait_record(dir: &Path, what: &str, is_wanted: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
    wait_for(what, wait::PATIENCE, || {
        let text = std::fs::read(dir.join("state/manifest.json")).ok()?;
        serde_json::from_slice(&text).ok().filter(&is_wanted)
    })
}

fn snapshots(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir.join("state")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".snap")).collect()
}

#[test]
fn a_table_outlives_the_process_and_the_feed_is_read_on() {
    let _alone = alone();
    let origin = Origin::saying("fine");
    let begins: String = (0..MANY).map(|n| maps(&format!("h{n}.test"), "svc_a", 1)).collect();
    let begins = [endpoints("svc_a", &[origin.address], 1), begins].concat();
    let router = Setup::new().feed(Some(&begins)).start();
    // A base is made of what was there at the start, and nothing else is left.
    let record = wait_record(router.folder(), "a base is on record", |record| !record["base"].is_null());
    assert!(record["levels"].as_array().unwrap().is_empty(), "{record}");
    wait_until("what it was made of is removed", || snapshots(router.folder()).len() == 1);
    append(&file(&router), &tombstone("h7.test", 2));
    wait_until("it holds", || ask(&router, "h7.test") == "404");
    assert_eq!(router.metric_with("ringway_table_files_made_total", "kind=\"base\""), 1);
    assert!(router.metric("ringway_table_base_hosts") >= MANY as u64 * 3 / 4);

    let router = router.start_again();
    assert!(router.metric("ringway_feed_lines_total") < MANY as u64, "it is read on");
    assert!(router.part.said().contains("is read on from where"), "{}", router.part.said());
    assert_eq!(["h0.test", "h7.test", "h39999.test"].map(|host| ask(&router, host)), ["fine", "404", "fine"]);
    // An empty file in its place removes nothing, and what stood in the one before alone is kept.
    replace(&file(&router), "");
    wait_record(router.folder(), "it is on record", |record| record["levels"].as_array().unwrap().len() == 1);
    let router = router.start_again();
    assert_eq!(["h0.test", "h7.test", "h39999.test"].map(|host| ask(&router, host)), ["fine", "404", "fine"]);
    replace(&file(&router), &begins);
    let router = router.start_again();
    assert_eq!(["h0.test", "h7.test", "h39999.test"].map(|host| ask(&router, host)), ["fine", "404", "fine"]);
}

/// A table that is behind may lead a host name to whom it belonged once (S6).
#[test]
fn nobody_is_served_before_the_file_was_read() {
    let _alone = alone();
    let origin = Origin::saying("fine");
    let begins = [endpoints("svc_a", &[origin.address], 1), maps("a.test", "svc_a", 1)].concat();
    let router = Setup::new().feed(Some(&begins)).start();
    replace(&file(&router), &begins);
    wait_record(router.folder(), "it is on record", |record| record["next"] != 0);
    assert_eq!(ask(&router, "a.test"), "fine");
    let more: String = (0..MANY).map(|n| maps(&format!("h{n}.test"), "svc_a", 1)).collect();
    let router = router.launch_again(|dir| {
        append(&dir.join("changes.jsonl"), &[more, tombstone("a.test", 2)].concat());
    });
    // Until the kernel has closed what the one before had, there is somebody who answers nothing.
    let answer = wait_for("it answers", wait::PATIENCE, || {
        let mut client = std::net::TcpStream::connect(router.address).ok()?;
        client.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").ok()?;
        let mut line = [0; 12];
        client.read_exact(&mut line).ok()?;
        Some(String::from_utf8_lossy(&line).into_owned())
    });
    assert_eq!(answer, "HTTP/1.1 404");
}

#[test]
fn a_folder_that_takes_nothing_is_told_of_and_used_when_it_does() {
    let _alone = alone();
    let origin = Origin::saying("fine");
    let router = Setup::new().feed(Some(&endpoints("svc_a", &[origin.address], 1))).start();
    std::fs::remove_dir_all(router.folder().join("state")).unwrap();
    let more: String = (0..MANY).map(|n| maps(&format!("h{n}.test"), "svc_a", 1)).collect();
    append(&file(&router), &more);
    wait_until("it fails", || router.metric("ringway_table_chores_failed_total") > 1);
    wait_until("all is served from memory", || ask(&router, "h39999.test") == "fine");
    assert!(router.part.said().contains("it is tried again"), "{}", router.part.said());
    std::fs::create_dir(router.folder().join("state")).unwrap();
    wait_record(router.folder(), "a level or base is on record", |record| record["next"] != 0);
    assert_eq!(ask(&router, "h39999.test"), "fine");
}

/// The changes that were written, and what they come to.
struct Writer {
    file: PathBuf,
    random: fastrand::Rng,
    /// The last version of each host name, and what it leads to.
    model: HashMap<usize, (u64, &'static str)>,
}

const HOSTS: usize = 200_000;
const SERVICES: [(&str, &str); 2] = [("svc_a", "one"), ("svc_b", "two")];

impl Writer {
    fn write(&mut self, changes: usize) {
        let mut lines = String::new();
        for _ in 0..changes {
            let host = self.random.usize(..HOSTS);
            let name = format!("h{host}.test");
            let version = self.model.get(&host).map_or(0, |(version, _)| *version) + 1;
            let (line, leads_to) = match self.random.u8(..10) {
                0 => (tombstone(&name, version), "404"),
                1 => (removes(&name, version), "404"),
                n => {
                    let (service, says) = SERVICES[usize::from(n) % 2];
                    (maps(&name, service, version), says)
                }
            };
            lines.push_str(&line);
            self.model.insert(host, (version, leads_to));
        }
        append(&self.file, &lines);
    }

    /// A change that comes after all others.
    fn mark(&mut self) -> String {
        let host = format!("mark{}.test", self.random.u64(..));
        append(&self.file, &maps(&host, "svc_a", 1));
        host
    }
}

#[test]
fn killed_at_any_moment_it_serves_what_was_written() {
    let _alone = alone();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let origins = SERVICES.map(|(_, says)| Origin::saying(says));
    let begins: String =
        SERVICES.iter().zip(&origins).map(|((id, _), origin)| endpoints(id, &[origin.address], 1)).collect();
    let mut router = Setup::new().feed(Some(&begins)).start();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut writer = Writer { file: file(&router), random: random.fork(), model: HashMap::new() };
    for round in 0..6 * soak() {
        // It is killed while it takes these in, makes files of them, or puts them on record.
        for _ in 0..random.usize(1..20) {
            writer.write(random.usize(1..8_000));
            pause(Duration::from_millis(random.u64(..60)));
        }
        router = router.start_again();
        let mark = writer.mark();
        wait_until("all that was written is served", || ask(&router, &mark) == "one");
        for _ in 0..300 {
            let host = random.usize(..HOSTS);
            let expected = writer.model.get(&host).map_or("404", |(_, leads_to)| *leads_to);
            assert_eq!(
                ask(&router, &format!("h{host}.test")),
                expected,
                "h{host}.test in round {round} of seed {seed}"
            );
        }
    }
    assert!(router.part.has_ended().is_none());
}
