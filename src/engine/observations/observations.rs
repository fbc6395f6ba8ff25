//! What has been observed, checked and sorted.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::engine::coverage::feed_coverage::Exposure;
use crate::engine::fit::{Fits, last_of_day};
use crate::engine::observations::coin_history::{
    History, Readings, bars_by_coin, open_interest_by_coin,
};
use crate::engine::observations::period_liquidations::liquidations_by_coin;
use crate::engine::observations::table_checks::Row;
use crate::engine::{Ring, Sources, TableFault};
use crate::model::{
    Bar, Listings, Millis, ObservedBar, ObservedLiquidations, ObservedOpenInterest, ObservedOrder,
    Order, coin_of_pair,
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
    ring: Box<Ring>,
    coins: BTreeMap<String, History>,
    now: Millis,
    fits: Fits,
    /// What orders have in common, by their places; empty where nothing of the kind is known of any.
    groups: Vec<Option<Box<str>>>,
}

impl Observations {
    /// The observations of three tables, whose rows may be in any order.
    ///
    /// Names are brought into our spelling: symbols and coins in upper case, exchanges by
    /// [`exchange_name`](crate::model::exchange_name). The coin of an order is the one given, else that of its pair; it
    /// is received at its event time where nothing else is said. Equal orders are legal, and orders of one instant stand
    /// in the order they were received, then in that of the table. A bar's length that is left out is the commonest
    /// spacing of the coin's bars (the smallest of several as common).
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
        let mut ring = Ring::default();
        let mut last_order = None;
        let mut given = Listings::default();
        let mut pairs: Vec<u32> = Vec::new();
        let groups = groups_by_place(&orders);
        for (row, mut observed) in orders.into_iter().enumerate() {
            let coin = observed.coin.as_deref();
            let (names, blank) = (coin.unwrap_or_default(), coin == Some(""));
            let names = [&observed.order.exchange, &observed.order.symbol, names];
            let known = pairs.get(given.number(names) as usize).copied();
            // Names that are met again are in our spelling already.
            let pair = if let Some(pair) = known.filter(|_| !blank) {
                Row::of_orders(row).amounts(&observed.order)?;
                pair
            } else {
                observed = Row::of_orders(row).order(observed)?;
                observed
                    .coin
                    .get_or_insert_with(|| coin_of_pair(&observed.order.symbol).0);
                let pair = ring.pair(&(&observed).into());
                pairs.push(pair);
                pair
            };
            last_order = last_order.max(Some(observed.order.timestamp));
            ring.take_in(pair, &(&observed).into());
        }
        let bars = bars_by_coin(bars)?;
        let mut open_interest = open_interest_by_coin(open_interest)?;

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
        let now = now.or(newest).unwrap_or_default();
        ring.stand(now);
        for (coin, places) in ring.by_coin(|coin| coins.contains_key(coin)) {
            if let Some(history) = coins.get_mut(coin) {
                let places_late = places.iter().map(|place| *place as usize);
                let late = places_late
                    .filter(|place| ring.received_at(*place) > last_of_day(ring.timestamp(*place)));
                history.heard_late = late.map(|place| ring.received_at(place)).max();
                history.orders = places;
            }
        }
        Ok(Self {
            ring: Box::new(ring),
            coins,
            now,
            fits: Fits::default(),
            groups,
        })
    }

    /// What the order at a place of the ring has in common with others.
    pub(crate) fn group(&self, place: usize) -> Option<&str> {
        self.groups.get(place)?.as_deref()
    }

    /// The same with what is known of whose bars those of `coin` are; nothing happens where it has none.
    #[must_use]
    pub fn with_sources(mut self, coin: &str, sources: Sources) -> Self {
        if let Some(history) = self.coins.get_mut(coin) {
            history.sources = sources;
        }
        self
    }

    /// The same with what is known of how much of the orders of `coin` somebody listened to; nothing happens where it has
    /// no bars.
    #[must_use]
    pub fn with_exposure(mut self, coin: &str, exposure: Exposure) -> Self {
        if let Some(history) = self.coins.get_mut(coin) {
            history.exposure = exposure;
            self.fits = Fits::default();
        }
        self
    }

    /// The same with what was liquidated period by period, in rows that may stand in any order; nothing happens to those of
    /// coins that have no bars. What is fitted to what was realised is fitted to them where a coin has any, else to its
    /// orders.
    ///
    /// # Errors
    ///
    /// [`TableFault`] for a trading pair where a coin is meant, an amount below zero, not finite or beyond 1e100, periods
    /// of a coin that overlap or are of several lengths, a length that is no whole minutes or cannot be inferred, and amounts
    /// that cannot be USD beside what was traded meanwhile.
    pub fn with_liquidations(
        mut self,
        rows: Vec<ObservedLiquidations>,
    ) -> Result<Self, TableFault> {
        for (coin, (liquidations, places)) in liquidations_by_coin(rows)? {
            if let Some(history) = self.coins.get_mut(&coin) {
                liquidations.check(&coin, &places, &history.bars)?;
                history.liquidations = Some(liquidations);
            }
        }
        self.fits = Fits::default();
        Ok(self)
    }

    /// What was liquidated period by period, as [`Observations::with_liquidations`] takes it.
    pub fn liquidations(&self) -> impl Iterator<Item = ObservedLiquidations> {
        self.coins.iter().flat_map(|(coin, history)| {
            let liquidations = history.liquidations.iter();
            liquidations.flat_map(move |liquidations| liquidations.rows(coin))
        })
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

    /// Places of the orders among [`Observations::rows`], in the order they were received, then in that of their events.
    #[must_use]
    pub fn in_order_of_arrival(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.ring.len()).rev().collect();
        places.sort_by_key(|&place| self.ring.received_at(self.mirrored(place)));
        places
    }

    /// The order at one of the places.
    #[must_use]
    pub fn order(&self, place: usize) -> Option<Order> {
        (place < self.ring.len()).then(|| self.ring.order(self.mirrored(place)))
    }

    /// The newest order stands last in the ring and first everywhere else.
    fn mirrored(&self, place: usize) -> usize {
        self.ring.len().saturating_sub(place + 1)
    }

    /// The bars of `coin` in order of time; none where it is unknown.
    #[must_use]
    pub fn bars(&self, coin: &str) -> &[Bar] {
        self.coins
            .get(coin)
            .map(|history| history.bars.as_slice())
            .unwrap_or_default()
    }

    /// Where the orders stand.
    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The fits that have been made of these.
    pub(crate) fn fits(&self) -> &Fits {
        &self.fits
    }

    /// What is known of a coin, if it has bars.
    pub(crate) fn history(&self, coin: &str) -> Option<&History> {
        self.coins.get(coin)
    }

    /// The readings of a coin's open interest, in order of time; none where the coin has no bars.
    pub fn open_interest(&self, coin: &str) -> impl Iterator<Item = ObservedOpenInterest> {
        let history = self.coins.get_key_value(coin);
        history
            .into_iter()
            .flat_map(|(coin, history)| history.open_interest.rows(coin))
    }
}

/// What orders have in common, in the order in which the ring keeps them: that of time, of one instant the last received first,
/// and of these the last of the table.
fn groups_by_place(orders: &[ObservedOrder]) -> Vec<Option<Box<str>>> {
    if orders.iter().all(|observed| observed.group_id.is_none()) {
        return Vec::new();
    }
    let mut sorted: Vec<(usize, &ObservedOrder)> = orders.iter().enumerate().collect();
    sorted.sort_by_key(|(row, observed)| {
        let at = observed.order.timestamp;
        (
            at,
            Reverse(observed.received_at.unwrap_or(at)),
            Reverse(*row),
        )
    });
    let groups = sorted
        .into_iter()
        .map(|(_, observed)| observed.group_id.as_deref());
    groups.map(|group| group.map(Into::into)).collect()
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
        // Newest first, those of one instant in the order they were received, then in that of the table.
        let orders = (0..self.ring.len()).rev().map(|place| ObservedOrder {
            order: self.ring.order(place),
            coin: Some(self.ring.coin(place).to_owned()),
            received_at: Some(self.ring.received_at(place)),
            group_id: self.group(place).map(str::to_owned),
        });
        let bars = self
            .coins
            .iter()
            .flat_map(|(coin, history)| history.bars.iter().map(|bar| bar.of_coin(coin)));
        let readings = self
            .coins
            .iter()
            .flat_map(|(coin, history)| history.open_interest.rows(coin));
        (orders.collect(), bars.collect(), readings.collect())
    }
}
