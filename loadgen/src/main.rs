//! argv → command → exit code.

use std::io::Write;
use std::process::ExitCode;

use ringway_loadgen::cli::{Command, CommandLine};
use ringway_loadgen::error::Error;
use ringway_loadgen::{deltas, hold, origin, pattern, run, verify};

fn main() -> ExitCode {
    let done = match CommandLine::typed() {
        Ok(line) => act(&line.command),
        Err(answer) if answer.use_stderr() => {
            // Nobody is left to tell when even a mistake can't be written.
            let _ = answer.print();
            return ExitCode::from(2);
        }
        Err(help) => help.print().map_err(|error| run::untold(&error)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error, Error::Unread) {
                // Nobody is left to tell when even this cannot be written.
                let _ = writeln!(std::io::stderr(), "ringway-loadgen: {error}");
            }
            error.exit_code()
        }
    }
}

fn act(command: &Command) -> Result<(), Error> {
    match command {
        Command::Run(options) => run::run(options),
        Command::Idle(options) => hold::idle(options),
        Command::Origin(options) => origin::origin(options),
        Command::Deltas(options) => deltas::deltas(options),
        Command::Verify(options) => verify::verify(options),
        Command::Digest(options) => run::print(&format!("{}\n", pattern::digest(options.seed, options.size))),
    }
}
