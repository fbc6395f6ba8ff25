//! The six realised replies, read off the ring: equal to those that [`ranking`](crate::engine::ranking) counts.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use super::{Ring, Sums, WINDOWS, side_of};
use crate::engine::ranking::{coin_rows, exchange_rows, window_totals};
use crate::model::{
    ChartRow, CoinTotals, ExactSum, ExchangeTotals, Millis, Order, Overview, Pair, Side,
    Vocabulary, Window, exchange_name,
};

impl Sums {
    fn merge(&mut self, other: &Self) {
        for (sum, more) in self.sides.iter_mut().zip(other.sides) {
            *sum += more;
        }
        self.cnt += other.cnt;
    }

    /// Long, short and how many.
    fn exact(&self) -> (ExactSum, ExactSum, u64) {
        let [long, short] = self.sides.map(ExactSum::of_attos);
        (long, short, self.cnt)
    }
}

fn place_of(window: Window) -> usize {
    Window::ALL
        .iter()
        .position(|other| *other == window)
        .unwrap_or(WINDOWS)
}

impl Ring {
    pub(in crate::engine) fn overview(&self) -> Overview {
        let mut overview = Overview::default();
        for (place, slot) in overview.windows.iter_mut().enumerate() {
            let mut totals = Sums::default();
            for sums in self.sums.iter().filter_map(|sums| sums.get(place)) {
                totals.merge(sums);
            }
            let (long, short, cnt) = totals.exact();
            *slot = Some(window_totals(long, short, cnt));
        }
        overview
    }

    /// The sums of a window by a name of every pair of exchange and coin; names without orders are left out.
    fn grouped<'a>(
        &'a self,
        window: Window,
        names: &'a [String],
        name: impl Fn(super::names::SumName) -> u32,
    ) -> impl Iterator<Item = (&'a str, (ExactSum, ExactSum, u64))> {
        let place = place_of(window);
        let mut groups = vec![Sums::default(); names.len()];
        for (pair, sums) in self.names.sums().zip(&self.sums) {
            if let (Some(group), Some(sums)) =
                (groups.get_mut(name(pair) as usize), sums.get(place))
            {
                group.merge(sums);
            }
        }
        names
            .iter()
            .zip(groups)
            .filter(|(_, sums)| sums.cnt > 0)
            .map(|(name, sums)| (name.as_str(), sums.exact()))
    }

    pub(in crate::engine) fn coins(&self, window: Window, limit: usize) -> Vec<CoinTotals> {
        coin_rows(
            self.grouped(window, self.names.coins(), |sum| sum.coin),
            limit,
        )
    }

    pub(in crate::engine) fn exchanges(&self, window: Window) -> Vec<ExchangeTotals> {
        exchange_rows(self.grouped(window, self.names.exchanges(), |sum| sum.exchange))
    }

    /// Places of the orders of a window.
    fn places(&self, window: Window) -> Range<usize> {
        let cursor = self.cursors.get(place_of(window)).copied();
        cursor.unwrap_or_default().min(self.present)..self.present
    }

    pub(in crate::engine) fn largest(&self, window: Window, limit: usize) -> Vec<Order> {
        let mut orders: Vec<(Reverse<i128>, Reverse<usize>)> = self
            .places(window)
            .map(|place| (Reverse(self.usds.units_at(place)), Reverse(place)))
            .collect();
        if limit < orders.len() {
            orders.select_nth_unstable(limit);
            orders.truncate(limit);
        }
        orders.sort_unstable();
        orders
            .into_iter()
            .map(|(_, Reverse(place))| self.order(place))
            .collect()
    }

    pub(in crate::engine) fn orders(
        &self,
        symbol: Option<&str>,
        exchange: Option<&str>,
        limit: usize,
        offset: u64,
    ) -> Vec<Order> {
        let symbol = symbol.map(|symbol| Pair::new(symbol).map(|pair| pair.to_string()));
        let exchange = exchange.map(exchange_name);
        let wanted = self.names.pairs_with(|venue, pair| {
            symbol
                .as_ref()
                .is_none_or(|wanted| wanted.as_deref() == Some(pair))
                && exchange.as_ref().is_none_or(|wanted| wanted == venue)
        });
        let everything = wanted.iter().all(|wanted| *wanted);
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let places = self.places(Window::H24).rev();
        if everything {
            return places
                .skip(offset)
                .take(limit)
                .map(|place| self.order(place))
                .collect();
        }
        places
            .filter(|place| {
                let pair = self.kinds.get(*place).map_or(u32::MAX, |kind| kind >> 1);
                wanted.get(pair as usize).copied().unwrap_or(false)
            })
            .skip(offset)
            .take(limit)
            .map(|place| self.order(place))
            .collect()
    }

    pub(in crate::engine) fn chart(&self, symbol: &str) -> Vec<ChartRow> {
        let Some(symbol) = Pair::new(symbol) else {
            return Vec::new();
        };
        let wanted = self.names.pairs_with(|_, pair| pair == symbol.as_str());
        let mut hours: BTreeMap<(Millis, Side), i128> = BTreeMap::new();
        if wanted.contains(&true) {
            let places = self.places(Window::H24);
            let kinds = self.kinds.range(places.clone());
            for (place, kind) in places.zip(kinds) {
                if wanted.get((kind >> 1) as usize) == Some(&true)
                    && let Some(timestamp) = self.timestamps.get(place)
                {
                    *hours.entry((timestamp.hour(), side_of(*kind))).or_default() +=
                        self.usds.units_at(place);
                }
            }
        }
        hours
            .into_iter()
            .map(|((hour, side), sum)| ChartRow {
                hour,
                side,
                total_usd: ExactSum::of_attos(sum).decimal(),
            })
            .collect()
    }

    fn order(&self, place: usize) -> Order {
        let kind = self.kinds.get(place).copied().unwrap_or_default();
        Order {
            exchange: self.names.venue(kind >> 1).to_owned(),
            symbol: self.names.symbol(kind >> 1).to_owned(),
            side: side_of(kind),
            price: self.prices.at(place),
            qty: self.qtys.at(place),
            value_usd: self.usds.at(place),
            timestamp: self.timestamps.get(place).copied().unwrap_or_default(),
        }
    }
}
