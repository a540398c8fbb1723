//! Signals, taken on a thread of their own.

use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::Signals;

/// What an operator may ask for by signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM or SIGINT: finish what is open, then end.
    Drain,
    /// SIGHUP: read the configuration again.
    Reload,
    /// SIGUSR1: begin the log's file anew.
    Reopen,
}

impl Signal {
    fn numbers(self) -> &'static [i32] {
        match self {
            Signal::Drain => &[SIGTERM, SIGINT],
            Signal::Reload => &[SIGHUP],
            Signal::Reopen => &[SIGUSR1],
        }
    }
}

/// Calls `act` for each of the signals named, on a thread of its own; all others do what they do by default.
///
/// # Errors
/// The handlers cannot be installed, or no thread can be had.
pub fn on_signal(signals: &'static [Signal], mut act: impl FnMut(Signal) + Send + 'static) -> io::Result<()> {
    let mut taken = Signals::new(signals.iter().flat_map(|signal| signal.numbers()))?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for number in taken.forever() {
            signals
                .iter()
                .filter(|signal| signal.numbers().contains(&number))
                .for_each(|signal| act(*signal));
        }
    })?;
    Ok(())
}

/// From now on a file that may not grow any more (RLIMIT_FSIZE) is an error of whoever writes to it, as a full disk is
/// (EFBIG), and not the process's end.
pub fn outlive_full_files() {
    // A handler, since ignoring takes unsafe code; nobody looks at its flag. The kernel refuses it no process, and one that
    // it did refuse is as it was.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}
