//! What came of all answers, for people and as JSON. Pure.

use comfy_table::Table;
use hdrhistogram::Histogram;
use serde::Serialize;

use super::truth::{Asked, Seen, Verdict};
use crate::dataset::Dataset;
use crate::{limits, record};

/// The figures so far.
pub(super) struct Tally {
    pub(super) right: u64,
    pub(super) wrong: u64,
    pub(super) failed: u64,
    /// How old right answers were that a newer one might have replaced, in nanoseconds.
    old: Histogram<u64>,
    /// The first wrong ones.
    shown: Vec<Wrong>,
    /// The last failure, in words.
    failure: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Wrong {
    host: String,
    /// Nanoseconds since 1970.
    asked_ns: u64,
    took_us: u64,
    answer: String,
    right: String,
}

impl Default for Tally {
    fn default() -> Self {
        let old = record::histogram();
        Self { right: 0, wrong: 0, failed: 0, old, shown: Vec::new(), failure: None }
    }
}

impl Tally {
    pub(super) fn add(&mut self, data: &Dataset, asked: &Asked, verdict: Verdict) {
        match verdict {
            Verdict::Right => self.right += 1,
            Verdict::Old { ns } => {
                self.right += 1;
                self.old.saturating_record(ns);
            }
            Verdict::Failed => {
                self.failed += 1;
                if let Seen::Failed(why) = &asked.seen {
                    self.failure = Some(why.clone());
                }
            }
            Verdict::Wrong { allowed } => {
                self.wrong += 1;
                if self.shown.len() < limits::WRONG_SHOWN_MAX {
                    self.shown.push(Wrong {
                        host: data.host(asked.rank),
                        asked_ns: asked.asked,
                        took_us: asked.answered.saturating_sub(asked.asked) / 1_000,
                        answer: in_words(&asked.seen),
                        right: allowed.join("; "),
                    });
                }
            }
        }
    }

    /// A line, and a table of what was wrong.
    #[must_use]
    pub(super) fn shown(&self) -> String {
        let ms = |ns: u64| ns as f64 / 1e6;
        let mut out = format!("{} answers right, {} wrong, {} failed\n", self.right, self.wrong, self.failed);
        if !self.old.is_empty() {
            out += &format!(
                "{} were old while their change was on its way: p50 {:.1} ms, p99 {:.1} ms, at most {:.1} ms\n",
                self.old.len(),
                ms(self.old.value_at_quantile(0.5)),
                ms(self.old.value_at_quantile(0.99)),
                ms(self.old.max())
            );
        }
        if let Some(why) = &self.failure {
            out += &format!("last failure: {why}\n");
        }
        if !self.shown.is_empty() {
            let mut table = Table::new();
            table.set_header(["host", "answered", "right would be"]);
            for wrong in &self.shown {
                table.add_row([&wrong.host, &wrong.answer, &wrong.right]);
            }
            out += &format!("{table}\n");
            let more = self.wrong - self.shown.len() as u64;
            if more > 0 {
                out += &format!("and {more} more\n");
            }
        }
        out
    }

    #[must_use]
    pub(super) fn document(&self) -> serde_json::Value {
        let us = |ns: u64| ns as f64 / 1_000.0;
        serde_json::json!({
            "right": self.right,
            "wrong": self.wrong,
            "failed": self.failed,
            "old": {
                "count": self.old.len(),
                "p50_us": us(self.old.value_at_quantile(0.5)),
                "p99_us": us(self.old.value_at_quantile(0.99)),
                "max_us": us(self.old.max()),
            },
            "last_failure": self.failure,
            "wrong_answers": self.shown,
        })
    }
}

fn in_words(seen: &Seen) -> String {
    match seen {
        Seen::Endpoint(address) => address.to_string(),
        Seen::Nowhere => "404".to_owned(),
        Seen::Strange(what) => what.clone(),
        Seen::Failed(why) => why.clone(),
    }
}
