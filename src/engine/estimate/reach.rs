//! Reach: how likely the price gets to a level, and the headline level of a side.
//!
//! `docs/explanation/model.md` has the formulas and how they were measured.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::RowSlice;
use crate::model::{
    Bar, DISTANCES, Headline, LiquidationMap, MapRange, Millis, Model, Side, SideUsd, Within,
};

/// Time over which the volatility is measured.
pub const VOLATILITY: i64 = 7 * Millis::DAY;

/// Length of a return, or the bar length if that is longer.
const RETURN: i64 = 15 * Millis::MINUTE;

/// Minimum volatility of a day.
const CALMEST: f64 = 0.001;

/// Reach falls with the distance at this rate, per standard deviation, within ranges shorter than a week.
const SLOPE: f64 = 1.20;

/// The same rate within longer ranges.
const SLOPE_WEEK: f64 = 1.12;

/// USD reported at the first touch of a headline, over its reach times its USD in the expected view; measured.
const REPORTED: [(MapRange, f64); 2] = [(MapRange::D1, 1.10), (MapRange::D7, 0.43)];

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
pub fn volatility(bars: RowSlice<'_, Bar>, end: Millis) -> Option<f64> {
    let start = end.back(VOLATILITY);
    let first = bars.partition_point(|bar| bar.open_time < start);
    let bars = bars.within(first..bars.len());
    let longest = bars.longest()?;
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
pub fn in_days(length: i64) -> f64 {
    length as f64 / Millis::DAY as f64
}

/// The moves that are expected within a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Current price.
    price: f64,
    /// Standard deviation over a day.
    pub sigma_day: f64,
    /// Standard deviation over the range.
    sigma: f64,
    /// Rate at which reach falls with the distance, per standard deviation.
    slope: f64,
}

/// The rate at which reach falls with the distance, per standard deviation over `length` milliseconds.
pub fn slope(length: i64) -> f64 {
    if length < 7 * Millis::DAY {
        SLOPE
    } else {
        SLOPE_WEEK
    }
}

impl Reach {
    /// The expected price moves from `price` within `length` milliseconds.
    pub fn new(price: f64, sigma_day: f64, length: i64) -> Self {
        Self {
            price,
            sigma_day,
            sigma: sigma_day * in_days(length).sqrt(),
            slope: slope(length),
        }
    }

    /// Logarithm of the share of starts from which the price passes `price` within the range.
    fn ln_at(&self, price: f64) -> f64 {
        -self.slope * (price / self.price - 1.0).abs() / self.sigma
    }

    /// Share of starts from which the price passes `price` within the range.
    pub fn at(&self, price: f64) -> f64 {
        self.ln_at(price).exp()
    }

    /// The prices within four standard deviations.
    pub fn edges(&self) -> (f64, f64) {
        let width = EDGE * self.sigma;
        (self.price * (1.0 - width), self.price * (1.0 + width))
    }

    /// The distance from its price up to which a cluster counts its neighbours.
    pub fn half_width(&self, bin_width: f64) -> f64 {
        (HALF_WIDTH * self.sigma_day * self.price).max(bin_width / 2.0)
    }
}

/// The level of a side that stands for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadlineLevel {
    pub price: f64,
    /// USD of the bins within the half width; of the bin itself if the strongest bin is chosen.
    pub usd: f64,
    /// Share of starts from which the price gets there; `None` with less than a day of bars.
    pub reach: Option<f64>,
}

/// The bins of a side with their USD.
pub fn cells_of(map: &LiquidationMap, side: Side, tier: Option<usize>) -> Vec<(f64, f64)> {
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
pub fn headline(
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
pub fn within(bins: &(impl Iterator<Item = (Side, f64, f64)> + Clone), price: f64) -> Within {
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
    /// The rate at which reach falls with the distance, per standard deviation, by range.
    pub slope: BTreeMap<String, f64>,
    /// The distance from a headline up to which its USD are counted, in price.
    pub half_width: Option<f64>,
    /// Reach of each headline, by range or leverage and side; `None` for a side without positions.
    pub reach: BTreeMap<String, BySide<Option<f64>>>,
    /// The strongest level anywhere, by range or leverage and side.
    pub strongest: BTreeMap<String, BySide<Option<StrongestLevel>>>,
    /// How to read these numbers.
    pub note: String,
}

impl HeadlineBasis {
    /// The basis of headlines over `ranges` that are chosen by `headline`, and their half width.
    pub fn new(
        headline: Headline,
        half_width: Option<f64>,
        ranges: &[MapRange],
        counted: HeadlineUsd,
    ) -> Self {
        let slope = |range: &MapRange| {
            (
                format!("d{}", in_days(range.millis())),
                slope(range.millis()),
            )
        };
        Self {
            headline,
            slope: ranges.iter().map(slope).collect(),
            half_width,
            reach: BTreeMap::new(),
            strongest: BTreeMap::new(),
            note: note(counted),
        }
    }
}

/// What the USD of headlines count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadlineUsd {
    /// The view of the USD.
    pub view: Model,
    /// USD liquidated and reported per crossed USD, before the fit.
    pub kappa: f64,
}

/// How to read the headlines of an answer.
fn note(counted: HeadlineUsd) -> String {
    let [one, seven] = REPORTED.map(|(range, of_expected)| {
        let of_counted = match counted.view {
            Model::Exposure => of_expected * counted.kappa,
            Model::Expected => of_expected,
        };
        format!("{of_counted:.2} ({range})")
    });
    format!(
        "the price touches a level as often as any equally far price, so a level says nothing of direction; USD \
         liquidated and reported at the touch of a headline were {one} and {seven} of reach * usd, measured on BTC; \
         totals lean to shorts: compare the sides by `within`"
    )
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as the derive calls it")]
fn as_name<S: serde::Serializer>(headline: &Headline, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(crate::model::Vocabulary::name(*headline))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use crate::engine::estimate::reach::*;

    const PRICE: f64 = 60_000.0;

    fn bars(interval: i64, closes: &[f64]) -> Vec<Bar> {
        (0_i64..)
            .zip(closes)
            .map(|(number, close)| Bar {
                open_time: Millis(number * interval),
                interval,
                open: *close,
                high: *close,
                low: *close,
                close: *close,
                volume: 1.0,
            })
            .collect()
    }

    #[test]
    fn volatility_is_that_of_returns_over_a_quarter_of_an_hour() {
        // The price moves by 0.1 % up and down every 15 minutes: 96 returns a day.
        let closes: Vec<f64> = (0..2 * 96 * 3)
            .map(|bar| if bar / 3 % 2 == 0 { 100.0 } else { 100.1 })
            .collect();
        let bars = bars(5 * Millis::MINUTE, &closes);
        let end = bars.last().unwrap().close_time();
        let expected = 1.001_f64.ln() * 96.0_f64.sqrt();
        let found = volatility(bars[..].into(), end).unwrap();
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        // A calm market has at least 0.1 % a day.
        let calm = self::bars(5 * Millis::MINUTE, &[100.0; 600]);
        let end = calm.last().unwrap().close_time();
        assert_eq!(
            volatility(calm[..].into(), end).map(f64::to_bits),
            Some(CALMEST.to_bits())
        );
    }

    #[test]
    fn less_than_a_day_of_returns_gives_no_volatility_and_a_gap_no_return() {
        let closes = vec![100.0; 95];
        let short = bars(15 * Millis::MINUTE, &closes);
        let end = short.last().unwrap().close_time();
        assert_eq!(volatility(short[..].into(), end), None);
        // The price doubles across a gap of an hour.
        let mut gapped = bars(15 * Millis::MINUTE, &[100.0; 240]);
        for bar in gapped.iter_mut().skip(120) {
            bar.open_time = bar.open_time.on(Millis::HOUR);
            bar.close = 200.0;
        }
        let end = gapped.last().unwrap().close_time();
        assert_eq!(
            volatility(gapped[..].into(), end).map(f64::to_bits),
            Some(CALMEST.to_bits())
        );
    }

    #[test]
    fn bars_that_do_not_divide_a_quarter_of_an_hour_give_longer_returns() {
        let closes: Vec<f64> = (0..2 * 72)
            .map(|bar| if bar % 4 < 2 { 100.0 } else { 101.0 })
            .collect();
        let bars = bars(20 * Millis::MINUTE, &closes);
        let end = bars.last().unwrap().close_time();
        assert!(volatility(bars[..].into(), end).unwrap() > CALMEST);
    }

    /// Bins of 0.1 % below the price, with their USD.
    fn cells() -> impl Strategy<Value = Vec<(f64, f64)>> {
        prop::collection::btree_map(1_u32..400, 1.0..1e9, 1..60).prop_map(|cells| {
            let cell = |(place, usd): (u32, f64)| (PRICE - 60.0 * (f64::from(place) - 0.5), usd);
            cells.into_iter().rev().map(cell).collect()
        })
    }

    proptest! {
        #[test]
        fn a_headline_counts_its_half_width_and_ignores_what_is_out_of_reach(
            cells in cells(), sigma in 0.005..0.1,
        ) {
            let reach = Reach::new(PRICE, sigma, Millis::DAY);
            let found = headline(&cells, PRICE, 60.0, Some(&reach)).unwrap();
            let half = (sigma / 8.0 * PRICE).max(30.0) * (1.0 + 1e-9);
            let near: f64 = cells.iter().filter(|(price, _)| (price - found.price).abs() <= half).map(|(_, usd)| usd).sum();
            prop_assert!((found.usd / near - 1.0).abs() < 1e-12);
            // No other level has a larger value.
            for (price, _) in &cells {
                let usd: f64 = cells.iter().filter(|(other, _)| (other - price).abs() <= half).map(|(_, usd)| usd).sum();
                prop_assert!(reach.at(*price) * usd <= reach.at(found.price) * found.usd * (1.0 + 1e-9));
            }
            // A thousand times all USD, beyond 20 standard deviations. They could matter if all else were as far.
            let mass: f64 = 1e3 * cells.iter().map(|(_, usd)| usd).sum::<f64>();
            let is_near = found.usd * reach.at(found.price) > mass * reach.at(PRICE * (1.0 - 20.0 * sigma));
            let far = PRICE * (1.0 - 20.0 * sigma - 0.01) - half;
            if is_near && far > 0.0 && cells.first().is_some_and(|(lowest, _)| *lowest > far + half) {
                let mut more = vec![(far, mass)];
                more.extend(&cells);
                let level = headline(&more, PRICE, 60.0, Some(&reach)).unwrap();
                prop_assert_eq!(level.price.to_bits(), found.price.to_bits());
                prop_assert_eq!(level.usd.to_bits(), found.usd.to_bits());
            }
        }

        #[test]
        fn a_headline_scales_with_the_price(cells in cells(), sigma in 0.005..0.1, power in -6_i32..4) {
            let scale = 10.0_f64.powi(power);
            let scaled: Vec<(f64, f64)> = cells.iter().map(|(price, usd)| (price * scale, *usd)).collect();
            let one = headline(&cells, PRICE, 60.0, Some(&Reach::new(PRICE, sigma, Millis::DAY))).unwrap();
            let reach = Reach::new(PRICE * scale, sigma, Millis::DAY);
            let other = headline(&scaled, PRICE * scale, 60.0 * scale, Some(&reach)).unwrap();
            prop_assert!((other.price / (one.price * scale) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn sums_near_the_price_count_everything_up_to_the_distance() {
        let bins = [
            (Side::Long, 94.0, 1.0),
            (Side::Long, 95.0, 2.0),
            (Side::Long, 99.0, 4.0),
            (Side::Short, 101.0, 8.0),
            (Side::Short, 111.0, 16.0),
        ];
        let found = within(&bins.into_iter(), 100.0);
        let sides: Vec<(f64, f64)> = found
            .values()
            .map(|usd| (usd.long_usd, usd.short_usd))
            .collect();
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [1, 2, 5, 10]);
        assert_eq!(sides, [(4.0, 8.0), (4.0, 8.0), (6.0, 8.0), (7.0, 8.0)]);
    }
}
