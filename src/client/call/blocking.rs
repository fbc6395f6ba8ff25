//! Asking on the caller's own thread.
//!
//! A blocking caller waits for its answer anyway, so its own thread may as well drive the sockets: that saves waking
//! another thread and being woken by it, which is most of what a small call costs. Each caller takes a [`Blocking`]: a
//! runtime of one thread with connections of its own, which are kept for the next caller. Pace and retry quota are the
//! client's, whoever asks.

use std::future::Future;
use std::io;
use std::sync::Arc;

use crate::client::client::{Client, Driver};
use crate::client::connection::connections::{OwnRuntime, take_turns};
use crate::client::connection::pool::Share;

/// A place to ask from on the caller's own thread, for one call.
///
/// # Examples
///
/// ```no_run
/// use liqdata::api::Overview;
/// use liqdata::client::{Client, Config};
///
/// let client = Client::new(Config::new("https://data.example")?)?;
/// let caller = client.blocking()?;
/// let overview = caller.block_on(caller.client().send(&Overview))??;
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
    /// A place to ask from on the caller's own thread.
    ///
    /// # Errors
    ///
    /// Where the system gives no more of what a runtime needs, such as file descriptors.
    pub fn blocking(&self) -> io::Result<Blocking> {
        let share = self.shared.pool.enter(self.config());
        let runtime = share
            .kept()
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
    /// The client whose futures are driven here, and no other runtime may.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Drives `work` on this thread until it is done.
    ///
    /// # Errors
    ///
    /// None while it is held, which is as long as it can be asked.
    ///
    /// # Panics
    ///
    /// Within another runtime, as tokio's `block_on` does.
    pub fn block_on<F: Future>(&self, work: F) -> io::Result<F::Output> {
        let runtime = self.runtime.runtime.as_ref();
        let runtime = runtime.ok_or_else(|| io::Error::other("the connections are closed"))?;
        Ok(runtime.block_on(work))
    }

    /// Lets the connections hear that a call has ended early: nobody drives them afterwards, and the service should not
    /// be left to write what nobody reads.
    ///
    /// # Errors
    ///
    /// As [`Blocking::block_on`].
    pub fn settle(&self) -> io::Result<()> {
        self.block_on(take_turns())
    }

    /// Gives the connections to the next caller. One that is dropped instead, because its call was given up,
    /// closes them.
    pub fn leave(self) {
        let Self {
            client,
            share,
            runtime,
        } = self;
        drop(client);
        if let Some(kept) = share.kept() {
            kept.put_runtime(runtime);
        }
    }
}
