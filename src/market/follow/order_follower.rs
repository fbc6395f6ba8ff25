//! Following the orders as they arrive: one reader at its own pace.
//!
//! Nothing is kept for a reader but its place in the order of arrival. What it has not read yet is read from the market
//! when it comes for more, so a slow reader costs no memory; one who is so slow that its place is forgotten is told of
//! the gap.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use crate::api::Stream;
use crate::market::arrivals::{ArrivalId, Arrivals};
use crate::market::blocking_pool::run_blocking;
use crate::market::market::Market;
use crate::market::query::market_query::QueryNames;
use crate::market::refusal::Refusal;
use crate::market::revision::Revision;
use crate::model::Order;

/// What a reader comes upon.
#[derive(Debug)]
pub enum OrderUpdate {
    /// Orders it wants, each with the place behind it; at least one.
    Orders(Vec<(ArrivalId, Order)>),
    /// Orders are missing: the order of arrival cannot go on from the place that was asked for.
    Gap {
        /// The place, as the reader named it.
        asked: Option<String>,
        /// Where it goes on.
        newest: ArrivalId,
    },
    /// All of a market that does not grow has been read.
    End,
}

/// One reader.
pub struct OrderFollower {
    market: Arc<Market>,
    question: Stream,
    /// Orders read from the market at a time.
    page: usize,
    /// The room for looks at the market that are under way at once, where it is bounded.
    lane: Option<Arc<Semaphore>>,
    /// The place behind the last order read; none where the one asked for makes no sense.
    place: Option<ArrivalId>,
    /// The revision at which there was nothing behind the place.
    read: Option<Revision>,
    /// The look that is under way; what it has begun goes on where nobody waits for it.
    look: Option<BoxFuture<'static, Result<MarketPoll, Refusal>>>,
}

/// A look at a market: how it stood before, so that what comes meanwhile is a change, and what it has found.
struct MarketPoll {
    revision: Revision,
    /// Whether anything could still arrive.
    growing: bool,
    found: Polled,
}

/// What a look at a market has found: orders, or else the newest place where the one to go on from is not known.
type Polled = Result<Vec<(ArrivalId, Order)>, ArrivalId>;

impl OrderFollower {
    /// A reader behind the place that `question` names, or else from now on, of `page` orders at a time.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where what is newest cannot be read, and for names that nobody knows: nothing would ever come.
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

    /// The same, whose looks wait for room in `lane`; begun on a thread where that may take its time.
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

    /// The same, whose looks wait for room in `lane`.
    pub(crate) fn within(self, lane: Arc<Semaphore>) -> Self {
        Self {
            lane: Some(lane),
            ..self
        }
    }

    /// The place behind what has been read, as far as it is one.
    #[must_use]
    pub fn place(&self) -> Option<ArrivalId> {
        self.place
    }

    /// The place behind what has been read, or the one asked for.
    #[must_use]
    pub fn last_event_id(&self) -> String {
        let named = || self.question.last_event_id.clone().unwrap_or_default();
        self.place.map_or_else(named, |place| place.to_string())
    }

    /// What comes next, as soon as there is anything. May be dropped while it waits and called again: nothing is lost.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where the market cannot be read; the next call tries again.
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
                        // It ended during the look, which may have missed the last of it.
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

    /// Looks at the market, on a thread where that may take its time.
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

/// What has arrived behind `place`.
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
