//! `origin`: answers every request, cheaply, so that it can share a core with the generator.
//!
//! [`route`] says what a path asks for, [`answer`] writes heads, [`serve`] reads requests and sends answers.

mod answer;
mod route;
mod serve;

use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::mpsc;

use ringway::runtime::{Core, Signal, listener, on_signal, start};

use crate::cli::{ListenOn, OriginOptions};
use crate::dataset::standard_origins;
use crate::error::Error;
use crate::limits;
use crate::run::{core_options, no_core, print};

enum Event {
    Signal,
    CoreEnded,
}

/// Serves until SIGTERM or SIGINT. Prints one line, with every address, once all listen.
///
/// # Errors
/// An address is in use or not ours, or the machine lacks something.
pub fn origin(options: &OriginOptions) -> Result<(), Error> {
    let addresses = addresses(options)?;
    let core = core_options(options.core, addresses.len())?;
    let (sockets, addresses) = bind_all(&addresses)?;
    let (size, fields, seed) = (options.size, options.fields, options.seed);
    let main = move |core: Core, _| async move {
        let site = Rc::new(serve::Site::new(&core, size, fields, seed));
        for socket in sockets {
            core.spawn(serve::accept(core.listen(socket), Rc::clone(&site)));
        }
    };
    let (tell, told) = mpsc::channel();
    let signal = tell.clone();
    on_signal(&[Signal::Drain], move |_| drop(signal.send(Event::Signal)))
        .map_err(|e| Error::Machine(format!("signals cannot be taken: {e}")))?;
    // Whoever cannot be told has ended already.
    let ended = move || drop(tell.send(Event::CoreEnded));
    let (thread, _mailbox) = start::<(), _>(core, main, ended).map_err(no_core)?;
    print(&ready(&addresses))?;
    match told.recv() {
        Ok(Event::Signal) | Err(_) => Ok(()),
        Ok(Event::CoreEnded) => thread.join().map_err(no_core),
    }
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
