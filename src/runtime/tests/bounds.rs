//! What is bounded: memory behind a slow reader, descriptors, wakes.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::{PATIENCE, beside, connect, listen, octets, on_core, options, serve_echo};
use crate::limits;
use crate::runtime::{IdlePolicy, start};

/// What an origin could send if nobody held it back.
const BODY: usize = 48 << 20;
/// The kernel's own buffers on two connections, both ends, at their defaults' largest.
const KERNEL: u64 = 24 << 20;

#[test]
fn a_slow_reader_holds_back_its_peer() {
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin_address = origin.local_addr().unwrap();
    let written = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&written);
    let server = std::thread::spawn(move || {
        let (mut stream, _) = origin.accept().unwrap();
        for piece in octets(9, BODY).chunks(64 << 10) {
            stream.write_all(piece).unwrap();
            counter.fetch_add(piece.len() as u64, Ordering::Relaxed);
        }
    });
    on_core(options(IdlePolicy::Adaptive), move |core| async move {
        let (listener, address) = listen(&core);
        let relay = core.clone();
        core.spawn(async move {
            let client = listener.accept().await.unwrap();
            let origin = relay.connect(origin_address).unwrap();
            origin.connected().await.unwrap();
            while let Some(chunk) = origin.recv().await.unwrap() {
                client.send_chunk(chunk);
                client.sent(limits::SEND_QUEUE_OCTETS).await.unwrap();
            }
        });
        let (ready, go) = mpsc::channel();
        let client = std::thread::spawn(move || {
            let mut stream = connect(address);
            go.recv().unwrap();
            let mut body = Vec::with_capacity(BODY);
            stream.read_to_end(&mut body).unwrap();
            assert!(body == octets(9, BODY), "the body has changed on its way");
        });
        // Until the origin has written nothing for a while: everything is full.
        let (mut last, mut still) = (0, 0);
        while still < 20 {
            core.sleep_until(core.now() + Duration::from_millis(20)).await;
            let now = written.load(Ordering::Relaxed);
            still = if now == last && now > 0 { still + 1 } else { 0 };
            last = now;
        }
        let stats = core.stats();
        let held = stats.buffers_out * limits::RECV_BUFFER_OCTETS as u64;
        assert!(held <= limits::CONNECTION_BUFFERED_OCTETS as u64, "{held} octets are held");
        assert!(last <= KERNEL + held, "{last} octets were taken from the origin");
        assert!(stats.recv_held_back > 0);
        ready.send(()).unwrap();
        beside(&core, move || client.join().unwrap()).await;
        assert_eq!(core.panics(), 0);
    });
    server.join().unwrap();
}

#[test]
fn at_the_descriptor_limit_accepting_pauses_and_goes_on() {
    let few = crate::runtime::CoreOptions { open_max: 8, ..options(IdlePolicy::Park) };
    on_core(few, |core| async move {
        let (listener, address) = listen(&core);
        let listener = Rc::new(listener);
        core.spawn(serve_echo(core.clone(), listener));
        let (filled, full) = mpsc::channel();
        let (go, gone) = mpsc::channel();
        let clients = std::thread::spawn(move || {
            let answers = |stream: &mut std::net::TcpStream| {
                stream.write_all(b"hi").unwrap();
                stream.read_exact(&mut [0; 2]).unwrap();
            };
            // One by one, so that each is served before the next comes: seven with the listener.
            let mut first: Vec<_> = (0..6).map(|_| connect(address)).collect();
            first.iter_mut().for_each(answers);
            let late: Vec<_> = (0..20).map(|_| connect(address)).collect();
            filled.send(()).unwrap();
            gone.recv().unwrap();
            drop(first);
            // Served in the end, as many at a time as fit.
            for mut stream in late {
                answers(&mut stream);
            }
        });
        while full.try_recv().is_err() || core.stats().accept_pauses == 0 {
            core.sleep_until(core.now() + Duration::from_millis(5)).await;
        }
        go.send(()).unwrap();
        beside(&core, move || clients.join().unwrap()).await;
        let stats = core.stats();
        assert_eq!(stats.accepted, 26);
        eprintln!("{} pauses for 26 connections", stats.accept_pauses);
    });
}

#[test]
fn a_batch_of_messages_wakes_a_core_once() {
    const BATCH: u64 = 100;
    let (tell, told) = mpsc::channel();
    let main = move |core: crate::runtime::Core, mut messages: crate::runtime::Receiver<u64>| async move {
        loop {
            let mut sum = 0;
            for _ in 0..BATCH {
                sum += messages.recv(&core).await;
            }
            tell.send((sum, core.stats().completions)).unwrap();
            if sum == 0 {
                return core.stop();
            }
        }
    };
    let (thread, mut sender) = start(options(IdlePolicy::Park), main, || ()).unwrap();
    for (batch, value) in (1..).zip([3, 2, 1, 0]) {
        (0..BATCH).for_each(|_| sender.put(value).unwrap());
        sender.ring();
        let (sum, wakes) = told.recv_timeout(PATIENCE).unwrap();
        assert_eq!(sum, value * BATCH);
        assert!(wakes <= batch, "{wakes} wakes for {batch} batches");
    }
    thread.join().unwrap();
}

/// What is reckoned from it (a service's share, when accepting pauses) is reckoned from the new number.
#[test]
fn a_changed_descriptor_limit_is_the_one_that_counts() {
    on_core(options(IdlePolicy::Park), |core| async move {
        assert_eq!(core.open_max(), options(IdlePolicy::Park).open_max);
        core.set_open_max(8);
        assert_eq!(core.open_max(), 8);
    });
}
