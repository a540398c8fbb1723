//! One bar for the whole run, a step for each turn.
use indicatif::{ProgressBar, ProgressStyle};

pub struct Progress(ProgressBar);

impl Progress {
    /// Of `turns` turns; repeated ones make it longer.
    pub fn over(turns: u64) -> Self {
        let bar = ProgressBar::new(turns);
        if let Ok(style) =
            ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} (about {eta} left) {msg}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(std::time::Duration::from_millis(500));
        Self(bar)
    }

    pub fn say(&self, message: String) {
        self.0.set_message(message);
    }

    pub fn step(&self) {
        self.0.inc(1);
    }

    /// A line above the bar that stays.
    pub fn note(&self, line: &str) {
        self.0.println(line);
    }

    pub fn more(&self, turns: u64) {
        self.0.inc_length(turns);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
