//! Replies on realised liquidations: exact sums and rankings of orders in a rolling window.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rust_decimal::Decimal;

use crate::engine::View;
use crate::engine::rolling::{Ring, SideSums, SumKey};
use crate::model::{
    ChartRow, CoinTotals, ExactSum, ExchangeTotals, GroupedOrder, Millis, Order, Side, Symbol,
    TimeRange, TotalsByWindow, Vocabulary, Window,
};

/// Exchange, symbol and coin of every listed pair that has an order.
pub fn listings<'a>(view: &View<'a>) -> impl Iterator<Item = [&'a str; 3]> + use<'a> {
    view.ring().names().listings()
}

/// Returns the totals of the four windows.
#[must_use]
pub fn overview(view: &View) -> TotalsByWindow {
    let mut overview = TotalsByWindow::default();
    for (slot, window) in overview.windows.iter_mut().zip(Window::ALL) {
        let totals = if view.is_current() {
            view.ring().totals(*window)
        } else {
            let mut totals = SideSums::default();
            view.each_sum(*window, |_, sums| totals.merge(sums));
            totals
        };
        *slot = Some(totals.into());
    }
    overview
}

/// A name, its sums per side, and the total of both sides.
type Named<'a> = (&'a str, SideSums, ExactSum);

/// Returns the `limit` names with the largest totals in a window, largest first.
///
/// Equal totals are sorted by name. Names without orders are left out. `name` selects the exchange or the coin of a
/// sum.
fn ranked<'a>(
    view: &View<'a>,
    window: Window,
    names: &'a [String],
    name: impl Fn(SumKey) -> u32,
    limit: usize,
) -> Vec<Named<'a>> {
    let mut groups = vec![SideSums::default(); names.len()];
    view.each_sum(window, |of, sums| {
        if let Some(group) = groups.get_mut(name(of) as usize) {
            group.merge(sums);
        }
    });
    let counted = groups.iter().enumerate();
    let mut rows: Vec<(ExactSum, usize)> = counted
        .filter(|(_, sums)| sums.cnt > 0)
        .map(|(place, sums)| (sums.total(), place))
        .collect();
    let rank = |&(total, place): &(ExactSum, usize)| (Reverse(total), names.get(place));
    if limit < rows.len() {
        rows.select_nth_unstable_by_key(limit, rank);
        rows.truncate(limit);
    }
    rows.sort_unstable_by_key(rank);
    rows.into_iter()
        .filter_map(|(total, place)| Some((names.get(place)?.as_str(), *groups.get(place)?, total)))
        .collect()
}

/// Returns the coins with the most liquidated USD, largest first.
///
/// Coins with equal USD are sorted by name.
#[must_use]
pub fn coins(view: &View, window: Window, limit: usize) -> Vec<CoinTotals> {
    let names = view.ring().names().coins();
    ranked(view, window, names, |sum| sum.coin, limit)
        .into_iter()
        .map(|(coin, sums, total)| CoinTotals {
            coin: coin.to_owned(),
            long_usd: sums.long.f64(),
            short_usd: sums.short.f64(),
            total_usd: total.f64(),
            cnt: sums.cnt,
        })
        .collect()
}

/// Returns liquidated USD per exchange, largest first.
///
/// Exchanges with equal USD are sorted by name.
#[must_use]
pub fn exchanges(view: &View, window: Window) -> Vec<ExchangeTotals> {
    let names = view.ring().names().exchanges();
    ranked(view, window, names, |sum| sum.exchange, usize::MAX)
        .into_iter()
        .map(|(exchange, sums, total)| ExchangeTotals {
            exchange: exchange.to_owned(),
            long_usd: sums.long.decimal(),
            short_usd: sums.short.decimal(),
            total_usd: total.decimal(),
            cnt: sums.cnt,
        })
        .collect()
}

/// A filter of orders. The default accepts all orders.
#[derive(Clone, Copy, Debug, Default)]
pub struct OrderFilter<'a> {
    /// Orders of this trading pair, or of all pairs of this coin.
    pub symbol: Option<&'a Symbol>,
    /// Orders of this exchange, by its normalised name.
    pub exchange: Option<&'a str>,
    /// Orders of at least this many USD.
    pub least: Option<Decimal>,
}

impl<'a> OrderFilter<'a> {
    /// Returns a predicate on indexes in the ring; `None` if no order can match.
    fn of(self, ring: &'a Ring) -> Option<impl Fn(usize) -> bool + 'a> {
        let pairs = (self.symbol.is_some() || self.exchange.is_some()).then(|| {
            ring.names().pairs_with(|[venue, pair, coin]| {
                self.exchange.is_none_or(|wanted| wanted == venue)
                    && self.symbol.is_none_or(|wanted| wanted.means(pair, coin))
            })
        });
        if pairs.as_ref().is_some_and(|pairs| !pairs.contains(&true)) {
            return None;
        }
        let least = self.least.map(ExactSum::from);
        Some(move |place| {
            let pair = || ring.kind(place).pair() as usize;
            let is_of = |pairs: &Vec<bool>| pairs.get(pair()) == Some(&true);
            pairs.as_ref().is_none_or(is_of)
                && least.is_none_or(|least| ring.amount(place).1 >= least)
        })
    }
}

/// Returns the largest matching orders in `range` by USD, largest first.
///
/// Of orders with equal USD, the newest comes first.
#[must_use]
pub fn largest(view: &View, range: TimeRange, wanted: OrderFilter<'_>, limit: usize) -> Vec<Order> {
    let places = view.places_between(range);
    let ring = view.ring();
    let Some(is_wanted) = wanted.of(ring) else {
        return Vec::new();
    };
    ring.largest(&places, limit, |place| view.sees(place) && is_wanted(place))
        .map(|place| ring.order(place))
        .collect()
}

/// Returns one page of matching orders, newest first.
///
/// Orders with equal event times are in order of arrival.
#[must_use]
pub fn orders(
    view: &View,
    wanted: OrderFilter<'_>,
    limit: usize,
    offset: u64,
) -> Vec<GroupedOrder> {
    orders_between(view, wanted, TimeRange::ALL, limit, offset)
}

/// Returns one page of matching orders in `range`, sorted as by [`orders`].
#[must_use]
pub fn orders_between(
    view: &View,
    wanted: OrderFilter<'_>,
    range: TimeRange,
    limit: usize,
    offset: u64,
) -> Vec<GroupedOrder> {
    let ring = view.ring();
    let Some(is_wanted) = wanted.of(ring) else {
        return Vec::new();
    };
    let seen = view.seen_between(range).rev();
    seen.filter(|place| is_wanted(*place))
        .skip(usize::try_from(offset).unwrap_or(usize::MAX))
        .take(limit)
        .map(|place| GroupedOrder {
            order: ring.order(place),
            group_id: view.group(place).map(str::to_owned),
        })
        .collect()
}

/// Returns USD per UTC hour and side, of the last 24 hours.
///
/// `symbol` is a pair, or a coin for all of its pairs.
///
/// Hours and sides without orders have no row.
#[must_use]
pub fn chart(view: &View, symbol: &Symbol) -> Vec<ChartRow> {
    let ring = view.ring();
    let wanted = ring
        .names()
        .pairs_with(|[_, pair, coin]| symbol.means(pair, coin));
    let mut hours: BTreeMap<(Millis, Side), ExactSum> = BTreeMap::new();
    if view.is_current() {
        for (pair, _) in (0..).zip(&wanted).filter(|(_, wanted)| **wanted) {
            for hour in ring.hours(pair) {
                for (side, usd) in hour.sums() {
                    *hours.entry((hour.start, side)).or_default() += usd;
                }
            }
        }
    } else {
        for place in view.seen(Millis::DAY) {
            if wanted.get(ring.kind(place).pair() as usize) == Some(&true) {
                let (kind, usd) = ring.amount(place);
                let hour = ring.timestamp(place).hour();
                *hours.entry((hour, kind.side())).or_default() += usd;
            }
        }
    }
    hours
        .into_iter()
        .map(|((hour, side), usd)| ChartRow {
            hour,
            side,
            total_usd: usd.decimal(),
        })
        .collect()
}
