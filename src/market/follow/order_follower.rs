//! Follows the orders of a market as they arrive.
//!
//! The market stores no state per reader: each reader fetches new orders on demand, so a slow reader costs no memory.
//! A reader gets a gap if orders after its position are no longer stored.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use crate::contract::Stream;
use crate::market::arrivals::{ArrivalId, Arrivals};
use crate::market::blocking_pool::run_blocking;
use crate::market::market::Market;
use crate::market::query::market_query::QueryNames;
use crate::market::refusal::Refusal;
use crate::market::revision::Revision;
use crate::model::Order;

/// The next item of a stream of orders.
#[derive(Debug)]
pub enum OrderUpdate {
    /// Orders that match the query, each with the position after it; never empty.
    Orders(Vec<(ArrivalId, Order)>),
    /// Orders are missing: the stream cannot resume from the requested position.
    Gap {
        /// The requested position, as the reader gave it.
        asked: Option<String>,
        /// The position that the stream continues from.
        newest: ArrivalId,
    },
    /// The end of the stream, because the market does not grow any more.
    End,
}

/// A reader of the orders of a market.
pub struct OrderFollower {
    market: Arc<Market>,
    question: Stream,
    /// Maximum number of orders per read.
    page: usize,
    /// Limits the number of concurrent reads; `None` means no limit.
    lane: Option<Arc<Semaphore>>,
    /// The position after the last order that was read; `None` if the requested position is invalid.
    place: Option<ArrivalId>,
    /// The market revision at which no order came after the position.
    read: Option<Revision>,
    /// The running read; it continues even if its caller stops waiting.
    look: Option<BoxFuture<'static, Result<MarketPoll, Refusal>>>,
}

/// The result of one read of a market, with the market's revision before the read.
struct MarketPoll {
    revision: Revision,
    /// Whether more orders could arrive.
    growing: bool,
    found: Polled,
}

/// The orders that were read, or the newest position if the requested position is invalid.
type Polled = Result<Vec<(ArrivalId, Order)>, ArrivalId>;

impl OrderFollower {
    /// Creates a follower that starts at the position in `question`, or at the newest order. It reads `page` orders at
    /// a time.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read, or if a name is unknown and would therefore never match.
    pub fn new(market: Arc<Market>, question: Stream, page: usize) -> Result<Self, Refusal> {
        market.check_names(&QueryNames {
            symbols: question.symbols.iter().collect(),
            exchange: question.exchange.as_deref(),
        })?;
        let place = match &question.last_event_id {
            Some(id) => id.parse().ok(),
            None => Some(market.newest()?),
        };
        Ok(Self {
            market,
            question,
            page,
            lane: None,
            place,
            read: None,
            look: None,
        })
    }

    /// Like [`OrderFollower::new`], but reads on blocking threads, limited by `lane`.
    pub(crate) async fn begin(
        market: Arc<Market>,
        question: Stream,
        page: usize,
        lane: Arc<Semaphore>,
    ) -> Result<Self, Refusal> {
        let make = move || Self::new(market, question, page);
        let follower = run_blocking(Some(Arc::clone(&lane)), make).await?;
        Ok(follower.within(lane))
    }

    /// Limits the reads by the permits of `lane`.
    pub(crate) fn within(self, lane: Arc<Semaphore>) -> Self {
        Self {
            lane: Some(lane),
            ..self
        }
    }

    /// The position after the last order that was read; `None` if the requested position is invalid.
    #[must_use]
    pub fn place(&self) -> Option<ArrivalId> {
        self.place
    }

    /// The position after the last order as text, or the requested text if that position is invalid.
    #[must_use]
    pub fn last_event_id(&self) -> String {
        let named = || self.question.last_event_id.clone().unwrap_or_default();
        self.place.map_or_else(named, |place| place.to_string())
    }

    /// Waits for the next item.
    ///
    /// The call is cancel safe: no order is lost if the future is dropped.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read; the next call tries again.
    pub async fn next(&mut self) -> Result<OrderUpdate, Refusal> {
        loop {
            if let Some(read) = self.read {
                self.market.changed(read).await;
                self.read = None;
            }
            let look = self.look().await?;
            match look.found {
                Ok(mut orders) => {
                    if let Some((last, _)) = orders.last() {
                        self.place = Some(*last);
                    } else if look.growing && self.market.is_growing() {
                        self.read = Some(look.revision);
                    } else if look.growing {
                        // The market ended during this read, which may have missed the last orders, so read again.
                        continue;
                    } else {
                        return Ok(OrderUpdate::End);
                    }
                    orders.retain(|(_, order)| self.question.wants(order));
                    if !orders.is_empty() {
                        return Ok(OrderUpdate::Orders(orders));
                    }
                }
                Err(newest) => {
                    let asked = self.place.replace(newest).map(|place| place.to_string());
                    let asked = asked.or_else(|| self.question.last_event_id.clone());
                    return Ok(OrderUpdate::Gap { asked, newest });
                }
            }
        }
    }

    /// Reads the market, on a blocking thread if that may wait for a disk.
    async fn look(&mut self) -> Result<MarketPoll, Refusal> {
        let look = match &mut self.look {
            Some(look) => look,
            none => {
                let (market, place, page) = (Arc::clone(&self.market), self.place, self.page);
                let look = move || look_at(&market, place, page);
                none.insert(Box::pin(run_blocking(self.lane.clone(), look)))
            }
        };
        let looked = look.await;
        self.look = None;
        looked
    }
}

/// Reads up to `page` orders after `place`.
fn look_at(market: &Market, place: Option<ArrivalId>, page: usize) -> Result<MarketPoll, Refusal> {
    let (growing, revision) = (market.is_growing(), market.revision());
    let known = place
        .map(|place| market.arrivals(Some(place), page))
        .transpose()?;
    let found = match known {
        Some(Arrivals::Known(orders)) => Ok(orders),
        _ => Err(market.newest()?),
    };
    Ok(MarketPoll {
        revision,
        growing,
        found,
    })
}
