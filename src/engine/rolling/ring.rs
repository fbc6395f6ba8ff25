//! The ring: orders of the rolling windows, with arrival, expiry and running sums.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use rust_decimal::Decimal;

use crate::engine::rolling::block_bounds::BlockBounds;
use crate::engine::rolling::hourly_sums::{HourSums, HourlySums};
use crate::engine::rolling::listing_names::{ListingNames, SumKey};
use crate::engine::rolling::ring_columns::{PairSide, RingColumns, RingRow};
use crate::engine::rolling::window_sums::{SideSums, WindowSums};
use crate::model::{ExactSum, Millis, Order, OrderBrief, Vocabulary, Window};

/// Number of rolling windows.
pub const WINDOWS: usize = 4;
/// Maximum number of decimals of an amount.
const DECIMALS: u32 = 18;
/// Maximum of all sums: above the USD of any plausible market, and far below overflow.
const MOST: ExactSum = ExactSum::of_nanos(i128::MAX / 1_000_000_000);

/// Why orders cannot be counted exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingFault {
    /// An amount is negative or has more than 18 decimals.
    #[error(
        "{value} USD cannot be counted; allowed: an amount from 0 to 10²⁰ with at most 18 decimals"
    )]
    Amount {
        /// The amount.
        value: Decimal,
    },
    /// The amounts of a day exceed the limit of a sum.
    #[error("the orders of a day sum to more than 10²⁰ USD")]
    Sum,
}

/// The orders of the last 24 hours, or of a table, with running sums per window.
///
/// # Examples
///
/// ```
/// use liqdata::engine::{Observations, Ring, coins};
/// use liqdata::model::{Millis, OrderBrief, Side, Window};
///
/// let now = Millis(1_781_136_000_000);
/// let mut ring = Ring::new(now);
/// let order = OrderBrief {
///     number: 0, names: None, exchange: "okx", symbol: "BTCUSDT", coin: "BTC", side: Side::Long,
///     price: 60_000.into(), qty: 2.into(), value_usd: 120_000.into(),
///     timestamp: now.back(Millis::HOUR), received_at: now,
/// };
/// ring.insert([order])?;
/// let nothing = Observations::new(Vec::new(), Vec::new(), Vec::new(), Some(now))?;
/// let view = ring.view(&nothing);
/// assert_eq!(coins(&view, Window::H1, 30), []);
/// assert_eq!(coins(&view, Window::H4, 30)[0].cnt, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Ring {
    pub now: Millis,
    pub columns: RingColumns,
    pub names: ListingNames,
    /// Running sums per window.
    pub sums: [WindowSums; WINDOWS],
    /// Hourly sums per pair, over the longest window.
    pub hours: HourlySums,
    /// Upper bounds of the amounts, per block of orders.
    peaks: BlockBounds,
    /// Index of the first order in each window.
    cursors: [usize; WINDOWS],
    /// Index of the first order after now.
    present: usize,
    /// Sum of all amounts in the ring. No other sum exceeds it, so only this one is checked for overflow.
    pub total: ExactSum,
    /// Orders that arrived after the last [`Ring::settle`].
    arrived: Vec<RingRow>,
}

impl Ring {
    /// Creates an empty ring with windows that end at `now`.
    #[must_use]
    pub fn new(now: Millis) -> Self {
        Self {
            now,
            ..Self::default()
        }
    }

    /// The instant at which all windows end.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// Number of orders, including those after now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are no orders.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Inserts orders. Returns the number that were too old for all windows.
    ///
    /// Orders must be given in order of arrival.
    ///
    /// # Errors
    ///
    /// [`RingFault`] if an amount cannot be counted exactly. In that case no order is inserted.
    pub fn insert<'a>(
        &mut self,
        orders: impl IntoIterator<Item = OrderBrief<'a>>,
    ) -> Result<usize, RingFault> {
        for order in orders {
            self.arrive(&order)?;
        }
        Ok(self.settle())
    }

    /// Adds one order. It enters the sums at the next [`Ring::settle`].
    ///
    /// # Errors
    ///
    /// [`RingFault`] if the amount cannot be counted exactly. In that case all unsettled orders are discarded.
    pub fn arrive(&mut self, order: &OrderBrief<'_>) -> Result<(), RingFault> {
        match self.with_amount(order.value_usd) {
            Ok((_, total)) => {
                self.total = total;
                let pair = self.pair(order);
                let row = self.row(pair, order);
                self.arrived.push(row);
                Ok(())
            }
            Err(fault) => {
                for row in std::mem::take(&mut self.arrived) {
                    self.drop_row(row);
                }
                Err(fault)
            }
        }
    }

    /// Converts an amount.
    ///
    /// Returns the converted amount, and the sum of all amounts of the ring including it.
    pub fn with_amount(&self, value: Decimal) -> Result<(ExactSum, ExactSum), RingFault> {
        let usd = ExactSum::from(value);
        let fine = value.scale() > DECIMALS && value.normalize().scale() > DECIMALS;
        if fine || usd < ExactSum::default() || usd > MOST {
            return Err(RingFault::Amount { value });
        }
        Ok((usd, self.with_total(usd)?))
    }

    /// The sum of all amounts plus `usd`.
    pub fn with_total(&self, usd: ExactSum) -> Result<ExactSum, RingFault> {
        let total = self.total.plus(usd);
        if total > MOST {
            Err(RingFault::Sum)
        } else {
            Ok(total)
        }
    }

    /// Inserts the arrived orders. Returns the number that were too old for all windows.
    pub fn settle(&mut self) -> usize {
        let start = self.now.back(Window::H24.millis());
        let (old, mut rows): (Vec<RingRow>, Vec<RingRow>) = std::mem::take(&mut self.arrived)
            .into_iter()
            .partition(|row| row.timestamp <= start);
        let dropped = old.len();
        for row in old {
            self.drop_row(row);
        }
        for row in &rows {
            if row.timestamp <= self.now {
                let usd = self.columns.usds.amount(row.usd);
                self.count(row.kind, row.timestamp, usd);
            }
        }
        // Among rows with equal keys, the last to arrive must come first. Therefore the rows are reversed, then sorted
        // stably.
        rows.reverse();
        rows.sort_by_key(RingRow::key);
        self.merge(rows);
        self.find_cursors();
        dropped
    }

    /// Adds an order to the sums of its windows.
    pub fn count(&mut self, kind: PairSide, timestamp: Millis, usd: ExactSum) {
        let (pair, side) = (kind.pair(), kind.side());
        self.names.saw(pair, timestamp);
        self.hours.add(pair, side, timestamp, usd);
        let name = self.names.sum_of(pair);
        for (sums, window) in self.sums.iter_mut().zip(Window::ALL) {
            if timestamp > self.now.back(window.millis()) {
                sums.add(name, side, usd);
            }
        }
    }

    /// Discards a row that was never added to the columns.
    fn drop_row(&mut self, row: RingRow) {
        self.total -= self.columns.forget(row);
    }

    /// Moves the end of all windows forward to `now`.
    ///
    /// An instant before the present end changes nothing.
    pub fn advance(&mut self, now: Millis) {
        if now <= self.now {
            return;
        }
        while let Some(&timestamp) = self.columns.timestamps.get(self.present)
            && timestamp <= now
        {
            // The order is after the previous `now`, so it enters all windows. `leave` subtracts it from those that
            // have passed it.
            let (kind, usd) = self.columns.amount(self.present);
            self.count(kind, timestamp, usd);
            self.present += 1;
        }
        self.now = now;
        for (place, window) in Window::ALL.iter().enumerate() {
            self.leave(place, now.back(window.millis()));
        }
        self.forget();
    }

    /// Subtracts the orders up to `start` from the sums of a window.
    fn leave(&mut self, window: usize, start: Millis) {
        let Some(cursor) = self.cursors.get_mut(window) else {
            return;
        };
        while let Some(&timestamp) = self.columns.timestamps.get(*cursor)
            && timestamp <= start
        {
            let (kind, usd) = self.columns.amount(*cursor);
            let (pair, side) = (kind.pair(), kind.side());
            if window + 1 == WINDOWS {
                self.hours.take(pair, side, timestamp, usd);
            }
            if let Some(sums) = self.sums.get_mut(window) {
                sums.take(self.names.sum_of(pair), side, usd);
            }
            *cursor += 1;
        }
    }

    /// Removes the orders that are in no window.
    fn forget(&mut self) {
        let old = self.cursors.last().copied().unwrap_or_default();
        for _ in 0..old {
            self.peaks.pop_front();
            if let Some(usd) = self.columns.pop_front() {
                self.total -= usd;
            }
        }
        for cursor in &mut self.cursors {
            *cursor -= old;
        }
        self.present -= old;
    }

    /// The number of an order's trading pair, which is registered if new.
    pub fn pair(&mut self, order: &OrderBrief<'_>) -> u32 {
        let pair = self.names.pair(order.exchange, order.symbol, order.coin);
        self.grow_sums();
        pair
    }

    /// Extends the sums to all known names.
    pub fn grow_sums(&mut self) {
        for sums in &mut self.sums {
            sums.grow(self.names.len());
        }
    }

    /// Converts an order to a row of the columns.
    pub fn row(&mut self, pair: u32, order: &OrderBrief<'_>) -> RingRow {
        let known_at = order.received_at.max(order.timestamp);
        self.names.knew(pair, known_at);
        RingRow {
            timestamp: order.timestamp,
            received_at: order.received_at,
            kind: PairSide::new(pair, order.side),
            price: self.columns.prices.keep(order.price),
            qty: self.columns.qtys.keep(order.qty),
            usd: self.columns.usds.keep(order.value_usd),
        }
    }

    /// Inserts sorted rows. A row goes before present rows with an equal key.
    fn merge(&mut self, rows: Vec<RingRow>) {
        let Some(first) = rows.first() else { return };
        let place = self.columns.place(first.key());
        self.peaks.truncate(place);
        let mut tail = self.columns.tail(place).into_iter().peekable();
        for row in rows {
            while let Some(earlier) = tail.next_if(|earlier| earlier.key() < row.key()) {
                self.push(earlier);
            }
            self.push(row);
        }
        for row in tail {
            self.push(row);
        }
    }

    fn push(&mut self, row: RingRow) {
        self.peaks.push_back(self.columns.usds.amount(row.usd));
        self.columns.push(row);
    }

    /// Recomputes the block bounds and the cursors.
    pub fn rebuild_bounds(&mut self) {
        self.peaks = BlockBounds::default();
        for place in 0..self.len() {
            self.peaks.push_back(self.columns.usds.amount_at(place));
        }
        self.find_cursors();
    }

    /// Recomputes the cursors.
    pub fn find_cursors(&mut self) {
        self.present = self.columns.until(self.now);
        for (cursor, window) in self.cursors.iter_mut().zip(Window::ALL) {
            *cursor = self.columns.until(self.now.back(window.millis()));
        }
    }
}

/// Loading of a whole table, without an age limit.
impl Ring {
    /// Appends an order of a table. No order enters the sums before [`Ring::finish_loading`].
    pub fn load(&mut self, pair: u32, order: &OrderBrief<'_>) {
        let row = self.row(pair, order);
        self.columns.push(row);
    }

    /// Sorts the loaded orders and counts them.
    ///
    /// Orders enter the sums of the windows that end at `now`.
    pub fn finish_loading(&mut self, now: Millis) {
        self.now = now;
        self.columns.sort();
        self.rebuild_bounds();
        let counted = self.cursors.last().copied().unwrap_or_default();
        for place in 0..self.present {
            let (kind, usd) = self.columns.amount(place);
            let timestamp = self.columns.timestamps.get(place).copied();
            let timestamp = timestamp.unwrap_or_default();
            if place < counted {
                self.names.saw(kind.pair(), timestamp);
            } else {
                self.count(kind, timestamp, usd);
            }
        }
    }
}

/// Read access for replies.
impl Ring {
    pub fn names(&self) -> &ListingNames {
        &self.names
    }

    /// Sums of a window by exchange and coin.
    pub fn sums(&self, window: Window) -> impl Iterator<Item = (SumKey, &SideSums)> {
        let sums = self.running(window).map(|sums| sums.named.as_slice());
        self.names.sums().zip(sums.unwrap_or_default())
    }

    /// Sums of a window over all exchanges and coins.
    pub fn totals(&self, window: Window) -> SideSums {
        self.running(window)
            .map_or_else(SideSums::default, |sums| sums.all)
    }

    fn running(&self, window: Window) -> Option<&WindowSums> {
        let all = Window::ALL.iter().zip(&self.sums);
        let mut found = all.filter(|(other, _)| **other == window);
        found.next().map(|(_, sums)| sums)
    }

    /// Hourly sums of a pair over the longest window.
    pub fn hours(&self, pair: u32) -> &[HourSums] {
        self.hours.of(pair)
    }

    /// Indexes of the orders in `(start, end]`.
    pub fn within(&self, start: Millis, end: Millis) -> Range<usize> {
        self.columns.within(start, end)
    }

    #[inline]
    pub fn timestamp(&self, place: usize) -> Millis {
        let timestamp = self.columns.timestamps.get(place);
        timestamp.copied().unwrap_or_default()
    }

    #[inline]
    pub fn received_at(&self, place: usize) -> Millis {
        let received = self.columns.received.get(place);
        received.copied().unwrap_or_default()
    }

    #[inline]
    pub fn kind(&self, place: usize) -> PairSide {
        self.columns.kinds.get(place).copied().unwrap_or_default()
    }

    /// Pair, side and amount of an order.
    #[inline]
    pub fn amount(&self, place: usize) -> (PairSide, ExactSum) {
        self.columns.amount(place)
    }

    /// Quantity of an order.
    pub fn qty(&self, place: usize) -> Decimal {
        self.columns.qtys.at(place)
    }

    /// The order at index `place`, with borrowed names.
    pub fn brief(&self, place: usize) -> OrderBrief<'_> {
        let kind = self.kind(place);
        let [exchange, symbol, coin] = self.names.of(kind.pair());
        OrderBrief {
            number: 0,
            exchange,
            symbol,
            coin,
            side: kind.side(),
            price: self.columns.prices.at(place),
            qty: self.qty(place),
            value_usd: self.columns.usds.at(place),
            timestamp: self.timestamp(place),
            received_at: self.received_at(place),
            names: None,
        }
    }

    /// The order at index `place`.
    pub fn order(&self, place: usize) -> Order {
        let kind = self.kind(place);
        let [exchange, symbol, _] = self.names.of(kind.pair());
        Order {
            exchange: exchange.to_owned(),
            symbol: symbol.to_owned(),
            side: kind.side(),
            price: self.columns.prices.at(place),
            qty: self.qty(place),
            value_usd: self.columns.usds.at(place),
            timestamp: self.timestamp(place),
        }
    }

    /// Exchange of an order.
    pub fn exchange(&self, place: usize) -> &str {
        let [exchange, ..] = self.names.of(self.kind(place).pair());
        exchange
    }

    /// Coin of an order.
    pub fn coin(&self, place: usize) -> &str {
        let [.., coin] = self.names.of(self.kind(place).pair());
        coin
    }

    /// Indexes of the orders of each wanted coin, oldest first.
    pub fn by_coin(&self, wanted: impl Fn(&str) -> bool) -> Vec<(&str, Vec<u32>)> {
        let coins = self.names.coins().iter().map(String::as_str);
        let mut found: Vec<Option<(&str, Vec<u32>)>> = coins
            .map(|coin| wanted(coin).then(|| (coin, Vec::new())))
            .collect();
        for (place, kind) in (0..).zip(&self.columns.kinds) {
            let sum = self.names.sum_name(kind.pair());
            if let Some(Some((_, places))) = sum.and_then(|sum| found.get_mut(sum.coin as usize)) {
                places.push(place);
            }
        }
        found.into_iter().flatten().collect()
    }

    /// Indexes of the `limit` largest visible orders, largest first.
    ///
    /// Among orders of equal amount, the newest comes first.
    pub fn largest(
        &self,
        places: &Range<usize>,
        limit: usize,
        seen: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = usize> {
        let limit = limit.min(places.len());
        // Sorts blocks by bound, largest first. Among equal bounds, the newest block comes first.
        let mut blocks: Vec<(ExactSum, Range<usize>)> = self.peaks.blocks(places).collect();
        blocks.sort_unstable_by_key(|(bound, block)| (Reverse(*bound), Reverse(block.end)));
        // The smallest of the found orders is on top of the heap.
        let mut found: BinaryHeap<Reverse<(ExactSum, usize)>> =
            BinaryHeap::with_capacity(limit + 1);
        // An order with an approximate value below `floor` is smaller than all found orders, despite rounding.
        let mut floor = f64::NEG_INFINITY;
        for (bound, block) in blocks {
            let least = found.peek().map(|Reverse(least)| *least);
            if found.len() == limit && least.is_none_or(|least| (bound, block.end) <= least) {
                break;
            }
            let abouts = self.columns.usds.about(&block);
            for (place, about) in block.zip(abouts) {
                if about < floor || !seen(place) {
                    continue;
                }
                let order = (self.columns.usds.amount_at(place), place);
                if found.len() < limit {
                    found.push(Reverse(order));
                } else if let Some(mut least) = found.peek_mut()
                    && order > least.0
                {
                    *least = Reverse(order);
                } else {
                    continue;
                }
                if found.len() == limit
                    && let Some(Reverse((least, _))) = found.peek()
                {
                    floor = below(least.f64());
                }
            }
        }
        let found = found.into_sorted_vec().into_iter();
        found.map(|Reverse((_, place))| place)
    }
}

/// A number slightly below `amount`.
///
/// The difference exceeds the rounding error of two 15-digit values.
fn below(amount: f64) -> f64 {
    amount - amount.abs() * 1e-12
}
