//! The ring itself: what arrives, what leaves the windows, and the sums of what is in them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use rust_decimal::Decimal;

use crate::engine::rolling::block_bounds::Peaks;
use crate::engine::rolling::hourly_sums::{Hour, Hours};
use crate::engine::rolling::listing_names::{Names, SumName};
use crate::engine::rolling::ring_columns::{Columns, Kind, Row};
use crate::engine::rolling::window_sums::{Running, Sums};
use crate::model::{ExactSum, Millis, Order, OrderBrief, Vocabulary, Window};

/// Windows with sums of their own.
pub(crate) const WINDOWS: usize = 4;
/// Decimals of an amount that is counted as it arrives.
const DECIMALS: u32 = 18;
/// More than any market is worth, and far less than a sum can hold.
const MOST: ExactSum = ExactSum::of_nanos(i128::MAX / 1_000_000_000);

/// Why orders cannot be counted exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingFault {
    /// An amount is negative or has more than 18 decimals.
    #[error("{value} USD cannot be counted; an amount from 0 to 10²⁰ with at most 18 decimals can")]
    Amount {
        /// The amount.
        value: Decimal,
    },
    /// The amounts of a day have a sum beyond what can be counted.
    #[error("the orders of a day sum to more than 10²⁰ USD")]
    Sum,
}

/// The orders of the last 24 hours, and their running sums.
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
    pub(crate) now: Millis,
    pub(crate) columns: Columns,
    pub(crate) names: Names,
    /// Per window.
    pub(crate) sums: [Running; WINDOWS],
    /// Per pair, of the longest window.
    pub(crate) hours: Hours,
    /// Bounds of the amounts.
    peaks: Peaks,
    /// Place of the first order inside each window.
    cursors: [usize; WINDOWS],
    /// Place of the first order after now.
    present: usize,
    /// The sum of all amounts that have arrived: no other sum here is larger.
    pub(crate) total: ExactSum,
    /// Orders that have not settled, as they arrived.
    arrived: Vec<Row>,
}

impl Ring {
    /// A ring without orders, at an instant.
    #[must_use]
    pub fn new(now: Millis) -> Self {
        Self {
            now,
            ..Self::default()
        }
    }

    /// The instant the windows end at.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// How many orders there are, those after now included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds orders in the order in which they arrived; gives how many are too old to be in any window.
    ///
    /// # Errors
    ///
    /// [`RingFault`] where an amount cannot be counted exactly; nothing is added then.
    pub fn insert<'a>(
        &mut self,
        orders: impl IntoIterator<Item = OrderBrief<'a>>,
    ) -> Result<usize, RingFault> {
        for order in orders {
            self.arrive(&order)?;
        }
        Ok(self.settle())
    }

    /// Takes in one order, which counts from the next [`Ring::settle`] on.
    ///
    /// # Errors
    ///
    /// [`RingFault`] where its amount cannot be counted exactly; none that has not settled is kept then.
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

    /// An amount, and the sum of all amounts with it.
    pub(crate) fn with_amount(&self, value: Decimal) -> Result<(ExactSum, ExactSum), RingFault> {
        let usd = ExactSum::from(value);
        let fine = value.scale() > DECIMALS && value.normalize().scale() > DECIMALS;
        if fine || usd < ExactSum::default() || usd > MOST {
            return Err(RingFault::Amount { value });
        }
        Ok((usd, self.with_total(usd)?))
    }

    /// The sum of all amounts with some more.
    pub(crate) fn with_total(&self, usd: ExactSum) -> Result<ExactSum, RingFault> {
        let total = self.total.plus(usd);
        if total > MOST {
            Err(RingFault::Sum)
        } else {
            Ok(total)
        }
    }

    /// Puts what has arrived where it belongs; gives how many orders were too old to be in any window.
    pub fn settle(&mut self) -> usize {
        let start = self.now.back(Window::H24.millis());
        let (old, mut rows): (Vec<Row>, Vec<Row>) = std::mem::take(&mut self.arrived)
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
        // Of equals the last to arrive stands first, which a stable sort of the reverse gives.
        rows.reverse();
        rows.sort_by_key(Row::key);
        self.merge(rows);
        self.find_cursors();
        dropped
    }

    /// Adds an order to the sums of the windows it is in.
    pub(crate) fn count(&mut self, kind: Kind, timestamp: Millis, usd: ExactSum) {
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

    /// Lets go of a row that is in no column.
    fn drop_row(&mut self, row: Row) {
        self.total -= self.columns.forget(row);
    }

    /// Moves on to `now`; an instant before the present one changes nothing.
    pub fn advance(&mut self, now: Millis) {
        if now <= self.now {
            return;
        }
        while let Some(&timestamp) = self.columns.timestamps.get(self.present)
            && timestamp <= now
        {
            // It is after what has been now so far, and so in every window.
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

    /// Takes the orders up to `start` out of the sums of a window.
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

    /// Lets go of the orders that are in no window any more.
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

    /// The number of an order's pair.
    pub(in crate::engine) fn pair(&mut self, order: &OrderBrief<'_>) -> u32 {
        let pair = self.names.pair(order.exchange, order.symbol, order.coin);
        self.room_for_names();
        pair
    }

    /// Makes room for the sums of every name.
    pub(crate) fn room_for_names(&mut self) {
        for sums in &mut self.sums {
            sums.grow(self.names.len());
        }
    }

    /// The columns of an order of this pair.
    pub(crate) fn row(&mut self, pair: u32, order: &OrderBrief<'_>) -> Row {
        Row {
            timestamp: order.timestamp,
            received_at: order.received_at,
            kind: Kind::new(pair, order.side),
            price: self.columns.prices.keep(order.price),
            qty: self.columns.qtys.keep(order.qty),
            usd: self.columns.usds.keep(order.value_usd),
        }
    }

    /// Puts sorted rows where they belong, before those that are equal to them.
    fn merge(&mut self, rows: Vec<Row>) {
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

    fn push(&mut self, row: Row) {
        self.peaks.push_back(self.columns.usds.amount(row.usd));
        self.columns.push(row);
    }

    /// Bounds the amounts of columns that have been put together, and looks the cursors up.
    pub(crate) fn put_together(&mut self) {
        self.peaks = Peaks::default();
        for place in 0..self.len() {
            self.peaks.push_back(self.columns.usds.amount_at(place));
        }
        self.find_cursors();
    }

    /// Looks the cursors up anew, after rows have been put between.
    pub(crate) fn find_cursors(&mut self) {
        self.present = self.columns.until(self.now);
        for (cursor, window) in self.cursors.iter_mut().zip(Window::ALL) {
            *cursor = self.columns.until(self.now.back(window.millis()));
        }
    }
}

/// Filling a ring with all orders of a table, however old they are.
impl Ring {
    /// Takes in one order of this pair, which has arrived after all others; nothing counts before [`Ring::stand`].
    pub(in crate::engine) fn take_in(&mut self, pair: u32, order: &OrderBrief<'_>) {
        let row = self.row(pair, order);
        self.columns.push(row);
    }

    /// Brings the orders that were taken in into order, and counts them as of `now`.
    pub(in crate::engine) fn stand(&mut self, now: Millis) {
        self.now = now;
        self.columns.sort();
        self.put_together();
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

/// What answers are read from.
impl Ring {
    pub(in crate::engine) fn names(&self) -> &Names {
        &self.names
    }

    /// The sums of a window by exchange and coin.
    pub(in crate::engine) fn sums(&self, window: Window) -> impl Iterator<Item = (SumName, &Sums)> {
        let sums = self.running(window).map(|sums| sums.named.as_slice());
        self.names.sums().zip(sums.unwrap_or_default())
    }

    /// The sums of a window.
    pub(in crate::engine) fn totals(&self, window: Window) -> Sums {
        self.running(window)
            .map_or_else(Sums::default, |sums| sums.all)
    }

    fn running(&self, window: Window) -> Option<&Running> {
        let all = Window::ALL.iter().zip(&self.sums);
        let mut found = all.filter(|(other, _)| **other == window);
        found.next().map(|(_, sums)| sums)
    }

    /// The hours of a pair, of the longest window.
    pub(in crate::engine) fn hours(&self, pair: u32) -> &[Hour] {
        self.hours.of(pair)
    }

    /// The places of the orders behind `start` and up to `end`.
    pub(in crate::engine) fn within(&self, start: Millis, end: Millis) -> Range<usize> {
        self.columns.within(start, end)
    }

    #[inline]
    pub(in crate::engine) fn timestamp(&self, place: usize) -> Millis {
        let timestamp = self.columns.timestamps.get(place);
        timestamp.copied().unwrap_or_default()
    }

    #[inline]
    pub(in crate::engine) fn received_at(&self, place: usize) -> Millis {
        let received = self.columns.received.get(place);
        received.copied().unwrap_or_default()
    }

    #[inline]
    pub(in crate::engine) fn kind(&self, place: usize) -> Kind {
        self.columns.kinds.get(place).copied().unwrap_or_default()
    }

    /// Kind and amount of an order.
    #[inline]
    pub(in crate::engine) fn amount(&self, place: usize) -> (Kind, ExactSum) {
        self.columns.amount(place)
    }

    /// The quantity of an order.
    pub(in crate::engine) fn qty(&self, place: usize) -> Decimal {
        self.columns.qtys.at(place)
    }

    /// The order of a place, its names lent.
    pub(in crate::engine) fn brief(&self, place: usize) -> OrderBrief<'_> {
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

    /// The order at a place.
    pub(in crate::engine) fn order(&self, place: usize) -> Order {
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

    /// The exchange of an order.
    pub(in crate::engine) fn exchange(&self, place: usize) -> &str {
        let [exchange, ..] = self.names.of(self.kind(place).pair());
        exchange
    }

    /// The coin of an order.
    pub(in crate::engine) fn coin(&self, place: usize) -> &str {
        let [.., coin] = self.names.of(self.kind(place).pair());
        coin
    }

    /// The places of the orders of each coin that is `wanted`, oldest first.
    pub(in crate::engine) fn by_coin(
        &self,
        wanted: impl Fn(&str) -> bool,
    ) -> Vec<(&str, Vec<u32>)> {
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

    /// The places of the `limit` largest orders of some that are `seen`, descending, of equals the newest first.
    pub(in crate::engine) fn largest(
        &self,
        places: &Range<usize>,
        limit: usize,
        seen: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = usize> {
        let limit = limit.min(places.len());
        // The block with the greatest bound first, of equals the newest, as orders are ranked.
        let mut blocks: Vec<(ExactSum, Range<usize>)> = self.peaks.blocks(places).collect();
        blocks.sort_unstable_by_key(|(bound, block)| (Reverse(*bound), Reverse(block.end)));
        // The least of what is found stands on top, to be replaced.
        let mut found: BinaryHeap<Reverse<(ExactSum, usize)>> =
            BinaryHeap::with_capacity(limit + 1);
        // What is below this is less than the least, whatever was rounded off of both.
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

/// A number that is further below `amount` than two doubles of fifteen digits can err.
fn below(amount: f64) -> f64 {
    amount - amount.abs() * 1e-12
}
