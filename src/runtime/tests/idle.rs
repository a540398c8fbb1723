//! What a core costs that has nothing to do.

#![allow(unsafe_code)] // std does not tell a thread's CPU time

use std::time::Duration;

use super::{beside, connect, echo, listen, on_core, options};
use crate::runtime::{Core, IdlePolicy};

/// CPU time of the calling thread so far.
fn cpu_time() -> Duration {
    // SAFETY: clock_gettime writes one timespec, which is plain data.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        assert_eq!(libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time), 0);
        time
    };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// Share of a CPU that the core uses while nothing comes for two seconds.
async fn share(core: &Core) -> f64 {
    let (cpu, start) = (cpu_time(), core.now());
    core.sleep_until(start + Duration::from_secs(2)).await;
    (cpu_time() - cpu).as_secs_f64() / (core.now() - start).as_secs_f64()
}

fn idles(idle: IdlePolicy) -> f64 {
    on_core(options(idle), |core| async move {
        let (listener, address) = listen(&core);
        // A burst first, after which an adaptive core believes that polling pays.
        let server = core.clone();
        core.spawn(async move {
            server.spawn(echo(listener.accept().await.unwrap()));
            assert!(listener.accept().await.is_none());
        });
        let client = move || {
            use std::io::{Read, Write};
            let mut stream = connect(address);
            for _ in 0..200 {
                stream.write_all(b"x").unwrap();
                stream.read_exact(&mut [0]).unwrap();
            }
            stream
        };
        let open = beside(&core, client).await;
        let share = share(&core).await;
        drop(open);
        share
    })
}

#[test]
fn an_idle_core_burns_nothing() {
    for idle in [IdlePolicy::Park, IdlePolicy::Adaptive] {
        let share = idles(idle);
        eprintln!("{idle:?}: {:.3} % of a CPU", 100.0 * share);
        assert!(share <= 0.01, "{idle:?} uses {:.2} % of a CPU", 100.0 * share);
    }
}
