//! The six realised replies, read off the ring: equal to those that [`ranking`](crate::engine::ranking) counts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use super::{Ring, Sums, WINDOWS, side_of};
use crate::engine::ranking::{Named, Total, coin_rows, exchange_rows, window_totals};
use crate::model::{
    ChartRow, CoinTotals, ExactSum, ExchangeTotals, Millis, Order, Pair, Side, TotalsByWindow,
    Vocabulary, Window, exchange_name,
};

impl Sums {
    pub(super) fn merge(&mut self, other: &Self) {
        for (sum, more) in self.sides.iter_mut().zip(other.sides) {
            *sum += more;
        }
        self.cnt += other.cnt;
    }

    /// Long, short and how many.
    fn totals(&self) -> (Attos, Attos, u64) {
        let [long, short] = self.sides.map(Attos);
        (long, short, self.cnt)
    }
}

/// So many 10⁻¹⁸ USD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Attos(i128);

impl Total for Attos {
    fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    fn exact(self) -> ExactSum {
        ExactSum::of_attos(self.0)
    }
}

fn place_of(window: Window) -> usize {
    Window::ALL
        .iter()
        .position(|other| *other == window)
        .unwrap_or(WINDOWS)
}

impl Ring {
    pub(in crate::engine) fn overview(&self) -> TotalsByWindow {
        let mut overview = TotalsByWindow::default();
        for (place, slot) in overview.windows.iter_mut().enumerate() {
            let mut totals = Sums::default();
            for sums in self.sums.iter().filter_map(|sums| sums.get(place)) {
                totals.merge(sums);
            }
            let (long, short, cnt) = totals.totals();
            *slot = Some(window_totals(long.exact(), short.exact(), cnt));
        }
        overview
    }

    /// The sums of a window by a name of every pair of exchange and coin; names without orders are left out.
    fn grouped<'a>(
        &'a self,
        window: Window,
        names: &'a [String],
        name: impl Fn(super::names::SumName) -> u32,
    ) -> impl Iterator<Item = Named<'a, Attos>> {
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
            .map(|(name, sums)| (name.as_str(), sums.totals()))
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
        let places = self.places(window);
        let limit = limit.min(places.len());
        // The block with the greatest bound first, of equals the newest, as orders are ranked.
        let mut blocks: Vec<(i128, Range<usize>)> = self.peaks.blocks(&places).collect();
        blocks.sort_unstable_by_key(|(bound, block)| (Reverse(*bound), Reverse(block.end)));
        // The least of what is found stands on top, to be replaced.
        let mut found: BinaryHeap<Reverse<(i128, usize)>> = BinaryHeap::with_capacity(limit + 1);
        for (bound, block) in blocks {
            let least = found.peek().map(|Reverse(least)| *least);
            if found.len() == limit && least.is_none_or(|least| (bound, block.end) <= least) {
                break;
            }
            for place in block {
                let order = (self.usds.units_at(place), place);
                if found.len() < limit {
                    found.push(Reverse(order));
                } else if let Some(mut least) = found.peek_mut()
                    && order > least.0
                {
                    *least = Reverse(order);
                }
            }
        }
        found
            .into_sorted_vec()
            .into_iter()
            .map(|Reverse((_, place))| self.order(place))
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
        if !wanted.contains(&true) {
            return Vec::new();
        }
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
        let mut hours: BTreeMap<(Millis, Side), i128> = BTreeMap::new();
        for pair in self.names.pairs_of(symbol.as_str()) {
            for hour in self.hours.of(pair) {
                for (side, sum) in hour.sums() {
                    *hours.entry((hour.start, side)).or_default() += sum;
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
