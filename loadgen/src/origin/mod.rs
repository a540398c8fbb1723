//! `origin`: answers every request, cheaply, so that it can share a core with the generator.
//!
//! [`route`] says what a path asks for, [`answer`] writes heads, [`serve`] reads requests and sends answers; where a
//! [`script`] is given, [`play`] says when and how.

mod answer;
mod play;
mod route;
pub mod script;
mod serve;

use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::mpsc;

use ringway::runtime::{Core, Signal, listener, on_signal, start};

use self::play::{Play, Stage};
use crate::cli::{ListenOn, OriginOptions};
use crate::dataset::standard_origins;
use crate::error::Error;
use crate::run::{core_options, no_core, print};
use crate::{limits, pattern};

enum Event {
    Signal,
    CoreEnded,
    Failed(String),
}

const DEFAULT_SEED: u64 = 1;

/// Serves until SIGTERM or SIGINT. Prints one line, with every address, once all listen.
///
/// # Errors
/// An address is in use or not ours, or the machine lacks something.
pub fn origin(options: &OriginOptions) -> Result<(), Error> {
    let addresses = addresses(options)?;
    let script = options.plan.as_deref().map(script::load).transpose();
    let script = script.map_err(|mistakes| Error::Input(mistakes.to_string()))?;
    let seed = options.seed.or_else(|| script.as_ref().map(|script| script.seed)).unwrap_or(DEFAULT_SEED);
    let core = core_options(options.core, addresses.len())?;
    let (sockets, addresses) = bind_all(&addresses)?;
    let told_of_script = script.as_ref().map(|script| format!("plan: {} (seed {seed})\n", script.about));
    let (tell, told) = mpsc::channel();
    let (body, fields, bound, failed) =
        (body(options, seed), options.fields, addresses.clone(), tell.clone());
    let main = move |core: Core, _| async move {
        // Whoever cannot be told has ended already.
        let stage = Stage::new(bound, Box::new(move |why| drop(failed.send(Event::Failed(why)))));
        let play = script.map(|script| Play::new(script, seed, Rc::clone(&stage)));
        let site = Rc::new(serve::Site::new(&core, &body, fields, seed, play));
        stage.listen(&core, &site, sockets);
    };
    let signal = tell.clone();
    on_signal(&[Signal::Drain], move |_| drop(signal.send(Event::Signal)))
        .map_err(|e| Error::Machine(format!("signals cannot be taken: {e}")))?;
    // Whoever cannot be told has ended already.
    let ended = move || drop(tell.send(Event::CoreEnded));
    let (thread, _mailbox) = start::<(), _>(core, main, ended).map_err(no_core)?;
    print(&ready(&addresses))?;
    print(&told_of_script.unwrap_or_default())?;
    match told.recv() {
        Ok(Event::Signal) | Err(_) => Ok(()),
        Ok(Event::Failed(why)) => {
            Err(Error::Input(format!("--listen {why}; choose an address that no other takes")))
        }
        Ok(Event::CoreEnded) => thread.join().map_err(no_core),
    }
}

/// Of the fixed answer.
fn body(options: &OriginOptions, seed: u64) -> Vec<u8> {
    if let Some(text) = &options.text {
        return format!("{text}\n").into_bytes();
    }
    let mut body = vec![0; options.size];
    pattern::fill(seed, 0, &mut body);
    body
}

fn addresses(options: &OriginOptions) -> Result<Vec<SocketAddr>, Error> {
    let mut addresses = Vec::new();
    for listen in &options.listen {
        match listen {
            ListenOn::Address(address) => addresses.push(*address),
            ListenOn::Dataset => addresses.extend(standard_origins()),
        }
    }
    let (count, most) = (addresses.len(), limits::LISTENERS_MAX);
    if count > most {
        return Err(Error::Usage(format!("--listen: {count} addresses; at most {most}")));
    }
    Ok(addresses)
}

/// Listening sockets, and the addresses that they got.
fn bind_all(addresses: &[SocketAddr]) -> Result<(Vec<OwnedFd>, Vec<SocketAddr>), Error> {
    let bind = |address: SocketAddr| {
        let free =
            if address.port() == 0 { Ok(()) } else { listener::ensure_free(address, listener::PREDECESSOR) };
        let socket = TcpListener::from(free.and_then(|()| listener::bind(address))?);
        let address = socket.local_addr()?;
        Ok((socket.into(), address))
    };
    let failed = |address: SocketAddr, error: std::io::Error| {
        Error::Input(format!("--listen {address}: {error}; choose a free address of this host"))
    };
    addresses.iter().map(|&address| bind(address).map_err(|e| failed(address, e))).collect()
}

fn ready(addresses: &[SocketAddr]) -> String {
    let mut line = "listening on".to_owned();
    for (at, address) in addresses.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(line, "{} {address}", if at == 0 { "" } else { "," });
    }
    line + "\n"
}
