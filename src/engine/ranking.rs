//! The six realised replies: exact sums and rankings of the orders in a rolling window.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use rust_decimal::Decimal;

use super::View;
use super::observations::Recorded;
use crate::model::{
    ChartRow, CoinTotals, ExactSum, ExchangeTotals, Millis, Order, Pair, Side, TotalsByWindow,
    Vocabulary, Window, WindowTotals, exchange_name,
};

/// Exact totals of both sides.
#[derive(Clone, Copy, Default)]
struct Totals {
    long: ExactSum,
    short: ExactSum,
    cnt: u64,
}

impl Totals {
    fn add(&mut self, order: &Order) {
        match order.side {
            Side::Long => self.long.add(order.value_usd),
            Side::Short => self.short.add(order.value_usd),
        }
        self.cnt += 1;
    }
}

impl<'a> FromIterator<&'a Recorded> for Totals {
    fn from_iter<I: IntoIterator<Item = &'a Recorded>>(orders: I) -> Self {
        let mut totals = Self::default();
        for recorded in orders {
            totals.add(&recorded.order);
        }
        totals
    }
}

/// The totals of a window, of its exact sums.
pub(super) fn window_totals(long: ExactSum, short: ExactSum, cnt: u64) -> WindowTotals {
    WindowTotals {
        long_usd: long.f64(),
        short_usd: short.f64(),
        total_usd: long.plus(short).f64(),
        cnt,
    }
}

/// Totals of the four windows.
#[must_use]
pub fn overview(view: &View) -> TotalsByWindow {
    if let Some(ring) = view.ring() {
        return ring.overview();
    }
    let mut overview = TotalsByWindow::default();
    for (slot, window) in overview.windows.iter_mut().zip(Window::ALL) {
        let totals: Totals = view.window(window.millis()).collect();
        *slot = Some(window_totals(totals.long, totals.short, totals.cnt));
    }
    overview
}

/// The totals of the window by a name of the order.
fn grouped<'a>(
    view: &View<'a>,
    window: Window,
    name: impl Fn(&'a Recorded) -> &'a str,
) -> HashMap<&'a str, Totals> {
    let mut groups: HashMap<&str, Totals> = HashMap::new();
    for recorded in view.window(window.millis()) {
        groups
            .entry(name(recorded))
            .or_default()
            .add(&recorded.order);
    }
    groups
}

/// Long, short and number of orders under a name.
pub(super) type Named<'a, T> = (&'a str, (T, T, u64));

/// A sum as it is kept, by which names are ranked; only those that are shown are written out.
pub(super) trait Total: Copy + Ord {
    fn plus(self, other: Self) -> Self;

    fn exact(self) -> ExactSum;
}

impl Total for ExactSum {
    fn plus(mut self, other: Self) -> Self {
        self.merge(other);
        self
    }

    fn exact(self) -> ExactSum {
        self
    }
}

fn named(groups: HashMap<&str, Totals>) -> impl Iterator<Item = Named<'_, ExactSum>> {
    groups
        .into_iter()
        .map(|(name, totals)| (name, (totals.long, totals.short, totals.cnt)))
}

/// The `limit` names with the most, descending, ties by name, each with its total.
fn ranked<'a, T: Total>(
    groups: impl Iterator<Item = Named<'a, T>>,
    limit: usize,
) -> impl Iterator<Item = (Named<'a, T>, T)> {
    let mut rows: Vec<(Named<'a, T>, T)> = groups.map(|row| (row, row.1.0.plus(row.1.1))).collect();
    let rank = |&((name, _), total): &(Named<'a, T>, T)| (Reverse(total), name);
    if limit < rows.len() {
        rows.select_nth_unstable_by_key(limit, rank);
        rows.truncate(limit);
    }
    rows.sort_unstable_by_key(rank);
    rows.into_iter()
}

/// The rows of the coins with the most USD, descending, ties by name.
pub(super) fn coin_rows<'a, T: Total>(
    groups: impl Iterator<Item = Named<'a, T>>,
    limit: usize,
) -> Vec<CoinTotals> {
    ranked(groups, limit)
        .map(|((coin, (long, short, cnt)), total)| CoinTotals {
            coin: coin.to_owned(),
            long_usd: long.exact().f64(),
            short_usd: short.exact().f64(),
            total_usd: total.exact().f64(),
            cnt,
        })
        .collect()
}

/// The rows of exchanges by USD, descending, ties by name.
pub(super) fn exchange_rows<'a, T: Total>(
    groups: impl Iterator<Item = Named<'a, T>>,
) -> Vec<ExchangeTotals> {
    ranked(groups, usize::MAX)
        .map(|((exchange, (long, short, cnt)), total)| ExchangeTotals {
            exchange: exchange.to_owned(),
            long_usd: long.exact().decimal(),
            short_usd: short.exact().decimal(),
            total_usd: total.exact().decimal(),
            cnt,
        })
        .collect()
}

/// The coins with the most liquidated USD, descending, ties by name.
#[must_use]
pub fn coins(view: &View, window: Window, limit: usize) -> Vec<CoinTotals> {
    if let Some(ring) = view.ring() {
        return ring.coins(window, limit);
    }
    let groups = grouped(view, window, |recorded| &recorded.coin);
    coin_rows(named(groups), limit)
}

/// Liquidated USD per exchange, descending, ties by name.
#[must_use]
pub fn exchanges(view: &View, window: Window) -> Vec<ExchangeTotals> {
    if let Some(ring) = view.ring() {
        return ring.exchanges(window);
    }
    let groups = grouped(view, window, |recorded| &recorded.order.exchange);
    exchange_rows(named(groups))
}

/// The largest orders by USD, descending, ties newest first.
#[must_use]
pub fn largest(view: &View, window: Window, limit: usize) -> Vec<Order> {
    if let Some(ring) = view.ring() {
        return ring.largest(window, limit);
    }
    // The window comes newest first, so its place decides between equals.
    let mut orders: Vec<(Reverse<Decimal>, usize, &Order)> = view
        .window(window.millis())
        .map(|recorded| &recorded.order)
        .enumerate()
        .map(|(place, order)| (Reverse(order.value_usd), place, order))
        .collect();
    let rank = |&(value, place, _): &(Reverse<Decimal>, usize, &Order)| (value, place);
    if limit < orders.len() {
        orders.select_nth_unstable_by_key(limit, rank);
        orders.truncate(limit);
    }
    orders.sort_unstable_by_key(rank);
    orders
        .into_iter()
        .map(|(_, _, order)| order.clone())
        .collect()
}

/// One page of the order feed: newest first, orders of one instant in the order they arrived.
///
/// `symbol` is a trading pair; `exchange` may be any spelling of its name.
#[must_use]
pub fn orders(
    view: &View,
    symbol: Option<&str>,
    exchange: Option<&str>,
    limit: usize,
    offset: u64,
) -> Vec<Order> {
    if let Some(ring) = view.ring() {
        return ring.orders(symbol, exchange, limit, offset);
    }
    let symbol = symbol.map(|symbol| Pair::new(symbol).map(|pair| pair.to_string()));
    let exchange = exchange.map(exchange_name);
    view.known()
        .map(|recorded| &recorded.order)
        .filter(|order| {
            symbol
                .as_ref()
                .is_none_or(|wanted| wanted.as_ref() == Some(&order.symbol))
        })
        .filter(|order| {
            exchange
                .as_ref()
                .is_none_or(|wanted| *wanted == order.exchange)
        })
        .skip(usize::try_from(offset).unwrap_or(usize::MAX))
        .take(limit)
        .cloned()
        .collect()
}

/// USD per UTC hour and side of a trading pair over the last 24 hours; an hour and side without orders has no row.
#[must_use]
pub fn chart(view: &View, symbol: &str) -> Vec<ChartRow> {
    if let Some(ring) = view.ring() {
        return ring.chart(symbol);
    }
    let Some(pair) = Pair::new(symbol) else {
        return Vec::new();
    };
    let mut hours: BTreeMap<(Millis, Side), ExactSum> = BTreeMap::new();
    for recorded in view.window(Millis::DAY) {
        let order = &recorded.order;
        if order.symbol == pair.as_str() {
            hours
                .entry((order.timestamp.hour(), order.side))
                .or_default()
                .add(order.value_usd);
        }
    }
    hours
        .into_iter()
        .map(|((hour, side), sum)| ChartRow {
            hour,
            side,
            total_usd: sum.decimal(),
        })
        .collect()
}
