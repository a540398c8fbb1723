//! `idle`: holds connections that made one request each, so that someone can weigh them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use ringway::runtime::{Core, Stream, start};

use crate::answer::AnswerReader;
use crate::cli::IdleOptions;
use crate::client;
use crate::error::Error;
use crate::mix::{self, Mix};
use crate::plan::Target;
use crate::run::{core_options, no_core, print, resolve};

enum Event {
    Holding { open: usize, failed: usize, why: Option<String> },
    Held { alive: usize },
}

/// Opens, holds and counts connections. Prints a line when all are open and another after the hold.
///
/// # Errors
/// Not one could be held, or the machine lacks something.
pub fn idle(options: &IdleOptions) -> Result<(), Error> {
    let target = resolve(&options.target)?;
    let host = options.host.as_ref().map_or(options.target.authority.as_str(), |host| host.0.as_str());
    let mix = Mix::gets(&options.path, mix::one(host));
    let core = core_options(options.core, options.connections)?;
    let (tell, told) = mpsc::channel();
    let (count, timeout, hold) = (options.connections, options.timeout, options.hold);
    let to = target.clone();
    let main = move |core: Core, _| async move {
        act(&core, &to, count, timeout, hold, mix, &tell).await;
        core.stop();
    };
    let (thread, _mailbox) = start::<(), _>(core, main, || ()).map_err(no_core)?;
    let mut outcome = Ok(());
    for event in told {
        match event {
            Event::Holding { open: 0, why, .. } => {
                let why = why.unwrap_or_default();
                let Target { name, address, .. } = &target;
                outcome = Err(Error::Input(format!("{name}: no connection to {address} can be held: {why}")));
            }
            Event::Holding { open, failed, why } => {
                let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
                print(&format!("holding {open} connections, {failed} failed{why}\n"))?;
            }
            Event::Held { alive } => print(&format!("alive {alive} of {count}\n"))?,
        }
    }
    thread.join().map_err(no_core)?;
    outcome
}

async fn act(
    core: &Core,
    target: &Target,
    count: usize,
    timeout: Duration,
    hold: Duration,
    mix: Mix,
    tell: &mpsc::Sender<Event>,
) {
    let held: Rc<RefCell<Vec<Stream>>> = Rc::default();
    let (failed, why) = (Rc::new(Cell::new(0)), Rc::new(RefCell::new(None)));
    let (address, mix, ring) = (target.address, Rc::new(RefCell::new(mix)), core.clone());
    let (into, failures, reason) = (Rc::clone(&held), Rc::clone(&failed), Rc::clone(&why));
    client::few_at_a_time(core, count, move |_| {
        let (ring, mix, into) = (ring.clone(), Rc::clone(&mix), Rc::clone(&into));
        let (failures, reason) = (Rc::clone(&failures), Rc::clone(&reason));
        async move {
            let mut request = ring.head_buffer();
            let ask = mix.borrow_mut().draw();
            mix.borrow().write_head(&ask, &mut request);
            match open(&ring, address, timeout, request).await {
                Ok(stream) => into.borrow_mut().push(stream),
                Err(error) => {
                    failures.set(failures.get() + 1);
                    reason.replace(Some(error));
                }
            }
        }
    })
    .await;
    let open = held.borrow().len();
    // Nobody listens only when the process ends.
    let _ = tell.send(Event::Holding { open, failed: failed.get(), why: why.take() });
    if open > 0 {
        core.sleep_until(core.now() + hold).await;
        let alive = held.borrow().iter().filter(|stream| stream.is_quiet()).count();
        let _ = tell.send(Event::Held { alive });
    }
}

async fn open(
    core: &Core,
    target: std::net::SocketAddr,
    timeout: Duration,
    request: Vec<u8>,
) -> Result<Stream, String> {
    let stream = client::connect(core, target, timeout).await?;
    client::ask_once(&stream, request, timeout, &mut AnswerReader::new()).await?;
    stream.clear_timeout();
    Ok(stream)
}
