//! What the pages share: the market, the answers kept encoded, and the lanes that answers are computed in.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::reject::Rejection;
use crate::market::{Market, run_blocking};
use crate::server::admission::history_limit::Past;
use crate::server::admission::limits::Limits;
use crate::server::admission::memory::Memory;
use crate::server::answers::answer_cache::Encoded;
use crate::server::metrics::market_state::LastState;

/// Streams give a sign of life after so long without an order.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The share of the memory of answers in which those about now are kept, in sixteenths.
const ENCODED: usize = 6;
/// Of those about the past.
const ENCODED_PAST: usize = 1;

/// The part of the memory of answers that one about a stretch of time may take.
const LONGEST: usize = 4;

/// Quick answers computed at once, per slow one.
const QUICK_PER_SLOW: usize = 4;

/// What an answer queues with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Sums and rankings.
    Quick,
    /// Estimates, and all that is as long.
    Slow,
    /// What is asked as of an instant.
    Past,
}

/// What every handler shares.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) market: Arc<Market>,
    /// Answers about now.
    encoded: Encoded,
    /// Answers about the past: room of their own, so that they take none from those about now.
    encoded_past: Encoded,
    pub(crate) memory: Memory,
    /// The most bytes that the answer about a stretch of time may have.
    pub(crate) longest: usize,
    pub(crate) past: Arc<Past>,
    /// What `/metrics` last read of the market.
    pub(crate) state: LastState,
    /// Tells the answers of this server from those of any other at the same address.
    pub(crate) nonce: u64,
    pub(crate) quick: Arc<Semaphore>,
    pub(crate) slow: Arc<Semaphore>,
    /// The lane of orders for those who follow the market.
    pub(crate) stream: Arc<Semaphore>,
    /// Streams give a sign of life after so long without an order.
    pub(crate) keep_alive: Duration,
}

impl Shared {
    /// `market`, within the usual limits.
    pub(crate) fn new(market: Arc<Market>) -> Self {
        Self::within(market, &Limits::default())
    }

    /// `market`, within these limits of the past and of memory.
    pub(crate) fn within(market: Arc<Market>, limits: &Limits) -> Self {
        let memory = Memory::new(limits.answer_memory);
        let encoded = Encoded::of(memory.share(ENCODED));
        market.keep_of_the_past(limits.past_memory);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            market,
            encoded_past: encoded.beside(memory.share(ENCODED_PAST)),
            encoded,
            memory,
            longest: limits.answer_memory / LONGEST,
            past: Past::new(limits),
            state: LastState::default(),
            nonce: fastrand::u64(..),
            quick: Arc::new(Semaphore::new(cores * QUICK_PER_SLOW)),
            slow: Arc::new(Semaphore::new(cores)),
            stream: Arc::new(Semaphore::new(cores)),
            keep_alive: KEEP_ALIVE,
        }
    }

    /// How many answers have been made.
    pub(crate) fn answers_made(&self) -> u64 {
        self.encoded.made()
    }

    /// Where answers of a lane are kept.
    pub(crate) fn encoded(&self, lane: Lane) -> &Encoded {
        match lane {
            Lane::Quick | Lane::Slow => &self.encoded,
            Lane::Past => &self.encoded_past,
        }
    }

    /// Runs `work`, which makes an answer, as of [`Shared::compute`], where there is room for another answer and, about the
    /// past, for another question.
    pub(crate) async fn make<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce(&Market) -> Result<T, Rejection> + Send + 'static,
    ) -> Result<T, Rejection> {
        self.memory.check()?;
        let ticket = match lane {
            Lane::Quick | Lane::Slow => None,
            Lane::Past => Some(self.past.enter()?),
        };
        let memory = self.memory.clone();
        let work = move |market: &Market| {
            let _ticket = ticket;
            // Others may have been answered while this one waited.
            memory.check()?;
            work(market)
        };
        self.compute(lane, work).await
    }

    /// Runs `work` on a blocking thread once its lane has room, and gives what it makes.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce(&Market) -> Result<T, Rejection> + Send + 'static,
    ) -> Result<T, Rejection> {
        let lane = match lane {
            Lane::Quick => &self.quick,
            Lane::Slow => &self.slow,
            Lane::Past => &self.past.workers,
        };
        let market = Arc::clone(&self.market);
        run_blocking(Some(Arc::clone(lane)), move || work(&market)).await
    }
}
