//! What the pages share: the market, the shelf of estimates, and the lanes that answers are computed in.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::Rejection;
use super::follow::KEEP_ALIVE;
use super::looks::Looks;
use super::shelf::Shelf;
use crate::market::Market;
use crate::market::revision::{Basis, Standing};

/// Quick answers computed at once, per slow one.
const QUICK_PER_SLOW: usize = 4;

/// What an answer queues with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Sums and rankings.
    Quick,
    /// Estimates, and all that is as long.
    Slow,
    /// Orders for those who follow the market.
    Stream,
}

/// What every handler shares.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) market: Arc<Market>,
    pub(super) shelf: Shelf,
    /// Tells the answers of this server from those of any other at the same address.
    pub(super) nonce: u64,
    pub(super) quick: Arc<Semaphore>,
    pub(super) slow: Arc<Semaphore>,
    looks: Arc<Looks>,
    stream: Arc<Semaphore>,
    /// Streams give a sign of life after so long without an order.
    pub(super) keep_alive: Duration,
}

impl Desk {
    pub(super) fn new(market: Arc<Market>) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            market,
            shelf: Shelf::new(),
            nonce: fastrand::u64(..),
            quick: Arc::new(Semaphore::new(cores * QUICK_PER_SLOW)),
            slow: Arc::new(Semaphore::new(cores)),
            looks: Arc::default(),
            stream: Arc::new(Semaphore::new(cores)),
            keep_alive: KEEP_ALIVE,
        }
    }

    /// What `look` sees of the market, on a blocking thread where it may have to wait for a disk.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Market) -> T + Send + 'static,
    ) -> Result<T, Rejection> {
        if !self.market.is_on_disk() {
            return Ok(look(&self.market));
        }
        let market = Arc::clone(&self.market);
        match spawn_blocking(move || look(&market)).await {
            Ok(seen) => Ok(seen),
            Err(failure) => {
                log::error!("a look at the market failed: {failure}");
                Err(Rejection::Defect)
            }
        }
    }

    /// Where `basis` stands, with all that was there when this was asked.
    pub(super) async fn standing(&self, basis: &Basis) -> Result<Standing, Rejection> {
        if !self.market.is_on_disk() {
            return self.market.standing(basis);
        }
        let look = async {
            self.look(|market| market.standing(&Basis::Observations).map(drop))
                .await?
        };
        self.looks.fresh(look).await?;
        if let Some(standing) = self.market.seen(basis) {
            return Ok(standing);
        }
        let basis = basis.clone();
        self.look(move |market| market.standing(&basis)).await?
    }

    /// Runs `work` on a blocking thread once its lane has room, and gives what it makes.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce(&Market) -> Result<T, Rejection> + Send + 'static,
    ) -> Result<T, Rejection> {
        let lane = match lane {
            Lane::Quick => &self.quick,
            Lane::Slow => &self.slow,
            Lane::Stream => &self.stream,
        };
        // A lane is never closed.
        let place = Arc::clone(lane)
            .acquire_owned()
            .await
            .map_err(|_| Rejection::Defect)?;
        let market = Arc::clone(&self.market);
        let work = spawn_blocking(move || {
            // The place is given back when the work ends, even if nobody waits for it any more.
            let _place = place;
            work(&market)
        });
        match work.await {
            Ok(made) => made,
            Err(failure) => {
                log::error!("an answer failed: {failure}");
                Err(Rejection::Defect)
            }
        }
    }
}

/// The JSON of `value`.
pub(super) fn bytes<T: serde::Serialize>(value: &T) -> Result<Bytes, Rejection> {
    serde_json::to_vec(value)
        .map(Bytes::from)
        .map_err(|failure| {
            log::error!("an answer could not be encoded: {failure}");
            Rejection::Defect
        })
}
