//! `ringway-bench`: argv → command → exit code.
use std::process::ExitCode;

fn main() -> ExitCode {
    ringway_bench::cli::run()
}
