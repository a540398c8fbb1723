//! The report as a table for people.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table};

use super::{ErrorKinds, Report};

/// A row a target; ratios and errors below it, where there are any.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut table = Table::new();
    table.set_header([
        "target",
        "requests",
        "errors",
        "rps",
        "p50 µs",
        "p90 µs",
        "p99 µs",
        "p99.9 µs",
        "max µs",
    ]);
    for target in &report.targets {
        let (figures, latency) = (&target.figures, target.figures.latency_us);
        let mut row = vec![target.name.clone(), figures.requests.to_string(), figures.errors.to_string()];
        row.push(format!("{:.0}", figures.rps));
        let shown = [latency.p50, latency.p90, latency.p99, latency.p999, latency.max];
        row.extend(shown.map(|us| format!("{us:.1}")));
        table.add_row(row);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let mut out = format!("{table}\n");
    for ratio in &report.ratios {
        let (target, to) = (&ratio.target, &ratio.to);
        let (p50, p99, rps) = (ratio.p50, ratio.p99, ratio.rps);
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{target} to {to}: p50 {p50:.3}, p99 {p99:.3}, rps {rps:.3} (medians of paired rounds)"
        );
    }
    for target in &report.targets {
        let kinds = kinds(&target.figures.error_kinds);
        if !kinds.is_empty() {
            let _ = writeln!(out, "{}: {}", target.name, kinds.join(", "));
        }
    }
    out
}

/// Each kind of error that there was, in words.
#[must_use]
pub fn kinds(kinds: &ErrorKinds) -> Vec<String> {
    let all = [
        (kinds.connect, "could not connect"),
        (kinds.reset, "reset"),
        (kinds.timeout, "timed out, and count in latencies with the time that they were waited for"),
        (kinds.short, "ended before the answer did"),
        (kinds.malformed, "not HTTP/1.1"),
        (kinds.status, "with status 4xx or 5xx"),
        (kinds.dropped, "never sent: too many waited for a connection"),
    ];
    all.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
}
