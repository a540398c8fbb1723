//! Figures, their ratios and goals; shown as one table, kept as JSON.
mod json;
mod table;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::peers::Peer;
use crate::stats::{Spread, Verdict, paired_ratios};

pub use json::{Run, keep};
pub use table::print;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Micros,
    Share,
    PerSecond,
    Octets,
    Count,
}

/// Of an earlier figure; noise is as much.
const NO_WORSE: f64 = 1.03;

/// A goal: the subject's figure, or its ratio to a peer's, at most this.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    pub against: Option<Peer>,
    pub at_most: f64,
    /// Unset when the subject or the peer was not measured.
    pub verdict: Option<Verdict>,
}

/// One figure of every peer, with the subject's ratios.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What `--gate` calls it.
    pub id: String,
    pub what: String,
    pub unit: Unit,
    pub subject: Option<Peer>,
    pub values: BTreeMap<Peer, Spread>,
    /// Subject over peer, paired by round.
    pub ratios: BTreeMap<Peer, Spread>,
    pub goals: Vec<Goal>,
    pub note: String,
    /// Every round's values.
    pub rounds: BTreeMap<Peer, Vec<f64>>,
}

impl Figure {
    /// Of `values`, each peer's one by one for each round; the first peer is the subject.
    pub fn new(id: String, what: String, unit: Unit, values: Vec<(Peer, Vec<f64>)>) -> Self {
        let subject = values.first().map(|(peer, _)| *peer);
        let ours = values.first().map(|(_, values)| values.clone()).unwrap_or_default();
        Self {
            id,
            what,
            unit,
            subject,
            values: values.iter().map(|(peer, values)| (*peer, Spread::of(values))).collect(),
            ratios: values
                .iter()
                .skip(1)
                .map(|(peer, theirs)| (*peer, Spread::of(&paired_ratios(&ours, theirs))))
                .collect(),
            goals: Vec::new(),
            note: String::new(),
            rounds: values.into_iter().collect(),
        }
    }

    /// Adds a goal of ringway's; other subjects have none.
    pub fn goal(mut self, against: Option<Peer>, at_most: f64) -> Self {
        if self.subject == Some(Peer::Ringway) {
            let verdict = self.spread(against).map(|spread| Verdict::of(&spread, at_most));
            self.goals.push(Goal { against, at_most, verdict });
        }
        self
    }

    /// The goal that nothing becomes slower or larger, in runs that an earlier ringway takes part in.
    pub fn no_worse_than_before(self) -> Self {
        match self.spread(Some(Peer::Before)) {
            Some(_) => self.goal(Some(Peer::Before), NO_WORSE),
            None => self,
        }
    }

    pub fn note(mut self, note: String) -> Self {
        self.note = note;
        self
    }

    /// The subject's figure, or its ratio to `against`.
    pub fn spread(&self, against: Option<Peer>) -> Option<Spread> {
        match against {
            Some(peer) => self.ratios.get(&peer).copied(),
            None => self.values.get(&self.subject?).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is the test's failure
    use super::*;

    fn figure(subject: Peer) -> Figure {
        let values = vec![(subject, vec![7.0, 7.2, 6.9]), (Peer::Nginx, vec![10.0, 10.0, 10.0])];
        Figure::new("cpu_64".to_owned(), String::new(), Unit::Micros, values)
    }

    #[test]
    fn ratios_are_subject_over_peer_and_goals_judge_them() {
        let figure = figure(Peer::Ringway).goal(Some(Peer::Nginx), 0.75).goal(Some(Peer::Haproxy), 0.6);
        assert!((figure.spread(Some(Peer::Nginx)).unwrap().median - 0.7).abs() < 1e-9);
        assert_eq!(figure.goals[0].verdict, Some(Verdict::Pass));
        assert_eq!(figure.goals[1].verdict, None, "haproxy was not measured");
    }

    #[test]
    fn other_subjects_have_no_goals() {
        assert!(figure(Peer::Pingora).goal(Some(Peer::Nginx), 0.75).goals.is_empty());
    }
}
