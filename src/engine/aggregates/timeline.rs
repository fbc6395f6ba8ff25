//! Liquidations over time: sums by period and group, taken in order by order, in whatever order they come.
//!
//! Periods begin at whole multiples of their length since 1970. A share of the orders has a [`Timeline`] of its own;
//! several are joined into one. Nothing is kept of an order but its part in the sums, which are exact.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rust_decimal::Decimal;

use crate::engine::View;
use crate::engine::aggregates::row_groups::Grouped;
use crate::engine::coverage::feed_coverage::share;
use crate::model::{
    ExactSum, FiledColumns, FiledOrders, FixedPoint, Interner, Millis, Numbered, OrderBrief,
    PeriodRow, Side, Symbol, TimeRange, Vocabulary,
};

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

/// What rows have in common: the codes of the names of a group, 0 where it is not grouped by them, and the side.
type Kin = ([u32; 3], Option<Side>);
/// A period and the number of a group.
type Key = (i64, u32);

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

/// The number of the group of orders that lie together, and their side.
#[derive(Clone, Copy, Debug)]
struct Group {
    number: u32,
    side: Side,
}

/// Orders of one period and group that lie together, in 10⁻¹⁸ USD.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    usd: i128,
    largest: i128,
    cnt: u64,
}

impl Run {
    /// Adds an order, unless the sum would be more than the number holds.
    fn add(&mut self, usd: i128) -> bool {
        let Some(sum) = self.usd.checked_add(usd) else {
            return false;
        };
        self.usd = sum;
        self.largest = self.largest.max(usd);
        self.cnt += 1;
        true
    }
}

/// Sums by period and group of the orders taken in.
#[derive(Clone, Debug)]
pub struct Timeline {
    asked: Arc<TimelineQuestion>,
    names: Interner,
    /// The groups that were met, each with its number.
    groups: HashMap<Kin, u32>,
    /// The same by their numbers.
    kin: Vec<Kin>,
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
            groups: HashMap::new(),
            kin: Vec::new(),
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

    /// The codes of the names that rows are grouped by.
    fn codes(&mut self, coin: &str, symbol: &str, exchange: &str) -> [u32; 3] {
        let by = self.asked.by;
        let mut code = |wanted: bool, name: &str| {
            if wanted { self.names.code(name) } else { 0 }
        };
        [
            code(by.coin, coin),
            code(by.symbol, symbol),
            code(by.exchange, exchange),
        ]
    }

    /// The number of a group.
    fn number(&mut self, kin: Kin) -> u32 {
        *self.groups.entry(kin).or_insert_with(|| {
            // Its names have codes of the same width, and no more rows than those are put together.
            let number = u32::try_from(self.kin.len()).unwrap_or(u32::MAX);
            self.kin.push(kin);
            number
        })
    }

    /// Takes in an order, if it is one of those asked for.
    pub fn take(&mut self, order: &OrderBrief<'_>) {
        if !self.asked.wants(order) || !self.means(order.symbol, order.coin) {
            return;
        }
        let by = self.asked.by;
        let names = self.codes(order.coin, order.symbol, order.exchange);
        let period = order.timestamp.0.div_euclid(self.asked.interval);
        let number = self.number((names, by.side.then_some(order.side)));
        let Some(sums) = self.place((period, number)) else {
            return;
        };
        if let Some(usd) = sums.usd.get_mut(order.side.index()) {
            usd.add(order.value_usd);
        }
        sums.cnt += 1;
        sums.largest = sums.largest.max(order.value_usd);
    }

    /// Which columns of filed orders it looks at.
    #[must_use]
    pub fn columns(&self) -> FiledColumns {
        let by = self.asked.by;
        let (coins, pairs) = match self.asked.symbols.as_slice() {
            [] => (false, false),
            // Of a whole coin its name tells all.
            some => (true, some.iter().any(|symbol| symbol.quote().is_some())),
        };
        FiledColumns {
            exchange: by.exchange || self.asked.exchange.is_some(),
            symbol: by.symbol || pairs,
            coin: by.coin || coins,
            least: self.asked.least,
        }
    }

    /// Takes in those of filed orders that are asked for; they are of at least as many USD as its
    /// [columns](Timeline::columns) say.
    ///
    /// Orders of one period and group that lie together are summed as whole numbers, and looked up once.
    pub fn take_columns(&mut self, orders: &FiledOrders<'_>) {
        let mut grouped = Grouped::together(orders.timestamp.len());
        let names = [&orders.coin, &orders.symbol, &orders.exchange];
        for Numbered { values, numbers } in names.into_iter().flatten() {
            grouped = grouped.by(numbers, values.len());
        }
        let grouped = grouped.by(orders.side.numbers, orders.side.values.len());
        let groups = grouped.firsts.iter().map(|row| self.group(orders, *row));
        let groups: Vec<Option<Group>> = groups.collect();
        let mut runs = vec![Run::default(); groups.len()];
        let mut touched = Vec::new();
        let (asked, mut period, mut span) = (Arc::clone(&self.asked), 0, 0..0);
        let rows = orders.timestamp.iter().zip(orders.value_usd);
        for ((at, usd), group) in rows.zip(&grouped.of_rows) {
            if !span.contains(at) {
                if !(asked.start.0..asked.end.0).contains(at) {
                    continue;
                }
                self.close(period, &groups, &mut runs, &mut touched);
                period = at.div_euclid(asked.interval);
                let open = period.saturating_mul(asked.interval);
                span =
                    open.max(asked.start.0)..open.saturating_add(asked.interval).min(asked.end.0);
            }
            let place = *group as usize;
            let Some(run) = runs.get_mut(place) else {
                continue;
            };
            if run.cnt == 0 {
                touched.push(place);
            }
            if !run.add(*usd) {
                // More than the number holds: what there is goes to the sums.
                self.close(period, &groups, &mut runs, &mut touched);
                if let Some(run) = runs.get_mut(place) {
                    run.add(*usd);
                    touched.push(place);
                }
            }
        }
        self.close(period, &groups, &mut runs, &mut touched);
    }

    /// The group of a filed order, if it is one of those asked for.
    fn group(&mut self, orders: &FiledOrders<'_>, row: usize) -> Option<Group> {
        let name = |names: &Option<Numbered<'_, _>>| {
            names
                .as_ref()
                .and_then(|names| names.at(row))
                .unwrap_or_default()
        };
        let (coin, symbol, exchange) = (
            name(&orders.coin),
            name(&orders.symbol),
            name(&orders.exchange),
        );
        let asked = Arc::clone(&self.asked);
        let wanted = asked
            .exchange
            .as_deref()
            .is_none_or(|wanted| wanted == exchange);
        if !wanted || !self.means(symbol, coin) {
            return None;
        }
        let side = orders.side.at(row)?;
        let names = self.codes(coin, symbol, exchange);
        let number = self.number((names, asked.by.side.then_some(side)));
        Some(Group { number, side })
    }

    /// Adds what was summed of a period, and begins the next.
    fn close(
        &mut self,
        period: i64,
        groups: &[Option<Group>],
        runs: &mut [Run],
        touched: &mut Vec<usize>,
    ) {
        for place in touched.drain(..) {
            let (Some(run), Some(group)) = (runs.get_mut(place), groups.get(place)) else {
                continue;
            };
            let run = std::mem::take(run);
            let Some(Group { number, side }) = *group else {
                continue;
            };
            let Some(sums) = self.place((period, number)) else {
                continue;
            };
            if let Some(usd) = sums.usd.get_mut(side.index()) {
                *usd += ExactSum::from(FixedPoint(run.usd));
            }
            sums.cnt += run.cnt;
            // It was shown to be one that a decimal holds.
            let largest = FixedPoint(run.largest).decimal().unwrap_or_default();
            sums.largest = sums.largest.max(largest);
        }
    }

    /// Takes in what another has taken in.
    pub fn join(&mut self, other: &Self) {
        let texts = other.names.texts().iter();
        let codes: Vec<u32> = texts.map(|text| self.names.code(text)).collect();
        let by = self.asked.by;
        let code = |wanted: bool, code: u32| match codes.get(code as usize) {
            Some(code) if wanted => *code,
            _ => 0,
        };
        let numbers = other.kin.iter().map(|([coin, symbol, exchange], side)| {
            let names = [
                code(by.coin, *coin),
                code(by.symbol, *symbol),
                code(by.exchange, *exchange),
            ];
            self.number((names, *side))
        });
        let numbers: Vec<u32> = numbers.collect();
        self.sums.reserve(other.sums.len().min(self.asked.most));
        for ((period, number), sums) in &other.sums {
            if let Some(number) = numbers.get(*number as usize)
                && let Some(mine) = self.place((*period, *number))
            {
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

    /// Of each code the place of its text in the order of texts.
    fn ranks(&self) -> Vec<usize> {
        let texts = self.names.texts();
        let mut codes: Vec<usize> = (0..texts.len()).collect();
        codes.sort_unstable_by_key(|code| texts.get(*code));
        let mut ranks = vec![0; codes.len()];
        for (place, code) in codes.into_iter().enumerate() {
            if let Some(rank) = ranks.get_mut(code) {
                *rank = place;
            }
        }
        ranks
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
        let ranks = self.ranks();
        let rank = |code: u32| ranks.get(code as usize).copied().unwrap_or_default();
        // The place of each group in the order of their names.
        let order = |(names, side): &Kin| (names.map(rank), side.map(Side::index));
        let mut numbers: Vec<usize> = (0..self.kin.len()).collect();
        numbers.sort_unstable_by_key(|number| self.kin.get(*number).map(order));
        let mut places = vec![0_u32; numbers.len()];
        for (place, number) in (0..).zip(numbers) {
            if let Some(known) = places.get_mut(number) {
                *known = place;
            }
        }
        let ordered = self.sums.iter().filter_map(|((period, number), sums)| {
            let place = *places.get(*number as usize)?;
            Some(((*period, place), self.kin.get(*number as usize)?, sums))
        });
        let mut ordered: Vec<_> = ordered.collect();
        ordered.sort_unstable_by_key(|(order, ..)| *order);
        let mut covered = covered.shares(&self.asked, self.names.texts());
        let rows = ordered.into_iter().map(|((period, _), kin, sums)| {
            let ([coin, symbol, exchange], side) = kin;
            let timestamp = Millis(period * self.asked.interval);
            let [long_usd, short_usd] = sums.usd.map(|usd| usd.decimal());
            let [mut total, short] = sums.usd;
            total += short;
            PeriodRow {
                timestamp,
                coin: name(by.coin, *coin),
                symbol: name(by.symbol, *symbol),
                exchange: name(by.exchange, *exchange),
                side: side.map(|side| side.name().to_owned()),
                long_usd,
                short_usd,
                total_usd: total.decimal(),
                cnt: sums.cnt,
                largest_usd: sums.largest,
                covered: covered.of(timestamp, by.exchange.then_some(*exchange)),
            }
        });
        Some(rows.collect())
    }
}

/// When each exchange was listened to and nothing is known to be missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Covered {
    /// Nobody kept a record.
    Unknown,
    /// In these stretches of time, in order and apart from each other, of each exchange that was ever listened to.
    At(BTreeMap<String, Vec<TimeRange>>),
}

impl Covered {
    /// The shares of periods of what is asked, of exchanges by their codes among `names`.
    fn shares<'a>(&'a self, asked: &'a TimelineQuestion, names: &[String]) -> Shares<'a> {
        let known = match self {
            Self::Unknown => None,
            Self::At(venues) => Some(venues),
        };
        let venues = known.into_iter().flatten();
        let venues =
            venues.filter(|(name, _)| asked.exchange.as_ref().is_none_or(|of| of == *name));
        let (venues, spans): (Vec<&String>, Vec<&[TimeRange]>) =
            venues.map(|(name, spans)| (name, spans.as_slice())).unzip();
        let place = |name| venues.iter().position(|venue| *venue == name);
        Shares {
            asked,
            spans,
            places: names.iter().map(place).collect(),
            told: None,
        }
    }
}

/// The covered shares of one period after the other.
struct Shares<'a> {
    asked: &'a TimelineQuestion,
    /// When each exchange asked about was listened to.
    spans: Vec<&'a [TimeRange]>,
    /// Which of these is the exchange of each code.
    places: Vec<Option<usize>>,
    /// The shares of the last period that was asked about.
    told: Option<(Millis, Vec<f64>)>,
}

impl Shares<'_> {
    /// The share of the period that opens at an instant: of the exchange of a code, else the mean over those asked about;
    /// none where nobody kept a record.
    fn of(&mut self, open: Millis, exchange: Option<u32>) -> Option<f64> {
        let shares = match &self.told {
            Some((at, shares)) if *at == open => shares,
            _ => {
                let period = TimeRange::new(open, open.on(self.asked.interval))
                    .intersection(TimeRange::new(self.asked.start, self.asked.end));
                let shares = self.spans.iter().map(|spans| share(spans, period));
                &self.told.insert((open, shares.collect())).1
            }
        };
        match exchange {
            Some(code) => {
                let place = self.places.get(code as usize).copied().flatten()?;
                shares.get(place).copied()
            }
            #[expect(clippy::cast_precision_loss, reason = "venues are counted in dozens")]
            None if !shares.is_empty() => Some(shares.iter().sum::<f64>() / shares.len() as f64),
            None => None,
        }
    }
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
    use crate::engine::aggregates::timeline::*;
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
}
