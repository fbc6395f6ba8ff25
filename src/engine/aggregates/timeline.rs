//! Liquidations over time: exact sums by period and group.
//!
//! Orders may be added in any sequence. The periods are those of [`PeriodLength`]. [`Timeline`]s of
//! parts of the orders can be joined.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use rust_decimal::Decimal;

use crate::engine::View;
use crate::engine::aggregates::period_totals::known_ranges;
use crate::engine::aggregates::row_groups::RowGroups;
use crate::engine::coverage::feed_coverage::RecordedRanges;
use crate::engine::coverage::feed_coverage::{mean, share};
use crate::model::{
    ExactSum, FiledColumns, FiledOrders, FixedPoint, Interner, Millis, Numbered, OrderBrief,
    PeriodLength, PeriodRow, Side, Symbol, TimeRange, TotalRow, Vocabulary,
};

/// Maximum number of groups of a time range.
const MOST_OF_RANGE: usize = 1_000_000;

/// The columns that rows are grouped by, in addition to the period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate column, requested or not"
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

/// A question about liquidations over time: which orders count, and how they are grouped.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineQuestion {
    /// Orders from this instant on.
    pub start: Millis,
    /// Orders before this instant.
    pub end: Millis,
    /// Length of a period.
    pub interval: PeriodLength,
    /// What rows are grouped by.
    pub by: Grouping,
    /// Orders of these pairs, or of any pair of these coins. If empty, all orders.
    pub symbols: Vec<Symbol>,
    /// Orders of this exchange only.
    pub exchange: Option<String>,
    /// Orders of at least this many USD only.
    pub least: Option<Decimal>,
    /// Whether periods without orders are left out.
    pub sparse: bool,
    /// Maximum number of rows.
    pub most: usize,
}

impl TimelineQuestion {
    /// The sums of all orders in `range` as one period, without empty groups.
    #[must_use]
    pub fn of_range(range: TimeRange, by: Grouping) -> Self {
        Self {
            start: range.start,
            end: range.end,
            interval: PeriodLength::Fixed(Millis::ALL),
            by,
            symbols: Vec::new(),
            exchange: None,
            least: None,
            sparse: true,
            most: MOST_OF_RANGE,
        }
    }

    /// The same question about another time range.
    #[must_use]
    pub fn within(&self, range: TimeRange) -> Self {
        Self {
            start: range.start,
            end: range.end,
            ..self.clone()
        }
    }

    /// The numbers of the first and the last period.
    fn periods(&self) -> std::ops::RangeInclusive<i64> {
        self.interval.number(self.start)..=self.interval.number(self.end.back(1))
    }

    /// Number of rows of each group, unless periods without orders are left out.
    #[must_use]
    pub fn rows_of_group(&self) -> u64 {
        let periods = self.periods();
        periods
            .end()
            .saturating_sub(*periods.start())
            .saturating_add(1)
            .try_into()
            .unwrap_or_default()
    }

    /// Whether an order matches the question, apart from its symbol.
    fn wants(&self, order: &OrderBrief<'_>) -> bool {
        (self.start..self.end).contains(&order.timestamp)
            && self
                .exchange
                .as_deref()
                .is_none_or(|name| name == order.exchange)
            && self.least.is_none_or(|least| order.value_usd >= least)
    }
}

/// Key of a group: codes of coin, pair and exchange, and the side. Columns that are not grouped by have code 0 or no
/// side.
type GroupKey = ([u32; 3], Option<Side>);
/// Period and group number.
type Key = (i64, u32);

/// Sums of one group in one period.
#[derive(Clone, Copy, Debug, Default)]
struct PeriodSums {
    usd: [ExactSum; 2],
    cnt: u64,
    largest: Decimal,
    /// Whether the sums include totals, of which no single orders are known.
    has_totals: bool,
}

impl PeriodSums {
    fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.usd.iter_mut().zip(other.usd) {
            *mine += theirs;
        }
        self.cnt += other.cnt;
        self.largest = self.largest.max(other.largest);
        self.has_totals |= other.has_totals;
    }
}

/// Group number and side of an order.
#[derive(Clone, Copy, Debug)]
struct OrderGroup {
    number: u32,
    side: Side,
}

/// Sum of consecutive orders of one period and group, in 10⁻¹⁸ USD.
#[derive(Clone, Copy, Debug, Default)]
struct RunSum {
    usd: i128,
    largest: i128,
    cnt: u64,
}

impl RunSum {
    /// Adds an order; returns false if the sum would overflow.
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

/// Sums by period and group.
#[derive(Clone, Debug)]
pub struct Timeline {
    asked: Arc<TimelineQuestion>,
    names: Interner,
    /// Number of each known group.
    groups: HashMap<GroupKey, u32>,
    /// Key of each group, by number.
    keys: Vec<GroupKey>,
    sums: HashMap<Key, PeriodSums>,
    /// Cache: whether a symbol and coin match the filter.
    match_cache: HashMap<String, HashMap<String, bool>>,
    /// Whether the maximum number of rows is exceeded.
    over: bool,
}

impl Timeline {
    /// Creates an empty timeline. If coins are requested and rows are grouped by coin alone, each
    /// has its group.
    #[must_use]
    pub fn new(asked: &Arc<TimelineQuestion>) -> Self {
        let mut timeline = Self {
            asked: Arc::clone(asked),
            names: Interner::default(),
            groups: HashMap::new(),
            keys: Vec::new(),
            sums: HashMap::new(),
            match_cache: HashMap::new(),
            over: false,
        };
        let by = asked.by;
        if by.coin && !by.symbol && !by.exchange && !by.side {
            for symbol in &asked.symbols {
                let names = timeline.codes(symbol.coin(), "", "");
                timeline.number((names, None));
            }
        }
        timeline
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

    /// Codes of the names that rows are grouped by.
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
    fn number(&mut self, keys: GroupKey) -> u32 {
        *self.groups.entry(keys).or_insert_with(|| {
            // The conversion cannot fail: the maximum number of rows is far below `u32::MAX`.
            let number = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
            self.keys.push(keys);
            number
        })
    }

    /// Adds an order, if it matches the question.
    pub fn take(&mut self, order: &OrderBrief<'_>) {
        if !self.asked.wants(order) || !self.matches(order.symbol, order.coin) {
            return;
        }
        let by = self.asked.by;
        let names = self.codes(order.coin, order.symbol, order.exchange);
        let period = self.asked.interval.number(order.timestamp);
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

    /// Adds totals of periods that [`TotalCandidates`](crate::engine::TotalCandidates) selected for the question.
    pub fn take_totals(&mut self, totals: &[TotalRow]) {
        let asked = Arc::clone(&self.asked);
        for total in totals {
            let period = asked.interval.number(total.timestamp.max(asked.start));
            let names = self.codes(&total.symbol, "", &total.exchange);
            let amounts = [(Side::Long, total.long_usd), (Side::Short, total.short_usd)];
            for (side, usd) in amounts {
                let number = self.number((names, asked.by.side.then_some(side)));
                let Some(sums) = self.place((period, number)) else {
                    return;
                };
                if let Some(sum) = sums.usd.get_mut(side.index()) {
                    sum.add(usd);
                }
                sums.has_totals = true;
            }
        }
    }

    /// The columns of stored orders that this timeline needs.
    #[must_use]
    pub fn columns(&self) -> FiledColumns {
        let by = self.asked.by;
        let (coins, pairs) = match self.asked.symbols.as_slice() {
            [] => (false, false),
            // A filter by coin needs only the coin column.
            some => (true, some.iter().any(|symbol| symbol.quote().is_some())),
        };
        FiledColumns {
            exchange: by.exchange || self.asked.exchange.is_some(),
            symbol: by.symbol || pairs,
            coin: by.coin || coins,
            amounts: false,
            least: self.asked.least,
        }
    }

    /// Adds the matching orders of a batch.
    ///
    /// The batch must not contain orders below the minimum USD of [`Timeline::columns`].
    ///
    /// Consecutive orders of one period are summed per group as integers, so each sum is looked up once.
    pub fn take_columns(&mut self, orders: &FiledOrders<'_>) {
        let mut grouped = RowGroups::together(orders.timestamp.len());
        let names = [&orders.coin, &orders.symbol, &orders.exchange];
        for Numbered { values, numbers } in names.into_iter().flatten() {
            grouped = grouped.by(numbers, values.len());
        }
        let grouped = grouped.by(orders.side.numbers, orders.side.values.len());
        let groups = grouped.firsts.iter().map(|row| self.group(orders, *row));
        let groups: Vec<Option<OrderGroup>> = groups.collect();
        let mut runs = vec![RunSum::default(); groups.len()];
        let mut touched = Vec::new();
        let (asked, mut period, mut span) = (Arc::clone(&self.asked), 0, 0..0);
        let rows = orders.timestamp.iter().zip(orders.value_usd);
        for ((at, usd), group) in rows.zip(&grouped.of_rows) {
            if !span.contains(at) {
                if !(asked.start.0..asked.end.0).contains(at) {
                    continue;
                }
                self.close(period, &groups, &mut runs, &mut touched);
                period = asked.interval.number(Millis(*at));
                let open = asked.interval.start(period).max(asked.start);
                let close = asked
                    .interval
                    .start(period.saturating_add(1))
                    .min(asked.end);
                span = open.0..close.0;
            }
            let place = *group as usize;
            let Some(run) = runs.get_mut(place) else {
                continue;
            };
            if run.cnt == 0 {
                touched.push(place);
            }
            if !run.add(*usd) {
                // The run would overflow, so its sum is added to the exact sums first.
                self.close(period, &groups, &mut runs, &mut touched);
                if let Some(run) = runs.get_mut(place) {
                    run.add(*usd);
                    touched.push(place);
                }
            }
        }
        self.close(period, &groups, &mut runs, &mut touched);
    }

    /// The group of a stored order, if it matches the question.
    fn group(&mut self, orders: &FiledOrders<'_>, row: usize) -> Option<OrderGroup> {
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
        if !wanted || !self.matches(symbol, coin) {
            return None;
        }
        let side = orders.side.at(row)?;
        let names = self.codes(coin, symbol, exchange);
        let number = self.number((names, asked.by.side.then_some(side)));
        Some(OrderGroup { number, side })
    }

    /// Moves the integer sums of a period into the exact sums.
    fn close(
        &mut self,
        period: i64,
        groups: &[Option<OrderGroup>],
        runs: &mut [RunSum],
        touched: &mut Vec<usize>,
    ) {
        for place in touched.drain(..) {
            let (Some(run), Some(group)) = (runs.get_mut(place), groups.get(place)) else {
                continue;
            };
            let run = std::mem::take(run);
            let Some(OrderGroup { number, side }) = *group else {
                continue;
            };
            let Some(sums) = self.place((period, number)) else {
                continue;
            };
            if let Some(usd) = sums.usd.get_mut(side.index()) {
                *usd += ExactSum::from(FixedPoint(run.usd));
            }
            sums.cnt += run.cnt;
            // The value was converted from a decimal, so it fits into one again.
            let largest = FixedPoint(run.largest).decimal().unwrap_or_default();
            sums.largest = sums.largest.max(largest);
        }
    }

    /// Adds the sums of another timeline.
    pub fn join(&mut self, other: &Self) {
        let texts = other.names.texts().iter();
        let codes: Vec<u32> = texts.map(|text| self.names.code(text)).collect();
        let by = self.asked.by;
        let code = |wanted: bool, code: u32| match codes.get(code as usize) {
            Some(code) if wanted => *code,
            _ => 0,
        };
        let numbers = other.keys.iter().map(|([coin, symbol, exchange], side)| {
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

    /// The sums of a period and group.
    ///
    /// `None` if there is no such row yet and the maximum number of rows is reached.
    fn place(&mut self, key: Key) -> Option<&mut PeriodSums> {
        let room = self.sums.len() < self.asked.most;
        match self.sums.entry(key) {
            Entry::Occupied(found) => Some(found.into_mut()),
            Entry::Vacant(free) if room => Some(free.insert(PeriodSums::default())),
            Entry::Vacant(_) => {
                self.over = true;
                None
            }
        }
    }

    /// Rank of each name, by code, when names are sorted alphabetically.
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

    /// Returns the rows by period, then by the names of the group: each period of each group that has an order, and of
    /// each requested coin.
    ///
    /// A row without orders has zeros if part of its period is in `recorded`, and nulls otherwise. Totals are one group,
    /// which has rows without any order, too.
    ///
    /// # Errors
    ///
    /// [`TooManyRows`] if there are more than the maximum.
    pub fn rows(&self, recorded: &RecordedRanges) -> Result<Vec<PeriodRow>, TooManyRows> {
        self.rows_with(recorded, &[])
    }

    /// As [`Timeline::rows`], after [`Timeline::take_totals`]: the time of the totals is known, too.
    ///
    /// # Errors
    ///
    /// As [`Timeline::rows`].
    pub fn rows_with(
        &self,
        recorded: &RecordedRanges,
        totals: &[TotalRow],
    ) -> Result<Vec<PeriodRow>, TooManyRows> {
        let asked = &self.asked;
        let mut groups = self.groups_in_order();
        if asked.by == Grouping::default() && groups.is_empty() {
            groups.push(([0; 3], None, u32::MAX));
        }
        let dense = asked.rows_of_group().saturating_mul(groups.len() as u64);
        let most = asked.most as u64;
        if self.over || !asked.sparse && dense > most {
            let rows = (!self.over && !asked.sparse).then_some(dense);
            return Err(TooManyRows { rows, most });
        }
        let places: HashMap<u32, usize> =
            groups.iter().map(|(.., number)| *number).zip(0..).collect();
        let cells: Vec<(i64, usize)> = if asked.sparse {
            let cells = self.sums.keys();
            let mut cells: Vec<(i64, usize)> = cells
                .filter_map(|(period, number)| Some((*period, *places.get(number)?)))
                .collect();
            cells.sort_unstable();
            cells
        } else {
            let periods = asked.periods();
            periods
                .flat_map(|period| (0..groups.len()).map(move |group| (period, group)))
                .collect()
        };
        let mut covered = CoverageShares {
            asked,
            recorded,
            totals,
            names: self.names.texts(),
            known: HashMap::new(),
        };
        let rows = cells.into_iter().filter_map(|(period, group)| {
            let (names, side, number) = *groups.get(group)?;
            let sums = self.sums.get(&(period, number));
            Some(self.row(period, (names, side), sums, &mut covered))
        });
        Ok(rows.collect())
    }

    /// The groups by their names and sides, each with its number.
    fn groups_in_order(&self) -> Vec<([u32; 3], Option<Side>, u32)> {
        let ranks = self.ranks();
        let rank = |code: u32| ranks.get(code as usize).copied().unwrap_or_default();
        let numbered = self.keys.iter().zip(0..);
        let mut groups: Vec<_> = numbered
            .map(|((names, side), number)| (*names, *side, number))
            .collect();
        groups.sort_unstable_by_key(|(names, side, _)| (names.map(rank), side.map(Side::index)));
        groups
    }

    /// The row of a period and group.
    fn row(
        &self,
        period: i64,
        ([coin, symbol, exchange], side): GroupKey,
        sums: Option<&PeriodSums>,
        covered: &mut CoverageShares<'_>,
    ) -> PeriodRow {
        let by = self.asked.by;
        let name = |wanted: bool, code: u32| {
            let text = self.names.text(code).filter(|_| wanted);
            text.map(str::to_owned)
        };
        let timestamp = self.asked.interval.start(period);
        let codes = [by.exchange.then_some(exchange), by.coin.then_some(coin)];
        let share = covered.of(timestamp, codes);
        // What is not covered is unknown, not zero.
        let sums = sums
            .copied()
            .or_else(|| (share > 0.0).then(PeriodSums::default));
        // Of totals alone, no orders are known.
        let is_of_orders = |sums: &PeriodSums| !sums.has_totals || sums.cnt > 0;
        let [long_usd, short_usd] = [0, 1].map(|side| Some(sums?.usd.get(side)?.decimal()));
        PeriodRow {
            timestamp,
            coin: name(by.coin, coin),
            symbol: name(by.symbol, symbol),
            exchange: name(by.exchange, exchange),
            side: side.map(|side| side.name().to_owned()),
            long_usd,
            short_usd,
            total_usd: sums.map(|sums| {
                let [mut total, short] = sums.usd;
                total += short;
                total.decimal()
            }),
            cnt: sums.filter(is_of_orders).map(|sums| sums.cnt),
            largest_usd: sums.filter(is_of_orders).map(|sums| sums.largest),
            covered: Some(share),
        }
    }
}

/// More rows than the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyRows {
    /// Number of rows, if they were counted.
    pub rows: Option<u64>,
    /// Maximum number of rows.
    pub most: u64,
}

/// Computes the known shares, period by period.
struct CoverageShares<'a> {
    asked: &'a TimelineQuestion,
    recorded: &'a RecordedRanges,
    totals: &'a [TotalRow],
    /// The name of each code.
    names: &'a [String],
    /// The known time, by code of the coin; without a coin if there are no totals, or rows are not grouped by coin.
    known: HashMap<Option<u32>, KnownTime>,
}

/// The known time of the exchanges in a question.
struct KnownTime {
    /// Known ranges of each exchange.
    spans: Vec<Vec<TimeRange>>,
    /// By exchange code: the index of the exchange in `spans`.
    places: Vec<Option<usize>>,
    /// Cached shares of the period that was requested last.
    last: Option<(Millis, Vec<f64>)>,
}

impl CoverageShares<'_> {
    /// The time that orders and totals of a coin cover.
    fn known_time(&self, coin: Option<u32>) -> KnownTime {
        let coin = coin.and_then(|code| self.names.get(code as usize));
        let apart = self.asked.by.exchange || self.asked.exchange.is_some();
        let coin = coin.map(String::as_str);
        let known = known_ranges(self.recorded, self.totals, coin, apart).into_iter();
        let is_asked = |name: &String| self.asked.exchange.as_ref().is_none_or(|of| of == name);
        let (venues, spans): (Vec<String>, Vec<Vec<TimeRange>>) =
            known.filter(|(name, _)| is_asked(name)).unzip();
        let place = |name| venues.iter().position(|venue| venue == name);
        KnownTime {
            spans,
            places: self.names.iter().map(place).collect(),
            last: None,
        }
    }

    /// Known share of the period that opens at `open`: of one exchange and coin, or the mean over all exchanges.
    fn of(&mut self, open: Millis, [exchange, coin]: [Option<u32>; 2]) -> f64 {
        let coin = coin.filter(|_| !self.totals.is_empty());
        if !self.known.contains_key(&coin) {
            let known = self.known_time(coin);
            self.known.insert(coin, known);
        }
        let asked = self.asked;
        let Some(known) = self.known.get_mut(&coin) else {
            return 0.0;
        };
        let shares = match &known.last {
            Some((at, shares)) if *at == open => shares,
            _ => {
                let period = TimeRange::new(open, asked.interval.close(open))
                    .intersection(TimeRange::new(asked.start, asked.end));
                let shares = known.spans.iter().map(|spans| share(spans, period));
                &known.last.insert((open, shares.collect())).1
            }
        };
        match exchange {
            Some(code) => {
                let place = known.places.get(code as usize).copied().flatten();
                place
                    .and_then(|place| shares.get(place))
                    .copied()
                    .unwrap_or_default()
            }
            None => mean(shares.iter().copied()),
        }
    }
}

/// Sums the visible orders over time.
#[must_use]
pub fn timeline(view: &View<'_>, asked: &Arc<TimelineQuestion>) -> Timeline {
    let mut timeline = Timeline::new(asked);
    let ring = view.ring();
    for place in view.seen_between(TimeRange::new(asked.start, asked.end)) {
        timeline.take(&ring.brief(place));
    }
    timeline
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use crate::engine::aggregates::timeline::*;
    use crate::model::Order;

    fn asked(sparse: bool, most: usize, by: Grouping) -> Arc<TimelineQuestion> {
        Arc::new(TimelineQuestion {
            start: Millis(3),
            end: Millis(47),
            interval: PeriodLength::Fixed(10),
            by,
            symbols: Vec::new(),
            exchange: None,
            least: None,
            sparse,
            most,
        })
    }

    fn timeline(asked: &Arc<TimelineQuestion>, orders: &[(i64, &str)]) -> Timeline {
        let mut timeline = Timeline::new(asked);
        for (at, exchange) in orders {
            let order = Order {
                exchange: (*exchange).to_owned(),
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

    fn recorded(venues: &[(&str, i64, i64)]) -> RecordedRanges {
        let mut recorded = RecordedRanges::new();
        for (name, from, to) in venues {
            let ranges = recorded.entry((*name).to_owned()).or_default();
            ranges.push(TimeRange::new(Millis(*from), Millis(*to)));
        }
        recorded
    }

    fn counts(rows: &[PeriodRow]) -> Vec<(i64, Option<u64>)> {
        rows.iter().map(|row| (row.timestamp.0, row.cnt)).collect()
    }

    #[test]
    fn every_period_has_a_row_with_zeros_or_nulls() {
        let totals = asked(false, 9, Grouping::default());
        let covered = recorded(&[("okx", 8, 32)]);
        let rows = timeline(&totals, &[(12, "okx"), (13, "okx"), (46, "okx")]).rows(&covered);
        let rows = rows.unwrap();
        let wanted = [
            (0, Some(0)),
            (10, Some(2)),
            (20, Some(0)),
            (30, Some(0)),
            (40, Some(1)),
        ];
        assert_eq!(counts(&rows), wanted);
        // An order that is known counts, although its period was not covered.
        let shares: Vec<f64> = rows.iter().filter_map(|row| row.covered).collect();
        assert_eq!(shares, [2.0 / 7.0, 1.0, 1.0, 0.2, 0.0]);
        let none = timeline(&totals, &[])
            .rows(&recorded(&[("okx", 12, 18)]))
            .unwrap();
        assert_eq!(
            counts(&none)
                .iter()
                .filter(|(_, cnt)| cnt.is_some())
                .count(),
            1
        );
        assert!(
            none.iter()
                .all(|row| row.cnt.is_some() == row.long_usd.is_some()
                    && row.cnt.is_some() == row.largest_usd.is_some())
        );
    }

    #[test]
    fn a_group_of_an_exchange_is_covered_as_the_exchange_is() {
        let by = Grouping {
            exchange: true,
            ..Grouping::default()
        };
        let orders = [(12, "okx"), (13, "bybit")];
        let covered = recorded(&[("okx", 0, 50), ("bybit", 10, 20)]);
        let rows = timeline(&asked(false, 10, by), &orders)
            .rows(&covered)
            .unwrap();
        let of = |name: &str| -> Vec<Option<u64>> {
            let rows = rows
                .iter()
                .filter(|row| row.exchange.as_deref() == Some(name));
            rows.map(|row| row.cnt).collect()
        };
        assert_eq!(of("okx"), [Some(0), Some(1), Some(0), Some(0), Some(0)]);
        assert_eq!(of("bybit"), [None, Some(1), None, None, None]);
        let sparse = timeline(&asked(true, 2, by), &orders)
            .rows(&covered)
            .unwrap();
        assert_eq!(counts(&sparse), [(10, Some(1)), (10, Some(1))]);
    }

    #[test]
    fn more_rows_than_may_be_are_refused_with_their_number() {
        let by = Grouping {
            exchange: true,
            ..Grouping::default()
        };
        let orders = [(12, "okx"), (13, "bybit"), (31, "okx")];
        let refused = |sparse, most| {
            let rows = timeline(&asked(sparse, most, by), &orders).rows(&RecordedRanges::new());
            rows.err().map(|refused| (refused.rows, refused.most))
        };
        assert_eq!(refused(false, 10), None);
        assert_eq!(refused(false, 9), Some((Some(10), 9)));
        assert_eq!(refused(true, 3), None);
        assert_eq!(refused(true, 2), Some((None, 2)));
        let mut one = timeline(&asked(true, 1, by), &[(12, "okx")]);
        one.join(&timeline(&asked(true, 1, by), &[(13, "okx")]));
        assert!(one.rows(&RecordedRanges::new()).is_ok());
        one.join(&timeline(&asked(true, 1, by), &[(31, "okx")]));
        assert!(one.rows(&RecordedRanges::new()).is_err());
    }

    proptest! {
        #[test]
        fn the_rows_without_orders_change_no_sum(
            orders in proptest::collection::vec((0_i64..60, proptest::sample::select(&["okx", "bybit", "gate"][..])), 0..30),
            spans in proptest::collection::vec((0_i64..60, 0_i64..30), 0..4),
        ) {
            let names = ["okx", "bybit", "gate"];
            let venues = spans.iter().zip(names).map(|((from, length), name)| (name, *from, from + length));
            let covered = recorded(&venues.collect::<Vec<_>>());
            for by in [Grouping::default(), Grouping { exchange: true, ..Grouping::default() }] {
                let dense = timeline(&asked(false, 100, by), &orders).rows(&covered).unwrap();
                let sparse = timeline(&asked(true, 100, by), &orders).rows(&covered).unwrap();
                let full = dense.iter().filter(|row| row.cnt.is_some_and(|cnt| cnt > 0));
                prop_assert!(full.eq(&sparse));
                for row in &dense {
                    let is_known = row.covered.is_some_and(|share| share > 0.0);
                    prop_assert!(row.cnt.is_some() || !is_known);
                    prop_assert!(row.cnt != Some(0) || is_known);
                }
                let groups = if by.exchange { dense.len() / 5 } else { 1 };
                prop_assert_eq!(dense.len(), 5 * groups);
            }
        }
    }
}
