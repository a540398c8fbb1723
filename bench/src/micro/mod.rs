//! Parts of the request's and the change's path, timed alone: nanoseconds an operation.
mod chase;
mod clock;
mod http;
mod pick;
mod table;
mod timing;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};

use crate::data_set::DataSet;
use crate::failure::Failure;
use crate::owned;
use crate::progress::Progress;
use timing::{Case, Timed};

#[derive(Debug, Args)]
pub struct MicroArgs {
    /// Names in the table: this much of the standard data set
    #[arg(long, value_name = "HOSTS", default_value_t = 4_000_000)]
    dataset: u64,
    /// Its snapshot [default: built in the output folder, or kept there from an earlier run]
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// Where the snapshot is kept
    #[arg(long, value_name = "DIR", default_value = "bench/out")]
    out: PathBuf,
    /// Runs of each part, all parts taking turns
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// The CPU to run on
    #[arg(long, value_name = "CPU", default_value_t = 0)]
    core: usize,
    /// Only parts whose name holds TEXT
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// Times every part and prints one table.
pub fn run(args: &MicroArgs, out: &mut impl Write) -> Result<bool, Failure> {
    owned::bind_self(args.core).map_err(Failure::file("sched_setaffinity"))?;
    let wanted = |name: &str| args.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let mut cases = http::cases();
    cases.extend(pick::cases());
    if table::NAMES.iter().any(|name| wanted(name)) {
        let data_set = DataSet::prepare(args.dataset, args.snapshot.as_deref(), &args.out)?;
        cases.extend(table::cases(&data_set)?);
    }
    cases.retain(|case| wanted(case.name));
    let progress = Progress::over((cases.len() * usize::from(args.runs)) as u64);
    let timed = timing::take_turns(&mut cases, usize::from(args.runs), &progress)?;
    drop(progress);
    writeln!(out, "{}", as_table(&cases, &timed)).map_err(Failure::file("standard output"))?;
    Ok(true)
}

fn as_table(cases: &[Case], timed: &[Timed]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(["part", "ns/op (median)", "min", "max", "beside", "note"]);
    for (case, times) in cases.iter().zip(timed) {
        let beside = case.beside.and_then(|name| {
            let other = cases.iter().position(|other| other.name == name)?;
            Some(format!("{:.2} × {name}", times.spread.median / timed[other].spread.median))
        });
        table.add_row([
            case.name.to_owned(),
            format!("{:.1}", times.spread.median),
            format!("{:.1}", times.spread.min),
            format!("{:.1}", times.spread.max),
            beside.unwrap_or_default(),
            case.note.clone(),
        ]);
    }
    table
}
