//! Connections, and the single-threaded runtimes that drive some of them.

use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};

use crate::client::config::Config;
use crate::client::connection::spare_buffers::SpareBuffers;
use crate::net::NoClient;

/// Number of scheduler turns until an event on a connection takes effect: one to read it, one for the connection's
/// task to act, and one for the pool to notice.
const TURNS: usize = 3;

/// Lets connection tasks process pending events.
pub(crate) async fn take_turns() {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}

/// Connections of one runtime.
#[derive(Debug)]
pub(crate) struct Connections {
    /// The HTTP client, or the reason why it cannot be built.
    pub(crate) http: Result<reqwest::Client, Arc<NoClient>>,
    /// Whether a complete answer was read, so that the pool may have an idle connection.
    answered: AtomicBool,
    /// Buffers for the next body. Only `try_lock` is used: no caller waits, and a fork cannot deadlock.
    spare: Mutex<SpareBuffers>,
}

impl Connections {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            http: config.http().map_err(Arc::new),
            answered: AtomicBool::new(false),
            spare: Mutex::default(),
        }
    }

    /// Takes the spare buffers, or empty ones if another body has them.
    pub(crate) fn spare(&self) -> SpareBuffers {
        let spare = self.spare.try_lock();
        spare.map_or_else(
            |_| SpareBuffers::default(),
            |mut spare| mem::take(&mut *spare),
        )
    }

    /// Stores buffers for the next body.
    pub(crate) fn put_spare(&self, spare: SpareBuffers) {
        if let Ok(mut slot) = self.spare.try_lock() {
            *slot = spare;
        }
    }

    /// Lets the pool notice closed idle connections. On a single-threaded runtime, its tasks do not run between calls.
    pub(crate) async fn freshen(&self) {
        let left_alone = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        if left_alone && self.may_reuse() {
            take_turns().await;
        }
    }

    /// Whether a request may use a connection that an earlier request used.
    pub(crate) fn may_reuse(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Records that a complete answer has been read.
    pub(crate) fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }
}

/// A single-threaded runtime and its connections.
#[derive(Debug)]
pub(crate) struct OwnRuntime {
    pub(crate) connections: Connections,
    /// `None` only during `drop`.
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
            // A pending name lookup must not delay the drop.
            runtime.shutdown_background();
        }
    }
}
