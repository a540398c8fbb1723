//! Signals, taken on a thread of their own.

use std::io;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// What an operator may ask for by signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM or SIGINT: finish what is open, then end.
    Drain,
}

/// Calls `act` for each signal, on a thread of its own, until it returns false.
///
/// # Errors
/// The handlers cannot be installed, or no thread can be had.
pub fn on_signal(mut act: impl FnMut(Signal) -> bool + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            if !act(Signal::Drain) {
                return;
            }
        }
    })?;
    Ok(())
}
