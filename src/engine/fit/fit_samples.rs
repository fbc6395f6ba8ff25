//! What a fit is made of: period by period what the price crossed of the map, and what was then liquidated.

use crate::engine::observations::period_liquidations::Liquidations;
use crate::model::{Millis, Side};

/// Realised orders are summed over so long, and liquidation bars that are shorter than half of it.
const HOUR: i64 = Millis::HOUR;

/// The periods of a coin of which it is known what was liquidated, in order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Study {
    /// Length of a period in milliseconds.
    pub(crate) period: i64,
    /// What the amounts are summed of.
    pub(crate) from: &'static str,
    pub(crate) tiers: usize,
    pub(crate) opens: Vec<Millis>,
    /// When it was known what was liquidated in each.
    pub(crate) known_at: Vec<Millis>,
    /// The share of what was liquidated in each that somebody listened to.
    pub(crate) covered: Vec<f64>,
    /// When it was known of each period that is left out that too little of it was listened to.
    pub(crate) left_out: Vec<Millis>,
    pub(crate) sides: [Sided; 2],
}

/// One side of the periods. What the price did stands as far as it was listened to: half of what it crossed, say, in a
/// period of which half was heard, so that what is fitted is the share of all that is liquidated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sided {
    /// USD crossed of the map as it stood at the open, every tier taken to hold all: tier by tier, period after period.
    pub(crate) crossed: Vec<f64>,
    /// How far the price went beyond the close before, as a share of it.
    pub(crate) beyond: Vec<f64>,
    /// USD reported as liquidated.
    pub(crate) usd: Vec<f64>,
}

/// What was liquidated in periods of one length, before it is known what the price did in them.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) period: i64,
    pub(crate) from: &'static str,
    /// Open, when it was known, USD of longs and of shorts.
    pub(crate) rows: Vec<(Millis, Millis, [f64; 2])>,
}

impl Told {
    /// Sums orders, oldest first: event time, side, USD.
    ///
    /// A period is known once an order came after it, as only then it is sure that the feed went on; the one that the
    /// first order lies in is left out, as it may lack what came before.
    pub(crate) fn of_orders(orders: impl Iterator<Item = (Millis, Side, f64)>) -> Self {
        let mut rows: Vec<(Millis, Millis, [f64; 2])> = Vec::new();
        let mut begin = None;
        for (timestamp, side, usd) in orders {
            let open = Millis(timestamp.0.div_euclid(HOUR) * HOUR);
            let begin = *begin.get_or_insert(open.on(HOUR));
            // Every period that ended since is known now, those without orders too.
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

    /// Liquidation bars, summed over an hour where they are shorter than half of one; `None` where none of them fill one.
    pub(crate) fn of_liquidations(given: &Liquidations) -> Option<Self> {
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
                // Only whole periods are known.
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

impl Study {
    /// What the price crossed in a period, tier by tier.
    pub(crate) fn crossed(&self, side: usize, row: usize) -> &[f64] {
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

    fn hours(told: &Told) -> Vec<(i64, i64, [f64; 2])> {
        let rows = told.rows.iter();
        rows.map(|(open, known, usd)| (open.0 / HOUR, known.0, *usd))
            .collect()
    }

    fn bars(interval: i64, opens: impl Iterator<Item = i64>) -> Liquidations {
        Liquidations {
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
        let told = Told::of_orders(orders.into_iter());
        let known = at(9, 1).0;
        assert_eq!((told.period, told.from), (HOUR, "orders"));
        // Of the silent hours, too, it is known once a later order came; of the last hour it is not.
        assert_eq!(
            hours(&told),
            [
                (6, known, [10.0, 20.0]),
                (7, known, [0.0, 0.0]),
                (8, known, [0.0, 0.0]),
                (9, i64::MAX, [30.0, 0.0]),
            ]
        );
        let one = Told::of_orders(orders.into_iter().take(1));
        assert!(one.rows.is_empty());
        assert!(Told::of_orders(std::iter::empty()).rows.is_empty());
    }

    #[test]
    fn short_periods_are_summed_over_whole_hours() {
        let quarters = bars(15 * MINUTE, (1..13).map(|place| place * 15 * MINUTE));
        let told = Told::of_liquidations(&quarters).unwrap();
        assert_eq!(told.period, HOUR);
        // The hours at both ends are not whole.
        assert_eq!(
            hours(&told),
            [(1, 2 * HOUR, [4.0, 8.0]), (2, 3 * HOUR, [4.0, 8.0]),]
        );
        let halves = Told::of_liquidations(&bars(30 * MINUTE, [0, 30 * MINUTE].into_iter()));
        let halves = halves.unwrap();
        assert_eq!((halves.period, halves.rows.len()), (30 * MINUTE, 2));
        assert!(Told::of_liquidations(&bars(7 * MINUTE, [0].into_iter())).is_none());
    }
}
