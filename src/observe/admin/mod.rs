//! The admin listener: plain HTTP on loopback, on a thread of its own. Whatever happens here delays no request.

mod connection;
mod host;
mod routes;
mod state;

use super::registry::{Exposition, Registry};
use crate::feed::GuardDesk;
use crate::limits::{SLOW_LOOK_MS, TOP_LOOK_MS};
use connection::{Bounded, Bounds};
use host::IsLoopback;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::interval;

#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error(
        "cannot listen on {address} for the admin listener: {source}; stop what uses it \
         (ss -ltnp 'sport = :{port}') or give `admin.address` another port",
        port = address.port()
    )]
    Bind { address: SocketAddr, source: io::Error },
    #[error(
        "cannot start the admin thread: {source}; raise the limits on threads and descriptors (ulimit -u, -n)"
    )]
    Thread { source: io::Error },
}

/// What the admin listener shows and does.
pub struct Admin {
    pub registry: Arc<Registry>,
    /// Begins the drain; called for each POST /v1/drain, so it must bear being called again.
    pub drain: Box<dyn Fn() + Send + Sync>,
    /// What guards hold, and where that is acknowledged.
    pub guards: Arc<GuardDesk>,
    /// Reads the configuration again and tells the outcome; drops what would tell if it cannot.
    pub reload: Box<dyn Fn(Tell) + Send + Sync>,
    /// A query's pairs to what is told of its request.
    pub explain: Ask<[(String, String)]>,
    /// A host name to what serves it.
    pub routes: Ask<str>,
}

/// Takes a status and JSON.
pub type TellJson = Box<dyn FnOnce(u16, serde_json::Value) + Send>;
/// Has something told, or says at once what is wrong with what was asked. Drops what would tell if it cannot.
pub type Ask<Q> = Box<dyn Fn(&Q, TellJson) -> Result<(), String> + Send + Sync>;

/// Takes the outcome of a reload.
pub type Tell = Box<dyn FnOnce(Reloaded) + Send>;

/// What a reload came to, each of the lists in lines for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    pub applied: bool,
    /// What is in effect now and was not before.
    pub changed: Vec<String>,
    /// What the file says and takes a restart.
    pub needs_restart: Vec<String>,
    /// Why nothing has changed.
    pub mistakes: Vec<String>,
}

/// A socket that listens and is not served yet: clients wait in the kernel's queue.
#[derive(Debug)]
pub struct AdminListener {
    socket: TcpListener,
    address: SocketAddr,
}

/// The running thread. Dropped without [`AdminThread::stop`], it ends by itself and nobody waits for it.
pub struct AdminThread {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// Opens the socket, so that a taken address is known before anything else starts. Port 0 takes any free one.
///
/// # Errors
/// If the address is taken, or is none of this machine.
pub fn bind(address: SocketAddr) -> Result<AdminListener, AdminError> {
    let open = || {
        let socket = TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok(AdminListener { socket, address })
    };
    open().map_err(|source| AdminError::Bind { address, source })
}

impl AdminListener {
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts the thread that answers.
    ///
    /// # Errors
    /// If the machine gives no thread or no descriptors for it.
    pub fn serve(self, admin: Admin) -> Result<AdminThread, AdminError> {
        self.serve_within(Bounds::default(), admin)
    }

    fn serve_within(self, bounds: Bounds, admin: Admin) -> Result<AdminThread, AdminError> {
        let start = || {
            let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
            let registry = Arc::clone(&admin.registry);
            let listener = {
                let _context = runtime.enter();
                Bounded::new(tokio::net::TcpListener::from_std(self.socket)?, bounds, Arc::clone(&registry))
            };
            let shown = Shown {
                exposition: Exposition::new(Arc::clone(&admin.registry)),
                admin,
                started: Instant::now(),
            };
            let router = routes::router(shown, IsLoopback(self.address.ip().is_loopback()));
            let (stop, stopped) = oneshot::channel();
            let serve = move || {
                runtime.spawn(async move { axum::serve(listener, router).await });
                runtime.spawn(look(SLOW_LOOK_MS, Arc::clone(&registry), |registry| registry.slow.look()));
                runtime.spawn(look(TOP_LOOK_MS, registry, |registry| registry.top.look()));
                // Ends when it is sent something or its sender is dropped; what is open then is cut.
                let _ = runtime.block_on(stopped);
            };
            let thread = thread::Builder::new().name("admin".to_owned()).spawn(serve)?;
            Ok(AdminThread { address: self.address, stop, thread })
        };
        start().map_err(|source| AdminError::Thread { source })
    }
}

/// Takes what cores noted, so that they can note more.
async fn look(every_ms: u64, registry: Arc<Registry>, take: impl Fn(&Registry)) {
    let mut ticks = interval(Duration::from_millis(every_ms));
    loop {
        ticks.tick().await;
        take(&registry);
    }
}

impl AdminThread {
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the socket and waits for the thread.
    pub fn stop(self) {
        drop(self.stop);
        // It panicked if this fails, and the panic hook has said so.
        let _ = self.thread.join();
    }
}

/// What the routes answer from.
struct Shown {
    admin: Admin,
    exposition: Exposition,
    started: Instant,
}

#[cfg(test)]
mod tests;
