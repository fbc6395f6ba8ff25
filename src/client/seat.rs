//! Asking on the caller's own thread.
//!
//! A blocking caller waits for its answer anyway, so its own thread may as well drive the sockets: that saves waking
//! another thread and being woken by it, which is most of what a small call costs. Each caller takes a [`Seat`]: a
//! runtime of one thread with connections of its own, which are kept for the next caller. Pace and retry quota are the
//! client's, whoever asks.

use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::pool::{Lines, Lodging};
use super::{Client, Config, Driver};

/// How many turns the tasks of a connection need to take in that something has ended: one to read what has come or see
/// what was dropped, one for the connection's own task to act on it, one for the pool to hear of it.
pub(super) const TURNS: usize = 3;

/// A runtime of one thread, and the connections that it drives.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) lines: Lines,
    /// Taken only by `drop`.
    runtime: Option<Runtime>,
}

impl Slot {
    pub(super) fn new(config: &Config) -> io::Result<Self> {
        Ok(Self {
            lines: Lines::new(config),
            runtime: Some(Builder::new_current_thread().enable_all().build()?),
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A name that is still being looked up must not keep anybody waiting.
            runtime.shutdown_background();
        }
    }
}

/// A place to ask from on the caller's own thread, for one call.
///
/// # Examples
///
/// ```no_run
/// use liqdata::api::Overview;
/// use liqdata::client::{Client, Config};
///
/// let client = Client::new(Config::new("https://data.example")?)?;
/// let seat = client.seat()?;
/// let overview = seat.block_on(seat.client().send(&Overview))??;
/// seat.leave();
/// # drop(overview);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Seat {
    client: Client,
    lodging: Arc<Lodging>,
    slot: Arc<Slot>,
}

impl Seat {
    pub(super) fn take(client: &Client) -> io::Result<Self> {
        let lodging = client.shared.pool.enter(client.config());
        let slot = lodging
            .kept()
            .ok_or_else(|| io::Error::other("the client is closed"))?
            .take_slot(client.config())?;
        Ok(Self {
            client: Client {
                shared: Arc::clone(&client.shared),
                driver: Driver::Slot(Arc::clone(&slot)),
            },
            lodging,
            slot,
        })
    }

    /// The client whose futures this seat drives, and no other runtime may.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Drives `work` on this thread until it is done.
    ///
    /// # Errors
    ///
    /// None while the seat is held, which is as long as it can be asked.
    ///
    /// # Panics
    ///
    /// Within another runtime, as tokio's `block_on` does.
    pub fn block_on<F: Future>(&self, work: F) -> io::Result<F::Output> {
        let runtime = self.slot.runtime.as_ref();
        let runtime = runtime.ok_or_else(|| io::Error::other("the connections are closed"))?;
        Ok(runtime.block_on(work))
    }

    /// Lets the connections hear that a call has ended early: nobody drives them afterwards, and the service should not
    /// be left to write what nobody reads.
    ///
    /// # Errors
    ///
    /// As [`Seat::block_on`].
    pub fn settle(&self) -> io::Result<()> {
        self.block_on(async {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
        })
    }

    /// Gives the seat's connections to the next caller. A seat that is dropped instead, because its call was given up,
    /// closes them.
    pub fn leave(self) {
        let Self {
            client,
            lodging,
            slot,
        } = self;
        drop(client);
        if let Some(kept) = lodging.kept() {
            kept.put_slot(slot);
        }
    }
}
