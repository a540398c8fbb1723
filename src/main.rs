//! argv → command → role; exit codes. Names every role, and nothing else.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use ringway::cli::{self, Command, Exit};
use ringway::observe::process_log::{self, Level, event};
use ringway::{config, ctl, edge, runtime};

fn main() -> ExitCode {
    runtime::outlive_full_files();
    let mut out = Told { out: io::stdout().lock(), failed: None };
    let exit = match cli::parse(std::env::args_os()) {
        Ok(command) => act(command, &mut out),
        Err(told) => out.noting(told).into(),
    };
    out.end(exit)
}

fn act(command: Command, out: &mut Told<impl Write>) -> ExitCode {
    let exit = match command {
        Command::Run { config } => Ok(run(&config)),
        Command::Check { config } => ctl::check(&config, out),
        Command::Explain(options) => ctl::explain(&options, out),
        Command::Guards(what) => ctl::guards(&what, out),
        Command::Schema => ctl::schema(out),
        Command::Completions { shell } => ctl::completions(shell, out),
        Command::Man { dir } => ctl::man(&dir, out),
        // What may be long ends with who reads it.
        Command::State(command) => {
            let exit = ctl::state(command, &mut out.out, &mut io::stderr());
            return out.noting(exit);
        }
    };
    out.noting(exit).into()
}

/// Output that may find no room, or nobody who reads on, as in `ringway check … | head -1`. The rest is dropped: a verdict is
/// the same. But where all is fine, whoever takes the result from there must not find it so.
struct Told<W> {
    out: W,
    failed: Option<io::Error>,
}

impl<W: Write> Told<W> {
    /// What a command ended with, well unless it says otherwise; its error is of the output.
    fn noting<E: Default>(&mut self, told: io::Result<E>) -> E {
        told.unwrap_or_else(|error| {
            self.failed.get_or_insert(error);
            E::default()
        })
    }

    fn end(mut self, exit: ExitCode) -> ExitCode {
        // It has no errors.
        let _ = self.flush();
        let Some(error) = self.failed else { return exit };
        let untold = match error.kind() {
            io::ErrorKind::BrokenPipe => Exit::Unread,
            _ => {
                let mend = "make room there, or let it go elsewhere";
                let _ =
                    writeln!(io::stderr(), "ringway: standard output cannot be written to: {error}; {mend}");
                Exit::MachineLacks
            }
        };
        if exit == ExitCode::SUCCESS { untold.into() } else { exit }
    }
}

impl<W: Write> Write for Told<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if self.failed.is_some() {
            return Ok(octets.len());
        }
        match self.out.write(octets) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.failed = Some(error);
                Ok(octets.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
        Ok(())
    }
}

/// Whoever reads what the process says may be slow, or have stopped: its end waits a moment for the last of it.
fn run(path: &Path) -> Exit {
    process_log::install_panic_hook();
    if let Err(error) = process_log::start() {
        let mend = "raise the limits on threads and descriptors (ulimit -u, ulimit -n)";
        process_log::refuse(&format!("ringway: cannot start the process log's thread: {error}; {mend}"));
        return Exit::MachineLacks;
    }
    runtime::before_abort(process_log::end);
    let exit = serve(path);
    process_log::end();
    exit
}

fn serve(path: &Path) -> Exit {
    let config = match config::load(path) {
        Ok(config) => config,
        Err(mistakes) => {
            process_log::refuse(&mistakes.to_string());
            return Exit::WrongInput;
        }
    };
    process_log::set_level(config.process_log);
    for warning in &config.warnings {
        event(Level::Warn, warning, &[]);
    }
    match edge::run(path, config) {
        Ok(()) => Exit::Fine,
        Err(error) => {
            let exit = if error.is_of_machine() { Exit::MachineLacks } else { Exit::WrongInput };
            let who = if error.names_its_line() { "" } else { "ringway: " };
            process_log::refuse(&format!("{who}{error}"));
            exit
        }
    }
}
