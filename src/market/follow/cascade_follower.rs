//! Following the cascades as they close: one reader at its own pace.
//!
//! Nothing is kept of a reader who goes away: its place names the orders that have to be taken in again, and how many
//! events of the last of them it has been told.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rust_decimal::Decimal;
use tokio::sync::Semaphore;

use crate::api::Stream;
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

/// So many orders are gone back at first, in search of those that events of now may have.
const BACK: u64 = 4096;
/// Orders that are looked at to tell when it was at a place.
const SOME: usize = 64;

/// A place among the cascades of a market: what arrived up to an order has been told of.
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
    /// Tells one market's order of arrival from another's.
    pub series: u64,
    /// The order behind which all have to be taken in to go on from here.
    pub anchor: u64,
    /// The order with which the next cascade closes at the earliest.
    pub number: u64,
    /// How many have been told that closed with it.
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
        // One place has one name.
        (place.to_string() == text && place.anchor <= place.number)
            .then_some(place)
            .ok_or(InvalidArrivalId)
    }
}

/// What a reader of cascades comes upon.
#[derive(Debug)]
pub enum CascadeUpdate {
    /// Cascades that have closed, each with the place behind it; at least one.
    Cascades(Vec<(CascadeId, CascadeRow)>),
    /// Cascades are missing: it cannot go on from the place that was asked for.
    Gap {
        /// The place, as the reader named it.
        asked: Option<String>,
        /// Where it goes on.
        newest: CascadeId,
    },
    /// All of a market that does not grow has been read.
    End,
}

/// One reader of the cascades of a market, as they close.
///
/// A cascade is told once, when the newest event time has passed its end by the gap, as
/// [`Cascades`](crate::api::Cascades) tells it then.
pub struct CascadeFollower {
    market: Arc<Market>,
    question: Stream,
    least: Decimal,
    lane: Option<Arc<Semaphore>>,
    orders: OrderFollower,
    closing: CascadeTracker,
    /// What closed before it is not told.
    emitted: CascadeId,
    /// The place behind what has been told; none where the one asked for makes no sense.
    place: Option<CascadeId>,
    /// The number of the last order taken in.
    taken: u64,
    /// Those that have closed and are not told yet.
    waiting: VecDeque<(CascadeId, ClosedCascade)>,
    /// What the market says of them, where it has been asked.
    asked: Option<BoxFuture<'static, Result<Vec<CascadeRow>, Refusal>>>,
}

impl CascadeFollower {
    /// A reader behind the place that `question` names, or else from now on; `page` orders are read at a time.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where the market cannot be read, and for a symbol that nobody knows.
    pub fn new(market: Arc<Market>, question: Stream, page: usize) -> Result<Self, Refusal> {
        let symbols: Vec<_> = question.symbols.iter().collect();
        market.check_names(&QueryNames {
            symbols,
            exchange: None,
        })?;
        let newest = market.newest()?;
        let asked = question.last_event_id.clone();
        let named: Option<CascadeId> = asked.as_ref().and_then(|id| id.parse().ok());
        // Of what has yet to arrive nothing can have been told.
        let known = named.filter(|place| {
            place.series == newest.series && place.number <= newest.number.saturating_add(1)
        });
        let emitted = match (known, &asked) {
            (Some(place), _) => place,
            // The first look at the orders finds that the place is none.
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

    /// The same, whose looks wait for room in `lane`; begun on a thread where that may take its time.
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

    /// The place behind what has been told, as far as it is one.
    #[must_use]
    pub fn place(&self) -> Option<CascadeId> {
        let place = self.place?;
        // Nothing more closes with the orders that have been taken in.
        let ahead = self.waiting.is_empty() && self.taken >= place.number;
        Some(if ahead {
            self.behind(self.taken)
        } else {
            place
        })
    }

    /// The place behind all that closed with the order `number`.
    fn behind(&self, number: u64) -> CascadeId {
        CascadeId {
            series: self.emitted.series,
            anchor: self.closing.anchor(),
            number: number.saturating_add(1),
            emitted: 0,
        }
    }

    /// The place behind what has been told, or the one asked for.
    #[must_use]
    pub fn last_event_id(&self) -> String {
        let named = || self.question.last_event_id.clone().unwrap_or_default();
        self.place().map_or_else(named, |place| place.to_string())
    }

    /// What comes next, as soon as there is anything. May be dropped while it waits and called again: nothing is lost.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where the market cannot be read; the next call tries again.
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

    /// Takes in an order; what closes with it waits, unless it was told before.
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

    /// What the market tells of the time of those that wait, on a thread where that may take its time.
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

    /// Those that wait, as the market tells them; what a late order has joined with one told before is not told again.
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

/// The number of an order that arrived before those that events of now may have, as far back as is known.
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
    // From the first that is known.
    Ok(match market.arrivals(None, 1)? {
        Arrivals::Known(orders) => orders
            .first()
            .map_or(newest.number, |(id, _)| id.number.saturating_sub(1)),
        Arrivals::Gone => newest.number,
    })
}
