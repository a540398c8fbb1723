//! From the table to the cores: what was published, who serves from it, and how long that took.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringway_state::View;
use ringway_state::id::HostName;

use super::taken::Taken;
use crate::limits;
use crate::observe::FeedStats;

/// What the cores are given: one state of the table.
#[derive(Clone)]
pub struct Publication {
    /// From 1, in their order; what a core [takes](Taken::take) when it serves from it.
    pub sequence: u64,
    pub view: View,
    /// Host names that belong to another service than before, or to none: what is open for them is to be cut.
    pub cut: Option<Arc<[HostName]>>,
}

/// Gives a publication to every core, and wakes each once.
pub(super) type Give = Box<dyn FnMut(&Publication) + Send>;

/// Changes by when they came into the process.
pub(super) type Entered = Vec<(Instant, u64)>;

pub(super) struct Publisher {
    cores: Vec<Arc<Taken>>,
    give: Give,
    sequence: u64,
    /// Not yet taken up by every core, or something of it is still to be cut; the oldest first.
    under_way: VecDeque<UnderWay>,
    stats: Arc<FeedStats>,
}

struct UnderWay {
    publication: Publication,
    /// Emptied when every core has it.
    entered: Entered,
    /// When the first of its changes came in.
    first: Option<Instant>,
    /// When it was published.
    at: Instant,
}

impl Publisher {
    pub(super) fn new(cores: Vec<Arc<Taken>>, give: Give, stats: Arc<FeedStats>) -> Publisher {
        Publisher { cores, give, sequence: 0, under_way: VecDeque::new(), stats }
    }

    /// Whether one more may be published now: a core that is busy is not given more than it can take up, and what comes in
    /// meanwhile waits where it came from.
    pub(super) fn has_room(&self) -> bool {
        self.under_way.len() < limits::FEED_PUBLICATIONS
    }

    /// Publishes a state of the table, with what is new in it, and the host names that have lost their service. Call it only
    /// if there is [room](Self::has_room).
    pub(super) fn publish(&mut self, view: View, entered: Entered, cut: Vec<HostName>) {
        debug_assert!(self.has_room());
        self.sequence += 1;
        let cut = (!cut.is_empty()).then(|| cut.into());
        let publication = Publication { sequence: self.sequence, view, cut };
        (self.give)(&publication);
        self.stats.publications.inc();
        let first = entered.first().map(|(at, _)| *at);
        // Kept until every core has let go of the one before, so that no core frees what only that one holds.
        self.under_way.push_back(UnderWay { publication, entered, first, at: Instant::now() });
    }

    /// Sees what the cores have taken up and cut since, and counts how long it took.
    pub(super) fn look(&mut self) {
        let Publisher { cores, under_way, stats, .. } = self;
        let least = |of: fn(&Taken) -> u64| cores.iter().map(|core| of(core)).min().unwrap_or(u64::MAX);
        let (taken, cut) = (least(Taken::taken), least(Taken::is_cut));
        for UnderWay { publication, entered, .. } in under_way.iter_mut() {
            if publication.sequence > taken {
                break;
            }
            let at = cores.iter().map(|core| core.taken_at(publication.sequence)).max();
            for (since, changes) in entered.drain(..) {
                stats.visible.record_many(at.unwrap_or(since).saturating_duration_since(since), changes);
            }
        }
        while under_way.front().is_some_and(|first| first.publication.sequence <= cut) {
            let Some(UnderWay { publication, first: Some(first), .. }) = under_way.pop_front() else {
                continue;
            };
            if let (Some(hosts), Some(at)) = (publication.cut, cores.iter().map(|core| core.cut_at()).max()) {
                stats.cut.record_many(at.saturating_duration_since(first), hosts.len() as u64);
            }
        }
    }

    /// The last publication that every core serves from.
    pub(super) fn taken(&self) -> u64 {
        self.cores.iter().map(|core| core.taken()).min().unwrap_or(self.sequence)
    }

    /// The last one that was published.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// How long to wait before the next look; `None` if there is nothing to look for. Soon at first, then half as often
    /// each time: a core that hangs costs no more than one that does not.
    pub(super) fn patience(&self, now: Instant) -> Option<Duration> {
        const LEAST: Duration = Duration::from_millis(1);
        const MOST: Duration = Duration::from_millis(100);
        let since = now.saturating_duration_since(self.under_way.front()?.at);
        Some((since / 2).clamp(LEAST, MOST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_state::Table;
    use ringway_state::id::Region;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn room_is_made_by_the_slowest_core_and_times_are_its() {
        let (start, stats) = (Instant::now(), Arc::<FeedStats>::default());
        let cores: Vec<Arc<Taken>> = (0..2).map(|_| Arc::new(Taken::new(start))).collect();
        let (sent, told) = std::sync::mpsc::channel();
        let give: Give = Box::new(move |publication| sent.send(publication.sequence).unwrap());
        let mut publisher = Publisher::new(cores.clone(), give, Arc::clone(&stats));
        let table = Table::new(&Region::parse("local").unwrap());
        assert_eq!((publisher.taken(), publisher.patience(start)), (0, None));
        while publisher.has_room() {
            publisher.publish(table.publish(), vec![(start, 2), (start + ms(1), 1)], Vec::new());
        }
        let all = limits::FEED_PUBLICATIONS as u64;
        assert_eq!(told.try_iter().collect::<Vec<_>>(), (1..=all).collect::<Vec<_>>());
        // One core alone makes no room.
        let take = |core: &Taken, sequence, at| {
            core.take(sequence, at);
            core.cut(sequence, at);
        };
        (1..=all).for_each(|sequence| take(&cores[0], sequence, start + ms(3)));
        publisher.look();
        assert!(!publisher.has_room() && publisher.patience(Instant::now()).is_some());
        assert_eq!(stats.visible.read().counts.iter().sum::<u64>(), 0);
        take(&cores[1], 1, start + ms(100));
        publisher.look();
        assert!(publisher.has_room());
        let reading = stats.visible.read();
        assert_eq!((reading.counts.iter().sum::<u64>(), reading.sum_ns), (3, 299_000_000));
        (2..=all).for_each(|sequence| take(&cores[1], sequence, start + ms(100)));
        publisher.look();
        assert_eq!((publisher.taken(), publisher.patience(Instant::now())), (all, None));
    }

    #[test]
    fn a_core_that_hangs_is_looked_at_less_and_less() {
        let core = Arc::new(Taken::new(Instant::now()));
        let mut publisher = Publisher::new(vec![core], Box::new(|_| ()), Arc::default());
        publisher.publish(Table::new(&Region::parse("local").unwrap()).publish(), Vec::new(), Vec::new());
        let at = publisher.under_way[0].at;
        assert_eq!(publisher.patience(at), Some(ms(1)));
        assert_eq!(publisher.patience(at + ms(60)), Some(ms(30)));
        assert_eq!(publisher.patience(at + ms(60_000)), Some(ms(100)));
    }

    /// What is cut does not hold back what is seen, but the room for more.
    #[test]
    fn a_change_is_visible_before_what_it_cuts_is_gone() {
        let (start, stats) = (Instant::now(), Arc::<FeedStats>::default());
        let core = Arc::new(Taken::new(start));
        let mut publisher = Publisher::new(vec![Arc::clone(&core)], Box::new(|_| ()), Arc::clone(&stats));
        let view = Table::new(&Region::parse("local").unwrap()).publish();
        let hosts = || vec![HostName::parse("a.test").unwrap(), HostName::parse("b.test").unwrap()];
        for sequence in 1..=limits::FEED_PUBLICATIONS as u64 {
            publisher.publish(
                view.clone(),
                vec![(start, 1)],
                if sequence == 2 { hosts() } else { Vec::new() },
            );
            core.take(sequence, start + ms(1));
        }
        core.cut(1, start + ms(1));
        publisher.look();
        assert_eq!(publisher.under_way.len(), limits::FEED_PUBLICATIONS - 1);
        let counted = |histogram: &crate::observe::Histogram| histogram.read().counts.iter().sum::<u64>();
        assert_eq!((counted(&stats.visible), counted(&stats.cut)), (limits::FEED_PUBLICATIONS as u64, 0));
        core.cut(limits::FEED_PUBLICATIONS as u64, start + ms(50));
        publisher.look();
        assert_eq!(
            (publisher.under_way.len(), counted(&stats.cut), stats.cut.read().sum_ns),
            (0, 2, 100_000_000)
        );
        assert_eq!(counted(&stats.visible), limits::FEED_PUBLICATIONS as u64);
    }
}
