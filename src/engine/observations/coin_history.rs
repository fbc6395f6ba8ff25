//! The history of one coin: bars with derived values, open interest and orders.
//!
//! Outliers are rows that leave the usual level and return to it later (see `excursions`).

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::engine::coverage::feed_coverage::FeedCoverage;
use crate::engine::observations::bar_sources::{BarCounts, BarSources};
use crate::engine::observations::durations::days;
use crate::engine::observations::excursions::{Excursions, without};
use crate::engine::observations::open_interest_series::OpenInterestSeries;
use crate::engine::observations::period_liquidations::PeriodLiquidations;
use crate::model::{Bar, Millis};

/// Window of the average volume, in milliseconds.
const TRAILING: i64 = 7 * Millis::DAY;

/// All observations of one coin, in order of time.
#[derive(Debug, Default)]
pub(crate) struct CoinHistory {
    /// Bars without outliers.
    pub(crate) bars: Vec<Bar>,
    /// All bars, if some are outliers.
    observed: Option<Vec<Bar>>,
    pub(crate) excursions: Excursions,
    /// One entry per bar.
    pub(crate) derived: Vec<DerivedBar>,
    pub(crate) open_interest: OpenInterestSeries,
    /// Exchanges of the bars, if known.
    pub(crate) sources: BarSources,
    /// Indexes of the coin's orders in the ring, oldest first.
    pub(crate) orders: Vec<u32>,
    /// Latest receipt of a late order. An order is late if it was received after the UTC day of its event.
    pub(crate) last_late_receipt: Option<Millis>,
    /// Liquidated USD by period, if given instead of orders.
    pub(crate) liquidations: Option<PeriodLiquidations>,
    /// Recorded share of the order feeds.
    pub(crate) exposure: FeedCoverage,
}

/// Values computed once per bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DerivedBar {
    /// Volume divided by the mean volume of the bars that opened in the previous seven days; 1 without such bars.
    pub(crate) volume_ratio: f64,
    /// Mean volume per day of those bars; without such bars, that of this bar. It replaces unknown open interest.
    pub(crate) volume_per_day: f64,
    /// Open interest at the close, if a fresh reading exists.
    pub(crate) open_interest: Option<f64>,
    /// Whether the open interest lacks an exchange, because the last reading of that exchange is too old.
    pub(crate) partial: bool,
    /// Factor that converts the open interest of the previous set of exchanges to the present set, if the set changed.
    pub(crate) regrouped: Option<f64>,
}

impl CoinHistory {
    /// Builds the history from sorted bars and readings, and separates their outliers.
    pub(crate) fn new(bars: Vec<Bar>, open_interest: OpenInterestSeries) -> Self {
        let open_interest = open_interest.judged(&bars);
        let excursions = Excursions::of_bars(&bars);
        let outliers = excursions.left_out(None);
        let (bars, observed) = if outliers.is_empty() {
            (bars, None)
        } else {
            (without(&bars, &outliers), Some(bars))
        };
        Self {
            derived: derived(&bars, &open_interest),
            bars,
            observed,
            excursions,
            open_interest,
            sources: BarSources::default(),
            orders: Vec::new(),
            last_late_receipt: None,
            liquidations: None,
            exposure: FeedCoverage::default(),
        }
    }
}

impl CoinHistory {
    /// All bars, outliers included.
    pub(crate) fn observed(&self) -> &[Bar] {
        self.observed.as_deref().unwrap_or(&self.bars)
    }

    /// Whether all outliers known by `at` were judged by `at`.
    ///
    /// If not, estimates as of `at` use rows that later estimates leave out.
    pub(crate) fn is_settled(&self, at: Millis) -> bool {
        self.excursions.is_settled(at) && self.open_interest.excursions.is_settled(at)
    }

    /// The inputs of estimates, without the outliers known at `at`.
    pub(crate) fn judged_at(&self, at: Millis) -> EstimateInputs<'_> {
        let is_settled = self.excursions.is_settled(at);
        let bars = if is_settled {
            Cow::Borrowed(self.bars.as_slice())
        } else {
            Cow::Owned(without(
                self.observed(),
                &self.excursions.left_out(Some(at)),
            ))
        };
        let readings = self.open_interest.judged_at(at);
        let derived = if is_settled && matches!(readings, Cow::Borrowed(_)) {
            Cow::Borrowed(self.derived.as_slice())
        } else {
            Cow::Owned(derived(&bars, &readings))
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
    pub(crate) fn judged_of(&self, exchange: &str, at: Millis) -> EstimateInputs<'_> {
        let inputs = self.judged_at(at);
        let readings = self.open_interest.of(exchange, self.observed());
        let readings = readings.judged_at(at).into_owned();
        let mut cursor = readings.cursor(inputs.bars.first().map_or(Millis(0), Bar::close_time));
        let pairs = inputs.bars.iter().zip(&*inputs.derived);
        let derived = pairs.map(|(bar, derived)| DerivedBar {
            open_interest: cursor.at(bar.close_time()),
            partial: false,
            regrouped: None,
            ..*derived
        });
        let derived = derived.collect();
        EstimateInputs {
            bars: inputs.bars,
            derived: Cow::Owned(derived),
            readings: Cow::Owned(readings),
        }
    }

    /// Number of outlier bars, by the exchange of their price.
    ///
    /// Counts bars that closed from `start` on and were judged outliers by `end`.
    pub(crate) fn outlier_bars(&self, start: Millis, end: Millis) -> BarCounts {
        let places = self.excursions.left_out(Some(end));
        let bars = places
            .iter()
            .filter_map(|place| self.observed().get(*place));
        let bars: Vec<Bar> = bars
            .filter(|bar| bar.close_time() >= start)
            .copied()
            .collect();
        self.sources.count(&bars).0
    }
}

/// The inputs of estimates, without the outliers known at an instant.
#[derive(Clone, Debug)]
pub(crate) struct EstimateInputs<'a> {
    pub(crate) bars: Cow<'a, [Bar]>,
    /// One entry per bar.
    pub(crate) derived: Cow<'a, [DerivedBar]>,
    pub(crate) readings: Cow<'a, OpenInterestSeries>,
}

/// Computes the derived values of bars.
fn derived(bars: &[Bar], open_interest: &OpenInterestSeries) -> Vec<DerivedBar> {
    let mut derived = Vec::with_capacity(bars.len());
    let mut cursor = open_interest.cursor(bars.first().map_or(Millis(0), Bar::close_time));
    let mut before = TrailingVolume::default();
    for bar in bars {
        before.forget_until(bar.open_time.back(TRAILING));
        let (mean, per_day) = before.volume();
        let open_interest = cursor.at(bar.close_time());
        derived.push(DerivedBar {
            volume_ratio: mean.map_or(1.0, |mean| bar.volume / mean),
            volume_per_day: per_day.unwrap_or_else(|| bar.volume / days(bar.interval)),
            open_interest,
            partial: open_interest.is_some() && cursor.lacks_a_venue(bar.close_time()),
            regrouped: cursor.regroup(bar.close_time()),
        });
        before.push(bar);
    }
    derived
}

/// Sum of the bar volumes in a sliding window.
///
/// Volumes are never subtracted from a sum, so a huge bar leaves no rounding error after it leaves the window. One
/// stack stores suffix sums of the older bars; another stores the newer bars, with their running sum.
#[derive(Default)]
struct TrailingVolume {
    /// Open time and length of each bar in the window, oldest first.
    bars: VecDeque<(Millis, i64)>,
    /// Sum of the lengths.
    length: i64,
    /// Suffix sums of the older bars; the oldest bar is last.
    front: Vec<f64>,
    /// Volumes of the newer bars, oldest first.
    back: Vec<f64>,
    back_sum: f64,
}

impl TrailingVolume {
    fn push(&mut self, bar: &Bar) {
        self.bars.push_back((bar.open_time, bar.interval));
        self.length = self.length.saturating_add(bar.interval);
        self.back.push(bar.volume);
        self.back_sum += bar.volume;
    }

    /// Drops bars opened before `start`.
    fn forget_until(&mut self, start: Millis) {
        while let Some(&(open, interval)) = self.bars.front()
            && open < start
        {
            self.bars.pop_front();
            self.length -= interval;
            if self.front.is_empty() {
                let mut sum = 0.0;
                self.front.extend(self.back.drain(..).rev().map(|volume| {
                    sum += volume;
                    sum
                }));
                self.back_sum = 0.0;
            }
            self.front.pop();
        }
    }

    /// Mean volume per bar, and per day.
    ///
    /// Both are `None` without bars. The mean per bar is also `None` if it is zero.
    #[expect(clippy::cast_precision_loss, reason = "bars are counted in thousands")]
    fn volume(&self) -> (Option<f64>, Option<f64>) {
        if self.bars.is_empty() {
            return (None, None);
        }
        let sum = self.front.last().copied().unwrap_or(0.0) + self.back_sum;
        let mean = sum / self.bars.len() as f64;
        ((mean > 0.0).then_some(mean), Some(sum / days(self.length)))
    }
}
