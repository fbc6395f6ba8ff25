//! Follows the cascades of a market as they close.
//!
//! A cascade is a group of orders of one coin and side, each within a short gap of the next. The market stores no
//! state per reader. To resume, a reader sends a [`CascadeId`], which says where the replay of orders starts and which
//! cascades were already emitted.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rust_decimal::Decimal;
use tokio::sync::Semaphore;

use crate::contract::Stream;
use crate::engine::CascadeQuestion;
use crate::market::arrivals::{ArrivalId, Arrivals, InvalidArrivalId};
use crate::market::blocking_pool::run_blocking;
use crate::market::follow::cascade_tracker::{CascadeTracker, ClosedCascade, LATE};
use crate::market::follow::order_follower::{OrderFollower, OrderUpdate};
use crate::market::market::Market;
use crate::market::query::cascades::{MOST, row_of};
use crate::market::query::market_history::MarketHistory;
use crate::market::query::market_query::QueryNames;
use crate::market::refusal::Refusal;
use crate::model::{CascadeRow, Millis, Order};

/// How many orders the first search for the start of the open cascades goes back.
const BACK: u64 = 4096;
/// Number of orders that are read to find the event time at a position.
const SOME: usize = 64;

/// A position in the stream of closed cascades: all cascades before it were emitted.
///
/// # Examples
///
/// ```
/// use liqdata::market::CascadeId;
///
/// let place: CascadeId = "beef-0-7-0".parse()?;
/// assert_eq!((place.series, place.number), (0xbeef, 7));
/// assert_eq!(place.to_string(), "beef-0-7-0");
/// # Ok::<(), liqdata::market::InvalidArrivalId>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CascadeId {
    /// Identifies the market's order of arrival; a position with another value is invalid.
    pub series: u64,
    /// Number of the order after which the replay must start.
    pub anchor: u64,
    /// Number of the first order that can close the next cascade.
    pub number: u64,
    /// How many of the cascades closed by this order were already emitted.
    pub emitted: u64,
}

impl fmt::Display for CascadeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            series,
            anchor,
            number,
            emitted,
        } = self;
        write!(formatter, "{series:x}-{anchor}-{number}-{emitted}")
    }
}

impl FromStr for CascadeId {
    type Err = InvalidArrivalId;

    fn from_str(text: &str) -> Result<Self, InvalidArrivalId> {
        let parts: Vec<&str> = text.split('-').collect();
        let [series, anchor, number, emitted] = parts.as_slice() else {
            return Err(InvalidArrivalId);
        };
        let whole = |text: &str| text.parse::<u64>().map_err(|_| InvalidArrivalId);
        let place = Self {
            series: u64::from_str_radix(series, 16).map_err(|_| InvalidArrivalId)?,
            anchor: whole(anchor)?,
            number: whole(number)?,
            emitted: whole(emitted)?,
        };
        // Accept only the spelling that `Display` writes.
        (place.to_string() == text && place.anchor <= place.number)
            .then_some(place)
            .ok_or(InvalidArrivalId)
    }
}

/// The next item of a stream of cascades.
#[derive(Debug)]
pub enum CascadeUpdate {
    /// Closed cascades, each with the position after it; never empty.
    Cascades(Vec<(CascadeId, CascadeRow)>),
    /// Cascades are missing: the stream cannot resume from the requested position.
    Gap {
        /// The requested position, as the reader gave it.
        asked: Option<String>,
        /// The position that the stream continues from.
        newest: CascadeId,
    },
    /// The end of the stream, because the market does not grow any more.
    End,
}

/// Reads the cascades of a market as they close.
///
/// A cascade closes when the newest event time is later than the cascade's end by more than the gap. Each cascade is
/// emitted once, with the values that [`Cascades`](crate::contract::Cascades) returns at that time.
pub struct CascadeFollower {
    market: Arc<Market>,
    question: Stream,
    least: Decimal,
    lane: Option<Arc<Semaphore>>,
    orders: OrderFollower,
    closing: CascadeTracker,
    /// Cascades before this position are not emitted.
    emitted: CascadeId,
    /// The position after the last emitted cascade; `None` if the requested position is invalid.
    place: Option<CascadeId>,
    /// The number of the last order that was read.
    taken: u64,
    /// Closed cascades that are not emitted yet.
    waiting: VecDeque<(CascadeId, ClosedCascade)>,
    /// The running query for the rows of the waiting cascades.
    asked: Option<BoxFuture<'static, Result<Vec<CascadeRow>, Refusal>>>,
}

impl CascadeFollower {
    /// Creates a follower that starts at the position in `question`, or at the newest order. It reads `page` orders at
    /// a time.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read or a symbol is unknown.
    pub fn new(market: Arc<Market>, question: Stream, page: usize) -> Result<Self, Refusal> {
        let symbols: Vec<_> = question.symbols.iter().collect();
        market.check_names(&QueryNames {
            symbols,
            exchange: None,
        })?;
        let newest = market.newest()?;
        let asked = question.last_event_id.clone();
        let named: Option<CascadeId> = asked.as_ref().and_then(|id| id.parse().ok());
        // No stream has returned a position after the newest order, so such a position is invalid.
        let known = named.filter(|place| {
            place.series == newest.series && place.number <= newest.number.saturating_add(1)
        });
        let emitted = match (known, &asked) {
            (Some(place), _) => place,
            // No order has this series, so the first read of the orders reports a gap.
            (None, Some(_)) => CascadeId {
                series: newest.series ^ 1,
                anchor: 0,
                number: 0,
                emitted: 0,
            },
            (None, None) => CascadeId {
                series: newest.series,
                anchor: anchor(&market, newest, question.gap)?,
                number: newest.number.saturating_add(1),
                emitted: 0,
            },
        };
        let from = ArrivalId {
            series: emitted.series,
            number: emitted.anchor,
        };
        let orders = Stream {
            last_event_id: Some(from.to_string()),
            ..Stream::default()
        };
        let least = question.least();
        Ok(Self {
            orders: OrderFollower::new(Arc::clone(&market), orders, page)?,
            closing: CascadeTracker::new(
                question.gap,
                least,
                question.symbols.clone(),
                emitted.anchor,
                known.is_some(),
            ),
            market,
            question,
            least,
            lane: None,
            emitted,
            place: (known.is_some() || asked.is_none()).then_some(emitted),
            taken: emitted.anchor,
            waiting: VecDeque::new(),
            asked: None,
        })
    }

    /// Like [`CascadeFollower::new`], but reads on blocking threads, limited by `lane`.
    pub(crate) async fn begin(
        market: Arc<Market>,
        question: Stream,
        page: usize,
        lane: Arc<Semaphore>,
    ) -> Result<Self, Refusal> {
        let make = move || Self::new(market, question, page);
        let follower = run_blocking(Some(Arc::clone(&lane)), make).await?;
        Ok(Self {
            orders: follower.orders.within(Arc::clone(&lane)),
            lane: Some(lane),
            ..follower
        })
    }

    /// The position after the emitted cascades; `None` if the requested position is invalid.
    #[must_use]
    pub fn place(&self) -> Option<CascadeId> {
        let place = self.place?;
        // If no cascade waits, the orders read so far close no more cascades. The position is then after the last
        // order that was read.
        let ahead = self.waiting.is_empty() && self.taken >= place.number;
        Some(if ahead {
            self.behind(self.taken)
        } else {
            place
        })
    }

    /// The position after all cascades closed by the order with this `number`.
    fn behind(&self, number: u64) -> CascadeId {
        CascadeId {
            series: self.emitted.series,
            anchor: self.closing.anchor(),
            number: number.saturating_add(1),
            emitted: 0,
        }
    }

    /// The position after the emitted cascades as text, or the requested text if that position is invalid.
    #[must_use]
    pub fn last_event_id(&self) -> String {
        let named = || self.question.last_event_id.clone().unwrap_or_default();
        self.place().map_or_else(named, |place| place.to_string())
    }

    /// Waits for the next item.
    ///
    /// The call is cancel safe: no cascade is lost if the future is dropped.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read; the next call tries again.
    pub async fn next(&mut self) -> Result<CascadeUpdate, Refusal> {
        loop {
            if !self.waiting.is_empty() {
                let rows = self.ask().await?;
                let emitted = self.emit(&rows);
                if !emitted.is_empty() {
                    return Ok(CascadeUpdate::Cascades(emitted));
                }
            }
            match self.orders.next().await? {
                OrderUpdate::Orders(orders) => {
                    for (id, order) in orders {
                        self.take(id, &order);
                    }
                }
                OrderUpdate::Gap { newest, .. } => {
                    let asked = self.place.map(|place| place.to_string());
                    let asked = asked.or_else(|| self.question.last_event_id.clone());
                    let Stream { gap, symbols, .. } = &self.question;
                    self.closing = CascadeTracker::new(
                        *gap,
                        self.least,
                        symbols.clone(),
                        newest.number,
                        false,
                    );
                    self.taken = newest.number;
                    self.emitted.series = newest.series;
                    self.emitted = self.behind(newest.number);
                    self.place = Some(self.emitted);
                    let newest = self.emitted;
                    return Ok(CascadeUpdate::Gap { asked, newest });
                }
                OrderUpdate::End => return Ok(CascadeUpdate::End),
            }
        }
    }

    /// Passes an order to the tracker and queues the cascades that it closes, unless they were already emitted.
    fn take(&mut self, id: ArrivalId, order: &Order) {
        self.taken = id.number;
        let closed = self.closing.take(order, id.number);
        let count = closed.len() as u64;
        for (closed, before) in closed.into_iter().zip(0..) {
            if (id.number, before) < (self.emitted.number, self.emitted.emitted) {
                continue;
            }
            let place = if before + 1 == count {
                self.behind(id.number)
            } else {
                CascadeId {
                    number: id.number,
                    emitted: before + 1,
                    ..self.behind(id.number)
                }
            };
            self.waiting.push_back((place, closed));
        }
    }

    /// Queries the rows of the waiting cascades, on a blocking thread if that may wait for a disk.
    async fn ask(&mut self) -> Result<Vec<CascadeRow>, Refusal> {
        let looking = match &mut self.asked {
            Some(looking) => looking,
            none => {
                let rows = || self.waiting.iter().map(|(_, closed)| &closed.row);
                let start = rows().map(|row| row.start).min().unwrap_or_default();
                let end = rows().map(|row| row.end).max().unwrap_or_default();
                let asked = Arc::new(CascadeQuestion {
                    start: start.back(LATE),
                    end: end.on(1),
                    gap: self.question.gap,
                    least: self.least,
                    symbols: self.question.symbols.clone(),
                    most: MOST,
                });
                let market = Arc::clone(&self.market);
                let look = move || MarketHistory::cascades(&*market, &asked, None);
                none.insert(Box::pin(run_blocking(self.lane.clone(), look)))
            }
        };
        let looked = looking.await;
        self.asked = None;
        looked
    }

    /// Takes the waiting cascades and returns them with the market's rows.
    ///
    /// A cascade is dropped if a late order has merged it with a cascade that was already emitted.
    fn emit(&mut self, rows: &[CascadeRow]) -> Vec<(CascadeId, CascadeRow)> {
        let mut emitted = Vec::new();
        for (place, closed) in std::mem::take(&mut self.waiting) {
            self.place = Some(place);
            let row = match row_of(&closed.row, rows) {
                Some(row) if self.closing.was_emitted(row, closed.turn) => continue,
                Some(row) => row.clone(),
                None if closed.whole => closed.row,
                None => continue,
            };
            emitted.push((place, row));
        }
        emitted
    }
}

/// Finds an order that arrived before all open cascades and returns its number.
fn anchor(market: &Market, newest: ArrivalId, gap: i64) -> Result<u64, Refusal> {
    let times = |number: u64| -> Result<Option<Millis>, Refusal> {
        let place = ArrivalId { number, ..newest };
        let Arrivals::Known(orders) = market.arrivals(Some(place), SOME)? else {
            return Ok(None);
        };
        Ok(orders.iter().map(|(_, order)| order.timestamp).max())
    };
    let Some(now) = times(newest.number.saturating_sub(SOME as u64))? else {
        return Ok(newest.number);
    };
    let old = now.back(LATE).back(2 * gap);
    let mut back = BACK;
    while let Some(number) = newest.number.checked_sub(back) {
        match times(number)? {
            Some(at) if at < old => return Ok(number),
            Some(_) => back = back.saturating_mul(2),
            None => break,
        }
    }
    // No such order is stored, so the replay starts at the first stored order.
    Ok(match market.arrivals(None, 1)? {
        Arrivals::Known(orders) => orders
            .first()
            .map_or(newest.number, |(id, _)| id.number.saturating_sub(1)),
        Arrivals::Gone => newest.number,
    })
}
