//! The queries about orders of one time range: totals, rankings and the largest orders.
//!
//! Totals of a rolling window of up to a day are in memory. Those of longer and earlier time ranges are computed from
//! the stored orders.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use rust_decimal::Decimal;

use crate::contract::{self, BadQuery};
use crate::engine::{
    self, EngineError, Grouping, LargestQuestion, OrderFilter, TimelineQuestion, View,
};
use crate::market::query::market_history::MarketHistory;
use crate::market::query::market_query::{
    ExplainedReply, MarketQuery, QueryInputs, QueryNames, last, with_totals,
};
use crate::market::query::time_range::checked;
use crate::market::refusal::Refusal;
use crate::model::{
    CoinTotals, ExchangeTotals, Millis, PeriodRow, TimeBound, TimeRange, TotalsByWindow,
    TotalsRange, Vocabulary, Window, WindowTotals, nearest_f64,
};

/// The time range that a query asks about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AskedRange {
    /// A range that ends now.
    Last(TotalsRange),
    /// The time between two instants; of the day before the end, and up to now, if they are absent.
    Between(Option<TimeBound>, Option<TimeBound>),
}

impl AskedRange {
    /// The range of these parameters; the last day if all are absent.
    pub(crate) fn of(
        range: Option<TotalsRange>,
        start: Option<TimeBound>,
        end: Option<TimeBound>,
    ) -> Self {
        match range {
            _ if start.is_some() || end.is_some() => Self::Between(start, end),
            range => Self::Last(range.unwrap_or(TotalsRange::H24)),
        }
    }

    /// The rolling window of this length that is in memory, if there is one.
    pub(crate) fn window(self) -> Option<Window> {
        match self {
            Self::Last(range) => range.window(),
            Self::Between(..) => None,
        }
    }

    /// The time that is meant at `now`.
    pub(crate) fn at(self, now: Millis) -> TimeRange {
        match self {
            Self::Last(range) => TimeRange::new(now.back(range.millis()).on(1), now.on(1)),
            Self::Between(start, end) => {
                let end = end.map_or(now.on(1), |end| end.at(now));
                let start = start.map_or(end.back(Millis::DAY), |start| start.at(now));
                TimeRange::new(start, end)
            }
        }
    }

    /// As [`AskedRange::at`].
    ///
    /// # Errors
    ///
    /// [`BadQuery`] if the range is empty, or after `now`.
    pub(crate) fn checked(self, now: Millis) -> Result<TimeRange, BadQuery> {
        let range = self.at(now);
        if let Self::Between(start, end) = self {
            checked(range, (start.is_some(), end.is_some()), now)?;
        }
        Ok(range)
    }

    /// The inputs of a reply about the orders of this range.
    pub(crate) fn material(self) -> QueryInputs {
        match self.window() {
            Some(window) => QueryInputs::Realised(window),
            None => QueryInputs::TimeRange,
        }
    }
}

/// The sums of the orders in `range` by the columns of `by`.
fn sums(
    market: &dyn MarketHistory,
    range: TimeRange,
    by: Grouping,
    as_of: Option<Millis>,
) -> Result<Vec<PeriodRow>, Refusal> {
    let asked = TimelineQuestion::of_range(range, by);
    market.timeline(&Arc::new(asked), as_of)
}

/// USD of longs and of shorts, and the number of orders.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    usd: [Decimal; 2],
    cnt: u64,
}

impl Sums {
    fn add(&mut self, row: &PeriodRow) {
        for (sum, usd) in self.usd.iter_mut().zip([row.long_usd, row.short_usd]) {
            *sum += usd.unwrap_or_default();
        }
        self.cnt += row.cnt.unwrap_or_default();
    }

    fn total(&self) -> Decimal {
        self.usd.iter().sum()
    }
}

/// The names in `rows` with their sums, largest first; of equal sums, by name.
fn ranked(rows: &[PeriodRow], name: fn(&PeriodRow) -> Option<&String>) -> Vec<(String, Sums)> {
    let mut groups: BTreeMap<&str, Sums> = BTreeMap::new();
    for row in rows {
        groups
            .entry(name(row).map(String::as_str).unwrap_or_default())
            .or_default()
            .add(row);
    }
    let is_known = |sums: &Sums| sums.cnt > 0 || !sums.total().is_zero();
    let named = groups.into_iter().filter(|(_, sums)| is_known(sums));
    let mut named: Vec<(String, Sums)> =
        named.map(|(name, sums)| (name.to_owned(), sums)).collect();
    named.sort_by_key(|(_, sums)| Reverse(sums.total()));
    named
}

impl MarketQuery for contract::Overview {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        Ok(ExplainedReply::realised(engine::overview(view)))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let now = as_of.unwrap_or_else(|| market.newest());
        let further = further(*self);
        let day = TimelineQuestion::of_range(last(Window::H24, now), Grouping::default());
        let of_totals = with_totals(market, &day, as_of);
        if further.is_none() && of_totals.is_none() {
            return None;
        }
        let answer = || {
            let mut ranges = Vec::new();
            if let Some(day) = of_totals {
                day?;
                let windows = Window::ALL.iter();
                ranges.extend(windows.map(|window| (window.name(), last(*window, now))));
            }
            if let Some((key, asked)) = further {
                ranges.push((key, asked.checked(now)?));
            }
            let mut reply = market.overview(as_of)?;
            for (key, range) in ranges {
                reply.set(key, window_totals(market, range, as_of)?);
            }
            Ok(reply)
        };
        Some(answer())
    }

    fn asks_totals(&self, now: Millis) -> Option<TimelineQuestion> {
        let day = last(Window::H24, now);
        Some(TimelineQuestion::of_range(day, Grouping::default()))
    }

    fn windows(&self, now: Millis) -> Vec<(&'static str, TimeRange)> {
        let windows = Window::ALL.iter();
        let windows = windows.map(|window| (window.name(), last(*window, now)));
        let further = further(*self).map(|(key, asked)| (key, asked.at(now)));
        windows.chain(further).collect()
    }

    fn material(&self) -> QueryInputs {
        match further(*self) {
            Some(_) => QueryInputs::TimeRange,
            None => QueryInputs::Realised(Window::H24),
        }
    }

    fn covered(&self) -> Option<Window> {
        further(*self).is_none().then_some(Window::H24)
    }

    fn covered_range(&self, now: Millis) -> Option<TimeRange> {
        further(*self).map(|(_, asked)| asked.at(now))
    }

    fn period(&self, now: Millis) -> Option<TimeRange> {
        let further = further(*self).map(|(_, asked)| asked.at(now));
        Some(further.unwrap_or_else(|| last(Window::H24, now)))
    }

    fn begins(&self, now: Millis) -> Option<Millis> {
        self.period(now).map(|period| period.start)
    }
}

/// The totals of a time range.
fn window_totals(
    market: &dyn MarketHistory,
    range: TimeRange,
    as_of: Option<Millis>,
) -> Result<WindowTotals, Refusal> {
    let mut of_range = Sums::default();
    for row in sums(market, range, Grouping::default(), as_of)? {
        of_range.add(&row);
    }
    let [long_usd, short_usd] = of_range.usd.map(nearest_f64);
    Ok(WindowTotals {
        long_usd,
        short_usd,
        total_usd: nearest_f64(of_range.total()),
        cnt: of_range.cnt,
    })
}

/// The key of the range in addition to the four windows, and the range.
fn further(asked: contract::Overview) -> Option<(&'static str, AskedRange)> {
    if asked.start.is_some() || asked.end.is_some() {
        let between = AskedRange::Between(asked.start, asked.end);
        return Some((TotalsByWindow::PERIOD, between));
    }
    let range = asked.range.filter(|range| range.window().is_none())?;
    Some((range.name(), AskedRange::Last(range)))
}

/// Implements what the queries about one time range have in common.
macro_rules! of_range {
    () => {
        fn material(&self) -> QueryInputs {
            self.asked().material()
        }

        fn covered(&self) -> Option<Window> {
            self.asked().window()
        }

        fn covered_range(&self, now: Millis) -> Option<TimeRange> {
            let asked = self.asked();
            asked.window().is_none().then(|| asked.at(now))
        }

        fn period(&self, now: Millis) -> Option<TimeRange> {
            Some(self.asked().at(now))
        }

        fn begins(&self, now: Millis) -> Option<Millis> {
            Some(self.asked().at(now).start)
        }
    };
}

/// A query about one time range.
pub(crate) trait OfRange {
    /// The time range that is asked about.
    fn asked(&self) -> AskedRange;
}

macro_rules! asked_ranges {
    ($($query:ident)+) => {$(
        impl OfRange for contract::$query {
            fn asked(&self) -> AskedRange {
                AskedRange::of(self.range, self.start, self.end)
            }
        }
    )+};
}

asked_ranges!(Coins Exchanges Largest Coverage);

impl MarketQuery for contract::Coins {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let window = self.asked().window().unwrap_or(Window::H24);
        let rows = engine::coins(view, window, self.limit.into());
        Ok(ExplainedReply::realised(rows))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let now = as_of.unwrap_or_else(|| market.newest());
        let by = Grouping {
            coin: true,
            ..Grouping::default()
        };
        let answer = || {
            let range = self.asked().checked(now)?;
            let rows = sums(market, range, by, as_of)?;
            let rows = ranked(&rows, |row| row.coin.as_ref()).into_iter();
            let rows = rows.take(self.limit.into()).map(|(coin, sums)| {
                let [long_usd, short_usd] = sums.usd.map(nearest_f64);
                CoinTotals {
                    coin,
                    long_usd,
                    short_usd,
                    total_usd: nearest_f64(sums.total()),
                    cnt: sums.cnt,
                }
            });
            Ok(rows.collect())
        };
        let asked = TimelineQuestion::of_range(self.asked().at(now), by);
        let is_read =
            self.asked().window().is_none() || with_totals(market, &asked, as_of).is_some();
        is_read.then(answer)
    }

    fn asks_totals(&self, now: Millis) -> Option<TimelineQuestion> {
        let range = self.asked().at(now);
        Some(TimelineQuestion::of_range(range, Grouping::default()))
    }

    of_range!();
}

impl MarketQuery for contract::Exchanges {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let window = self.asked().window().unwrap_or(Window::H24);
        Ok(ExplainedReply::realised(engine::exchanges(view, window)))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let now = as_of.unwrap_or_else(|| market.newest());
        let by = Grouping {
            exchange: true,
            ..Grouping::default()
        };
        let answer = || {
            let range = self.asked().checked(now)?;
            let rows = sums(market, range, by, as_of)?;
            let rows = ranked(&rows, |row| row.exchange.as_ref()).into_iter();
            let rows = rows.map(|(exchange, sums)| {
                let [long_usd, short_usd] = sums.usd;
                ExchangeTotals {
                    exchange,
                    long_usd,
                    short_usd,
                    total_usd: sums.total(),
                    cnt: sums.cnt,
                }
            });
            Ok(rows.collect())
        };
        let asked = TimelineQuestion::of_range(self.asked().at(now), by);
        let is_read =
            self.asked().window().is_none() || with_totals(market, &asked, as_of).is_some();
        is_read.then(answer)
    }

    fn asks_totals(&self, now: Millis) -> Option<TimelineQuestion> {
        let range = self.asked().at(now);
        Some(TimelineQuestion::of_range(range, Grouping::default()))
    }

    of_range!();
}

impl MarketQuery for contract::Largest {
    fn answer(&self, view: &View<'_>) -> Result<ExplainedReply<Self::Reply>, EngineError> {
        let wanted = OrderFilter {
            symbol: self.symbol.as_ref(),
            exchange: self.exchange.as_deref(),
            least: self.min_usd,
        };
        let range = self.asked().at(view.now());
        let rows = engine::largest(view, range, wanted, self.limit.into());
        Ok(ExplainedReply::realised(rows))
    }

    fn of_market(
        &self,
        market: &dyn MarketHistory,
        as_of: Option<Millis>,
        _most: usize,
    ) -> Option<Result<Self::Reply, Refusal>> {
        let answer = || {
            let now = as_of.unwrap_or_else(|| market.newest());
            let asked = LargestQuestion {
                range: self.asked().checked(now)?,
                symbol: self.symbol.clone(),
                exchange: self.exchange.clone(),
                least: self.min_usd,
                limit: self.limit.into(),
            };
            market.largest(&Arc::new(asked), as_of)
        };
        self.asked().window().is_none().then(answer)
    }

    fn exchange(&self) -> Option<&str> {
        self.exchange.as_deref()
    }

    fn doubtful(&self, reply: &Self::Reply) -> Option<QueryNames<'_>> {
        reply.is_empty().then(|| QueryNames {
            symbols: self.symbol.iter().collect(),
            exchange: self.exchange.as_deref(),
        })
    }

    of_range!();
}
