//! The samples of a fit: USD crossed and USD liquidated, per period.
//!
//! USD of the map are crossed when the price reaches their liquidation price. A period is an hour, or a given
//! liquidation bar. The recorded share of a period is the part of its time in which the order feeds were recorded.

use crate::engine::observations::period_liquidations::PeriodLiquidations;
use crate::model::{Millis, Side};

/// Length of the periods over which short liquidation bars and orders are summed, in milliseconds.
const HOUR: i64 = Millis::HOUR;

/// The periods of a coin with known liquidations, in order of time.
#[derive(Clone, Debug, Default)]
pub struct FitSamples {
    /// Length of a period in milliseconds.
    pub period: i64,
    /// Source of the amounts.
    pub from: &'static str,
    pub tiers: usize,
    pub opens: Vec<Millis>,
    /// Time at which the liquidations of each period became known.
    pub known_at: Vec<Millis>,
    /// Recorded share of each period.
    pub covered: Vec<f64>,
    /// Periods with too little recorded time: the time at which the liquidations of each became known.
    pub left_out: Vec<Millis>,
    pub sides: [SideSamples; 2],
}

/// The samples of one side, by period.
///
/// Crossed USD are multiplied by the recorded share of the period, so that the fitted shares refer to all liquidations.
#[derive(Clone, Debug, Default)]
pub struct SideSamples {
    /// USD that the price crosses in the map as of the start of the period. Sorted by period, then by tier. Each tier
    /// is computed as if all open interest were in it.
    pub crossed: Vec<f64>,
    /// How far the price went beyond the previous close, as a fraction of that close: down for longs, up for shorts.
    pub beyond: Vec<f64>,
    /// USD reported as liquidated.
    pub usd: Vec<f64>,
}

/// Liquidated USD in periods of one length.
#[derive(Debug)]
pub struct RealisedPeriods {
    pub period: i64,
    pub from: &'static str,
    /// Start, time at which the amounts became known, and liquidated USD of longs and of shorts.
    pub rows: Vec<(Millis, Millis, [f64; 2])>,
}

impl RealisedPeriods {
    /// Sums orders by hour. Orders are event time, side and USD, oldest first.
    ///
    /// An hour becomes known when an order of a later hour arrives, because only then is it certain that the feed
    /// continued. The hour of the first order is left out, because orders at its start may be missing.
    pub fn of_orders(orders: impl Iterator<Item = (Millis, Side, f64)>) -> Self {
        let mut rows: Vec<(Millis, Millis, [f64; 2])> = Vec::new();
        let mut begin = None;
        for (timestamp, side, usd) in orders {
            let open = Millis(timestamp.0.div_euclid(HOUR) * HOUR);
            let begin = *begin.get_or_insert(open.on(HOUR));
            // This order makes all earlier hours known, also hours without orders.
            loop {
                let next = rows.last().map_or(begin, |(last, ..)| last.on(HOUR));
                if next > open {
                    break;
                }
                if let Some((_, known, _)) = rows.last_mut() {
                    *known = timestamp;
                }
                rows.push((next, Millis(i64::MAX), [0.0; 2]));
            }
            if let Some((_, _, sums)) = rows.last_mut()
                && let Some(sum) = sums.get_mut(side.index())
            {
                *sum += usd;
            }
        }
        Self {
            period: HOUR,
            from: "orders",
            rows,
        }
    }

    /// Sums liquidation bars shorter than half an hour to hours.
    ///
    /// Longer bars are periods without a sum. `None` if the length of short bars does not divide an hour.
    pub fn of_liquidations(given: &PeriodLiquidations) -> Option<Self> {
        let (interval, first) = (given.interval, given.rows.first()?.0);
        let period = if interval >= HOUR / 2 {
            interval
        } else if HOUR % interval == 0 {
            HOUR
        } else {
            return None;
        };
        let offset = first.0.rem_euclid(interval);
        let mut rows: Vec<(Millis, Millis, [f64; 2])> = Vec::new();
        let mut parts = 0;
        for &(open, usd) in &given.rows {
            let begin = Millis((open.0 - offset).div_euclid(period) * period + offset);
            if rows.last().is_none_or(|(last, ..)| *last != begin) {
                // Drop the previous hour if bars of it are missing.
                if parts * interval < period {
                    rows.pop();
                }
                rows.push((begin, begin.on(period), [0.0; 2]));
                parts = 0;
            }
            parts += 1;
            if let Some((_, _, sums)) = rows.last_mut() {
                for (sum, usd) in sums.iter_mut().zip(usd) {
                    *sum += usd;
                }
            }
        }
        if parts * interval < period {
            rows.pop();
        }
        Some(Self {
            period,
            from: "liquidations",
            rows,
        })
    }
}

impl FitSamples {
    /// USD crossed in a period, by tier.
    pub fn crossed(&self, side: usize, row: usize) -> &[f64] {
        self.sides
            .get(side)
            .and_then(|side| side.crossed.get(row * self.tiers..(row + 1) * self.tiers))
            .unwrap_or_default()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::engine::fit::fit_samples::*;

    const MINUTE: i64 = Millis::MINUTE;

    fn hours(realised: &RealisedPeriods) -> Vec<(i64, i64, [f64; 2])> {
        let rows = realised.rows.iter();
        rows.map(|(open, known, usd)| (open.0 / HOUR, known.0, *usd))
            .collect()
    }

    fn bars(interval: i64, opens: impl Iterator<Item = i64>) -> PeriodLiquidations {
        PeriodLiquidations {
            interval,
            rows: opens.map(|open| (Millis(open), [1.0, 2.0])).collect(),
        }
    }

    #[test]
    fn the_hour_of_the_first_order_is_not_known() {
        let at = |hour: i64, minute: i64| Millis(hour * HOUR + minute * MINUTE);
        let orders = [
            (at(5, 59), Side::Long, 7.0),
            (at(6, 0), Side::Long, 10.0),
            (at(6, 30), Side::Short, 20.0),
            (at(9, 1), Side::Long, 30.0),
        ];
        let realised = RealisedPeriods::of_orders(orders.into_iter());
        let known = at(9, 1).0;
        assert_eq!((realised.period, realised.from), (HOUR, "orders"));
        // The hours 6 to 8 become known with the order at 9:01, also those without orders. Hour 9 is not known yet.
        assert_eq!(
            hours(&realised),
            [
                (6, known, [10.0, 20.0]),
                (7, known, [0.0, 0.0]),
                (8, known, [0.0, 0.0]),
                (9, i64::MAX, [30.0, 0.0]),
            ]
        );
        let one = RealisedPeriods::of_orders(orders.into_iter().take(1));
        assert!(one.rows.is_empty());
        assert!(
            RealisedPeriods::of_orders(std::iter::empty())
                .rows
                .is_empty()
        );
    }

    #[test]
    fn short_periods_are_summed_over_whole_hours() {
        let quarters = bars(15 * MINUTE, (1..13).map(|place| place * 15 * MINUTE));
        let realised = RealisedPeriods::of_liquidations(&quarters).unwrap();
        assert_eq!(realised.period, HOUR);
        // Hours 0 and 3 lack quarters, so they are dropped.
        assert_eq!(
            hours(&realised),
            [(1, 2 * HOUR, [4.0, 8.0]), (2, 3 * HOUR, [4.0, 8.0]),]
        );
        let halves =
            RealisedPeriods::of_liquidations(&bars(30 * MINUTE, [0, 30 * MINUTE].into_iter()));
        let halves = halves.unwrap();
        assert_eq!((halves.period, halves.rows.len()), (30 * MINUTE, 2));
        assert!(RealisedPeriods::of_liquidations(&bars(7 * MINUTE, [0].into_iter())).is_none());
    }
}
