//! argv → command → role; exit codes. Names every role, and nothing else.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use ringway::cli::{self, Command, Exit};
use ringway::observe::process_log::{self, Level, event};
use ringway::{config, ctl, edge};

fn main() -> ExitCode {
    let command = match cli::parse(std::env::args_os()) {
        Ok(command) => command,
        Err(exit) => return exit.into(),
    };
    let out = &mut Curtailed(Some(io::stdout().lock()));
    let exit = match command {
        Command::Run { config } => Ok(run(&config)),
        Command::Check { config } => ctl::check(&config, out),
        Command::Explain(options) => ctl::explain(&options, out),
        Command::Guards(what) => ctl::guards(&what, out),
        Command::Schema => ctl::schema(out),
        Command::Completions { shell } => ctl::completions(shell, out),
        Command::Man { dir } => ctl::man(&dir, out),
        Command::State(command) => {
            return ctl::state(command, out, &mut Curtailed(Some(io::stderr())));
        }
    };
    // `Curtailed` has no errors.
    exit.unwrap_or(Exit::WrongInput).into()
}

/// Output of which nobody may see the end, as in `ringway check … | head -1`: the verdict is the same, so what cannot be
/// written is dropped.
struct Curtailed<W>(Option<W>);

impl<W: Write> Write for Curtailed<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self.0.as_mut().map(|out| out.write(octets)) {
            Some(Ok(written)) => return Ok(written),
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Some(Err(_)) => self.0 = None,
            None => {}
        }
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.0.as_mut().is_some_and(|out| out.flush().is_err()) {
            self.0 = None;
        }
        Ok(())
    }
}

fn run(path: &Path) -> Exit {
    process_log::install_panic_hook();
    let config = match config::load(path) {
        Ok(config) => config,
        Err(mistakes) => {
            let _ = writeln!(io::stderr(), "{mistakes}");
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
            let _ = writeln!(io::stderr(), "{who}{error}");
            exit
        }
    }
}
