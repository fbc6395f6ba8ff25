//! Reach: how likely the price gets to a level, and the headline level of a side.
//!
//! `docs/model.md` has the formulas and how they were measured.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::{Bar, DISTANCES, Headline, LiquidationMap, Millis, Side, SideUsd, Within};

/// Time over which the volatility is measured.
pub(crate) const VOLATILITY: i64 = 7 * Millis::DAY;

/// Length of a return, or the bar length if that is longer.
const RETURN: i64 = 15 * Millis::MINUTE;

/// Minimum volatility of a day.
const CALMEST: f64 = 0.001;

/// Reach falls with the distance at this rate, per standard deviation.
const SLOPE: f64 = 1.25;

/// The width of a cluster on each side of its price, in daily volatilities.
const HALF_WIDTH: f64 = 0.125;

/// The edges of [`Span::Reach`](crate::model::Span), in standard deviations.
const EDGE: f64 = 4.0;

/// Tolerance of distances, so that a bin at the edge counts.
const TOLERANCE: f64 = 1e-9;

/// Standard deviation of the log price over a day, from the last seven days of `bars`, which end at `end`.
///
/// Returns span 15 minutes, or the longest bar. A return across a gap does not count. `None` if the returns cover less
/// than a day.
pub(crate) fn volatility(bars: &[Bar], end: Millis) -> Option<f64> {
    let start = end.back(VOLATILITY);
    let first = bars.partition_point(|bar| bar.open_time < start);
    let bars = bars.get(first..)?;
    let longest = bars.iter().map(|bar| bar.interval).max()?;
    let bars_of_return = (RETURN + longest - 1).div_euclid(longest).max(1);
    let length = bars_of_return.saturating_mul(longest);
    // Returns end at multiples of their length, or where the last bar does if bars do not end there.
    let is_even = bars.iter().any(|bar| bar.close_time().0 % length == 0);
    let phase = if is_even { 0 } else { end.0.rem_euclid(length) };
    let (mut sum, mut count) = (0.0, 0_u32);
    // The start of a return and its price, while bars follow without a gap.
    let mut open: Option<(Millis, f64)> = None;
    let mut before: Option<Millis> = None;
    for bar in bars {
        if before.is_some_and(|close| close != bar.open_time) {
            open = None;
        }
        let close = bar.close_time();
        before = Some(close);
        if close.0.rem_euclid(length) != phase {
            continue;
        }
        if let Some((start, price)) = open
            && close.0 - start.0 == length
        {
            sum += (bar.close / price).ln().powi(2);
            count += 1;
        }
        open = Some((close, bar.close));
    }
    let days = f64::from(count) * in_days(length);
    (days >= 1.0).then(|| (sum / days).sqrt().max(CALMEST))
}

/// A length in days.
#[expect(clippy::cast_precision_loss, reason = "ranges are a few years long")]
pub(crate) fn in_days(length: i64) -> f64 {
    length as f64 / Millis::DAY as f64
}

/// The moves that are expected within a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reach {
    /// Current price.
    price: f64,
    /// Standard deviation over a day.
    pub(crate) sigma_day: f64,
    /// Standard deviation over the range.
    sigma: f64,
}

impl Reach {
    /// The moves from `price` within `length` milliseconds.
    pub(crate) fn new(price: f64, sigma_day: f64, length: i64) -> Self {
        Self {
            price,
            sigma_day,
            sigma: sigma_day * in_days(length).sqrt(),
        }
    }

    /// Logarithm of the share of starts from which the price passes `price` within the range.
    fn ln_at(&self, price: f64) -> f64 {
        -SLOPE * (price / self.price - 1.0).abs() / self.sigma
    }

    /// Share of starts from which the price passes `price` within the range.
    pub(crate) fn at(&self, price: f64) -> f64 {
        self.ln_at(price).exp()
    }

    /// The prices within four standard deviations.
    pub(crate) fn edges(&self) -> (f64, f64) {
        let width = EDGE * self.sigma;
        (self.price * (1.0 - width), self.price * (1.0 + width))
    }

    /// The distance from its price up to which a cluster counts its neighbours.
    pub(crate) fn half_width(&self, bin_width: f64) -> f64 {
        (HALF_WIDTH * self.sigma_day * self.price).max(bin_width / 2.0)
    }
}

/// The level of a side that stands for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HeadlineLevel {
    pub(crate) price: f64,
    /// USD of the bins within the half width; of the bin itself if the strongest bin is chosen.
    pub(crate) usd: f64,
    /// Share of starts from which the price gets there; `None` with less than a day of bars.
    pub(crate) reach: Option<f64>,
}

/// The bins of a side with their USD.
pub(crate) fn cells_of(map: &LiquidationMap, side: Side, tier: Option<usize>) -> Vec<(f64, f64)> {
    let width = map.leverages.len().max(1);
    map.bins
        .iter()
        .zip(map.tiers.chunks(width))
        .filter(|(bin, _)| bin.side == side)
        .map(|(bin, tiers)| {
            let usd = match tier {
                Some(tier) => tiers.get(tier).copied().unwrap_or_default(),
                None => bin.total,
            };
            (bin.price, usd)
        })
        .filter(|(_, usd)| *usd > 0.0)
        .collect()
}

/// The headline among `cells`, which ascend in price; `None` without cells.
///
/// With `reach`, it maximises the USD within the half width, times the reach of its price. Without, it is the strongest
/// cell. Of equal levels, it is the one nearest to the current price.
pub(crate) fn headline(
    cells: &[(f64, f64)],
    price: f64,
    bin_width: f64,
    reach: Option<&Reach>,
) -> Option<HeadlineLevel> {
    let distance = |level: f64| (level - price).abs();
    let half = reach.map_or(0.0, |reach| reach.half_width(bin_width) * (1.0 + TOLERANCE));
    let mut best: Option<(f64, HeadlineLevel)> = None;
    let mut start = 0;
    for (at, alone) in cells {
        let level = match reach {
            None => HeadlineLevel {
                price: *at,
                usd: *alone,
                reach: None,
            },
            Some(reach) => {
                while cells.get(start).is_some_and(|(low, _)| at - low > half) {
                    start += 1;
                }
                let near = cells.get(start..).unwrap_or_default().iter();
                let near = near.take_while(|(high, _)| high - at <= half);
                HeadlineLevel {
                    price: *at,
                    usd: near.map(|(_, usd)| usd).sum(),
                    reach: Some(reach.at(*at)),
                }
            }
        };
        let value = level.usd.ln() + reach.map_or(0.0, |reach| reach.ln_at(*at));
        let is_better = best.is_none_or(|(most, other)| {
            value > most || value >= most && distance(*at) < distance(other.price)
        });
        if is_better {
            best = Some((value, level));
        }
    }
    best.map(|(_, level)| level)
}

/// USD by side up to each of the [`DISTANCES`] from the current price.
pub(crate) fn within(bins: impl Iterator<Item = (Side, f64, f64)> + Clone, price: f64) -> Within {
    DISTANCES
        .into_iter()
        .map(|percent| {
            let most = f64::from(percent) / 100.0 * (1.0 + TOLERANCE);
            let mut usd = SideUsd::default();
            for (side, at, cell) in bins.clone() {
                if (at / price - 1.0).abs() <= most {
                    usd.add(side, cell);
                }
            }
            (i64::from(percent), usd)
        })
        .collect()
}

/// One value for longs and one for shorts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BySide<T> {
    /// Of the longs.
    pub long: T,
    /// Of the shorts.
    pub short: T,
}

/// The strongest level of a side, whatever its distance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StrongestLevel {
    /// Price of the level.
    pub price: f64,
    /// Its USD, of one bin.
    pub usd: f64,
    /// Share of starts from which the price gets there; `None` with less than a day of bars.
    pub reach: Option<f64>,
}

/// How the headlines of an answer were chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeadlineBasis {
    /// The rule that was used: `reach` or `strongest`.
    #[serde(serialize_with = "as_name")]
    pub headline: Headline,
    /// The rate at which reach falls with the distance, per standard deviation.
    pub slope: f64,
    /// The distance from a headline up to which its USD are counted, in price.
    pub half_width: Option<f64>,
    /// Reach of each headline, by range or leverage and side; `None` for a side without positions.
    pub reach: BTreeMap<String, BySide<Option<f64>>>,
    /// The strongest level anywhere, by range or leverage and side.
    pub strongest: BTreeMap<String, BySide<Option<StrongestLevel>>>,
    /// How to read these numbers.
    pub note: &'static str,
}

impl HeadlineBasis {
    /// The basis of headlines that are chosen by `headline`, and their half width.
    pub(crate) fn new(headline: Headline, half_width: Option<f64>) -> Self {
        Self {
            headline,
            slope: SLOPE,
            half_width,
            reach: BTreeMap::new(),
            strongest: BTreeMap::new(),
            note: NOTE,
        }
    }
}

/// How to read the headlines of an answer.
const NOTE: &str = "the price touches a level as often as any equally far price, so a level says nothing of direction; \
                    reported USD were 0.23 (1d) and 0.09 (7d) of reach * usd; totals lean to shorts: compare the sides \
                    by `within`";

fn as_name<S: serde::Serializer>(headline: &Headline, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(crate::model::Vocabulary::name(*headline))
}
