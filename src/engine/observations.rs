//! What has been observed, checked and sorted, and a view of it at one instant.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::history::{History, Readings, bars_by_coin, open_interest_by_coin};
use super::table::Row;
use super::{EngineError, Ring, Sources, TableFault};
use crate::model::{
    Bar, Millis, ObservedBar, ObservedOpenInterest, ObservedOrder, Order, coin_of_pair, nearest_f64,
};

/// Orders, price bars and open interest, checked and sorted; immutable.
///
/// # Examples
///
/// ```
/// use liqdata::engine::{Observations, overview};
///
/// let observations = Observations::new(Vec::new(), Vec::new(), Vec::new(), None)?;
/// let replies = overview(&observations.at(None));
/// assert!(replies.present().all(|(_, totals)| totals.cnt == 0));
/// # Ok::<(), liqdata::engine::TableFault>(())
/// ```
#[derive(Debug, Default)]
pub struct Observations {
    /// Newest first, rows of one instant in the order they were received, then in that of the caller's table.
    orders: Vec<Recorded>,
    coins: BTreeMap<String, History>,
    now: Millis,
}

/// One order and what was derived from it.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) order: Order,
    pub(super) coin: String,
    /// Quantity in units of the coin: a listing in thousands counts a thousand.
    pub(super) coin_qty: f64,
    received_at: Millis,
}

impl Recorded {
    fn new(row: ObservedOrder) -> Self {
        let (own, scale) = coin_of_pair(&row.order.symbol);
        // A coin given by another name than the pair's own is taken to be counted in listed units.
        let scale = if row.coin.as_ref().is_none_or(|given| *given == own) {
            scale
        } else {
            1
        };
        Self {
            coin: row.coin.unwrap_or(own),
            coin_qty: nearest_f64(row.order.qty) * f64::from(scale),
            received_at: row.received_at.unwrap_or(row.order.timestamp),
            order: row.order,
        }
    }
}

impl Observations {
    /// The observations of three tables, whose rows may be in any order.
    ///
    /// Names are brought into our spelling: symbols and coins in upper case, exchanges by
    /// [`exchange_name`](crate::model::exchange_name). The coin of an order is the one given, else that of its pair; it
    /// is received at its event time where nothing else is said. Equal orders are legal, and orders of one instant stand
    /// in the order they were received, then in that of the table. A bar's length that is left out is the commonest spacing of the coin's bars (the
    /// smallest of several as common).
    ///
    /// `now` is by default the newest of the orders' event times, the bars' closes and the readings of open interest,
    /// and the epoch where there are none.
    ///
    /// # Errors
    ///
    /// [`TableFault`] for a blank name; a price or quantity that is not above zero, a negative amount, a number of a
    /// bar or of open interest that is not finite or beyond 1e100 (a price below 1e-100, too); a high or low that
    /// another price of the bar lies beyond; a trading pair where a coin is meant; a second bar of a coin at one open
    /// time or a second reading of a coin on an exchange at one instant; bars that overlap; a length that is not above
    /// zero or cannot be inferred; and readings of a coin of which some name an exchange and some do not.
    pub fn new(
        orders: Vec<ObservedOrder>,
        bars: Vec<ObservedBar>,
        open_interest: Vec<ObservedOpenInterest>,
        now: Option<Millis>,
    ) -> Result<Self, TableFault> {
        let mut orders = orders
            .into_iter()
            .enumerate()
            .map(|(row, order)| Ok(Recorded::new(Row::of_orders(row).order(order)?)))
            .collect::<Result<Vec<_>, _>>()?;
        orders.sort_by_key(|recorded| (Reverse(recorded.order.timestamp), recorded.received_at));
        let bars = bars_by_coin(bars)?;
        let mut open_interest = open_interest_by_coin(open_interest)?;

        let last_order = orders.first().map(|newest| newest.order.timestamp);
        let last_bar = bars
            .values()
            .filter_map(|bars| bars.last())
            .map(Bar::close_time);
        let last_reading = open_interest.values().filter_map(Readings::last);
        let newest = last_order
            .into_iter()
            .chain(last_bar)
            .chain(last_reading)
            .max();

        let mut coins: BTreeMap<String, History> = bars
            .into_iter()
            .map(|(coin, bars)| {
                let readings = open_interest.remove(&coin).unwrap_or_default();
                (coin, History::new(bars, readings))
            })
            .collect();
        for (place, recorded) in orders.iter().enumerate() {
            if let Some(history) = coins.get_mut(&recorded.coin) {
                history.orders.push(place);
            }
        }
        Ok(Self {
            orders,
            coins,
            now: now.or(newest).unwrap_or_default(),
        })
    }

    /// The same with what is known of whose bars those of `coin` are; nothing happens where it has none.
    #[must_use]
    pub fn with_sources(mut self, coin: &str, sources: Sources) -> Self {
        if let Some(history) = self.coins.get_mut(coin) {
            history.sources = sources;
        }
        self
    }

    /// The instant questions are about where they name none.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// The coins that have bars, by name: those an estimate can be given for.
    #[must_use]
    pub fn coins(&self) -> Vec<String> {
        self.coins.keys().cloned().collect()
    }

    /// Places of the orders, in the order they were received, then in that of their events.
    #[must_use]
    pub fn in_order_of_arrival(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.orders.len()).rev().collect();
        places.sort_by_key(|&place| self.orders.get(place).map(|order| order.received_at));
        places
    }

    /// The order at one of the places.
    #[must_use]
    pub fn order(&self, place: usize) -> Option<&Order> {
        self.orders.get(place).map(|recorded| &recorded.order)
    }

    /// The bars of `coin` in order of time; none where it is unknown.
    #[must_use]
    pub fn bars(&self, coin: &str) -> &[Bar] {
        self.coins
            .get(coin)
            .map(|history| history.bars.as_slice())
            .unwrap_or_default()
    }

    /// The readings of a coin's open interest, in order of time; none where the coin has no bars.
    pub fn open_interest(&self, coin: &str) -> impl Iterator<Item = ObservedOpenInterest> {
        let history = self.coins.get_key_value(coin);
        history
            .into_iter()
            .flat_map(|(coin, history)| history.open_interest.rows(coin))
    }

    /// These observations at `now`; none is hidden for having been received late.
    #[must_use]
    pub fn seen_from(&self, now: Millis) -> View<'_> {
        View {
            observations: self,
            now,
            received_by: None,
            ring: None,
        }
    }

    /// What was known at `as_of`: it becomes *now*, and orders received later are hidden.
    ///
    /// With `None`, *now* is [`Observations::now`] and nothing is hidden for having been received late. Events after
    /// *now* are outside every window either way.
    #[must_use]
    pub fn at(&self, as_of: Option<Millis>) -> View<'_> {
        View {
            observations: self,
            now: as_of.unwrap_or(self.now),
            received_by: as_of,
            ring: None,
        }
    }
}

/// Rows that make the same observations again: orders, bars and readings of open interest.
pub type Rows = (
    Vec<ObservedOrder>,
    Vec<ObservedBar>,
    Vec<ObservedOpenInterest>,
);

impl Observations {
    /// The rows that [`Observations::new`] makes these observations of.
    ///
    /// Every name and number is as it is kept.
    #[must_use]
    pub fn rows(&self) -> Rows {
        let orders = self.orders.iter().map(|recorded| ObservedOrder {
            order: recorded.order.clone(),
            coin: Some(recorded.coin.clone()),
            received_at: Some(recorded.received_at),
        });
        let bars = self.coins.iter().flat_map(|(coin, history)| {
            history.bars.iter().map(|bar| ObservedBar {
                symbol: coin.clone(),
                timestamp: bar.open_time,
                interval: Some(bar.interval),
                open: bar.open,
                high: bar.high,
                low: bar.low,
                close: bar.close,
                volume: bar.volume,
            })
        });
        let readings = self
            .coins
            .iter()
            .flat_map(|(coin, history)| history.open_interest.rows(coin));
        (orders.collect(), bars.collect(), readings.collect())
    }
}

/// Observations at one instant.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    observations: &'a Observations,
    now: Millis,
    received_by: Option<Millis>,
    ring: Option<&'a Ring>,
}

impl<'a> View<'a> {
    /// A view whose realised orders are those of a ring.
    pub(super) fn with_ring(observations: &'a Observations, ring: &'a Ring) -> Self {
        Self {
            observations,
            now: ring.now(),
            received_by: None,
            ring: Some(ring),
        }
    }

    /// The ring that realised replies are read from, if they are.
    pub(super) fn ring(self) -> Option<&'a Ring> {
        self.ring
    }

    /// The instant every window ends at.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// The instant after which orders were received too late to be seen, if there is one.
    #[must_use]
    pub fn received_by(&self) -> Option<Millis> {
        self.received_by
    }

    /// The observations viewed.
    #[must_use]
    pub fn observations(&self) -> &'a Observations {
        self.observations
    }

    fn sees(&self, recorded: &Recorded) -> bool {
        recorded.order.timestamp <= self.now
            && self
                .received_by
                .is_none_or(|instant| recorded.received_at <= instant)
    }

    /// Orders up to now, newest first.
    pub(super) fn known(self) -> impl Iterator<Item = &'a Recorded> {
        let orders = &self.observations.orders;
        let future = orders.partition_point(|recorded| recorded.order.timestamp > self.now);
        orders
            .iter()
            .skip(future)
            .filter(move |recorded| self.sees(recorded))
    }

    /// Orders of the last `range` milliseconds, `(now − range, now]`, newest first.
    pub(super) fn window(self, range: i64) -> impl Iterator<Item = &'a Recorded> {
        let start = self.now.back(range);
        self.known()
            .take_while(move |recorded| recorded.order.timestamp > start)
    }

    /// What is known of a coin, if it has bars.
    pub(super) fn history(self, coin: &str) -> Option<&'a History> {
        self.observations.coins.get(coin)
    }

    /// The answer about a coin that has no closed bar: which coins have one.
    pub(super) fn unknown(self, coin: &str) -> EngineError {
        let closed = |history: &History| {
            history
                .bars
                .first()
                .is_some_and(|bar| bar.close_time() <= self.now)
        };
        EngineError::UnknownCoin {
            coin: coin.to_owned(),
            now: self.now,
            known: self
                .observations
                .coins
                .iter()
                .filter(|(_, history)| closed(history))
                .map(|(coin, _)| coin.clone())
                .collect(),
        }
    }

    /// The orders of a coin up to now, newest first.
    pub(super) fn orders_of(
        self,
        history: &'a History,
    ) -> impl DoubleEndedIterator<Item = &'a Recorded> {
        history
            .orders
            .iter()
            .filter_map(move |&place| self.observations.orders.get(place))
            .filter(move |recorded| self.sees(recorded))
    }
}
