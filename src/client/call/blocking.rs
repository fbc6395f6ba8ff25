//! Blocking calls on the caller's own thread.
//!
//! The caller waits anyway, so its thread drives the sockets. This saves two thread switches, which take most of the
//! time of a small call. Each call takes a [`Blocking`]: a single-threaded runtime with separate connections, which the
//! next call reuses. All calls of a client share its rate limit and its retry quota.

use std::future::Future;
use std::io;
use std::sync::Arc;

use crate::client::client::{Client, Driver};
use crate::client::connection::connections::{OwnRuntime, take_turns};
use crate::client::connection::pool::Share;

/// A runtime on the caller's own thread, for one call.
///
/// # Examples
///
/// ```no_run
/// use liqdata::contract::Overview;
/// use liqdata::client::{Client, Config};
///
/// let client = Client::new(Config::new("https://data.example")?)?;
/// let caller = client.blocking()?;
/// let overview = caller.block_on(caller.client().send(&Overview::default()))??;
/// caller.leave();
/// # drop(overview);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Blocking {
    client: Client,
    share: Arc<Share>,
    runtime: Arc<OwnRuntime>,
}

impl Client {
    /// Takes an idle runtime for one call, or creates one.
    ///
    /// # Errors
    ///
    /// The system is out of resources such as file descriptors.
    pub fn blocking(&self) -> io::Result<Blocking> {
        let share = self.shared.pool.enter(self.config());
        let runtime = share
            .live()
            .ok_or_else(|| io::Error::other("the client is closed"))?
            .take_runtime(self.config())?;
        Ok(Blocking {
            client: Self {
                shared: Arc::clone(&self.shared),
                driver: Driver::Own(Arc::clone(&runtime)),
            },
            share,
            runtime,
        })
    }
}

impl Blocking {
    /// The client for this runtime. Its futures must not run on another runtime.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Runs `work` on this thread to completion.
    ///
    /// # Errors
    ///
    /// None while this value is alive.
    ///
    /// # Panics
    ///
    /// Within another runtime, as tokio's `block_on` does.
    pub fn block_on<F: Future>(&self, work: F) -> io::Result<F::Output> {
        let runtime = self.runtime.runtime.as_ref();
        let runtime = runtime.ok_or_else(|| io::Error::other("the connections are closed"))?;
        Ok(runtime.block_on(work))
    }

    /// Lets connections process the end of a cancelled call. Otherwise the service would continue to send to a socket
    /// that nothing reads.
    ///
    /// # Errors
    ///
    /// As [`Blocking::block_on`].
    pub fn settle(&self) -> io::Result<()> {
        self.block_on(take_turns())
    }

    /// Stores the runtime and its connections for the next call. Dropping this value instead closes the connections.
    pub fn leave(self) {
        let Self {
            client,
            share,
            runtime,
        } = self;
        drop(client);
        if let Some(live) = share.live() {
            live.put_runtime(runtime);
        }
    }
}
