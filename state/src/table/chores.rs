//! What keeps the overlay small: it is flushed to levels, levels are merged, the base is made anew. The table
//! only says what is to be done, and takes the result; [`Work`] does it elsewhere.

use std::{ops::Range, sync::Arc};

use super::{
    Refusal, Table,
    work::{Built, Forget, Makes, Work},
};
use crate::{
    limits::{LEVELS_MAX, LEVELS_MERGE, OVERLAY_FLUSH_KEYS, OVERLAY_FLUSH_OCTETS},
    overlay::{Frozen, Overlay},
    snapshot::{Header, Role, Snapshot},
    view::View,
};

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// [`Table::flush`]
    Flush,
    /// [`Table::merge`] of these levels.
    Merge(Range<usize>),
}

/// What an installed file has replaced. Keep it until every core has taken a later view, then drop it on a thread that
/// may take its time (some 10 ms, for the memory of a flushed overlay); then the files may go.
#[derive(Default)]
pub struct Retired {
    pub files: Vec<Arc<Snapshot>>,
    /// Memory.
    _overlay: Option<Frozen>,
}

impl Table {
    /// What should be done next; work that was taken and not yet installed is not known here. When the base is to
    /// be made anew is the caller's to say, by the clock.
    pub fn due(&self) -> Option<Due> {
        let (keys, octets) = self.overlay_size();
        let is_large = keys >= OVERLAY_FLUSH_KEYS || octets >= OVERLAY_FLUSH_OCTETS;
        if is_large && self.view.levels().len() < LEVELS_MAX {
            return Some(Due::Flush);
        }
        let octets: Vec<u64> = self.view.levels().iter().map(|level| level.octets()).collect();
        merge_due(&octets).map(Due::Merge)
    }

    /// Takes what the overlay holds, to be made a level of. `offsets` are where the log goes on behind it, for each
    /// partition. One at a time: until its level is installed, a flush that is taken again is the same, offsets too.
    ///
    /// # Errors
    /// [`Refusal::Levels`].
    pub fn flush(&mut self, offsets: Vec<u64>) -> Result<Work, Refusal> {
        if self.view.levels().len() >= LEVELS_MAX {
            return Err(Refusal::Levels);
        }
        let (beneath, state) = (self.view.files_state(), self.digest);
        let frozen = self.view.change_overlay(|overlay| overlay.freeze(state, offsets));
        let makes = Makes::Level { beneath, with: frozen.state };
        Ok(self.work(Some(frozen), Vec::new(), makes))
    }

    /// Takes neighbouring levels, to be made one. 0 is the newest.
    ///
    /// # Errors
    /// [`Refusal::NoSuchLevels`], also where they are fewer than two.
    pub fn merge(&self, levels: Range<usize>) -> Result<Work, Refusal> {
        let levels = self.view.levels().get(levels).filter(|levels| levels.len() > 1);
        let levels = levels.ok_or(Refusal::NoSuchLevels)?.to_vec();
        let ends =
            levels.first().zip(levels.last()).map(|(newest, oldest)| (newest.header(), oldest.header()));
        match ends {
            Some((newest, Header { role: Role::Level { beneath, .. }, .. })) => {
                let makes = Makes::Level { beneath: *beneath, with: newest.state() };
                Ok(self.work(None, levels, makes))
            }
            _ => Err(Refusal::NoSuchLevels),
        }
    }

    /// Takes base and levels, to be made a new base. What the overlay holds stays there.
    pub fn rebuild(&self, forget: Forget) -> Work {
        let files = self.view.levels().iter().chain(self.view.base()).cloned().collect();
        self.work(None, files, Makes::Base { state: self.view.files_state(), forget })
    }

    fn work(&self, flushed: Option<Frozen>, files: Vec<Arc<Snapshot>>, makes: Makes) -> Work {
        Work { flushed, files, makes, seed: self.view.keys().seed }
    }

    /// Puts a file in the place of what it was made of; readers see it with the next publication, and find what
    /// they found before. Other work may have been installed since it was taken, if it was made of other things.
    ///
    /// # Errors
    /// [`Refusal::Levels`], if there is no room for one more; [`Refusal::Outdated`], if what it was made of is gone.
    pub fn install(&mut self, built: &Built) -> Result<Retired, Refusal> {
        let Built { work, file } = built;
        match (&work.flushed, &work.makes) {
            (Some(flushed), _) => self.install_flushed(flushed, file),
            (None, Makes::Level { .. }) => self.install_merged(&work.files, file),
            (None, Makes::Base { .. }) => self.install_base(&work.files, file),
        }
    }

    fn install_flushed(&mut self, flushed: &Frozen, file: &Arc<Snapshot>) -> Result<Retired, Refusal> {
        if self.view.levels().len() >= LEVELS_MAX {
            return Err(Refusal::Levels);
        }
        let mut overlay = self.view.overlay().clone();
        if !overlay.drop_frozen(flushed) {
            return Err(Refusal::Outdated);
        }
        let levels = [file].into_iter().chain(self.view.levels()).cloned().collect();
        self.stand_on(self.view.base().cloned(), levels, overlay);
        Ok(Retired { files: Vec::new(), _overlay: Some(flushed.clone()) })
    }

    fn install_merged(&mut self, files: &[Arc<Snapshot>], file: &Arc<Snapshot>) -> Result<Retired, Refusal> {
        let levels = self.view.levels();
        let at = levels.windows(files.len()).position(|run| is_same(run, files)).ok_or(Refusal::Outdated)?;
        let (newer, older) = (&levels[..at], &levels[at + files.len()..]);
        let levels = newer.iter().chain([file]).chain(older).cloned().collect();
        self.stand_on(self.view.base().cloned(), levels, self.view.overlay().clone());
        Ok(Retired { files: files.to_vec(), _overlay: None })
    }

    fn install_base(&mut self, files: &[Arc<Snapshot>], file: &Arc<Snapshot>) -> Result<Retired, Refusal> {
        let stack: Vec<_> = self.view.levels().iter().chain(self.view.base()).cloned().collect();
        let newer = stack.len().checked_sub(files.len()).ok_or(Refusal::Outdated)?;
        // Of nothing, there is always one; but the table may have a base since.
        if newer > self.view.levels().len() || !is_same(&stack[newer..], files) {
            return Err(Refusal::Outdated);
        }
        self.stand_on(Some(Arc::clone(file)), stack[..newer].into(), self.view.overlay().clone());
        Ok(Retired { files: files.to_vec(), _overlay: None })
    }

    fn stand_on(&mut self, base: Option<Arc<Snapshot>>, levels: Arc<[Arc<Snapshot>]>, overlay: Overlay) {
        let (keys, local) = (*self.view.keys(), self.view.local().name().clone());
        self.view = View::new(base, levels, overlay, keys, &local);
    }
}

fn is_same(some: &[Arc<Snapshot>], others: &[Arc<Snapshot>]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(one, other)| Arc::ptr_eq(one, other))
}

/// Which levels of these sizes, newest first, are to be merged: the newest, down to where the next older is so
/// much larger that it is better left alone.
fn merge_due(octets: &[u64]) -> Option<Range<usize>> {
    /// How many times the size of those merged an older level has to be, to be left alone.
    const LARGER: u64 = 4;
    if octets.len() < LEVELS_MERGE {
        return None;
    }
    let is_enough = |count: &usize| {
        let merged: u64 = octets.iter().take(*count).sum();
        octets.get(*count).is_none_or(|&older| older / LARGER >= merged)
    };
    (2..=octets.len()).find(is_enough).map(|count| 0..count)
}
