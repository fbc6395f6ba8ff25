//! Totals of periods where no orders are known.
//!
//! A total counts only if no order of its exchange, coin and period is known. A total of all exchanges counts only if this
//! holds for every exchange, and if no exchange has a total of its own in the period. Of overlapping totals the longest
//! counts. So nothing is counted twice, and recorded time without an order never hides a known total.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::engine::TimelineQuestion;
use crate::engine::coverage::feed_coverage::{RecordedRanges, is_touched};
use crate::model::{ALL_EXCHANGES, Millis, TimeRange, TotalRow};

/// Totals that may count, before the orders in their periods are known.
#[derive(Clone, Debug, Default)]
pub struct TotalCandidates {
    rows: Vec<TotalRow>,
    /// The periods of the totals of single exchanges, by coin.
    own: BTreeMap<String, Vec<TimeRange>>,
}

/// Orders by exchange and coin: the numbers of the minutes with an order, since the epoch.
pub type OrderMinutes = BTreeMap<(String, String), std::collections::BTreeSet<i64>>;

impl TimelineQuestion {
    /// Whether totals can be part of the answer. They have neither pairs nor single orders.
    #[must_use]
    pub fn takes_totals(&self) -> bool {
        let is_coin = |symbol: &crate::model::Symbol| symbol.quote().is_none();
        !self.by.symbol && self.least.is_none() && self.symbols.iter().all(is_coin)
    }

    /// The exchange of the totals to read, if the totals of other exchanges have no effect.
    #[must_use]
    pub fn exchange_of_totals(&self) -> Option<&str> {
        self.exchange
            .as_deref()
            .filter(|name| *name != ALL_EXCHANGES)
    }

    /// Whether a total lies within one period of the answer. The start of a range may be one millisecond after that of a
    /// total, because a rolling window excludes its first instant.
    fn holds(&self, total: &TotalRow) -> bool {
        let TimeRange { start, end } = total.range();
        let number = self.interval.number(start.max(self.start));
        self.start <= start.on(1)
            && end <= self.end
            && self.interval.start(number) <= start
            && end <= self.interval.start(number.saturating_add(1))
    }
}

impl TotalCandidates {
    /// Selects the totals of the coins of a question. `totals` has also those that begin before the question's range: they
    /// do not lie within it, but exclude totals of all exchanges.
    #[must_use]
    pub fn of(asked: &TimelineQuestion, totals: Vec<TotalRow>) -> Self {
        let is_of_coin = |total: &TotalRow| {
            let mut symbols = asked.symbols.iter();
            asked.symbols.is_empty() || symbols.any(|symbol| symbol.coin() == total.symbol)
        };
        let totals = totals.into_iter().filter(is_of_coin);
        let mut made = Self {
            rows: totals.collect(),
            own: BTreeMap::new(),
        };
        for total in made
            .rows
            .iter()
            .filter(|total| total.exchange != ALL_EXCHANGES)
        {
            match made.own.get_mut(&total.symbol) {
                Some(ranges) => ranges.push(total.range()),
                None => drop(made.own.insert(total.symbol.clone(), vec![total.range()])),
            }
        }
        for ranges in made.own.values_mut() {
            *ranges = TimeRange::merged(ranges);
        }
        let own = &made.own;
        made.rows.retain(|total| {
            let range = total.range();
            let has_own = || {
                let own = own.get(&total.symbol);
                total.exchange == ALL_EXCHANGES && own.is_some_and(|own| is_touched(own, range))
            };
            asked.holds(total) && !has_own()
        });
        made
    }

    /// The time in which an order would exclude a total.
    #[must_use]
    pub fn ranges(&self) -> Vec<TimeRange> {
        let ranges: Vec<TimeRange> = self.rows.iter().map(TotalRow::range).collect();
        TimeRange::merged(&ranges)
    }

    /// Returns the totals that count.
    #[must_use]
    pub fn without(mut self, orders: &OrderMinutes) -> Vec<TotalRow> {
        let minute = |at: Millis| at.0.div_euclid(Millis::MINUTE);
        self.rows.retain(|total| {
            let TimeRange { start, end } = total.range();
            !orders.iter().any(|((exchange, coin), minutes)| {
                (total.exchange == ALL_EXCHANGES || *exchange == total.exchange)
                    && *coin == total.symbol
                    && minutes.range(minute(start)..minute(end)).next().is_some()
            })
        });
        self.rows
            .sort_by_key(|total| (Reverse(total.interval), total.timestamp));
        let mut taken: BTreeMap<(String, String), BTreeMap<Millis, Millis>> = BTreeMap::new();
        self.rows.retain(|total| {
            let TimeRange { start, end } = total.range();
            let series = (total.exchange.clone(), total.symbol.clone());
            let taken = taken.entry(series).or_default();
            let before = taken.range(..end).next_back();
            let is_free = before.is_none_or(|(_, until)| *until <= start);
            if is_free {
                taken.insert(start, end);
            }
            is_free
        });
        self.rows
    }
}

/// The time in which each exchange is known: by orders, or by totals of `coin`, if it is given.
///
/// Where only totals of all exchanges are known, every exchange is, unless exchanges are listed `apart`.
#[must_use]
pub fn known_ranges(
    recorded: &RecordedRanges,
    totals: &[TotalRow],
    coin: Option<&str>,
    apart: bool,
) -> RecordedRanges {
    let mut known = recorded.clone();
    let mut all = Vec::new();
    for total in totals
        .iter()
        .filter(|total| coin.is_none_or(|coin| coin == total.symbol))
    {
        if total.exchange == ALL_EXCHANGES && !apart {
            all.push(total.range());
        } else if let Some(ranges) = known.get_mut(&total.exchange) {
            ranges.push(total.range());
        } else {
            known.insert(total.exchange.clone(), vec![total.range()]);
        }
    }
    if known.is_empty() && !all.is_empty() {
        known.insert(ALL_EXCHANGES.to_owned(), Vec::new());
    }
    for ranges in known.values_mut() {
        ranges.extend_from_slice(&all);
        *ranges = TimeRange::merged(ranges);
    }
    known
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::engine::Grouping;
    use crate::engine::aggregates::period_totals::*;
    use crate::model::PeriodLength;

    const HOUR: i64 = Millis::HOUR;

    fn total(exchange: &str, hour: i64, hours: i64, usd: i64) -> TotalRow {
        let end = Millis((hour + hours) * HOUR);
        TotalRow {
            exchange: exchange.to_owned(),
            symbol: "BTC".to_owned(),
            interval: hours * HOUR,
            timestamp: Millis(hour * HOUR),
            long_usd: usd.into(),
            short_usd: 0.into(),
            received_at: end,
        }
    }

    fn asked(interval: i64) -> TimelineQuestion {
        TimelineQuestion {
            start: Millis(1),
            end: Millis(24 * HOUR + 1),
            interval: PeriodLength::Fixed(interval),
            by: Grouping::default(),
            symbols: Vec::new(),
            exchange: None,
            least: None,
            sparse: true,
            most: 100,
        }
    }

    #[test]
    fn a_total_counts_once_and_only_where_no_order_is_known() {
        let orders = OrderMinutes::from([
            (
                ("binance".to_owned(), "BTC".to_owned()),
                BTreeSet::from([15 * 60 + 59]),
            ),
            (
                ("okx".to_owned(), "BTC".to_owned()),
                BTreeSet::from([10 * 60, 11 * 60 + 5]),
            ),
            // Orders of other coins say nothing.
            (
                ("okx".to_owned(), "ETH".to_owned()),
                BTreeSet::from([0, 23 * 60]),
            ),
        ]);
        let totals = || {
            let mut totals = vec![total("okx", 0, 24, 1000), total("all", 0, 24, 9000)];
            totals.extend((0..24).map(|hour| total("okx", hour, 1, 1)));
            totals.extend((0..24).map(|hour| total("all", hour, 1, 7)));
            totals.extend([total("binance", 15, 1, 5), total("binance", 16, 4, 6)]);
            totals
        };
        let counted = |interval| {
            let found = TotalCandidates::of(&asked(interval), totals());
            let found = found.without(&orders).into_iter();
            let mut found: Vec<(String, i64)> = found
                .map(|total| (total.exchange, total.timestamp.0 / HOUR))
                .collect();
            found.sort();
            found
        };
        let mut wanted: Vec<(String, i64)> = (0..24)
            .filter(|hour| !(10..12).contains(hour))
            .map(|hour| ("okx".to_owned(), hour))
            .collect();
        // Rows of an hour hold no total of four hours.
        let mut hourly = wanted.clone();
        hourly.sort();
        assert_eq!(counted(HOUR), hourly);
        wanted.push(("binance".to_owned(), 16));
        wanted.sort();
        assert_eq!(counted(Millis::ALL), wanted);
    }

    #[test]
    fn a_total_that_begins_before_the_range_excludes_those_of_all_exchanges() {
        let range = TimelineQuestion {
            start: Millis(2 * HOUR),
            ..asked(HOUR)
        };
        let totals = vec![
            total("okx", 0, 4, 1000),
            total("all", 2, 1, 100),
            total("all", 4, 1, 100),
        ];
        let found = TotalCandidates::of(&range, totals).without(&OrderMinutes::new());
        let starts: Vec<i64> = found.iter().map(|total| total.timestamp.0 / HOUR).collect();
        assert_eq!(starts, [4]);
    }

    #[test]
    fn of_overlapping_totals_the_longest_counts() {
        let totals = vec![
            total("okx", 0, 1, 1),
            total("okx", 0, 24, 2),
            total("all", 3, 1, 3),
        ];
        let found = TotalCandidates::of(&asked(Millis::DAY), totals);
        let found = found.without(&OrderMinutes::new());
        let usd: Vec<_> = found.iter().map(|total| total.long_usd).collect();
        assert_eq!(usd, [2.into()]);
        let known = known_ranges(&RecordedRanges::new(), &found, None, false);
        assert_eq!(known.get("okx").map(Vec::len), Some(1));
    }
}
