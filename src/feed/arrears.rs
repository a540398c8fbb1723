//! What guards hold beyond their bound stays where it came from, and is read once more when they have room: so they neither
//! drop it nor keep what comes behind it waiting (decision 0011).

use std::collections::VecDeque;
use std::io;

use super::file::{Follower, Rest, Span, Text, buffer};
use crate::limits;

#[derive(Default)]
pub(super) struct Arrears {
    /// The oldest first; each of another file, or of the same one written anew.
    spans: VecDeque<Span>,
    /// For reading; none before it is needed.
    buffer: Option<Box<[u8]>>,
}

/// What reading once more came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// There is more to read.
    More,
    /// Nothing is left, or nothing more is wanted.
    Enough,
    /// A part is gone from its file: so many octets.
    Lost(u64),
}

impl Arrears {
    /// The line that a follower returned last is to be read once more.
    ///
    /// # Errors
    /// It cannot be: the machine lacks descriptors, its file was written anew since, or too many files came one after
    /// another.
    pub(super) fn add(&mut self, follower: &Follower) -> io::Result<()> {
        let Some(span) = follower.remember(self.spans.back_mut())? else { return Ok(()) };
        if self.spans.len() >= limits::GUARD_SPANS {
            return Err(io::Error::other("the feed's file was replaced too often"));
        }
        self.spans.push_back(span);
        Ok(())
    }

    /// Of what the follower reads now, if any is.
    pub(super) fn latest(&self) -> Option<&Span> {
        self.spans.back()
    }

    /// At least so many octets are to be read once more; 0 if nothing is.
    pub(super) fn octets(&self) -> u64 {
        self.spans.iter().map(|span| span.octets() + 1).sum()
    }

    /// Reads at most so many lines, for as long as `take` wants more.
    pub(super) fn read(&mut self, most: usize, mut take: impl FnMut(&Text<'_>) -> bool) -> Again {
        for _ in 0..most {
            let Some(span) = self.spans.front_mut() else { return Again::Enough };
            if let Some(text) = span.line() {
                if !take(&text) {
                    return Again::Enough;
                }
                continue;
            }
            match span.read(self.buffer.get_or_insert_with(buffer)) {
                Ok(Rest::More) => {}
                Ok(Rest::Nothing) => self.end(),
                Ok(Rest::Lost) | Err(_) => {
                    let lost = span.octets() + 1;
                    self.end();
                    return Again::Lost(lost);
                }
            }
        }
        Again::More
    }

    fn end(&mut self) {
        self.spans.pop_front();
        if self.spans.is_empty() {
            self.buffer = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::super::file::{Look, Position};
    use super::*;

    struct World {
        dir: tempfile::TempDir,
        path: PathBuf,
        follower: Follower,
        arrears: Arrears,
    }

    impl World {
        fn new() -> World {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("changes.jsonl");
            let (follower, _) = Follower::new(&path, None).unwrap();
            World { dir, path, follower, arrears: Arrears::default() }
        }

        /// Another file, of lines `NAME1` to `NAMEn`, which is read; lines that `passes` names are remembered.
        fn replace(&mut self, name: &str, n: usize, passes: impl Fn(usize) -> bool) {
            let new = self.dir.path().join("new");
            fs::write(&new, (1..=n).map(|line| format!("{name}{line}\n")).collect::<String>()).unwrap();
            fs::rename(new, &self.path).unwrap();
            self.follow(passes);
        }

        fn follow(&mut self, passes: impl Fn(usize) -> bool) {
            let mut n = 0;
            loop {
                while self.follower.line().is_some() {
                    n += 1;
                    if passes(n) {
                        self.arrears.add(&self.follower).unwrap();
                    }
                }
                if matches!(self.follower.read(), Look::End | Look::Absent(_)) {
                    return;
                }
            }
        }

        fn again(&mut self, most: usize) -> (Vec<String>, Again) {
            let mut lines = Vec::new();
            let again = self.arrears.read(limits::FEED_BATCH_LINES, |text| {
                let Text::Whole(line) = text else { panic!("{text:?}") };
                lines.push(String::from_utf8_lossy(line).into_owned());
                lines.len() < most
            });
            (lines, again)
        }
    }

    fn lines(name: &str, of: std::ops::RangeInclusive<usize>) -> Vec<String> {
        of.map(|line| format!("{name}{line}")).collect()
    }

    #[test]
    fn what_was_passed_over_is_read_once_more_from_every_file_that_had_it() {
        let mut world = World::new();
        assert_eq!((world.again(9), world.arrears.octets()), ((vec![], Again::Enough), 0));
        world.replace("a", 20, |line| [3, 7, 8].contains(&line));
        world.replace("b", 20, |line| [5, 20].contains(&line));
        world.replace("c", 20, |_| false);
        assert!(world.arrears.octets() > 60);
        assert_eq!(world.again(4), (lines("a", 3..=6), Again::Enough));
        let rest = [lines("a", 7..=8), lines("b", 5..=20)].concat();
        assert_eq!(world.again(99), (rest, Again::Enough));
        assert_eq!(world.arrears.octets(), 0);
    }

    #[test]
    fn it_grows_while_it_is_read() {
        let mut world = World::new();
        world.replace("a", 9, |line| line == 2);
        assert_eq!(world.again(9), (lines("a", 2..=2), Again::Enough));
        world.replace("b", 9, |line| line == 2);
        assert_eq!(world.again(1), (lines("b", 2..=2), Again::Enough));
        let more = fs::read_to_string(&world.path).unwrap() + "b10\nb11\n";
        fs::write(&world.path, more).unwrap();
        world.follow(|_| true);
        assert_eq!(world.again(99), (lines("b", 3..=11), Again::Enough));
    }

    #[test]
    fn a_restart_begins_before_what_was_passed_over() {
        let mut world = World::new();
        world.replace("a", 9, |line| line == 4);
        let place = |position: Option<Position>| serde_json::to_value(position).unwrap()["line"].clone();
        let latest = world.arrears.latest();
        assert_eq!(place(world.follower.position_before(false, latest)), 4);
        world.replace("b", 9, |_| false);
        // The file before cannot be found again.
        assert_eq!(place(world.follower.position_before(false, world.arrears.latest())), 10);
    }

    #[test]
    fn what_its_file_has_no_more_is_told_of() {
        let mut world = World::new();
        world.replace("a", 9, |line| line == 4);
        fs::write(&world.path, "b1\nb2\nb3\nb4\nb5\n").unwrap();
        world.follow(|line| line == 2);
        assert!(matches!(world.again(9), (none, Again::Lost(1)) if none.is_empty()));
        assert_eq!(world.again(9), (lines("b", 2..=2), Again::Enough));
    }

    #[test]
    fn files_that_are_kept_are_bounded() {
        let mut world = World::new();
        (0..limits::GUARD_SPANS).for_each(|_| world.replace("a", 2, |_| true));
        world.replace("a", 2, |_| false);
        assert!(world.arrears.add(&world.follower).is_err());
        assert_eq!(world.again(9).0.len(), 9);
    }
}
