//! Liquidations over time: sums by period and group, taken in order by order, in whatever order they come.
//!
//! Periods begin at whole multiples of their length since 1970. A share of the orders has a [`Timeline`] of its own;
//! several are joined into one. Nothing is kept of an order but its part in the sums, which are exact.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rust_decimal::Decimal;

use super::View;
use crate::model::{ExactSum, Interner, Millis, OrderBrief, PeriodRow, Side, Symbol, Vocabulary};

/// From an instant until before another.
type Span = (Millis, Millis);

/// What rows are grouped by beside the period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a column of its own, asked for or not"
)]
pub struct Grouping {
    /// By coin.
    pub coin: bool,
    /// By trading pair.
    pub symbol: bool,
    /// By exchange.
    pub exchange: bool,
    /// By side.
    pub side: bool,
}

/// Which orders are counted, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineQuestion {
    /// Orders from this instant on.
    pub start: Millis,
    /// Orders before this instant.
    pub end: Millis,
    /// Length of a period in milliseconds, above zero.
    pub interval: i64,
    /// What rows are grouped by.
    pub by: Grouping,
    /// Only orders of these pairs, and of all pairs of these coins; all where there are none.
    pub symbols: Vec<Symbol>,
    /// Only orders of this exchange.
    pub exchange: Option<String>,
    /// Only orders of at least so many USD.
    pub least: Option<Decimal>,
    /// More rows than this are not put together.
    pub most: usize,
}

impl TimelineQuestion {
    /// Whether an order is one of those asked for, apart from its symbol.
    fn wants(&self, order: &OrderBrief<'_>) -> bool {
        (self.start..self.end).contains(&order.timestamp)
            && self
                .exchange
                .as_deref()
                .is_none_or(|name| name == order.exchange)
            && self.least.is_none_or(|least| order.value_usd >= least)
    }
}

/// The period and the codes of the names of a group; 0 where it is not grouped by them.
type Key = (i64, [u32; 3], Option<Side>);

/// The sums of one group in one period.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    usd: [ExactSum; 2],
    cnt: u64,
    largest: Decimal,
}

impl Sums {
    fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.usd.iter_mut().zip(other.usd) {
            *mine += theirs;
        }
        self.cnt += other.cnt;
        self.largest = self.largest.max(other.largest);
    }
}

/// Sums by period and group of the orders taken in.
#[derive(Clone, Debug)]
pub struct Timeline {
    asked: Arc<TimelineQuestion>,
    names: Interner,
    sums: HashMap<Key, Sums>,
    /// Of each symbol and coin met, whether it is asked for; one is read once.
    meant: HashMap<String, HashMap<String, bool>>,
    /// Whether there are more rows than may be.
    over: bool,
}

impl Timeline {
    /// No orders yet.
    #[must_use]
    pub fn new(asked: &Arc<TimelineQuestion>) -> Self {
        Self {
            asked: Arc::clone(asked),
            names: Interner::default(),
            sums: HashMap::new(),
            meant: HashMap::new(),
            over: false,
        }
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
        if !self.asked.wants(order) || !self.means(order.symbol, order.coin) {
            return;
        }
        let by = self.asked.by;
        let mut code = |wanted: bool, name: &str| {
            if wanted { self.names.code(name) } else { 0 }
        };
        let names = [
            code(by.coin, order.coin),
            code(by.symbol, order.symbol),
            code(by.exchange, order.exchange),
        ];
        let period = order.timestamp.0.div_euclid(self.asked.interval);
        let side = by.side.then_some(order.side);
        let Some(sums) = self.place((period, names, side)) else {
            return;
        };
        if let Some(usd) = sums.usd.get_mut(order.side.index()) {
            usd.add(order.value_usd);
        }
        sums.cnt += 1;
        sums.largest = sums.largest.max(order.value_usd);
    }

    /// Takes in what another has taken in.
    pub fn join(&mut self, other: &Self) {
        for ((period, names, side), sums) in &other.sums {
            let by = self.asked.by;
            let [coin, symbol, exchange] = *names;
            let mut code = |wanted: bool, code: u32| match other.names.text(code) {
                Some(name) if wanted => self.names.code(name),
                _ => 0,
            };
            let names = [
                code(by.coin, coin),
                code(by.symbol, symbol),
                code(by.exchange, exchange),
            ];
            if let Some(mine) = self.place((*period, names, *side)) {
                mine.join(sums);
            }
        }
        self.over |= other.over;
    }

    /// Where the sums of a row stand, if there is room for the row.
    fn place(&mut self, key: Key) -> Option<&mut Sums> {
        let room = self.sums.len() < self.asked.most;
        match self.sums.entry(key) {
            Entry::Occupied(found) => Some(found.into_mut()),
            Entry::Vacant(free) if room => Some(free.insert(Sums::default())),
            Entry::Vacant(_) => {
                self.over = true;
                None
            }
        }
    }

    /// The rows, by period and then by the names of the group; those that hold nothing are left out. `None` where there are
    /// more than may be.
    #[must_use]
    pub fn rows(&self, covered: &Covered) -> Option<Vec<PeriodRow>> {
        if self.over {
            return None;
        }
        let by = self.asked.by;
        let name = |wanted: bool, code: u32| {
            let text = self.names.text(code).filter(|_| wanted);
            text.map(str::to_owned)
        };
        let mut rows: Vec<PeriodRow> = self
            .sums
            .iter()
            .map(|((period, [coin, symbol, exchange], side), sums)| {
                let [long_usd, short_usd] = sums.usd.map(|usd| usd.decimal());
                let [mut total, short] = sums.usd;
                total += short;
                PeriodRow {
                    timestamp: Millis(period * self.asked.interval),
                    coin: name(by.coin, *coin),
                    symbol: name(by.symbol, *symbol),
                    exchange: name(by.exchange, *exchange),
                    side: side.map(|side| side.name().to_owned()),
                    long_usd,
                    short_usd,
                    total_usd: total.decimal(),
                    cnt: sums.cnt,
                    largest_usd: sums.largest,
                    covered: None,
                }
            })
            .collect();
        rows.sort_by(|a, b| {
            (a.timestamp, &a.coin, &a.symbol, &a.exchange, &a.side).cmp(&(
                b.timestamp,
                &b.coin,
                &b.symbol,
                &b.exchange,
                &b.side,
            ))
        });
        covered.tell(&mut rows, &self.asked);
        Some(rows)
    }
}

/// When each exchange was listened to and nothing is known to be missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Covered {
    /// Nobody kept a record.
    Unknown,
    /// In these stretches of time, in order and apart from each other, of each exchange that was ever listened to.
    At(BTreeMap<String, Vec<Span>>),
}

impl Covered {
    /// Fills in the shares of rows that are sorted by time: of its exchange where they are grouped by it, else the mean
    /// over the exchanges asked about.
    fn tell(&self, rows: &mut [PeriodRow], asked: &TimelineQuestion) {
        let venues = match self {
            Self::Unknown => return,
            Self::At(venues) => venues,
        };
        let venues: Vec<(&str, &[Span])> = venues
            .iter()
            .filter(|(name, _)| asked.exchange.as_ref().is_none_or(|wanted| wanted == *name))
            .map(|(name, spans)| (name.as_str(), spans.as_slice()))
            .collect();
        let mut told: Option<(Millis, Vec<f64>)> = None;
        for row in rows {
            let shares = match &told {
                Some((at, shares)) if *at == row.timestamp => shares,
                _ => {
                    let from = row.timestamp.max(asked.start);
                    let to = row.timestamp.on(asked.interval).min(asked.end);
                    let shares = venues.iter().map(|(_, spans)| share(spans, (from, to)));
                    &told.insert((row.timestamp, shares.collect())).1
                }
            };
            row.covered = match &row.exchange {
                Some(exchange) => venues
                    .iter()
                    .zip(shares)
                    .find(|((name, _), _)| name == exchange)
                    .map(|(_, share)| *share),
                #[expect(clippy::cast_precision_loss, reason = "venues are counted in dozens")]
                None if !shares.is_empty() => {
                    Some(shares.iter().sum::<f64>() / shares.len() as f64)
                }
                None => None,
            };
        }
    }
}

/// The share of a stretch that lies in `spans`, which are in order and apart from each other.
#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of a few thousand years are exact in a double"
)]
fn share(spans: &[Span], (from, to): Span) -> f64 {
    let first = spans.partition_point(|(_, end)| *end <= from);
    let within = spans.iter().skip(first);
    let covered: i64 = within
        .take_while(|(start, _)| *start < to)
        .map(|(start, end)| (*end).min(to).0 - (*start).max(from).0)
        .sum();
    covered as f64 / (to.0 - from.0).max(1) as f64
}

/// Liquidations over time, of the orders that are seen.
#[must_use]
pub fn timeline(view: &View<'_>, asked: &Arc<TimelineQuestion>) -> Timeline {
    let mut timeline = Timeline::new(asked);
    let ring = view.ring();
    for place in view.seen(i64::MAX) {
        timeline.take(&ring.brief(place));
    }
    timeline
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::model::Order;

    fn timeline(at: &[i64], most: usize) -> Timeline {
        let asked = Arc::new(TimelineQuestion {
            start: Millis(0),
            end: Millis(1000),
            interval: 10,
            by: Grouping::default(),
            symbols: Vec::new(),
            exchange: None,
            least: None,
            most,
        });
        let mut timeline = Timeline::new(&asked);
        for at in at {
            let order = Order {
                exchange: "okx".to_owned(),
                symbol: "BTCUSDT".to_owned(),
                side: Side::Long,
                price: Decimal::ONE,
                qty: Decimal::ONE,
                value_usd: Decimal::TEN,
                timestamp: Millis(*at),
            };
            timeline.take(&OrderBrief::of(&order, "BTC", Millis(*at)));
        }
        timeline
    }

    #[test]
    fn more_rows_than_may_be_are_none_whoever_has_them() {
        assert_eq!(
            timeline(&[1, 2, 11], 2)
                .rows(&Covered::Unknown)
                .unwrap()
                .len(),
            2
        );
        assert_eq!(timeline(&[1, 2, 11], 1).rows(&Covered::Unknown), None);
        let mut one = timeline(&[1], 1);
        one.join(&timeline(&[2], 1));
        assert_eq!(one.rows(&Covered::Unknown).unwrap().len(), 1);
        one.join(&timeline(&[11], 1));
        assert_eq!(one.rows(&Covered::Unknown), None);
    }

    #[test]
    fn the_share_of_a_stretch_is_that_of_what_lies_in_it() {
        let spans = [(Millis(0), Millis(10)), (Millis(20), Millis(30))];
        for (from, to, wanted) in [(0, 10, 1.0), (5, 25, 0.5), (10, 20, 0.0), (-10, 40, 0.4)] {
            let found = share(&spans, (Millis(from), Millis(to)));
            assert!((found - wanted).abs() < 1e-12, "{from} {to} {found}");
        }
    }
}
