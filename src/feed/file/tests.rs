//! Files as others write them.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use super::*;

struct World {
    dir: tempfile::TempDir,
    path: PathBuf,
    follower: Follower,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("changes.jsonl");
        let (follower, _) = Follower::new(&path, None).unwrap();
        World { dir, path, follower }
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
        let end = Position::of(&file, identity, Place { line: 5, offset: 14 }).unwrap();
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
