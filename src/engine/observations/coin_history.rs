//! The history of one coin: bars with derived values, open interest and orders.
//!
//! Outliers are rows that leave the usual level and return to it later (see `excursions`).

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::engine::Ring;
use crate::engine::coverage::feed_coverage::FeedCoverage;
use crate::engine::observations::bar_intervals::days;
use crate::engine::observations::bar_sources::{BarCounts, BarSources};
use crate::engine::observations::excursions::{Excursions, JudgedBars, without};
use crate::engine::observations::open_interest_series::OpenInterestSeries;
use crate::engine::observations::period_liquidations::PeriodLiquidations;
use crate::engine::observations::row_store::{RowNumbers, RowSlice, RowStore, StoredRow};
use crate::model::{Bar, Millis, Side};

/// An order of a coin, in units of the coin.
#[derive(Clone, Copy, Debug)]
pub struct KnownOrder {
    pub timestamp: Millis,
    /// When it was known: its receipt, or its event time if that is later.
    pub known_at: Millis,
    pub side: Side,
    pub qty: f64,
}

/// Window of the average volume, in milliseconds.
const TRAILING: i64 = 7 * Millis::DAY;

/// All observations of one coin, in order of time.
#[derive(Debug, Default)]
pub struct CoinHistory {
    /// Bars without outliers.
    pub bars: RowStore<Bar>,
    /// All bars, if some are outliers.
    observed: Option<RowStore<Bar>>,
    pub excursions: Excursions,
    /// One entry per bar.
    pub derived: RowStore<DerivedBar>,
    pub open_interest: OpenInterestSeries,
    /// Exchanges of the bars, if known.
    pub sources: BarSources,
    /// Indexes of the coin's orders in the ring, oldest first.
    pub orders: Vec<u32>,
    /// The starts of the UTC days by which late orders were received, in order. A late order is one received after the
    /// UTC day of its event.
    pub late_days: Vec<Millis>,
    /// Liquidated USD by period, if given instead of orders.
    pub liquidations: Option<PeriodLiquidations>,
    /// Recorded share of the order feeds.
    pub exposure: FeedCoverage,
}

/// Values computed once per bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DerivedBar {
    /// Volume of the bars of the previous seven days.
    before: f64,
    /// Their length in milliseconds; zero without such bars.
    length: i64,
    /// Open interest at the close, if a fresh reading exists.
    pub open_interest: Option<f64>,
    /// Whether the open interest lacks an exchange, because the last reading of that exchange is too old.
    pub partial: bool,
    /// Factor that converts the open interest of the previous set of exchanges to the present set, if the set changed.
    pub regrouped: Option<f64>,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of a few days are exact in a double"
)]
impl DerivedBar {
    /// Volume of `bar` divided by what the bars of the previous seven days had in the same time on average; 1 without
    /// such bars.
    pub fn volume_ratio(&self, bar: &Bar) -> f64 {
        // If all bars have this interval, the divisor is exactly their number.
        let mean = self.before / (self.length as f64 / bar.interval as f64);
        if mean > 0.0 { bar.volume / mean } else { 1.0 }
    }

    /// Mean volume per day of those bars; without such bars, that of `bar`. It replaces unknown open interest.
    pub fn volume_per_day(&self, bar: &Bar) -> f64 {
        if self.length == 0 {
            bar.volume / days(bar.interval)
        } else {
            self.before / days(self.length)
        }
    }
}

impl StoredRow for DerivedBar {
    fn numbers(&self) -> RowNumbers {
        let [open_interest, regrouped] =
            [self.open_interest, self.regrouped].map(|value| value.unwrap_or(f64::NAN));
        (
            [self.length, i64::from(self.partial)],
            [self.before, open_interest, regrouped, 0.0, 0.0],
        )
    }

    fn of_numbers(([length, partial], numbers): RowNumbers) -> Self {
        let [before, open_interest, regrouped, ..] = numbers;
        let [open_interest, regrouped] =
            [open_interest, regrouped].map(|value| Some(value).filter(|value| !value.is_nan()));
        Self {
            before,
            length,
            open_interest,
            partial: partial != 0,
            regrouped,
        }
    }
}

impl CoinHistory {
    /// Builds the history from sorted bars and readings, and separates their outliers.
    pub fn new(bars: JudgedBars, open_interest: OpenInterestSeries) -> Self {
        let JudgedBars { bars, excursions } = bars;
        let open_interest = open_interest.judged(bars.as_slice().into()).packed();
        let outliers = excursions.left_out(None);
        let (bars, observed) = if outliers.is_empty() {
            (bars, None)
        } else {
            let used = without(&bars, &outliers);
            (used, Some(RowStore::from(bars).packed()))
        };
        Self {
            derived: RowStore::pack(derived(bars.as_slice().into(), &open_interest)),
            bars: RowStore::from(bars).packed(),
            observed,
            excursions,
            open_interest,
            sources: BarSources::default(),
            orders: Vec::new(),
            late_days: Vec::new(),
            liquidations: None,
            exposure: FeedCoverage::default(),
        }
    }
}

impl CoinHistory {
    /// Places of the orders from `start` on, oldest first.
    pub fn orders_from(&self, ring: &Ring, start: Millis) -> &[u32] {
        let before = |place: &u32| ring.timestamp(*place as usize) < start;
        let first = self.orders.partition_point(before);
        self.orders.get(first..).unwrap_or_default()
    }

    /// The last of [`CoinHistory::late_days`] by `day`.
    pub fn last_late_day(&self, day: Millis) -> Option<Millis> {
        let known = self.late_days.partition_point(|late| *late <= day);
        self.late_days.get(known.checked_sub(1)?).copied()
    }

    /// The first row known by `at` that estimates as of `at` use and estimates as of now do not, or the other way.
    pub fn first_difference(&self, at: Millis) -> Option<Millis> {
        let bars = self.excursions.first_difference(at);
        let readings = self.open_interest.excursions.first_difference(at);
        bars.into_iter().chain(readings).min()
    }

    /// The first row that cannot be judged yet.
    pub fn first_unjudged(&self) -> Option<Millis> {
        let bars = self.excursions.first_unjudged();
        let readings = self.open_interest.excursions.first_unjudged();
        bars.into_iter().chain(readings).min()
    }

    /// All bars, outliers included.
    pub fn observed(&self) -> RowSlice<'_, Bar> {
        self.observed.as_ref().unwrap_or(&self.bars).rows()
    }

    /// Bytes of the bars, the derived values and the open interest.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let observed = self.observed.as_ref().map_or(0, RowStore::bytes);
        self.bars.bytes() + self.derived.bytes() + observed + self.open_interest.bytes()
    }

    /// Whether all outliers known by `at` were judged by `at`.
    ///
    /// If not, estimates as of `at` use rows that later estimates leave out.
    pub fn is_settled(&self, at: Millis) -> bool {
        self.excursions.is_settled(at) && self.open_interest.excursions.is_settled(at)
    }

    /// The inputs of estimates, without the outliers known at `at`.
    pub fn judged_at(&self, at: Millis) -> EstimateInputs<'_> {
        let is_settled = self.excursions.is_settled(at);
        let bars = if is_settled {
            Cow::Borrowed(&self.bars)
        } else {
            let left_out = self.excursions.left_out(Some(at));
            Cow::Owned(without(&self.observed().to_vec(), &left_out).into())
        };
        let readings = self.open_interest.judged_at(at);
        let derived = if is_settled && matches!(readings, Cow::Borrowed(_)) {
            Cow::Borrowed(&self.derived)
        } else {
            let derived: Vec<DerivedBar> = derived(bars.rows(), &readings).collect();
            Cow::Owned(derived.into())
        };
        EstimateInputs {
            bars,
            derived,
            readings,
        }
    }

    /// As [`CoinHistory::judged_at`], with the open interest of one exchange.
    ///
    /// Bars and volumes remain those of the coin on all exchanges.
    pub fn judged_of(&self, exchange: &str, at: Millis) -> EstimateInputs<'_> {
        let inputs = self.judged_at(at);
        let readings = self.open_interest.of(exchange, self.observed());
        let readings = readings.judged_at(at).into_owned();
        let bars = inputs.bars.rows();
        let mut cursor = readings.cursor(bars.first().map_or(Millis(0), |bar| bar.close_time()));
        let pairs = bars.iter().zip(inputs.derived.rows());
        let derived = pairs.map(|(bar, derived)| DerivedBar {
            open_interest: cursor.at(bar.close_time()),
            partial: false,
            regrouped: None,
            ..derived
        });
        let derived: Vec<DerivedBar> = derived.collect();
        EstimateInputs {
            bars: inputs.bars,
            derived: Cow::Owned(derived.into()),
            readings: Cow::Owned(readings),
        }
    }

    /// Number of outlier bars, by the exchange of their price.
    ///
    /// Counts bars that closed from `start` on and were judged outliers by `end`.
    pub fn outlier_bars(&self, start: Millis, end: Millis) -> BarCounts {
        let places = self.excursions.left_out(Some(end));
        let bars = places
            .iter()
            .filter_map(|place| self.observed().get(*place));
        let bars: Vec<Bar> = bars.filter(|bar| bar.close_time() >= start).collect();
        self.sources.count(bars.as_slice().into()).0
    }
}

/// The inputs of estimates, without the outliers known at an instant.
#[derive(Clone, Debug)]
pub struct EstimateInputs<'a> {
    pub bars: Cow<'a, RowStore<Bar>>,
    /// One entry per bar.
    pub derived: Cow<'a, RowStore<DerivedBar>>,
    pub readings: Cow<'a, OpenInterestSeries>,
}

/// Computes the derived values of bars.
fn derived<'a>(
    bars: RowSlice<'a, Bar>,
    open_interest: &'a OpenInterestSeries,
) -> impl Iterator<Item = DerivedBar> {
    let first = bars.first();
    let mut cursor = open_interest.cursor(first.map_or(Millis(0), |bar| bar.close_time()));
    let mut before = TrailingVolume::default();
    bars.iter().map(move |bar| {
        before.forget_until(bar.open_time.back(TRAILING));
        let open_interest = cursor.at(bar.close_time());
        let derived = DerivedBar {
            before: before.volume(),
            length: before.length,
            open_interest,
            partial: open_interest.is_some() && cursor.lacks_a_venue(bar.close_time()),
            regrouped: cursor.regroup(bar.close_time()),
        };
        before.push(&bar);
        derived
    })
}

/// Sum of the bar volumes in a sliding window.
///
/// Sums are never reduced by subtraction, so a huge bar leaves no rounding error when it drops out. They are those of
/// the bars in the window alone, to the last bit, wherever a series starts: suffix sums of the bars before the present
/// UTC day, and a running sum of the bars of that day.
#[derive(Default)]
struct TrailingVolume {
    /// Bars in the window, oldest first.
    bars: VecDeque<TrailingBar>,
    /// Sum of the lengths.
    length: i64,
    /// The present UTC day.
    day: Option<i64>,
    /// Suffix sums of the bars before that day; the oldest bar is last.
    front: Vec<f64>,
    /// Sum of the bars of that day.
    back: f64,
}

/// A bar of the trailing volume.
struct TrailingBar {
    open_time: Millis,
    interval: i64,
    volume: f64,
}

impl TrailingVolume {
    fn push(&mut self, bar: &Bar) {
        let day = bar.open_time.0.div_euclid(Millis::DAY);
        if self.day != Some(day) {
            self.day = Some(day);
            let mut sum = 0.0;
            self.front.clear();
            self.front.extend(self.bars.iter().rev().map(|earlier| {
                sum += earlier.volume;
                sum
            }));
            self.back = 0.0;
        }
        self.bars.push_back(TrailingBar {
            open_time: bar.open_time,
            interval: bar.interval,
            volume: bar.volume,
        });
        self.length = self.length.saturating_add(bar.interval);
        self.back += bar.volume;
    }

    /// Drops bars opened before `start`.
    fn forget_until(&mut self, start: Millis) {
        while let Some(bar) = self.bars.front()
            && bar.open_time < start
        {
            self.length -= bar.interval;
            self.bars.pop_front();
            if self.front.pop().is_none() {
                // All bars of earlier days have left, so this one is of the present day.
                self.back = self.bars.iter().fold(0.0, |sum, bar| sum + bar.volume);
            }
        }
    }

    /// Volume of the bars.
    fn volume(&self) -> f64 {
        self.front.last().copied().unwrap_or(0.0) + self.back
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use crate::engine::Observations;
    use crate::model::{Millis, ObservedBar, ObservedOpenInterest};

    #[test]
    fn a_minute_with_open_interest_takes_few_bytes() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut price = 900_000.0_f64;
        let mut level = 8_000_000.0_f64;
        let minutes = 30 * 1440;
        let rows = (0..minutes).map(|minute| {
            let timestamp = Millis(minute * Millis::MINUTE);
            let open = price;
            price = (price * (1.0 + random.random_range(-0.001..0.001))).round();
            level += random.random_range(-3_000.0..3_000.0_f64).round();
            let bar = ObservedBar {
                symbol: "BTC".to_owned(),
                timestamp,
                closes_at: None,
                open: open / 10.0,
                high: (open.max(price) * 1.0002).round() / 10.0,
                low: (open.min(price) * 0.9998).round() / 10.0,
                close: price / 10.0,
                volume: random.random_range(0.0..200_000.0_f64).round() / 1000.0,
                interval: Some(Millis::MINUTE),
            };
            let reading = ObservedOpenInterest {
                symbol: "BTC".to_owned(),
                exchange: Some("binance".to_owned()),
                timestamp,
                open_interest: level / 1000.0,
            };
            (bar, reading)
        });
        let (bars, readings) = rows.unzip();
        let observations = Observations::new(Vec::new(), bars, readings, None).unwrap();
        let bytes = observations.history("BTC").unwrap().bytes();
        let per_bar = bytes / usize::try_from(minutes).unwrap();
        assert!(per_bar <= 40, "{per_bar} bytes a bar");
    }
}
