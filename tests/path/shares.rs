//! How requests are shared out between the endpoints of a service.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::origin::ok;
use crate::support::*;

/// Asks `requests` times, from so many clients at once.
fn ask(router: &Router, clients: usize, requests: usize) {
    let left = AtomicUsize::new(requests);
    let take = || left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok();
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = router.connect();
                while take() {
                    assert_eq!(client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").status, 200);
                }
            });
        }
    });
}

fn shares(origins: &[Origin]) -> Vec<f64> {
    let counts: Vec<usize> = origins.iter().map(|origin| origin.requests().len()).collect();
    let all: usize = counts.iter().sum();
    counts.into_iter().map(|count| count as f64 / all as f64).collect()
}

fn addresses(origins: &[Origin]) -> Vec<SocketAddr> {
    origins.iter().map(|origin| origin.address).collect()
}

#[test]
fn equal_endpoints_get_equal_shares() {
    let origins: Vec<Origin> = (0..4).map(|_| Origin::saying("fine")).collect();
    let router = Setup::to(&addresses(&origins)).start();
    // One after the other, so that what the machine does to one of the origins has no part in it.
    ask(&router, 1, 30_000);
    let shares = shares(&origins);
    assert!(shares.iter().all(|share| (0.2375..=0.2625).contains(share)), "{shares:?}");
}

#[test]
fn a_slow_endpoint_gets_a_small_share() {
    let slow = |took: u64| {
        Origin::answering(move |_, _| {
            pause(Duration::from_millis(took));
            ok("fine")
        })
    };
    let origins = [slow(50), slow(5), slow(5), slow(5)];
    let router = Setup::to(&addresses(&origins)).start();
    ask(&router, 16, 3_000);
    let shares = shares(&origins);
    assert!(shares[0] <= 0.15, "{shares:?}");
}
