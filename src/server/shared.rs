//! State shared by all pages: the market, the answer caches, and the lanes.
//!
//! A lane is a class of answers with its own concurrency limit. A *historical* query asks for the state at an earlier
//! instant (`as_of`) or for a time range. All other queries are about the present.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::reject::Rejection;
use crate::market::{Market, Refusal, run_blocking};
use crate::server::admission::history_limit::{HistoryLimit, Ticket};
use crate::server::admission::limits::Limits;
use crate::server::admission::memory::Memory;
use crate::server::answers::answer_cache::Encoded;
use crate::server::answers::order_feed::OrderFeed;
use crate::server::metrics::market_state::LastState;

/// Interval of keep-alive comments on event streams. After a hang-up the first comment provokes a reset, and the second
/// one fails.
const KEEP_ALIVE: Duration = Duration::from_millis(1500);

/// Share of the answer memory for cached answers about the present, in sixteenths.
const ENCODED: usize = 6;
/// Share of the answer memory for cached historical answers, in sixteenths.
const ENCODED_PAST: usize = 1;

/// Divisor of the answer memory that gives the maximum size of one answer about a time range.
const LONGEST: usize = 4;

/// Number of quick answers that may be computed concurrently for each slow one.
const QUICK_PER_SLOW: usize = 4;

/// The class of an answer, which selects its concurrency limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Totals and rankings.
    Quick,
    /// Estimates, and other answers that take as long to compute.
    Slow,
    /// Historical queries: as of an instant, or about a time range.
    History,
}

/// The right to compute an answer elsewhere, until this is dropped.
#[derive(Debug)]
pub(crate) struct AnswerPermit {
    _room: OwnedSemaphorePermit,
    _ticket: Option<Ticket>,
}

/// State of every handler.
#[derive(Clone)]
pub(crate) struct PageState {
    pub(crate) market: Arc<Market>,
    /// Cached answers about the present.
    encoded: Encoded,
    /// Cached historical answers, with separate memory.
    encoded_past: Encoded,
    pub(crate) memory: Memory,
    /// Maximum size of an answer about a time range, in bytes.
    pub(crate) longest: usize,
    pub(crate) past: Arc<HistoryLimit>,
    /// The market state as last read for `/metrics`.
    pub(crate) state: LastState,
    /// Distinguishes the entity tags of this server from those of an earlier server at the same address.
    pub(crate) nonce: u64,
    pub(crate) quick: Arc<Semaphore>,
    pub(crate) slow: Arc<Semaphore>,
    /// Concurrency limit of the queries for event streams.
    pub(crate) stream: Arc<Semaphore>,
    /// The arriving orders, encoded for all event streams.
    pub(crate) orders: OrderFeed,
    /// Interval of keep-alive comments on event streams.
    pub(crate) keep_alive: Duration,
}

impl PageState {
    /// State for `market` with the default limits.
    pub(crate) fn new(market: Arc<Market>) -> Self {
        Self::within(market, &Limits::default())
    }

    /// State for `market` with these limits for historical queries and memory.
    pub(crate) fn within(market: Arc<Market>, limits: &Limits) -> Self {
        let memory = Memory::new(limits.answer_memory);
        let encoded = Encoded::of(memory.share(ENCODED));
        market.set_history_cache(limits.past_memory);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let stream = Arc::new(Semaphore::new(cores));
        Self {
            orders: OrderFeed::new(Arc::clone(&market), Arc::clone(&stream)),
            market,
            encoded_past: encoded.sibling(memory.share(ENCODED_PAST)),
            encoded,
            memory,
            longest: limits.answer_memory / LONGEST,
            past: HistoryLimit::new(limits),
            state: LastState::default(),
            nonce: fastrand::u64(..),
            quick: Arc::new(Semaphore::new(cores * QUICK_PER_SLOW)),
            slow: Arc::new(Semaphore::new(cores)),
            stream,
            keep_alive: KEEP_ALIVE,
        }
    }

    /// Number of answers computed so far.
    pub(crate) fn answers_made(&self) -> u64 {
        self.encoded.made()
    }

    /// The cache for answers of a lane.
    pub(crate) fn encoded(&self, lane: Lane) -> &Encoded {
        match lane {
            Lane::Quick | Lane::Slow => &self.encoded,
            Lane::History => &self.encoded_past,
        }
    }

    /// Runs `work` as [`PageState::compute`] does. Refuses if the memory is used up or too many historical queries
    /// wait.
    pub(crate) async fn make<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce(&Market) -> Result<T, Rejection> + Send + 'static,
    ) -> Result<T, Rejection> {
        self.memory.check()?;
        let ticket = match lane {
            Lane::Quick | Lane::Slow => None,
            Lane::History => Some(self.past.enter()?),
        };
        let memory = self.memory.clone();
        let work = move |market: &Market| {
            let _ticket = ticket;
            // Other answers may have used up the memory while this one waited.
            memory.check()?;
            work(market)
        };
        self.compute(lane, work).await
    }

    /// Waits until the lane permits another answer. Refuses as [`PageState::make`] does.
    pub(crate) async fn place(&self, lane: Lane) -> Result<AnswerPermit, Rejection> {
        self.memory.check()?;
        let (workers, ticket) = match lane {
            Lane::Quick => (&self.quick, None),
            Lane::Slow => (&self.slow, None),
            Lane::History => (&self.past.workers, Some(self.past.enter()?)),
        };
        let room = Arc::clone(workers).acquire_owned().await;
        Ok(AnswerPermit {
            _room: room.map_err(Refusal::defect)?,
            _ticket: ticket,
        })
    }

    /// Waits until the lane permits another answer, then runs `work` on a blocking thread.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce(&Market) -> Result<T, Rejection> + Send + 'static,
    ) -> Result<T, Rejection> {
        let lane = match lane {
            Lane::Quick => &self.quick,
            Lane::Slow => &self.slow,
            Lane::History => &self.past.workers,
        };
        let market = Arc::clone(&self.market);
        run_blocking(Some(Arc::clone(lane)), move || work(&market)).await
    }
}
