//! Endpoints by name: looked up beside the cores for as long as DNS says, and kept when it says nothing.
//!
//! The main thread says which names are wanted ([`Names::want`]) and is told when their addresses have changed; what the
//! cores get is a new route table. [`plan`] decides with [`lane`] and [`patience`], [`thread`] asks.

mod lane;
mod patience;
mod plan;
mod thread;

use std::io;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use plan::Known;
use plan::Wanted;
use thread::Thread;

use crate::config::{Config, Endpoint, Resolver};
use crate::observe::NameStats;

/// The names of the configuration.
pub struct Names {
    changed: Arc<dyn Fn() + Send + Sync>,
    stats: Arc<NameStats>,
    board: Arc<Board>,
    /// Started with the first name.
    thread: Option<Thread>,
}

/// What the thread has heard.
#[derive(Default)]
struct Board(Mutex<Heard>);

#[derive(Default)]
struct Heard {
    known: Known,
    /// Somebody was told that there is something new, and has not looked yet.
    is_told: bool,
}

/// What is wanted.
struct Want {
    names: Wanted,
    resolver: Resolver,
    patience: Duration,
    tried: Tried,
}

/// To be dropped when whoever waits for first answers is to go on; so nobody waits for a thread that is not there.
struct Tried(Option<Box<dyn FnOnce() + Send>>);

impl Drop for Tried {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell();
        }
    }
}

impl Names {
    /// `changed` is called, on another thread, when names have other addresses than before; once, until somebody looks.
    pub fn new(changed: impl Fn() + Send + Sync + 'static, stats: Arc<NameStats>) -> Names {
        Names { changed: Arc::new(changed), stats, board: Arc::default(), thread: None }
    }

    /// Looks up the names of these configurations from now on, and no others, as the last of them says. `tried` is called, on
    /// another thread or this one, when each that was not wanted before has been asked for, or waiting for it does not pay any
    /// more; no later than after `patience`.
    ///
    /// # Errors
    /// The machine gives no thread; `tried` is called all the same.
    pub fn want(
        &mut self,
        configs: &[&Config],
        patience: Duration,
        tried: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let (names, tried) = (wanted(configs), Tried(Some(Box::new(tried))));
        if names.is_empty() && self.thread.is_none() {
            return Ok(());
        }
        let thread = match &mut self.thread {
            Some(thread) => thread,
            None => {
                let (board, stats) = (Arc::clone(&self.board), Arc::clone(&self.stats));
                self.thread.insert(Thread::start(Arc::clone(&self.changed), board, stats)?)
            }
        };
        let resolver = configs.last().map(|config| config.resolver.clone()).unwrap_or_default();
        thread.tell(Want { names, resolver, patience, tried });
        Ok(())
    }

    /// The same with the names of one configuration, and waits until they were tried; returns what is known then. A name that
    /// takes longer has no address yet.
    ///
    /// # Errors
    /// The machine gives no thread.
    pub fn first(&mut self, config: &Config, patience: Duration) -> io::Result<Known> {
        let (tried, all_tried) = sync_channel(1);
        let tell = move || {
            // Somebody waits until it is told.
            let _ = tried.try_send(());
        };
        self.want(&[config], patience, tell)?;
        let _ = all_tried.recv();
        Ok(self.known())
    }

    pub fn known(&self) -> Known {
        let mut heard = self.board.lock();
        heard.is_told = false;
        heard.known.clone()
    }
}

fn wanted(configs: &[&Config]) -> Wanted {
    let mut names = Wanted::new();
    for service in configs.iter().flat_map(|config| &config.services) {
        for name in service.endpoints.iter().filter_map(Endpoint::name) {
            names.entry(name.clone()).or_default().insert(service.id.clone());
        }
    }
    names
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows what is known.
    fn show(&self, known: Known) {
        self.lock().known = known;
    }

    /// Whether somebody is to be told that there is something new.
    fn is_news(&self) -> bool {
        !std::mem::replace(&mut self.lock().is_told, true)
    }
}
