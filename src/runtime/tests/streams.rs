//! What streams do for their owners and their peers.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::rc::Rc;
use std::time::Duration;

use super::{
    PATIENCE, all_closed, beside, connect, echo, exchange, listen, octets, on_core, options, serve_echo,
};
use crate::runtime::{Fault, IdlePolicy, Stream};

fn echoes(idle: IdlePolicy) {
    on_core(options(idle), |core| async move {
        let (listener, address) = listen(&core);
        let listener = Rc::new(listener);
        core.spawn(serve_echo(core.clone(), Rc::clone(&listener)));
        let clients = move || {
            let clients: Vec<_> = (0..8u64)
                .map(|seed| {
                    std::thread::spawn(move || {
                        let data = octets(seed, 100_000 + 7 * seed as usize);
                        assert!(exchange(connect(address), data.clone()) == data, "client {seed}");
                    })
                })
                .collect();
            clients.into_iter().for_each(|client| client.join().unwrap());
        };
        beside(&core, clients).await;
        let stats = core.stats();
        assert_eq!((stats.accepted, stats.stale_completions), (8, 0));
        listener.stop();
        all_closed(&core).await;
        assert_eq!(core.stats().buffers_out, 0);
    });
}

#[test]
fn echoes_parked() {
    echoes(IdlePolicy::Park);
}

#[test]
fn echoes_spinning() {
    echoes(IdlePolicy::Spin);
}

#[test]
fn echoes_adaptive() {
    echoes(IdlePolicy::Adaptive);
}

#[test]
fn half_closed_either_way_the_other_goes_on() {
    on_core(options(IdlePolicy::Adaptive), |core| async move {
        let (listener, address) = listen(&core);
        // The client ends first; the answer, of which much waits in the queue, comes after.
        core.spawn(async move {
            let first = listener.accept().await.unwrap();
            let mut count = 0;
            while let Some(chunk) = first.recv().await.unwrap() {
                count += chunk.len();
            }
            first.send(count.to_string().into_bytes());
            first.send(octets(5, 3_000_000));
            drop(first);
            // We end first, and still get all that the client sends.
            let second = listener.accept().await.unwrap();
            second.send(b"done".to_vec());
            second.finish_sending();
            second.sent(0).await.unwrap();
            let mut count = 0;
            while let Some(chunk) = second.recv().await.unwrap() {
                count += chunk.len();
            }
            assert_eq!(count, 1_000_000);
        });
        let clients = move || {
            let answer = exchange(connect(address), octets(1, 123_456));
            assert_eq!(&answer[..6], b"123456");
            assert!(answer[6..] == octets(5, 3_000_000));
            let mut second = connect(address);
            let mut answer = Vec::new();
            second.read_to_end(&mut answer).unwrap();
            assert_eq!(answer, b"done");
            second.write_all(&octets(2, 1_000_000)).unwrap();
        };
        beside(&core, clients).await;
        assert_eq!(core.panics(), 0);
    });
}

#[test]
fn a_panic_ends_its_own_connection_with_a_reset() {
    on_core(options(IdlePolicy::Adaptive), |core| async move {
        let (listener, address) = listen(&core);
        let spawner = core.clone();
        core.spawn(async move {
            let victim = listener.accept().await.unwrap();
            let other = listener.accept().await.unwrap();
            spawner.spawn(echo(other));
            spawner.spawn(async move {
                let held = victim.recv().await.unwrap();
                victim.send(b"half an ans".to_vec());
                assert!(held.is_none(), "this panic is part of the test");
            });
            assert!(listener.accept().await.is_none());
        });
        let clients = move || {
            let (mut victim, mut other) = (connect(address), connect(address));
            other.write_all(b"before").unwrap();
            victim.write_all(b"go").unwrap();
            let mut answer = Vec::new();
            let end = victim.read_to_end(&mut answer).unwrap_err();
            assert_eq!(end.kind(), ErrorKind::ConnectionReset);
            other.write_all(b" and after").unwrap();
            let mut answer = [0; 16];
            other.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"before and after");
        };
        beside(&core, clients).await;
        assert_eq!(core.panics(), 1);
        assert_eq!(core.stats().buffers_out, 0, "the chunk it held is home");
    });
}

#[test]
fn what_is_queued_is_sent_when_the_stream_is_dropped_and_a_reset_is_one() {
    on_core(options(IdlePolicy::Adaptive), |core| async move {
        let (listener, address) = listen(&core);
        core.spawn(async move {
            let finished = listener.accept().await.unwrap();
            finished.send(octets(3, 2_000_000));
            drop(finished);
            let mut reset = listener.accept().await.unwrap();
            reset.send(octets(4, 2_000_000));
            reset.finish_sending();
            reset.reset();
        });
        let clients = move || {
            let mut finished = connect(address);
            let mut answer = Vec::new();
            finished.read_to_end(&mut answer).unwrap();
            assert!(answer == octets(3, 2_000_000));
            let end = connect(address).read_to_end(&mut answer).unwrap_err();
            assert_eq!(end.kind(), ErrorKind::ConnectionReset, "a cut answer looks whole");
        };
        beside(&core, clients).await;
    });
}

#[test]
fn connecting_works_is_refused_and_times_out() {
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = origin.local_addr().unwrap();
    let refusing = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = origin.accept().unwrap();
        let mut asked = [0; 4];
        stream.read_exact(&mut asked).unwrap();
        stream.write_all(&asked).unwrap();
        // Says nothing more, and waits for the end.
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(stream.read(&mut asked).unwrap(), 0);
    });
    on_core(options(IdlePolicy::Park), move |core| async move {
        let stream = core.connect(address).unwrap();
        stream.connected().await.unwrap();
        assert_eq!(stream.peer().unwrap(), address);
        stream.send(b"ping".to_vec());
        let answer = stream.recv().await.unwrap().unwrap();
        assert_eq!(&*answer, b"ping");
        drop(answer);
        assert!(stream.is_quiet());
        never_early(&stream).await;
        let refused = core.connect(refusing).unwrap();
        assert_eq!(refused.connected().await, Err(Fault::Os(libc::ECONNREFUSED)));
        drop((stream, refused));
        all_closed(&core).await;
    });
    server.join().unwrap();
}

async fn never_early(stream: &Stream) {
    for ms in [0, 1, 9, 10, 11, 35, 120] {
        let (timeout, start) = (Duration::from_millis(ms), stream.core().now());
        stream.set_timeout(timeout);
        assert!(matches!(stream.recv().await, Err(Fault::TimedOut)));
        let passed = stream.core().now() - start;
        assert!(passed >= timeout, "{passed:?} is before {timeout:?}");
    }
    assert_eq!(stream.core().stats().timeouts, 7);
}
