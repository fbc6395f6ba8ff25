//! Connections, and the runtimes of one thread that drive some of them.

use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};

use crate::client::call::decompress::Spare;
use crate::client::config::Config;
use crate::net::NoClient;

/// How many turns the tasks of a connection need to take in that something has ended: one to read what has come or see
/// what was dropped, one for the connection's own task to act on it, one for the pool to hear of it.
const TURNS: usize = 3;

/// Lets the tasks of a connection take in what has happened.
pub(crate) async fn take_turns() {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}

/// Connections, which belong to the runtime on which they were opened.
#[derive(Debug)]
pub(crate) struct Connections {
    /// The connections; the reason where there can be none.
    pub(crate) http: Result<reqwest::Client, Arc<NoClient>>,
    /// Whether a connection may have gone back to the pool.
    answered: AtomicBool,
    /// Buffers for the next body. Only ever tried, so that nobody waits and no fork finds it locked for ever.
    spare: Mutex<Spare>,
}

impl Connections {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            http: config.http().map_err(Arc::new),
            answered: AtomicBool::new(false),
            spare: Mutex::default(),
        }
    }

    /// The buffers that the last body left; empty ones where another body has them.
    pub(crate) fn spare(&self) -> Spare {
        let spare = self.spare.try_lock();
        spare.map_or_else(|_| Spare::default(), |mut spare| mem::take(&mut *spare))
    }

    /// Keeps the buffers for the next body.
    pub(crate) fn put_spare(&self, spare: Spare) {
        if let Ok(mut kept) = self.spare.try_lock() {
            *kept = spare;
        }
    }

    /// Lets the pool notice which of its idle connections have been closed meanwhile: between two calls nothing drives
    /// them where the runtime has no threads of its own.
    pub(crate) async fn freshen(&self) {
        let left_alone = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        if left_alone && self.may_reuse() {
            take_turns().await;
        }
    }

    /// Whether a request may go out on a connection that has served another before.
    pub(crate) fn may_reuse(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Remembers that a whole answer has been read.
    pub(crate) fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }
}

/// A runtime of one thread, and the connections that it drives.
#[derive(Debug)]
pub(crate) struct OwnRuntime {
    pub(crate) connections: Connections,
    /// Taken only by `drop`.
    pub(crate) runtime: Option<Runtime>,
}

impl OwnRuntime {
    pub(crate) fn new(config: &Config) -> io::Result<Self> {
        Ok(Self {
            connections: Connections::new(config),
            runtime: Some(Builder::new_current_thread().enable_all().build()?),
        })
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A name that is still being looked up must not keep anybody waiting.
            runtime.shutdown_background();
        }
    }
}
