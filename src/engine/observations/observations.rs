//! Observed orders, bars and open interest, checked and sorted.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::engine::coverage::feed_coverage::FeedCoverage;
use crate::engine::fit::{DailyFitsCache, last_of_day};
use crate::engine::ledger::checkpoints::LedgerCache;
use crate::engine::observations::bar_intervals::bars_by_coin;
use crate::engine::observations::coin_history::CoinHistory;
use crate::engine::observations::excursions::JudgedBars;
use crate::engine::observations::open_interest_series::{OpenInterestSeries, ReadingsByCoin};
use crate::engine::observations::open_interest_units::{OpenInterestUnit, in_base_units_of};
use crate::engine::observations::period_liquidations::liquidations_by_coin;
use crate::engine::observations::row_store::RowSlice;
use crate::engine::observations::table_checks::TableRow;
use crate::engine::{BarSources, RecordedRanges, Ring, TableFault};
use crate::model::{
    Bar, Listings, Millis, ObservedBar, ObservedLiquidations, ObservedOpenInterest, ObservedOrder,
    Order, SimulatedFeeds, TimeRange, coin_of_pair,
};

/// Checked and sorted orders, price bars and open interest; immutable.
///
/// Estimates leave out outliers: bars and open interest readings that differ greatly from the rows before and after
/// them.
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
    coins: BTreeMap<String, CoinHistory>,
    now: Millis,
    fits: DailyFitsCache,
    ledgers: LedgerCache,
    /// Group of each order, by its index in the ring; empty if no order has a group.
    groups: Vec<Option<Box<str>>>,
    /// When the orders of each exchange are complete, if not between the first and the last order.
    recorded: Option<RecordedRanges>,
    /// The first instant at which anything is known.
    first: Option<Millis>,
}

impl Observations {
    /// Builds observations from three tables with rows in any order.
    ///
    /// Names are normalised: symbols and coins to upper case, exchanges by
    /// [`exchange_name`](crate::model::exchange_name). If an order names no coin, its coin is taken from its pair. If
    /// it has no receipt time, its event time is used. Duplicate orders are allowed. Orders with equal event times are
    /// sorted by receipt, then by table row. A missing bar length is the most common spacing of the coin's bars. If
    /// several spacings are equally common, it is the smallest of them.
    ///
    /// `now` defaults to the latest order time, bar close or open interest reading; to the epoch if there are no rows.
    ///
    /// # Errors
    ///
    /// [`TableFault`] for a blank name; a price or quantity that is not above zero; a negative amount; a number of a
    /// bar or reading that is not finite or above 1e100 (or a price below 1e-100); a high below, or a low above,
    /// another price of its bar; a trading pair in place of a coin; duplicate bars or readings; overlapping bars; a bar
    /// length that is not above zero or cannot be inferred; and a coin that has readings both with and without an
    /// exchange.
    pub fn new(
        orders: Vec<ObservedOrder>,
        bars: Vec<ObservedBar>,
        open_interest: Vec<ObservedOpenInterest>,
        now: Option<Millis>,
    ) -> Result<Self, TableFault> {
        Self::of_rows(orders, bars, open_interest, now)
    }

    /// As [`new`](Self::new), with rows that need not be in memory.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn of_rows<S: AsRef<str>>(
        orders: Vec<ObservedOrder>,
        bars: impl IntoIterator<Item = ObservedBar<S>>,
        open_interest: impl IntoIterator<Item = ObservedOpenInterest<S>>,
        now: Option<Millis>,
    ) -> Result<Self, TableFault> {
        let given = |_: &_, readings: &mut ReadingsByCoin| {
            let mut rows = open_interest.into_iter();
            rows.try_for_each(|reading| readings.push(&reading.borrowed()))
        };
        Self::of(orders, bars, given, now)
    }

    /// As [`new`](Self::new), with open interest in `unit`, which is converted at the prices of `bars`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new) and [`in_base_units`](crate::engine::in_base_units).
    pub fn in_unit<S: AsRef<str>>(
        orders: Vec<ObservedOrder>,
        bars: impl IntoIterator<Item = ObservedBar<S>>,
        open_interest: impl IntoIterator<Item = ObservedOpenInterest<S>>,
        unit: OpenInterestUnit,
        now: Option<Millis>,
    ) -> Result<Self, TableFault> {
        let converted = |bars: &_, readings: &mut ReadingsByCoin| {
            in_base_units_of(open_interest, unit, bars, |reading| readings.push(&reading))
        };
        Self::of(orders, bars, converted, now)
    }

    fn of<S: AsRef<str>>(
        orders: Vec<ObservedOrder>,
        bars: impl IntoIterator<Item = ObservedBar<S>>,
        open_interest: impl FnOnce(
            &BTreeMap<String, JudgedBars>,
            &mut ReadingsByCoin,
        ) -> Result<(), TableFault>,
        now: Option<Millis>,
    ) -> Result<Self, TableFault> {
        let mut ring = Ring::default();
        let (mut first_order, mut last_order): (Option<Millis>, _) = (None, None);
        let mut given = Listings::default();
        let mut pairs: Vec<u32> = Vec::new();
        let groups = groups_by_place(&orders);
        for (row, mut observed) in orders.into_iter().enumerate() {
            let coin = observed.coin.as_deref();
            let (names, blank) = (coin.unwrap_or_default(), coin == Some(""));
            let names = [&observed.order.exchange, &observed.order.symbol, names];
            let known = pairs.get(given.number(names) as usize).copied();
            // An earlier order has the same names, so they are already normalised.
            let pair = if let Some(pair) = known.filter(|_| !blank) {
                TableRow::of_orders(row).amounts(&observed.order)?;
                pair
            } else {
                observed = TableRow::of_orders(row).order(observed)?;
                observed
                    .coin
                    .get_or_insert_with(|| coin_of_pair(&observed.order.symbol).0);
                let pair = ring.pair(&(&observed).into());
                pairs.push(pair);
                pair
            };
            let at = observed.order.timestamp;
            let known = observed.received_at.map_or(at, |received| received.max(at));
            first_order = Some(first_order.map_or(known, |first| first.min(known)));
            last_order = last_order.max(Some(at));
            ring.load(pair, &(&observed).into());
        }
        let bars = JudgedBars::of_coins(bars_by_coin(bars)?);
        let mut readings = ReadingsByCoin::default();
        open_interest(&bars, &mut readings)?;
        let mut open_interest = readings.series()?;

        let last_bar = bars
            .values()
            .filter_map(|judged| judged.bars.last())
            .map(Bar::close_time);
        let last_reading = open_interest.values().filter_map(OpenInterestSeries::last);
        let newest = last_order
            .into_iter()
            .chain(last_bar)
            .chain(last_reading)
            .max();
        let first_bar = bars.values().filter_map(|judged| judged.bars.first());
        let first_reading = open_interest.values().filter_map(OpenInterestSeries::first);
        let first = first_order
            .into_iter()
            .chain(first_bar.map(Bar::close_time))
            .chain(first_reading)
            .min();

        let mut coins: BTreeMap<String, CoinHistory> = bars
            .into_iter()
            .map(|(coin, bars)| {
                let readings = open_interest.remove(&coin).unwrap_or_default();
                (coin, CoinHistory::new(bars, readings))
            })
            .collect();
        let now = now.or(newest).unwrap_or_default();
        ring.finish_loading(now);
        for (coin, places) in ring.by_coin(|coin| coins.contains_key(coin)) {
            if let Some(history) = coins.get_mut(coin) {
                let mut late_days: Vec<Millis> = places
                    .iter()
                    .map(|place| *place as usize)
                    .map(|place| (ring.timestamp(place), ring.received_at(place)))
                    .filter(|(timestamp, received)| *received > last_of_day(*timestamp))
                    .map(|(_, received)| last_of_day(received.back(1)))
                    .collect();
                late_days.sort_unstable();
                late_days.dedup();
                history.late_days = late_days;
                history.orders = places;
            }
        }
        Ok(Self {
            ring: Box::new(ring),
            coins,
            now,
            fits: DailyFitsCache::default(),
            ledgers: LedgerCache::default(),
            groups,
            recorded: None,
            first,
        })
    }

    /// Sets when the orders of each exchange are complete. By default that is between the first and the last order.
    #[must_use]
    pub fn with_recorded(self, recorded: RecordedRanges) -> Self {
        Self {
            recorded: Some(recorded),
            ..self
        }
    }

    /// When the orders of each exchange are complete, if that was set.
    pub fn recorded(&self) -> Option<&RecordedRanges> {
        self.recorded.as_ref()
    }

    /// The first instant at which anything is known: the receipt of an order, the close of a bar or a reading.
    #[must_use]
    pub fn first(&self) -> Option<Millis> {
        self.first
    }

    /// The group of the order at index `place` of the ring.
    pub fn group(&self, place: usize) -> Option<&str> {
        self.groups.get(place)?.as_deref()
    }

    /// Sets the exchanges of the bars of `coin`. Does nothing if `coin` has no bars.
    #[must_use]
    pub fn with_sources(mut self, coin: &str, sources: BarSources) -> Self {
        if let Some(history) = self.coins.get_mut(coin) {
            history.sources = sources;
        }
        self
    }

    /// Sets the recorded share of the order feeds of `coin`. Does nothing if `coin` has no bars.
    #[must_use]
    pub fn with_exposure(mut self, coin: &str, exposure: FeedCoverage) -> Self {
        if let Some(history) = self.coins.get_mut(coin) {
            history.exposure = exposure;
            self.fits = DailyFitsCache::default();
            self.ledgers = LedgerCache::default();
        }
        self
    }

    /// Sets when the orders of each exchange are complete, from the gaps of a simulation.
    ///
    /// Fits then count less of a period that was recorded in part.
    #[must_use]
    pub fn with_feeds(mut self, feeds: &SimulatedFeeds) -> Self {
        let recorded_in = |range: TimeRange| -> RecordedRanges {
            let names = self.exchanges().iter().chain(feeds.shares.keys());
            names
                .map(|name| (name.clone(), feeds.recorded(name, range)))
                .collect()
        };
        let whole = recorded_in(TimeRange::bounded(self.first, None));
        let closes = self.coins.values().map(CoinHistory::observed);
        let last = closes
            .filter_map(RowSlice::last)
            .map(|bar| bar.close_time());
        let recorded = recorded_in(TimeRange::new(
            self.first.unwrap_or_default(),
            last.max().unwrap_or_default(),
        ));
        self.recorded = Some(whole);
        // The amounts of all orders would tell of later ones.
        for history in self.coins.values_mut() {
            history.exposure = FeedCoverage::of_shares(recorded.clone(), &feeds.shares);
        }
        self.fits = DailyFitsCache::default();
        self.ledgers = LedgerCache::default();
        self
    }

    /// Sets liquidated USD by period. Rows may be unsorted; coins without bars are ignored.
    ///
    /// Fits use these amounts instead of the orders of the coin.
    ///
    /// # Errors
    ///
    /// [`TableFault`] for a trading pair in place of a coin; an amount below zero, not finite or beyond 1e100; periods
    /// that overlap or differ in length; a length that is not whole minutes or cannot be inferred; and amounts that are
    /// implausible as USD given the traded volume.
    pub fn with_liquidations(
        mut self,
        rows: Vec<ObservedLiquidations>,
    ) -> Result<Self, TableFault> {
        for (coin, (liquidations, places)) in liquidations_by_coin(rows)? {
            if let Some(history) = self.coins.get_mut(&coin) {
                liquidations.check(&coin, &places, history.bars.rows())?;
                history.liquidations = Some(liquidations);
            }
        }
        self.fits = DailyFitsCache::default();
        Ok(self)
    }

    /// Liquidated USD by period, as given to [`Observations::with_liquidations`].
    pub fn liquidations(&self) -> impl Iterator<Item = ObservedLiquidations> {
        self.coins.iter().flat_map(|(coin, history)| {
            let liquidations = history.liquidations.iter();
            liquidations.flat_map(move |liquidations| liquidations.rows(coin))
        })
    }

    /// The instant of replies if the caller gives none.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// Names of the exchanges with orders.
    pub fn exchanges(&self) -> &[String] {
        self.ring.names().exchanges()
    }

    /// Names of the coins with bars. Only these coins have estimates.
    #[must_use]
    pub fn coins(&self) -> Vec<String> {
        self.coins.keys().cloned().collect()
    }

    /// Indexes of the orders in [`Observations::rows`], sorted by receipt, then by event time.
    #[must_use]
    pub fn in_order_of_arrival(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.ring.len()).rev().collect();
        places.sort_by_key(|&place| self.ring.received_at(self.mirrored(place)));
        places
    }

    /// The order at index `place` of [`Observations::rows`].
    #[must_use]
    pub fn order(&self, place: usize) -> Option<Order> {
        (place < self.ring.len()).then(|| self.ring.order(self.mirrored(place)))
    }

    /// Converts an index of the rows to one of the ring, and back.
    ///
    /// [`Observations::rows`] are newest first; the ring is newest last.
    fn mirrored(&self, place: usize) -> usize {
        self.ring.len().saturating_sub(place + 1)
    }

    /// Bars of `coin` in order of time, outliers included; empty if `coin` is unknown.
    #[must_use]
    pub fn bars(&self, coin: &str) -> RowSlice<'_, Bar> {
        self.coins
            .get(coin)
            .map(CoinHistory::observed)
            .unwrap_or_default()
    }

    /// The ring with all orders.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The cache of fits.
    pub fn fits(&self) -> &DailyFitsCache {
        &self.fits
    }

    /// The cache of ledgers.
    pub fn ledgers(&self) -> &LedgerCache {
        &self.ledgers
    }

    /// The history of a coin, if it has bars.
    pub fn history(&self, coin: &str) -> Option<&CoinHistory> {
        self.coins.get(coin)
    }

    /// The histories of all coins with bars.
    pub fn histories(&self) -> impl Iterator<Item = &CoinHistory> {
        self.coins.values()
    }

    /// Open interest readings of a coin in order of time, outliers included.
    ///
    /// Empty if the coin has no bars.
    pub fn open_interest(&self, coin: &str) -> impl Iterator<Item = ObservedOpenInterest> {
        let history = self.coins.get_key_value(coin);
        history
            .into_iter()
            .flat_map(|(coin, history)| history.open_interest.rows(coin))
    }
}

/// Group of each order, sorted like the ring.
///
/// The ring is sorted by event time, then by receipt with the latest first, then by table row with the last first.
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

/// Tables that rebuild the same observations: orders, bars and open interest.
pub type ObservedTables = (
    Vec<ObservedOrder>,
    Vec<ObservedBar>,
    Vec<ObservedOpenInterest>,
);

impl Observations {
    /// Returns tables that [`Observations::new`] turns into the same observations.
    ///
    /// Names are normalised.
    #[must_use]
    pub fn rows(&self) -> ObservedTables {
        // Newest first; orders with equal event times are sorted by receipt, then by table row.
        let orders = (0..self.ring.len()).rev().map(|place| ObservedOrder {
            order: self.ring.order(place),
            coin: Some(self.ring.coin(place).to_owned()),
            received_at: Some(self.ring.received_at(place)),
            group_id: self.group(place).map(str::to_owned),
        });
        let bars = self.coins.iter().flat_map(|(coin, history)| {
            history
                .observed()
                .iter()
                .map(|bar| bar.of_coin(coin.clone()))
        });
        let readings = self
            .coins
            .iter()
            .flat_map(|(coin, history)| history.open_interest.rows(coin));
        (orders.collect(), bars.collect(), readings.collect())
    }
}
