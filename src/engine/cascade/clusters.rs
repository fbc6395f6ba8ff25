//! Clustering of orders into events. Orders may be added in any sequence.
//!
//! An event is a sequence of orders of one coin and side. Consecutive orders are at most a gap apart.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use rust_decimal::Decimal;

use super::percentile::{ComparedEvent, percentiles};
use crate::engine::cascade::cascade_question::{COMPARED, CascadeQuestion};
use crate::model::{CascadeRow, ExactSum, Interner, Millis, OrderBrief, Side};

/// Sums over the orders of one event.
#[derive(Clone, Debug)]
struct EventCluster {
    end: Millis,
    usd: ExactSum,
    cnt: u64,
    largest: Decimal,
    /// Codes of the exchanges, without duplicates.
    venues: Vec<u32>,
}

impl EventCluster {
    /// Adds the orders of another cluster.
    fn join(&mut self, other: Self) {
        self.end = self.end.max(other.end);
        self.usd += other.usd;
        self.cnt += other.cnt;
        self.largest = self.largest.max(other.largest);
        for venue in other.venues {
            self.add_venue(venue);
        }
    }

    fn add_venue(&mut self, venue: u32) {
        if !self.venues.contains(&venue) {
            self.venues.push(venue);
        }
    }
}

/// Events of one coin and side, by start. Consecutive events are more than a gap apart.
type EventLine = BTreeMap<Millis, EventCluster>;

/// A set of events that orders are added to. It includes events below the minimum USD.
#[derive(Clone, Debug)]
pub struct CascadeClusters {
    asked: Arc<CascadeQuestion>,
    coins: Interner,
    venues: Interner,
    lines: HashMap<(u32, Side), EventLine>,
    /// Cache: whether a symbol and coin match the filter.
    match_cache: HashMap<String, HashMap<String, bool>>,
}

impl CascadeClusters {
    /// Creates an empty set of events.
    #[must_use]
    pub fn new(asked: &Arc<CascadeQuestion>) -> Self {
        Self {
            asked: Arc::clone(asked),
            coins: Interner::default(),
            venues: Interner::default(),
            lines: HashMap::new(),
            match_cache: HashMap::new(),
        }
    }

    /// Replaces the question by one with the same gap, minimum and symbols.
    pub fn ask(&mut self, asked: &Arc<CascadeQuestion>) {
        self.asked = Arc::clone(asked);
    }

    /// Whether the symbol of an order matches the filter.
    fn matches(&mut self, symbol: &str, coin: &str) -> bool {
        let asked = &self.asked.symbols;
        if asked.is_empty() {
            return true;
        }
        let known = self
            .match_cache
            .get(symbol)
            .and_then(|coins| coins.get(coin));
        if let Some(known) = known {
            return *known;
        }
        let means = asked.iter().any(|asked| asked.means(symbol, coin));
        let coins = self.match_cache.entry(symbol.to_owned()).or_default();
        coins.insert(coin.to_owned(), means);
        means
    }

    /// Adds an order, if it matches the question.
    pub fn take(&mut self, order: &OrderBrief<'_>) {
        if order.timestamp < self.asked.known_from() || !self.matches(order.symbol, order.coin) {
            return;
        }
        let coin = self.coins.code(order.coin);
        let venue = self.venues.code(order.exchange);
        let line = self.lines.entry((coin, order.side)).or_default();
        let (at, gap) = (order.timestamp, self.asked.gap);
        // The common case: the order lies within an existing event or extends its end.
        if let Some((start, last)) = line.range_mut(..=at).next_back()
            && at <= last.end.on(gap)
        {
            let start = *start;
            let grows = at > last.end;
            last.end = last.end.max(at);
            last.usd.add(order.value_usd);
            last.cnt += 1;
            last.largest = last.largest.max(order.value_usd);
            last.add_venue(venue);
            if grows {
                close_up(line, start, gap);
            }
            return;
        }
        let alone = EventCluster {
            end: at,
            usd: order.value_usd.into(),
            cnt: 1,
            largest: order.value_usd,
            venues: vec![venue],
        };
        put(line, at, alone, gap);
    }

    /// Adds the events of another set.
    pub fn join(&mut self, other: Self) {
        for ((coin, side), theirs) in other.lines {
            let coin = self.coins.code(other.coins.text(coin).unwrap_or_default());
            let line = self.lines.entry((coin, side)).or_default();
            for (start, mut cluster) in theirs {
                for venue in &mut cluster.venues {
                    let name = other.venues.text(*venue).unwrap_or_default();
                    *venue = self.venues.code(name);
                }
                put(line, start, cluster, self.asked.gap);
            }
        }
    }

    /// Whether an order at `at` or later could still join a requested event.
    #[must_use]
    pub fn is_open(&self, at: Millis) -> bool {
        let open = |(start, cluster): (&Millis, &EventCluster)| {
            *start < self.asked.end && cluster.end.on(self.asked.gap) >= at
        };
        // Events of one line do not overlap, so the last requested one also ends last.
        let mut lines = self.lines.values();
        lines.any(|line| line.range(..self.asked.end).next_back().is_some_and(open))
    }

    /// Removes events below the minimum USD that no order from `at` on can join.
    ///
    /// Call this only when all orders before `at` were added.
    pub fn settle(&mut self, at: Millis) {
        let (least, gap) = (self.asked.least, self.asked.gap);
        for line in self.lines.values_mut() {
            line.retain(|_, cluster| cluster.end.on(gap) >= at || cluster.usd.decimal() >= least);
        }
    }

    /// Removes events that ended before `at`.
    pub fn forget(&mut self, at: Millis) {
        for line in self.lines.values_mut() {
            line.retain(|_, cluster| cluster.end >= at);
        }
        self.lines.retain(|_, line| !line.is_empty());
    }

    /// Number of events, including small ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.values().map(EventLine::len).sum()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the requested events by start, then by coin and side, without prices.
    ///
    /// `None` if there are more events than the maximum. `asked` must be the question of this set, or a narrower one.
    #[must_use]
    pub fn rows(&self, asked: &CascadeQuestion) -> Option<Vec<CascadeRow>> {
        let mut coins: BTreeMap<&str, Vec<(Side, Millis, &EventCluster, Decimal)>> =
            BTreeMap::new();
        let mut count = 0_usize;
        for ((coin, side), line) in &self.lines {
            let name = self.coins.text(*coin).unwrap_or_default();
            let enough = line.iter().filter_map(|(start, cluster)| {
                let usd = cluster.usd.decimal();
                (usd >= asked.least).then_some((*side, *start, cluster, usd))
            });
            let events = coins.entry(name).or_default();
            let before = events.len();
            events.extend(enough);
            count += events.len() - before;
            if count > asked.most {
                return None;
            }
        }
        let begun = asked.start..asked.end;
        let mut rows = Vec::new();
        for (coin, mut events) in coins {
            events.sort_by_key(|(side, start, ..)| (*start, *side));
            let compared: Vec<ComparedEvent> = events
                .iter()
                .map(|(_, start, cluster, usd)| ComparedEvent {
                    start: *start,
                    end: cluster.end,
                    usd: *usd,
                })
                .collect();
            let shares = percentiles(&compared, asked.gap, COMPARED);
            for ((side, start, cluster, usd), percentile_7d) in events.into_iter().zip(shares) {
                if begun.contains(&start) {
                    rows.push(CascadeRow {
                        start,
                        end: cluster.end,
                        coin: coin.to_owned(),
                        side,
                        usd,
                        cnt: cluster.cnt,
                        exchanges: cluster.venues.len() as u64,
                        largest_usd: cluster.largest,
                        price_before: None,
                        price_after: None,
                        change_1m: None,
                        change_5m: None,
                        change_1h: None,
                        percentile_7d,
                    });
                }
            }
        }
        // The sort is stable: rows with equal starts remain sorted by coin and side.
        rows.sort_by_key(|row| row.start);
        Some(rows)
    }
}

/// Inserts a cluster, and joins it with all clusters at most `gap` from it.
fn put(line: &mut EventLine, start: Millis, cluster: EventCluster, gap: i64) {
    let before = line.range(..=start).next_back();
    let near = before.filter(|(_, before)| start <= before.end.on(gap));
    let start = if let Some((first, _)) = near {
        let first = *first;
        if let Some(before) = line.get_mut(&first) {
            before.join(cluster);
        }
        first
    } else {
        line.insert(start, cluster);
        start
    };
    close_up(line, start, gap);
}

/// Joins the cluster at `start` with later clusters within `gap` of its end.
fn close_up(line: &mut EventLine, start: Millis, gap: i64) {
    while let Some(end) = line.get(&start).map(|cluster| cluster.end) {
        let behind = (Bound::Excluded(start), Bound::Unbounded);
        let next = line.range(behind).next().map(|(next, _)| *next);
        let Some(next) = next.filter(|next| *next <= end.on(gap)) else {
            return;
        };
        if let Some(theirs) = line.remove(&next)
            && let Some(mine) = line.get_mut(&start)
        {
            mine.join(theirs);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Order;

    const VENUES: [&str; 3] = ["binance", "okx", "bybit"];

    fn question(gap: i64, least: i64) -> Arc<CascadeQuestion> {
        Arc::new(CascadeQuestion {
            start: Millis(0),
            end: Millis(i64::MAX),
            gap,
            least: Decimal::from(least),
            symbols: Vec::new(),
            most: usize::MAX,
        })
    }

    fn gathered(
        asked: &Arc<CascadeQuestion>,
        orders: impl IntoIterator<Item = (i64, usize, i64)>,
    ) -> CascadeClusters {
        let mut clusters = CascadeClusters::new(asked);
        for (at, venue, usd) in orders {
            let order = Order {
                exchange: VENUES[venue].to_owned(),
                symbol: "BTCUSDT".to_owned(),
                side: Side::Long,
                price: Decimal::ONE,
                qty: Decimal::ONE,
                value_usd: Decimal::from(usd),
                timestamp: Millis(at),
            };
            clusters.take(&OrderBrief::of(&order, "BTC", Millis(at)));
        }
        clusters
    }

    fn found(clusters: &CascadeClusters) -> Vec<(i64, i64, Decimal, u64, u64, Decimal)> {
        let rows = clusters.rows(&clusters.asked).unwrap().into_iter();
        rows.map(|row| {
            let (start, end) = (row.start.0, row.end.0);
            (start, end, row.usd, row.cnt, row.exchanges, row.largest_usd)
        })
        .collect()
    }

    /// Reference implementation: one pass over sorted orders.
    fn plainly(
        orders: &[(i64, usize, i64)],
        gap: i64,
        least: i64,
    ) -> Vec<(i64, i64, Decimal, u64, u64, Decimal)> {
        let mut orders = orders.to_vec();
        orders.sort_unstable();
        let runs = orders.chunk_by(|a, b| b.0 - a.0 <= gap);
        let found = runs.map(|run| {
            let usd: i64 = run.iter().map(|order| order.2).sum();
            let venues: std::collections::HashSet<usize> = run.iter().map(|one| one.1).collect();
            (
                run[0].0,
                run[run.len() - 1].0,
                Decimal::from(usd),
                run.len() as u64,
                venues.len() as u64,
                Decimal::from(run.iter().map(|order| order.2).max().unwrap()),
            )
        });
        found
            .filter(|event| event.2 >= Decimal::from(least))
            .collect()
    }

    proptest! {
        #[test]
        fn whoever_takes_them_in_whatever_order_the_events_are_those_of_one_sorted_look(
            orders in proptest::collection::vec((0_i64..400, 0_usize..3, 1_i64..50), 0..80),
            gap in 1_i64..12,
            least in 0_i64..120,
            cut in 0_usize..80,
        ) {
            let asked = question(gap, least);
            let cut = cut.min(orders.len());
            let mut clusters = gathered(&asked, orders[..cut].iter().copied());
            clusters.join(gathered(&asked, orders[cut..].iter().copied()));
            prop_assert_eq!(found(&clusters), plainly(&orders, gap, least));
        }

        #[test]
        fn what_is_let_go_by_and_by_is_not_missed(
            orders in proptest::collection::vec((0_i64..400, 0_usize..3, 1_i64..50), 0..80),
            gap in 1_i64..12,
            least in 0_i64..120,
            step in 1_i64..90,
        ) {
            let asked = question(gap, least);
            let mut clusters = CascadeClusters::new(&asked);
            for first in (0..400).step_by(usize::try_from(step).unwrap()) {
                let some = orders.iter().copied().filter(|one| (first..first + step).contains(&one.0));
                clusters.join(gathered(&asked, some));
                clusters.settle(Millis(first + step));
            }
            prop_assert_eq!(found(&clusters), plainly(&orders, gap, least));
        }
    }

    #[test]
    fn an_event_is_open_until_no_order_can_join_it() {
        let asked = Arc::new(CascadeQuestion {
            end: Millis(100),
            ..(*question(10, 0)).clone()
        });
        let clusters = gathered(&asked, [(90, 0, 1), (99, 0, 1), (130, 0, 1)]);
        assert!(clusters.is_open(Millis(109)));
        assert!(
            !clusters.is_open(Millis(110)),
            "what began later is not asked for"
        );
        assert_eq!(found(&clusters).len(), 1);
    }

    #[test]
    fn more_events_than_may_be_are_none() {
        let asked = Arc::new(CascadeQuestion {
            most: 1,
            ..(*question(10, 0)).clone()
        });
        assert!(gathered(&asked, [(0, 0, 1)]).rows(&asked).is_some());
        assert!(
            gathered(&asked, [(0, 0, 1), (50, 0, 1)])
                .rows(&asked)
                .is_none()
        );
    }
}
