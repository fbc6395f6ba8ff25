//! The last 24 hours of orders in memory: a time-ordered ring of columns with running sums for every window.
//!
//! Four cursors walk the ring, one for each window. An order enters the sums of its exchange and coin when it arrives,
//! and leaves those of a window when the window's cursor passes it, so a total is read off and never counted again. An
//! order that arrives late lands where it belongs in time. Sums are whole numbers of 10⁻¹⁸ USD.
//!
//! Two things are kept up beside the sums, so that no question looks at every order: what each pair had in each hour,
//! and a bound of the amounts of every block of orders. A ring of many orders is put together of parts that are filled
//! side by side ([`RingPart`]).

mod answers;
mod decimals;
mod hours;
mod names;
mod part;
mod peaks;

use std::cmp::Reverse;
use std::collections::VecDeque;

use rust_decimal::Decimal;

use super::{Observations, View};
use crate::model::{Millis, OrderBrief, Side, Vocabulary, Window};
use decimals::{Decimals, Kept, scaled};
use hours::Hours;
use names::Names;
pub use part::RingPart;
use peaks::Peaks;

/// Windows with sums of their own.
const WINDOWS: usize = 4;

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

/// Exact totals in units of 10⁻¹⁸ USD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    sides: [i128; 2],
    cnt: u64,
}

impl Sums {
    fn add(&mut self, side: Side, usd: i128) {
        let [long, short] = &mut self.sides;
        match side {
            Side::Long => *long += usd,
            Side::Short => *short += usd,
        }
        self.cnt += 1;
    }

    fn take(&mut self, side: Side, usd: i128) {
        let [long, short] = &mut self.sides;
        match side {
            Side::Long => *long -= usd,
            Side::Short => *short -= usd,
        }
        self.cnt -= 1;
    }
}

/// One order in the ring.
#[derive(Clone, Copy, Debug)]
struct Row {
    timestamp: Millis,
    received_at: Millis,
    /// The pair on its exchange, and the side in the last bit.
    kind: u32,
    price: Kept,
    qty: Kept,
    usd: Kept,
}

/// In the ring rows stand by time; those of one instant stand latest first, because answers are read from the end.
type Key = (Millis, Reverse<Millis>);

fn side_of(kind: u32) -> Side {
    if kind & 1 == 0 {
        Side::Long
    } else {
        Side::Short
    }
}

fn kind_of(pair: u32, side: Side) -> u32 {
    pair << 1 | u32::from(side == Side::Short)
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
#[derive(Debug)]
pub struct Ring {
    now: Millis,
    timestamps: VecDeque<Millis>,
    received: VecDeque<Millis>,
    kinds: VecDeque<u32>,
    prices: Decimals,
    qtys: Decimals,
    usds: Decimals,
    names: Names,
    /// Per exchange and coin, per window.
    sums: Vec<[Sums; WINDOWS]>,
    /// Per pair, of the longest window.
    hours: Hours,
    /// Bounds of the amounts.
    peaks: Peaks,
    /// Place of the first order inside each window.
    cursors: [usize; WINDOWS],
    /// Place of the first order after now.
    present: usize,
    /// The sum of all amounts in the ring: no other sum here is larger.
    total: i128,
    /// Orders that have not settled, as they arrived.
    arrived: Vec<Row>,
}

impl Ring {
    /// A ring without orders, at an instant.
    #[must_use]
    pub fn new(now: Millis) -> Self {
        Self {
            now,
            timestamps: VecDeque::new(),
            received: VecDeque::new(),
            kinds: VecDeque::new(),
            prices: Decimals::default(),
            qtys: Decimals::default(),
            usds: Decimals::default(),
            names: Names::default(),
            sums: Vec::new(),
            hours: Hours::default(),
            peaks: Peaks::default(),
            cursors: [0; WINDOWS],
            present: 0,
            total: 0,
            arrived: Vec::new(),
        }
    }

    /// The ring's orders as what realised replies are read from; estimates are made from `observations`.
    #[must_use]
    pub fn view<'a>(&'a self, observations: &'a Observations) -> View<'a> {
        View::with_ring(observations, self)
    }

    /// The instant the windows end at.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// How many orders there are, those after now included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.timestamps.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.timestamps.is_empty()
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
                let row = self.row(order);
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

    /// An amount in units, and the sum of all amounts with it.
    fn with_amount(&self, value: Decimal) -> Result<(i128, i128), RingFault> {
        let usd = scaled(value)
            .filter(|usd| *usd >= 0)
            .ok_or(RingFault::Amount { value })?;
        let total = self.total.checked_add(usd).ok_or(RingFault::Sum)?;
        Ok((usd, total))
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
                let usd = self.usds.units(row.usd);
                self.count(row, usd);
            }
        }
        // Of equals the last to arrive stands first, which a stable sort of the reverse gives.
        rows.reverse();
        rows.sort_by_key(|row| (row.timestamp, Reverse(row.received_at)));
        self.merge(rows);
        self.find_cursors();
        dropped
    }

    /// Adds a row of an amount to the sums of the windows it is in.
    fn count(&mut self, row: &Row, usd: i128) {
        let (pair, side) = (row.kind >> 1, side_of(row.kind));
        self.names.saw(pair, row.timestamp);
        self.hours.add(pair, side, row.timestamp, usd);
        let sums = self.sums.get_mut(self.names.sum_of(pair));
        for (sums, window) in sums.into_iter().flatten().zip(Window::ALL) {
            if row.timestamp > self.now.back(window.millis()) {
                sums.add(side, usd);
            }
        }
    }

    /// Lets go of a row that is in no column.
    fn drop_row(&mut self, row: Row) {
        self.prices.forget(row.price);
        self.qtys.forget(row.qty);
        self.total -= self.usds.forget(row.usd);
    }

    /// Every exchange that has had an order by now, with their number in a window and the time of the last.
    pub(super) fn venues(
        &self,
        window: Window,
    ) -> impl Iterator<Item = (&str, u64, Option<Millis>)> {
        let place = Window::ALL.iter().position(|other| *other == window);
        let mut counts = vec![0; self.names.exchanges().len()];
        for (name, sums) in self.names.sums().zip(&self.sums) {
            if let Some(count) = counts.get_mut(name.exchange as usize)
                && let Some(sums) = place.and_then(|place| sums.get(place))
            {
                *count += sums.cnt;
            }
        }
        self.names
            .exchanges()
            .iter()
            .zip(counts)
            .zip(self.names.last_seen())
            .map(|((exchange, cnt), last)| (exchange.as_str(), cnt, *last))
    }

    /// Moves on to `now`; an instant before the present one changes nothing.
    pub fn advance(&mut self, now: Millis) {
        if now <= self.now {
            return;
        }
        self.now = now;
        while let Some(timestamp) = self.timestamps.get(self.present)
            && *timestamp <= now
        {
            let timestamp = *timestamp;
            let (kind, usd) = self.amount(self.present);
            self.names.saw(kind >> 1, timestamp);
            self.hours.add(kind >> 1, side_of(kind), timestamp, usd);
            for window in 0..WINDOWS {
                if let Some(sums) = sums_of(&mut self.sums, &self.names, kind, window) {
                    sums.add(side_of(kind), usd);
                }
            }
            self.present += 1;
        }
        for (window, range) in Window::ALL.iter().enumerate() {
            let start = now.back(range.millis());
            let mut cursor = self.cursors.get(window).copied().unwrap_or_default();
            while let Some(timestamp) = self.timestamps.get(cursor)
                && *timestamp <= start
            {
                let timestamp = *timestamp;
                let (kind, usd) = self.amount(cursor);
                if window + 1 == WINDOWS {
                    self.hours.take(kind >> 1, side_of(kind), timestamp, usd);
                }
                if let Some(sums) = sums_of(&mut self.sums, &self.names, kind, window) {
                    sums.take(side_of(kind), usd);
                }
                cursor += 1;
            }
            if let Some(place) = self.cursors.get_mut(window) {
                *place = cursor;
            }
        }
        self.forget();
    }

    /// Lets go of the orders that are in no window any more.
    fn forget(&mut self) {
        let old = self.cursors.last().copied().unwrap_or_default();
        for _ in 0..old {
            self.timestamps.pop_front();
            self.received.pop_front();
            self.kinds.pop_front();
            self.prices.pop_front();
            self.qtys.pop_front();
            self.peaks.pop_front();
            if let Some(usd) = self.usds.pop_front() {
                self.total -= usd;
            }
        }
        for cursor in &mut self.cursors {
            *cursor -= old;
        }
        self.present -= old;
    }

    /// The columns of an order.
    fn row(&mut self, order: &OrderBrief<'_>) -> Row {
        let pair = self.names.pair(order.exchange, order.symbol, order.coin);
        self.row_of(pair, order)
    }

    /// As [`Ring::row`], of an order whose pair has this number.
    fn row_of(&mut self, pair: u32, order: &OrderBrief<'_>) -> Row {
        if self.sums.len() < self.names.len() {
            self.sums
                .resize(self.names.len(), [Sums::default(); WINDOWS]);
        }
        Row {
            timestamp: order.timestamp,
            received_at: order.received_at,
            kind: kind_of(pair, order.side),
            price: self.prices.keep(order.price),
            qty: self.qtys.keep(order.qty),
            usd: self.usds.keep(order.value_usd),
        }
    }

    /// Puts sorted rows where they belong, before those that are equal to them.
    fn merge(&mut self, rows: Vec<Row>) {
        let Some(first) = rows.first() else { return };
        let key = |row: &Row| -> Key { (row.timestamp, Reverse(row.received_at)) };
        let place = self.place(key(first));
        let mut tail = self.tail(place).into_iter().peekable();
        for row in rows {
            while let Some(earlier) = tail.next_if(|earlier| key(earlier) < key(&row)) {
                self.push(earlier);
            }
            self.push(row);
        }
        for row in tail {
            self.push(row);
        }
    }

    /// The place of the first row that is not before `key`; nearly always the end.
    fn place(&self, key: Key) -> usize {
        let mut place = self.timestamps.partition_point(|at| *at < key.0);
        while self.timestamps.get(place) == Some(&key.0)
            && self
                .received
                .get(place)
                .is_some_and(|received| Reverse(*received) < key.1)
        {
            place += 1;
        }
        place
    }

    /// Takes the rows from `place` on out of the ring.
    fn tail(&mut self, place: usize) -> Vec<Row> {
        self.peaks.truncate(place);
        let rows = self
            .timestamps
            .drain(place..)
            .zip(self.received.drain(place..))
            .zip(self.kinds.drain(place..))
            .zip(self.prices.drain(place))
            .zip(self.qtys.drain(place))
            .zip(self.usds.drain(place));
        rows.map(
            |(((((timestamp, received_at), kind), price), qty), usd)| Row {
                timestamp,
                received_at,
                kind,
                price,
                qty,
                usd,
            },
        )
        .collect()
    }

    fn push(&mut self, row: Row) {
        self.peaks.push_back(self.usds.units(row.usd));
        self.push_row(row);
    }

    /// Puts a row at the end of the columns.
    fn push_row(&mut self, row: Row) {
        self.timestamps.push_back(row.timestamp);
        self.received.push_back(row.received_at);
        self.kinds.push_back(row.kind);
        self.prices.push_back(row.price);
        self.qtys.push_back(row.qty);
        self.usds.push_back(row.usd);
    }

    /// Looks the cursors up anew, after rows have been put between.
    fn find_cursors(&mut self) {
        self.present = self.timestamps.partition_point(|at| *at <= self.now);
        for (cursor, window) in self.cursors.iter_mut().zip(Window::ALL) {
            let start = self.now.back(window.millis());
            *cursor = self.timestamps.partition_point(|at| *at <= start);
        }
    }

    fn amount(&self, place: usize) -> (u32, i128) {
        let kind = self.kinds.get(place).copied().unwrap_or_default();
        (kind, self.usds.units_at(place))
    }
}

fn sums_of<'a>(
    sums: &'a mut [[Sums; WINDOWS]],
    names: &Names,
    kind: u32,
    window: usize,
) -> Option<&'a mut Sums> {
    sums.get_mut(names.sum_of(kind >> 1))?.get_mut(window)
}
