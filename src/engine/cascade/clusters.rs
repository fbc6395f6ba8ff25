//! Orders gathered into events, in whatever order they come.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use rust_decimal::Decimal;

use super::percentile::{Compared, percentiles};
use crate::engine::cascade::cascade_question::{COMPARED, CascadeQuestion};
use crate::model::{CascadeRow, ExactSum, Interner, Millis, OrderBrief, Side};

/// Orders that belong together.
#[derive(Clone, Debug)]
struct Cluster {
    end: Millis,
    usd: ExactSum,
    cnt: u64,
    largest: Decimal,
    /// Codes of the exchanges, each once.
    venues: Vec<u32>,
}

impl Cluster {
    /// Takes over what another holds; its end and exchanges too.
    fn join(&mut self, other: Self) {
        self.end = self.end.max(other.end);
        self.usd += other.usd;
        self.cnt += other.cnt;
        self.largest = self.largest.max(other.largest);
        for venue in other.venues {
            self.heard_of(venue);
        }
    }

    fn heard_of(&mut self, venue: u32) {
        if !self.venues.contains(&venue) {
            self.venues.push(venue);
        }
    }
}

/// The events of one coin and side by their starts; more than a gap lies between one and the next.
type Line = BTreeMap<Millis, Cluster>;

/// The events of the orders taken in, those that have not gathered enough among them.
#[derive(Clone, Debug)]
pub struct Clusters {
    asked: Arc<CascadeQuestion>,
    coins: Interner,
    venues: Interner,
    lines: HashMap<(u32, Side), Line>,
    /// Of each symbol and coin met, whether it is asked for; one is read once.
    meant: HashMap<String, HashMap<String, bool>>,
}

impl Clusters {
    /// No orders yet.
    #[must_use]
    pub fn new(asked: &Arc<CascadeQuestion>) -> Self {
        Self {
            asked: Arc::clone(asked),
            coins: Interner::default(),
            venues: Interner::default(),
            lines: HashMap::new(),
            meant: HashMap::new(),
        }
    }

    /// Goes on for another question, of the same gap, amount and symbols.
    pub fn ask(&mut self, asked: &Arc<CascadeQuestion>) {
        self.asked = Arc::clone(asked);
    }

    /// Whether the symbol of an order is asked for.
    fn means(&mut self, symbol: &str, coin: &str) -> bool {
        let asked = &self.asked.symbols;
        if asked.is_empty() {
            return true;
        }
        let known = self.meant.get(symbol).and_then(|coins| coins.get(coin));
        if let Some(known) = known {
            return *known;
        }
        let means = asked.iter().any(|asked| asked.means(symbol, coin));
        let coins = self.meant.entry(symbol.to_owned()).or_default();
        coins.insert(coin.to_owned(), means);
        means
    }

    /// Takes in an order, if it is one of those asked for.
    pub fn take(&mut self, order: &OrderBrief<'_>) {
        if order.timestamp < self.asked.known_from() || !self.means(order.symbol, order.coin) {
            return;
        }
        let coin = self.coins.code(order.coin);
        let venue = self.venues.code(order.exchange);
        let line = self.lines.entry((coin, order.side)).or_default();
        let (at, gap) = (order.timestamp, self.asked.gap);
        // Most orders fall into an event that is there, or follow it as the last.
        if let Some((start, last)) = line.range_mut(..=at).next_back()
            && at <= last.end.on(gap)
        {
            let start = *start;
            let grows = at > last.end;
            last.end = last.end.max(at);
            last.usd.add(order.value_usd);
            last.cnt += 1;
            last.largest = last.largest.max(order.value_usd);
            last.heard_of(venue);
            if grows {
                close_up(line, start, gap);
            }
            return;
        }
        let alone = Cluster {
            end: at,
            usd: order.value_usd.into(),
            cnt: 1,
            largest: order.value_usd,
            venues: vec![venue],
        };
        put(line, at, alone, gap);
    }

    /// Takes in what another has taken in.
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

    /// Whether an event that is asked for may still be joined by an order at `at` or later.
    #[must_use]
    pub fn is_open(&self, at: Millis) -> bool {
        let open = |(start, cluster): (&Millis, &Cluster)| {
            *start < self.asked.end && cluster.end.on(self.asked.gap) >= at
        };
        // The last one that began in time ends the last of them.
        let mut lines = self.lines.values();
        lines.any(|line| line.range(..self.asked.end).next_back().is_some_and(open))
    }

    /// Lets go of events that are over by `at`, when all orders before it have been taken in, and have not gathered enough.
    pub fn settle(&mut self, at: Millis) {
        let (least, gap) = (self.asked.least, self.asked.gap);
        for line in self.lines.values_mut() {
            line.retain(|_, cluster| cluster.end.on(gap) >= at || cluster.usd.decimal() >= least);
        }
    }

    /// Lets go of events that were over before `at`.
    pub fn forget(&mut self, at: Millis) {
        for line in self.lines.values_mut() {
            line.retain(|_, cluster| cluster.end >= at);
        }
        self.lines.retain(|_, line| !line.is_empty());
    }

    /// How many events there are, those that have not gathered enough among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.values().map(Line::len).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The events that `asked` asks for by their starts, then by coin and side; what needs prices is left open. None where
    /// there are more than may be. It is the question they were gathered for, or one about less.
    #[must_use]
    pub fn rows(&self, asked: &CascadeQuestion) -> Option<Vec<CascadeRow>> {
        let mut coins: BTreeMap<&str, Vec<(Side, Millis, &Cluster, Decimal)>> = BTreeMap::new();
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
            let compared: Vec<Compared> = events
                .iter()
                .map(|(_, start, cluster, usd)| Compared {
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
                        venues: cluster.venues.len() as u64,
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
        // What is of one coin stands in order already.
        rows.sort_by_key(|row| row.start);
        Some(rows)
    }
}

/// Puts in a cluster, joined with all that are no further from it than the gap.
fn put(line: &mut Line, start: Millis, cluster: Cluster, gap: i64) {
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

/// Joins the cluster that begins at `start` with those behind it that it has come near to.
fn close_up(line: &mut Line, start: Millis, gap: i64) {
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
    ) -> Clusters {
        let mut clusters = Clusters::new(asked);
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

    fn told(clusters: &Clusters) -> Vec<(i64, i64, Decimal, u64, u64, Decimal)> {
        let rows = clusters.rows(&clusters.asked).unwrap().into_iter();
        rows.map(|row| {
            let (start, end) = (row.start.0, row.end.0);
            (start, end, row.usd, row.cnt, row.venues, row.largest_usd)
        })
        .collect()
    }

    /// The same by one look at orders that are sorted.
    fn plainly(
        orders: &[(i64, usize, i64)],
        gap: i64,
        least: i64,
    ) -> Vec<(i64, i64, Decimal, u64, u64, Decimal)> {
        let mut orders = orders.to_vec();
        orders.sort_unstable();
        let runs = orders.chunk_by(|a, b| b.0 - a.0 <= gap);
        let told = runs.map(|run| {
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
        told.filter(|event| event.2 >= Decimal::from(least))
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
            prop_assert_eq!(told(&clusters), plainly(&orders, gap, least));
        }

        #[test]
        fn what_is_let_go_by_and_by_is_not_missed(
            orders in proptest::collection::vec((0_i64..400, 0_usize..3, 1_i64..50), 0..80),
            gap in 1_i64..12,
            least in 0_i64..120,
            step in 1_i64..90,
        ) {
            let asked = question(gap, least);
            let mut clusters = Clusters::new(&asked);
            for first in (0..400).step_by(usize::try_from(step).unwrap()) {
                let some = orders.iter().copied().filter(|one| (first..first + step).contains(&one.0));
                clusters.join(gathered(&asked, some));
                clusters.settle(Millis(first + step));
            }
            prop_assert_eq!(told(&clusters), plainly(&orders, gap, least));
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
        assert_eq!(told(&clusters).len(), 1);
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
