//! Endpoints by name: looked up beside the cores for as long as DNS says, and kept when it says nothing.
//!
//! The main thread says which names are wanted ([`Names::want`]) and is told when their addresses have changed; what the
//! cores get is a new route table. [`plan`] decides, [`thread`] asks.

mod plan;
mod thread;

use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use plan::Known;
use ringway_state::id::HostName;
use thread::Thread;

use crate::config::{Config, Endpoint, Resolver};
use crate::observe::NameStats;

/// The names of the configuration.
pub struct Names {
    changed: Arc<dyn Fn() + Send + Sync>,
    stats: Arc<NameStats>,
    known: Arc<Mutex<Known>>,
    /// Started with the first name.
    thread: Option<Thread>,
}

/// What is wanted.
struct Want {
    names: BTreeSet<HostName>,
    resolver: Resolver,
    /// Told when each name was asked for at least once.
    tried: SyncSender<()>,
}

impl Names {
    /// `changed` is called, on another thread, whenever a name has other addresses than before.
    pub fn new(changed: impl Fn() + Send + Sync + 'static, stats: Arc<NameStats>) -> Names {
        Names { changed: Arc::new(changed), stats, known: Arc::default(), thread: None }
    }

    /// Looks up the names of `config` from now on, and no others. Waits until each was asked for, for as long as `patience`,
    /// and returns what is known then.
    ///
    /// # Errors
    /// The machine gives no thread.
    pub fn want(&mut self, config: &Config, patience: Duration) -> io::Result<Known> {
        let endpoints = config.services.iter().flat_map(|service| &service.endpoints);
        let names: BTreeSet<HostName> = endpoints.filter_map(Endpoint::name).cloned().collect();
        if names.is_empty() && self.thread.is_none() {
            return Ok(Known::new());
        }
        let thread = match &mut self.thread {
            Some(thread) => thread,
            None => {
                let (known, stats) = (Arc::clone(&self.known), Arc::clone(&self.stats));
                self.thread.insert(Thread::start(Arc::clone(&self.changed), known, stats)?)
            }
        };
        let (tried, all_tried) = sync_channel(1);
        thread.tell(Want { names, resolver: config.resolver.clone(), tried });
        // A name that takes longer has no address yet, or those from before.
        let _ = all_tried.recv_timeout(patience);
        Ok(self.known())
    }

    pub fn known(&self) -> Known {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
