//! How changes go: from their source into the table, and to every core.

use super::cell::{Counter, Gauge};
use super::histogram::Histogram;
use super::registry::{count, durations, gauge, single_count, single_gauge};
use crate::feed::{BadReason, Rule};
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Written by the feed's thread alone.
#[derive(Debug, Default)]
pub struct FeedStats {
    pub lines: Counter,
    pub applied: Counter,
    pub stale: Counter,
    pub fenced: Counter,
    refused: [Counter; BadReason::ALL.len()],
    /// Of those, the ones that were kept, and that were not.
    pub kept: Counter,
    pub not_kept: Counter,
    pub unknown_kinds: Counter,
    pub unknown_fields: Counter,
    /// Times that a source was read from its start.
    pub begun: Counter,
    /// Last lines that never got their end.
    pub torn: Counter,
    pub publications: Counter,
    /// From entering the process until every core serves so.
    pub visible: Histogram,
    /// The same until nothing is open any more for a host name that a change took from its service.
    pub cut: Histogram,
    /// Into the table.
    pub apply: Histogram,
    /// Times that the table had no room for a change.
    pub full: Counter,
    /// Changes that guards have held, and hold now, by rule; and that they have let go.
    held: [Counter; Rule::ALL.len()],
    holding: [Gauge; Rule::ALL.len()],
    pub released: Counter,
    /// Changes that they had no room for: to be read once more, or let through.
    pub passed: Counter,
    pub let_through: Counter,
    /// Octets that are to be read once more.
    pub arrears: Gauge,
    /// Files of the table that were made and put to use, by what they are.
    pub flushes: Counter,
    pub merges: Counter,
    pub bases: Counter,
    pub chores_failed: Counter,
    /// Octets of such files; the housekeeper's.
    pub written: Counter,
    housekeeping_ns: Counter,
    /// Where the next line of the source begins: the line's number, and its first octet's.
    pub line: Gauge,
    pub offset: Gauge,
    /// When everything that the source has was last applied: milliseconds since 1970; 0 if never.
    caught_up_ms: Gauge,
}

impl FeedStats {
    pub fn refused(&self, reason: BadReason) -> &Counter {
        &self.refused[reason as usize]
    }

    pub fn held(&self, rule: Rule) -> &Counter {
        &self.held[rule as usize]
    }

    pub fn holding(&self, rule: Rule) -> &Gauge {
        &self.holding[rule as usize]
    }

    /// Everything that the source has is applied.
    pub fn caught_up(&self) {
        self.caught_up_ms.set(now_ms());
    }

    /// CPU time of the housekeeper so far; called by it alone.
    pub fn housekeeping_cpu(&self, time: Duration) {
        self.housekeeping_ns.set(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Seconds since everything was applied that the source had; none if it never was.
    pub(super) fn lag(&self) -> Option<f64> {
        let since = self.caught_up_ms.get();
        (since > 0).then(|| now_ms().saturating_sub(since) as f64 / 1e3)
    }

    pub(super) fn encode(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        self.lines_of(out)?;
        self.chores(out)?;
        self.guards(out)?;
        let help = "Changes refused whole, by what is wrong with them; state.dir keeps the last.";
        let mut family = out.encode_descriptor("ringway_feed_refused", help, None, MetricType::Counter)?;
        for reason in BadReason::ALL {
            count(&mut family, &[("reason", reason.as_str())], self.refused(reason).get())?;
        }
        let help = "Refused changes, by whether state.dir keeps them.";
        let mut family =
            out.encode_descriptor("ringway_feed_quarantined", help, None, MetricType::Counter)?;
        count(&mut family, &[("outcome", "kept")], self.kept.get())?;
        count(&mut family, &[("outcome", "not_kept")], self.not_kept.get())?;
        let help = "From the moment a change was read until every core served so.";
        durations(out, "ringway_feed_visible_duration", help, &self.visible.read())?;
        let help = "From the moment a change was read that takes a host name from its service until nothing of it was open.";
        durations(out, "ringway_feed_cut_duration", help, &self.cut.read())?;
        let help = "What it took to apply a change to the table.";
        durations(out, "ringway_feed_apply_duration", help, &self.apply.read())?;
        let help = "Octets of the feed's source that are taken in.";
        single_gauge(out, "ringway_feed_offset", help, Some(&Unit::Bytes), self.offset.get())?;
        if let Some(lag) = self.lag() {
            let help = "Since everything that the feed's source had was applied.";
            single_gauge(out, "ringway_feed_lag", help, Some(&Unit::Seconds), lag)?;
        }
        Ok(())
    }

    fn guards(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help =
            "Changes of endpoints held back, since too many would be lost, by the rule that held them.";
        let mut family = out.encode_descriptor("ringway_guard_held", help, None, MetricType::Counter)?;
        for rule in Rule::ALL {
            count(&mut family, &[("rule", rule.as_str())], self.held(rule).get())?;
        }
        let help = "Changes of endpoints that are held back now. More than 0 asks for somebody to look at /v1/guards.";
        let mut family = out.encode_descriptor("ringway_guard_holding", help, None, MetricType::Gauge)?;
        for rule in Rule::ALL {
            gauge(&mut family, &[("rule", rule.as_str())], self.holding(rule).get())?;
        }
        let help = "Changes that were held and then applied: there was room for them, they were acknowledged, or they expired.";
        single_count(out, "ringway_guard_released", help, self.released.get())?;
        let help = "Changes that guards had no room for: they are passed over, and read once more when there is room.";
        single_count(out, "ringway_guard_passed_over", help, self.passed.get())?;
        let help = "Octets of the feed that are to be read once more for such changes.";
        single_gauge(out, "ringway_guard_passed_over_octets", help, None, self.arrears.get())?;
        let help =
            "Changes that guards had no room for and that could not be read once more: they were applied.";
        single_count(out, "ringway_guard_let_through", help, self.let_through.get())
    }

    fn chores(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Files of the route table made and put to use: a level of the overlay, one of several, or a base of all.";
        let mut family =
            out.encode_descriptor("ringway_table_files_made", help, None, MetricType::Counter)?;
        for (kind, counter) in [("flush", &self.flushes), ("merge", &self.merges), ("base", &self.bases)] {
            count(&mut family, &[("kind", kind)], counter.get())?;
        }
        let help = "Octets of such files, written to state.dir.";
        single_count(out, "ringway_table_written_octets", help, self.written.get())?;
        let help = "Times that state.dir took no file; what is known is served, and it is tried again.";
        single_count(out, "ringway_table_chores_failed", help, self.chores_failed.get())?;
        let seconds = self.housekeeping_ns.get() as f64 / 1e9;
        let help = "CPU time that making such files took.";
        out.encode_descriptor("ringway_housekeeping_cpu", help, Some(&Unit::Seconds), MetricType::Counter)?
            .encode_counter::<NoLabelSet, f64, f64>(&seconds, None)
    }

    fn lines_of(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let counts = [
            ("ringway_feed_lines", "Lines read from the feed's source.", &self.lines),
            ("ringway_feed_applied", "Changes applied to the table.", &self.applied),
            (
                "ringway_feed_stale",
                "Changes whose key had their version, or a newer one, already.",
                &self.stale,
            ),
            (
                "ringway_feed_fenced",
                "Changes of a writer that has lost their key to one of a newer epoch.",
                &self.fenced,
            ),
            (
                "ringway_feed_unknown_kinds",
                "Lines skipped since this version does not know their kind.",
                &self.unknown_kinds,
            ),
            (
                "ringway_feed_unknown_fields",
                "Fields that this version does not know; the change that has them holds.",
                &self.unknown_fields,
            ),
            ("ringway_feed_begun", "Times that the feed's source was read from its start.", &self.begun),
            ("ringway_feed_torn", "Lines whose end never came.", &self.torn),
            (
                "ringway_feed_publications",
                "States of the table given to the cores, each with all that had come in.",
                &self.publications,
            ),
            (
                "ringway_feed_full",
                "Times that a change waited since the table had no room for it.",
                &self.full,
            ),
        ];
        counts.into_iter().try_for_each(|(name, help, counter)| single_count(out, name, help, counter.get()))
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
