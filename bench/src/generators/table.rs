//! The table of generators, and whether ringway-loadgen keeps its goals.
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets::UTF8_HORIZONTAL_ONLY};

use super::tool::Tool;
use super::{Row, Said};
use crate::stats::Spread;

/// ringway-loadgen's cost over wrk's.
const GOAL: f64 = 1.0;
/// How far percentiles may be from arithmetic: the timer's slack and the time that the origin takes to answer all who waited.
const ERROR_MS: f64 = 25.0;

pub(super) struct Verdict {
    pub(super) kept: bool,
    text: String,
}

pub(super) fn print(rows: &[Row], meant: &Said, out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "generator",
        "CPU µs/request",
        "× wrk",
        "requests/s",
        "stall: p50 ms",
        "p90",
        "p99",
        "longest",
        "note",
    ]);
    let said = |said: &Said| [said.p50, said.p90, said.p99, said.max].map(|ms| format!("{ms:.1}"));
    let empty = || [const { String::new() }; 4];
    for row in rows {
        let mut cells = vec![row.name.to_owned()];
        cells.push(row.cost.map_or(String::new(), |cost| format!("{:.2}", cost.median)));
        cells.push(row.to_wrk.map_or(String::new(), |ratio| {
            format!("{:.3} ({:.3}–{:.3})", ratio.median, ratio.min, ratio.max)
        }));
        cells.push(row.rate.map_or(String::new(), |rate| format!("{rate:.0}")));
        cells.extend(row.stall.as_ref().map_or_else(empty, said));
        cells.push(row.note.clone());
        table.add_row(cells);
    }
    let mut cells = ["arithmetic, at a rate", "", "", ""].map(str::to_owned).to_vec();
    cells.extend(said(meant));
    table.add_row(cells);
    table
        .column_iter_mut()
        .skip(1)
        .take(7)
        .for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    writeln!(out, "{table}")?;
    for verdict in verdicts(rows, meant) {
        writeln!(out, "{}: {}", verdict.text, if verdict.kept { "kept" } else { "MISSED" })?;
    }
    Ok(())
}

pub(super) fn verdicts(rows: &[Row], meant: &Said) -> Vec<Verdict> {
    // Cost is judged among those that wait for answers: theirs come in bursts, many to a wake of the process, while each
    // arrival at a rate wakes it for itself. What is said of a stall, of the one that does not wait.
    let named = |tool: Tool| rows.iter().find(|row| row.name == tool.name());
    let cost = |row: &Row| {
        let Spread { high, .. } = row.to_wrk?;
        let text = format!("{}: at most {GOAL} × wrk's CPU per request, up to {high:.3}", row.name);
        Some(Verdict { kept: high <= GOAL, text })
    };
    let stall = |row: &Row| {
        let said = row.stall?;
        let pairs =
            [(said.p50, meant.p50), (said.p90, meant.p90), (said.p99, meant.p99), (said.max, meant.max)];
        let furthest = pairs.into_iter().map(|(said, meant)| (said - meant).abs()).fold(0.0, f64::max);
        let text = format!(
            "{}: percentiles under a stall within {ERROR_MS} ms of arithmetic, {furthest:.1} ms off at most",
            row.name
        );
        Some(Verdict { kept: furthest <= ERROR_MS, text })
    };
    let verdicts = [named(Tool::Closed).and_then(cost), named(Tool::Open).and_then(stall)];
    verdicts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is the test's failure
    use super::*;

    fn row(name: &'static str, ratio: f64, p90: f64) -> Row {
        let spread = |value| Some(Spread { min: value, median: value, max: value, low: value, high: value });
        let stall = Some(Said { requests: 9.0, p50: 0.1, p90, p99: 940.0, max: 1_000.0 });
        Row { name, cost: spread(5.0), to_wrk: spread(ratio), rate: Some(9.0), stall, note: String::new() }
    }

    #[test]
    fn goals_are_judged_and_others_have_none() {
        let meant = super::super::arithmetic();
        let rows = |ratio, p90| {
            [row(Tool::Open.name(), 4.0, p90), row(Tool::Closed.name(), ratio, 0.2), row("wrk", 1.0, 0.2)]
        };
        let kept = |ratio, p90| -> Vec<bool> {
            verdicts(&rows(ratio, p90), &meant).iter().map(|verdict| verdict.kept).collect()
        };
        assert_eq!(kept(0.9, 410.0), [true, true]);
        assert_eq!(kept(1.1, 440.0), [false, false]);
        let mut out = Vec::new();
        print(&rows(0.9, 440.0), &meant, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("arithmetic") && text.contains("400.0") && text.contains("MISSED"), "{text}");
    }
}
