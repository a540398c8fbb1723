//! Ctrl-C and SIGTERM become an error at the next wait, so that every guard runs and every child is stopped.
use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From here on SIGINT, SIGTERM and SIGHUP no longer end the process but raise the flag that [`check`] reads.
pub fn install() -> io::Result<()> {
    let asked = ASKED.get_or_init(Arc::default);
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(asked))?;
    }
    Ok(())
}

/// [`Failure::Interrupted`] once a signal has come.
pub fn check() -> Result<(), Failure> {
    match ASKED.get() {
        Some(asked) if asked.load(Ordering::Relaxed) => Err(Failure::Interrupted),
        _ => Ok(()),
    }
}
