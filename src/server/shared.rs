//! What the pages share: the market, the answers kept encoded, and the lanes that answers are computed in.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::encoded::Encoded;
use super::reject::Rejection;
use crate::market::{Market, in_lane};

/// Streams give a sign of life after so long without an order.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Quick answers computed at once, per slow one.
const QUICK_PER_SLOW: usize = 4;

/// What an answer queues with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Sums and rankings.
    Quick,
    /// Estimates, and all that is as long.
    Slow,
}

/// What every handler shares.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) market: Arc<Market>,
    pub(super) encoded: Encoded,
    /// Tells the answers of this server from those of any other at the same address.
    pub(super) nonce: u64,
    pub(super) quick: Arc<Semaphore>,
    pub(super) slow: Arc<Semaphore>,
    /// The lane of orders for those who follow the market.
    pub(super) stream: Arc<Semaphore>,
    /// Streams give a sign of life after so long without an order.
    pub(super) keep_alive: Duration,
}

impl Shared {
    pub(super) fn new(market: Arc<Market>) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            market,
            encoded: Encoded::new(),
            nonce: fastrand::u64(..),
            quick: Arc::new(Semaphore::new(cores * QUICK_PER_SLOW)),
            slow: Arc::new(Semaphore::new(cores)),
            stream: Arc::new(Semaphore::new(cores)),
            keep_alive: KEEP_ALIVE,
        }
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
        };
        let market = Arc::clone(&self.market);
        in_lane(Some(Arc::clone(lane)), move || work(&market)).await
    }
}
