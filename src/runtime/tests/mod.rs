//! Cores, streams and listeners with real sockets on loopback; the other end is plain std.

#![allow(clippy::unwrap_used)] // a test stops at what it did not expect
#![allow(clippy::print_stderr)] // figures are part of the result

mod bounds;
mod idle;
mod streams;

use std::future::Future;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use super::{Core, CoreOptions, IdlePolicy, Listener, Stream, listener, machine, start};
use crate::limits;

/// Longer than anything here takes on a busy machine; nothing waits for it unless it fails.
const PATIENCE: Duration = Duration::from_secs(60);

fn options(idle: IdlePolicy) -> CoreOptions {
    CoreOptions { index: 0, cpu: machine::cpus()[0], idle, open_max: 1000 }
}

/// Runs `main` on a core of its own, which ends with it.
fn on_core<T, F>(options: CoreOptions, main: impl FnOnce(Core) -> F + Send + 'static) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + 'static,
{
    let (tell, told) = mpsc::channel();
    let run = move |core: Core, _: super::Receiver<()>| async move {
        let value = main(core.clone()).await;
        tell.send(value).unwrap();
        core.stop();
    };
    let (thread, _sender) = start(options, run, || ()).unwrap();
    let value = told.recv_timeout(PATIENCE).expect("the core's task failed or hangs");
    thread.join().unwrap();
    value
}

/// A listener on a free port of loopback.
fn listen(core: &Core) -> (Listener, SocketAddr) {
    let socket = listener::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = socket2::SockRef::from(&socket).local_addr().unwrap().as_socket().unwrap();
    (core.listen(socket), address)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Runs `client` on a thread of its own and waits for it without blocking the core.
async fn beside<T: Send + 'static>(core: &Core, client: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::spawn(client);
    while !thread.is_finished() {
        core.sleep_until(core.now() + Duration::from_millis(2)).await;
    }
    thread.join().unwrap()
}

/// Waits until the kernel has closed everything.
async fn all_closed(core: &Core) {
    while core.stats().open > 0 {
        core.sleep_until(core.now() + Duration::from_millis(2)).await;
    }
}

/// Sends back what comes, until FIN.
async fn echo(stream: Stream) {
    while let Ok(Some(chunk)) = stream.recv().await {
        stream.send_chunk(chunk);
        if stream.sent(limits::SEND_QUEUE_OCTETS).await.is_err() {
            return;
        }
    }
}

/// Accepts and echoes, each connection in its own task, until the listener stops.
async fn serve_echo(core: Core, listener: std::rc::Rc<Listener>) {
    while let Some(stream) = listener.accept().await {
        core.spawn(echo(stream));
    }
}

/// `octets` octets that no two clients share.
fn octets(seed: u64, octets: usize) -> Vec<u8> {
    let mut data = vec![0; octets];
    fastrand::Rng::with_seed(seed).fill(&mut data);
    data
}

/// Sends `data` and FIN, and reads to the peer's, both at once.
fn exchange(mut stream: TcpStream, data: Vec<u8>) -> Vec<u8> {
    let mut writing = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        writing.write_all(&data).unwrap();
        writing.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    writer.join().unwrap();
    answer
}
