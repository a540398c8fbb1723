//! A panic in one connection's task. The router has none to offer, so the runtime is asked through the library.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;

use ringway::edge::{Edge, EdgeParts, Settings};
use ringway::observe::access::{self, LogSink};
use ringway::observe::{CoreMetrics, top};
use ringway::proto::trace::IdSource;
use ringway::runtime::{self, Core, CoreOptions, IdlePolicy, Listener, Receiver, Stream, machine};

use crate::support::*;

/// Panics on `!`, echoes everything else.
async fn echo(stream: Stream) {
    while let Ok(Some(chunk)) = stream.recv().await {
        assert!(!chunk.contains(&b'!'), "this connection asked for it");
        stream.send(chunk.to_vec());
    }
}

async fn serve(core: Core, mut orders: Receiver<()>, address: SocketAddr, metrics: Arc<CoreMetrics>) {
    let listener = Rc::new(core.listen(runtime::listener::bind(address).unwrap()));
    core.spawn(accept(core.clone(), Rc::clone(&listener)));
    // The edge's housekeeping is what shows the count to the outside.
    let log = access::ring(Arc::clone(&metrics)).0;
    core.spawn(edge(&core, metrics, log).housekeep());
    orders.recv(&core).await;
    core.stop();
}

async fn accept(core: Core, listener: Rc<Listener>) {
    while let Some(stream) = listener.accept().await {
        core.spawn(echo(stream));
    }
}

pub fn edge(core: &Core, metrics: Arc<CoreMetrics>, log: LogSink) -> Rc<Edge> {
    let config = ringway::config::load(&Setup::new().write()).unwrap();
    let region = ringway_state::id::Region::parse("local").unwrap();
    let parts = EdgeParts {
        settings: Settings::from(&config),
        log,
        top: top::ring(1, Arc::clone(&metrics)).0,
        metrics,
        errors: Arc::default(),
        view: ringway_state::Table::new(&region).publish(),
        ids: IdSource::new(1, 1, 0),
    };
    Edge::new(core.clone(), parts)
}

#[test]
fn a_panic_ends_its_own_connection_only() {
    let (address, metrics) = (ports::free_address(), Arc::new(CoreMetrics::default()));
    let options = CoreOptions { index: 0, cpu: machine::cpus()[0], idle: IdlePolicy::Park, open_max: 1000 };
    let (ended, end) = mpsc::channel();
    let counted = Arc::clone(&metrics);
    let (thread, mut orders) = runtime::start(
        options,
        move |core, orders| serve(core, orders, address, counted),
        move || ended.send(()).unwrap(),
    )
    .unwrap();
    wait_until("the core listens", || std::net::TcpStream::connect(address).is_ok());
    let mut others: Vec<Wire> = (0..10).map(|_| Wire::connect(address)).collect();
    for round in 0..5 {
        let mut victim = Wire::connect(address);
        victim.send("before").unwrap();
        assert_eq!(victim.exactly(6).unwrap(), b"before");
        victim.send("!").unwrap();
        assert_eq!(victim.end(), Cut::Reset, "what came before must not look whole");
        for other in &mut others {
            other.send(format!("round {round}")).unwrap();
            assert_eq!(other.exactly(7).unwrap(), format!("round {round}").as_bytes());
        }
    }
    wait_until("the panics are counted", || metrics.panics.get() == 5);
    orders.put(()).unwrap();
    orders.ring();
    end.recv_timeout(wait::PATIENCE).unwrap();
    thread.join().unwrap();
}
