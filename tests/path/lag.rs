//! Loop lag, stalls and slow requests.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ringway::observe::access;
use ringway::observe::{CoreMetrics, SlowNotes};
use ringway::runtime::{self, Core, CoreOptions, IdlePolicy, machine};

use crate::panics::edge;
use crate::support::origin::ok;
use crate::support::*;

const STALL: Duration = Duration::from_millis(50);

/// Holds the core, as a task must not.
async fn hold_up(core: Core) {
    // A task begins to run where it is spawned, which is before the first turn here.
    core.yield_now().await;
    let began = Instant::now();
    while began.elapsed() < STALL {
        std::hint::spin_loop();
    }
}

/// The router has no way to stall, so the runtime is asked through the library.
#[test]
fn a_stall_of_50_ms_is_seen_with_the_names_of_its_tasks() {
    let metrics = Arc::new(CoreMetrics::default());
    let (sink, _log, notes) = access::ring(Arc::clone(&metrics));
    let options = CoreOptions { index: 0, cpu: machine::cpus()[0], idle: IdlePolicy::Park, open_max: 1000 };
    let (counted, (ended, end)) = (Arc::clone(&metrics), mpsc::channel());
    let main = move |core: Core, mut orders: runtime::Receiver<()>| async move {
        core.spawn(edge(&core, counted, sink).housekeep());
        core.spawn(hold_up(core.clone()));
        orders.recv(&core).await;
        core.stop();
    };
    let (thread, mut orders) = runtime::start(options, main, move || ended.send(()).unwrap()).unwrap();
    wait_until("the stall is counted", || metrics.stalls.get() > 0);
    let notes = SlowNotes::new(vec![notes]);
    let mut stalls = Vec::new();
    wait_until("the stall is noted", || {
        stalls.extend(notes.stalls());
        !stalls.is_empty()
    });
    let stall = &stalls[0];
    assert!(stall["ringway.stall"].as_u64().unwrap() >= 50_000_000, "{stall}");
    let tasks = stall["ringway.tasks"].as_object().unwrap();
    assert!(tasks.keys().any(|name| name.contains("hold_up")), "{stall}");
    let (buckets, sum) = metrics.lag.buckets();
    let longer = |seconds: f64| -> u64 {
        buckets.iter().filter(|(end, _)| *end > seconds).map(|(_, count)| count).sum()
    };
    assert!(longer(0.05) >= 1 && sum >= 0.05, "{buckets:?}");
    orders.put(()).unwrap();
    orders.ring();
    end.recv_timeout(wait::PATIENCE).unwrap();
    thread.join().unwrap();
}

#[test]
fn slow_requests_are_shown_with_their_stages() {
    let origin = Origin::answering(|head, _| {
        if head.path() == "/slow" {
            pause(Duration::from_millis(120));
        }
        ok("fine")
    });
    let setup = Setup::to(&[origin.address]).set("access_log.slow", "100ms");
    let router = setup.set("access_log.fields", serde_json::json!(["url.path", "ringway.stages"])).start();
    let mut client = router.connect();
    client.ask("GET /fast HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let slow = client.ask("GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let shown = || router.admin("/v1/slow").json()["requests"].as_array().unwrap().clone();
    wait_until("it is shown", || !shown().is_empty());
    let shown = shown();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(shown[0]["http.request.id"].as_str(), slow.head.get("x-request-id"));
    let stage = |name: &str| shown[0]["ringway.stages"][name].as_u64().unwrap();
    assert!(stage("wait") >= 110_000_000 && stage("head") < 50_000_000, "{shown:?}");
    let sum: u64 = ["route", "queue", "connect", "wait", "body"].map(stage).iter().sum();
    assert_eq!(sum, shown[0]["event.duration"].as_u64().unwrap());
    assert_eq!(router.metric("ringway_slow_requests_total"), 1);
    // The log has what was chosen.
    wait_until("the log has both", || router.log().len() == 2);
    let lines = router.log();
    assert_eq!(lines[0], serde_json::json!({ "url.path": "/fast" }));
    assert!(lines[1]["ringway.stages"]["wait"].as_u64().unwrap() >= 110_000_000);
    wait_until("turns are counted", || router.metric("ringway_loop_lag_seconds_count") > 0);
}
