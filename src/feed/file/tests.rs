//! Files as others write them.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use super::*;

struct World {
    dir: tempfile::TempDir,
    path: PathBuf,
    follower: Follower,
    /// Goes on with each look at what was read.
    clock: Instant,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("changes.jsonl");
        let (follower, _) = Follower::new(&path, None).unwrap();
        World { dir, path, follower, clock: Instant::now() }
    }

    fn append(&self, text: &str) {
        let mut file = File::options().create(true).append(true).open(&self.path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn replace(&self, text: &str) {
        let new = self.dir.path().join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, &self.path).unwrap();
    }

    /// Everything there is to read: lines as `NUMBER:TEXT`, and what happened between.
    fn read(&mut self) -> Vec<String> {
        let mut got = Vec::new();
        loop {
            while let Some((place, text, _)) = self.follower.line() {
                let Text::Whole(line) = text else { panic!("{text:?}") };
                got.push(format!("{}:{}", place.line, String::from_utf8_lossy(line)));
            }
            match self.follower.read() {
                Look::More => {}
                Look::Began(begun) => got.push(format!("{begun:?}")),
                Look::End => return got,
                Look::Absent(error) => {
                    got.push(format!("{:?}", error.kind()));
                    return got;
                }
            }
        }
    }
}

#[test]
fn what_is_appended_is_read_once_and_a_torn_line_waits() {
    let mut world = World::new();
    assert_eq!(world.read(), ["NotFound"]);
    world.append("a\nb");
    assert_eq!(world.read(), ["First", "1:a"]);
    assert_eq!(world.read(), [""; 0]);
    world.append("bb");
    assert_eq!(world.read(), [""; 0]);
    world.append("\n\nc\n");
    assert_eq!(world.read(), ["2:bbb", "3:", "4:c"]);
    assert_eq!(world.follower.progress(), (9, 9));
}

#[test]
fn a_replaced_file_is_read_from_its_start_and_the_one_before_to_its_end() {
    let mut world = World::new();
    world.append("a\n");
    assert_eq!(world.read(), ["First", "1:a"]);
    world.append("b\ntorn");
    world.replace("c\nd\n");
    assert_eq!(world.read(), ["2:b", "Replaced { torn: 4 }", "1:c", "2:d"]);
    // The same once more is another file.
    world.replace("c\nd\n");
    assert_eq!(world.read(), ["Replaced { torn: 0 }", "1:c", "2:d"]);
}

#[test]
fn a_file_that_goes_is_read_to_its_end_and_waited_for() {
    let mut world = World::new();
    world.append("a\n");
    assert_eq!(world.read(), ["First", "1:a"]);
    world.append("b\n");
    fs::remove_file(&world.path).unwrap();
    assert_eq!(world.read(), ["2:b", "NotFound"]);
    assert_eq!(world.read(), ["NotFound"]);
    world.append("c\n");
    assert_eq!(world.read(), ["Replaced { torn: 0 }", "1:c"]);
}

/// As when logs are rotated: whoever writes has the file open, whatever its name.
#[test]
fn a_file_that_was_moved_is_read_until_another_is_in_its_place() {
    let mut world = World::new();
    world.append("a\n");
    assert_eq!(world.read(), ["First", "1:a"]);
    let mut writer = File::options().append(true).open(&world.path).unwrap();
    fs::rename(&world.path, world.dir.path().join("changes.1")).unwrap();
    assert_eq!(world.read(), ["NotFound"]);
    writer.write_all(b"b\nto").unwrap();
    assert_eq!(world.read(), ["2:b", "NotFound"]);
    writer.write_all(b"rn\n").unwrap();
    world.append("c\n");
    writer.write_all(b"d\n").unwrap();
    assert_eq!(world.read(), ["3:torn", "4:d", "Replaced { torn: 0 }", "1:c"]);
}

#[test]
fn a_file_that_was_written_anew_in_its_place_is_read_from_its_start() {
    let mut world = World::new();
    world.append(&"long enough\n".repeat(100));
    assert_eq!(world.read().len(), 101);
    for text in ["b\n".to_owned(), "other octets\n".repeat(200), "now these\n".repeat(300)] {
        fs::write(&world.path, &text).unwrap();
        let got = world.read();
        assert_eq!((&*got[0], got.len()), ("Rewritten", 1 + text.lines().count()));
    }
    fs::write(&world.path, "").unwrap();
    assert_eq!(world.read(), ["Rewritten"]);
}

impl World {
    /// Octets at a place of the file become others; nobody cuts it.
    fn overwrite(&self, at: u64, octets: &str) {
        let file = File::options().write(true).open(&self.path).unwrap();
        file.write_all_at(octets.as_bytes(), at).unwrap();
    }

    /// Looks until what was read has been looked through, or is other than it was. How many looks that took.
    fn recheck(&mut self) -> (usize, Option<Look>) {
        for step in 1..10_000 {
            self.clock += Duration::from_millis(limits::FEED_RECHECK_MS);
            let found = self.follower.recheck(self.clock);
            if found.is_some() || self.follower.recheck_patience().is_none() {
                return (step, found);
            }
        }
        panic!("there is no end to it");
    }
}

#[test]
fn what_is_written_over_is_noticed_wherever_it_stands() {
    let line = |n: usize| format!("{n:099}\n");
    let all: String = (0..20_000).map(line).collect();
    let parts = all.len().div_ceil(limits::FEED_READ_OCTETS);
    for at in [0, 1, 12_345, all.len() / 2, all.len() - 400] {
        let mut world = World::new();
        world.append(&all);
        assert_eq!(world.read().len(), 20_001);
        assert!(matches!(world.recheck(), (steps, None) if steps <= parts), "nothing has changed");
        world.overwrite(at as u64, "x");
        assert_eq!(world.read(), [""; 0], "it looks as if nothing had happened");
        let (steps, found) = world.recheck();
        assert!(matches!(found, Some(Look::Began(Begun::Rewritten))), "octet {at}: {found:?}");
        assert!(steps <= parts);
        assert_eq!(world.read().len(), 20_000);
        // So it is if more has come behind it.
        world.append("more\n");
        world.overwrite(at as u64, "y");
        assert_eq!(world.read().len(), 1);
        assert!(matches!(world.recheck().1, Some(Look::Began(Begun::Rewritten))), "octet {at}");
        assert_eq!(world.read().len(), 20_001);
    }
}

/// Once the file system's clock has gone on, since two changes at one moment look like one.
#[test]
fn what_has_not_changed_is_not_looked_through_for_ever() {
    let mut world = World::new();
    world.append(&"a line\n".repeat(200_000));
    world.read();
    let deadline = Instant::now() + Duration::from_secs(10);
    while world.recheck().0 > 1 {
        assert!(Instant::now() < deadline);
    }
    assert!((0..20).all(|_| matches!(world.recheck(), (1, None))));
    // A restart has just read all of it.
    let position = world.follower.position(false);
    world.follower = Follower::new(&world.path, position).unwrap().0;
    assert_eq!(world.read().len(), 1);
    assert!(matches!(world.recheck(), (1, None)));
    world.append("more\n");
    assert_eq!(world.read().len(), 1);
    assert!(matches!(world.recheck(), (2.., None)));
}

#[test]
fn a_position_is_of_all_that_stands_before_it() {
    let mut world = World::new();
    world.append(&"a line\n".repeat(1_000));
    world.read();
    let position = world.follower.position(false).unwrap();
    let mut old = serde_json::to_value(&position).unwrap();
    old.as_object_mut().unwrap().remove("sum");
    let old = serde_json::from_value(old).unwrap();
    world.append("more\n");
    for position in [&position, &old] {
        world.follower = Follower::new(&world.path, Some(position.clone())).unwrap().0;
        assert_eq!(world.read(), ["Resumed { line: 1001 }", "1001:more"]);
        let sum = serde_json::to_value(world.follower.position(false)).unwrap()["sum"].clone();
        assert_eq!(sum, crc32c::crc32c(&fs::read(&world.path).unwrap()), "whoever it came from");
    }
    world.overwrite(2, "L");
    world.follower = Follower::new(&world.path, Some(position.clone())).unwrap().0;
    assert_eq!(world.read()[..2], ["First", "1:a Line"]);
    assert!(!position.is_continued_by(&world.path));
}

#[test]
fn a_position_is_found_again_in_its_file_only() {
    let mut world = World::new();
    world.append("a\nbb\nccc\ntorn");
    assert_eq!(world.read(), ["First", "1:a", "2:bb", "3:ccc"]);
    let (next, last) = (world.follower.position(false).unwrap(), world.follower.position(true).unwrap());
    world.append("\n");
    for (position, expected) in [
        (&next, &["Resumed { line: 4 }", "4:torn"][..]),
        (&last, &["Resumed { line: 3 }", "3:ccc", "4:torn"]),
    ] {
        let text = serde_json::to_string(position).unwrap();
        world.follower = Follower::new(&world.path, serde_json::from_str(&text).unwrap()).unwrap().0;
        assert_eq!(world.read(), expected);
        // From then on it is a file as any other.
        let Open { file, identity, .. } = open(1, &world.path).unwrap();
        let sum = crc32c::crc32c(b"a\nbb\nccc\ntorn\n");
        let end = Position::of(&file, identity, Place { line: 5, offset: 14, sum }).unwrap();
        assert_eq!(world.follower.position(false), Some(end));
    }
    // With other octets before it, shorter, another.
    for (text, is_another) in [("a\nbb\nCCC\nd\n", false), ("a\n", false), ("a\nbb\nccc\nd\n", true)] {
        if is_another {
            world.replace(text);
        } else {
            fs::write(&world.path, text).unwrap();
        }
        world.follower = Follower::new(&world.path, Some(next.clone())).unwrap().0;
        assert_eq!(world.read()[..2], ["First", "1:a"], "{text}");
    }
}

#[test]
fn what_is_no_file_is_waited_for() {
    let mut world = World::new();
    fs::create_dir(&world.path).unwrap();
    assert_eq!(world.read(), ["Other"]);
    fs::remove_dir(&world.path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&world.path).status().unwrap();
    assert!(made.success());
    assert_eq!(world.read(), ["Other"]);
    fs::remove_file(&world.path).unwrap();
    world.append("a\n");
    assert_eq!(world.read(), ["First", "1:a"]);
}

#[test]
fn files_longer_than_a_reading_come_whole() {
    let mut world = World::new();
    let line = "x".repeat(1_000);
    let lines = 3 * limits::FEED_READ_OCTETS / line.len();
    world.append(&format!("{line}\n").repeat(lines));
    let got = world.read();
    assert_eq!(got.len(), lines + 1);
    assert!(got[1..].iter().enumerate().all(|(at, got)| *got == format!("{}:{line}", at + 1)));
}

/// As with a disk that fails, or a server of files that has forgotten this one.
#[test]
fn what_cannot_be_read_is_waited_for_until_another_is_in_its_place() {
    let mut world = World::new();
    std::os::unix::fs::symlink("/proc/self/mem", &world.path).unwrap();
    // Nothing is mapped at the address 0.
    let [first, error] = world.read().try_into().unwrap();
    assert_eq!(first, "First");
    assert_eq!(world.read(), [error]);
    world.replace("a\n");
    assert_eq!(world.read(), ["Replaced { torn: 0 }", "1:a"]);
}
