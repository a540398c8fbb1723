//! A bar on the terminal beside work that may take long; nothing where standard error is no terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// So many steps are told of at once: a step is shorter than it takes to tell.
const BATCH: u64 = 1 << 12;

const TICK: Duration = Duration::from_millis(200);

pub(super) struct Progress {
    bar: ProgressBar,
    untold: u64,
}

impl Progress {
    /// Of work with so many steps.
    pub(super) fn of(what: &'static str, steps: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{msg:10} {bar:40} {percent:>3} %  {per_sec}  {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸ "));
        bar.set_message(what);
        bar.enable_steady_tick(TICK);
        Progress { bar, untold: 0 }
    }

    /// Nobody sees it.
    pub(super) fn hidden() -> Progress {
        Progress { bar: ProgressBar::hidden(), untold: 0 }
    }

    pub(super) fn step(&mut self) {
        self.advance(1);
    }

    /// So many more steps are done.
    pub(super) fn advance(&mut self, steps: u64) {
        self.untold += steps;
        if self.untold >= BATCH {
            self.bar.inc(self.untold);
            self.untold = 0;
        }
    }

    /// So many steps of that name are done.
    pub(super) fn at(&mut self, what: &'static str, done: u64) {
        if self.bar.message() != what {
            self.bar.set_message(what);
        }
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
