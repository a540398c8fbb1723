//! What the feed takes in at a time: what came, and beside it a part of what guards had held or passed over.

use std::time::Instant;

use ringway_state::Refusal;
use ringway_state::record::Change;
use serde_json::Value;

use super::Feed;
use crate::feed::arrears::Again;
use crate::feed::file::Look;
use crate::feed::guards::Rule;
use crate::feed::intake::Verdict;
use crate::feed::publish::Entered;
use crate::limits;
use crate::observe::process_log::{Level, event};

/// What taking in came to.
pub(super) enum Taking {
    /// There is more to take at once.
    More,
    /// All is taken that is there.
    End,
    /// Something else must come first: the cores, room in the table.
    Waits,
}

impl Feed {
    pub(super) fn batch(&mut self, entered: &mut Entered) -> Taking {
        if self.take_waiting(entered).is_err() {
            return Taking::Waits;
        }
        let mut left = limits::FEED_BATCH_LINES;
        let taking = self.take_lines(&mut left, entered).and_then(|taking| {
            // What comes does not wait for it, and it does not for what comes.
            let most = left.max(limits::FEED_BESIDE_LINES);
            let left = self.take_left(most, entered)?;
            let released = self.take_released(most, entered)? || left;
            Ok((taking, self.take_passed(most, entered)? || released))
        });
        match taking {
            Err(refusal) => {
                self.tell_full(&refusal.to_string());
                Taking::Waits
            }
            Ok((_, true)) => Taking::More,
            Ok((taking, false)) => taking,
        }
    }

    /// Tries the change once more that the table had no room for.
    fn take_waiting(&mut self, entered: &mut Entered) -> Result<(), Refusal> {
        let verdict = self.intake.again();
        self.beside(verdict, Instant::now(), entered)
    }

    /// Applies a part of what guards have let go of and is on record. True if there may be more.
    fn take_left(&mut self, most: usize, entered: &mut Entered) -> Result<bool, Refusal> {
        let now = Instant::now();
        for _ in 0..most {
            if !self.intake.has_spare_room() {
                return Ok(false);
            }
            let Some(verdict) = self.intake.left(now) else { return Ok(false) };
            self.beside(verdict, now, entered)?;
        }
        Ok(true)
    }

    /// Lets go of a part of what guards need not hold any longer. True if there may be more.
    fn take_released(&mut self, most: usize, entered: &mut Entered) -> Result<bool, Refusal> {
        let now = Instant::now();
        for _ in 0..most {
            if !self.intake.has_spare_room() {
                return Ok(false);
            }
            let Some(verdict) = self.intake.release(now) else {
                return Ok(self.intake.is_pressed());
            };
            self.beside(verdict, now, entered)?;
        }
        Ok(true)
    }

    /// Takes a part of what guards had no room for, once they have. True if there is more.
    fn take_passed(&mut self, most: usize, entered: &mut Entered) -> Result<bool, Refusal> {
        if !self.intake.has_room() || !self.intake.has_spare_room() {
            return Ok(false);
        }
        let (now, mut verdicts) = (Instant::now(), Vec::new());
        let intake = &mut self.intake;
        let again = self.arrears.read(most, |text| {
            let verdict = intake.line_again(text);
            let goes_on = !matches!(verdict, Verdict::Full(_)) && intake.has_room();
            verdicts.push(verdict);
            goes_on
        });
        if let Again::Lost(octets) = again {
            self.tell_lost(octets);
        }
        for verdict in verdicts {
            self.beside(verdict, now, entered)?;
        }
        Ok(again != Again::Enough)
    }

    fn take_lines(&mut self, left: &mut usize, entered: &mut Entered) -> Result<Taking, Refusal> {
        loop {
            while let Some((place, text, at)) = self.follower.line() {
                if self.guard_from.take_if(|from| *from <= place.offset).is_some() {
                    self.history = None;
                    self.intake.guard();
                }
                match self.intake.line(&text) {
                    Verdict::Applied => count(entered, at),
                    Verdict::Nothing => {}
                    Verdict::Held(rule) => self.watch.tell(rule, at),
                    Verdict::NoRoom(change, rule) => self.pass(*change, rule, at, entered)?,
                    Verdict::Refused(bad) => self.refused.add(place, &text, &bad, at),
                    Verdict::Full(refusal) => return Err(refusal),
                }
                *left -= 1;
                if *left == 0 {
                    return Ok(Taking::More);
                }
            }
            match self.follower.read() {
                Look::More => {}
                Look::Began(begun) => self.tell_begun(&begun),
                Look::End => {
                    self.stats.caught_up();
                    return Ok(Taking::End);
                }
                Look::Absent(error) => {
                    self.tell_absent(&error);
                    return Ok(Taking::Waits);
                }
            }
        }
    }

    /// What becomes of a change that is no line of this moment.
    fn beside(&mut self, verdict: Verdict, now: Instant, entered: &mut Entered) -> Result<(), Refusal> {
        match verdict {
            Verdict::Applied => count(entered, now),
            Verdict::Held(rule) => self.watch.tell(rule, now),
            // It is taken while there is room.
            Verdict::NoRoom(change, _) => {
                let verdict = self.intake.let_through(*change);
                return self.beside(verdict, now, entered);
            }
            Verdict::Full(refusal) => return Err(refusal),
            Verdict::Nothing | Verdict::Refused(_) => {}
        }
        Ok(())
    }

    /// Passes the line over that was read last: guards have no room for its change. If it could not be read again, it is let
    /// through: a guard neither drops a change nor keeps what comes behind it waiting.
    fn pass(
        &mut self,
        change: Change,
        rule: Rule,
        now: Instant,
        entered: &mut Entered,
    ) -> Result<(), Refusal> {
        let Err(error) = self.arrears.add(&self.follower) else {
            self.stats.passed.inc();
            self.watch.tell(rule, now);
            return Ok(());
        };
        self.stats.let_through.inc();
        if self.watch.may_tell(now) {
            let fields =
                [("ringway.guard.rule", rule.as_str().into()), ("error.message", error.to_string().into())];
            event(Level::Error, "guards hold as much as they may, and let changes through", &fields);
        }
        let verdict = self.intake.let_through(change);
        self.beside(verdict, now, entered)
    }

    fn tell_lost(&self, octets: u64) {
        let path = self.path.display().to_string();
        let fields = [("file.path", Value::from(path)), ("ringway.feed.octets_lost", octets.into())];
        let what = "the feed's file was written anew, and changes are gone that guards had no room for; write all changes to \
                    it once more";
        event(Level::Error, what, &fields);
    }
}

fn count(entered: &mut Entered, at: Instant) {
    match entered.last_mut() {
        Some((last, changes)) if *last == at => *changes += 1,
        _ => entered.push((at, 1)),
    }
}
