//! What a fit is made of: period by period what the price crossed of the map, and what was then liquidated.

use crate::engine::liquidations::Liquidations;
use crate::model::{Millis, Side};

/// Realised orders are summed over so long, and liquidation bars that are shorter than half of it.
const HOUR: i64 = Millis::HOUR;

/// The periods of a coin of which it is known what was liquidated, in order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Study {
    /// Length of a period in milliseconds.
    pub(super) period: i64,
    /// What the amounts are summed of.
    pub(super) from: &'static str,
    pub(super) tiers: usize,
    pub(super) opens: Vec<Millis>,
    /// When it was known what was liquidated in each.
    pub(super) known_at: Vec<Millis>,
    pub(super) sides: [Sided; 2],
}

/// One side of the periods.
#[derive(Clone, Debug, Default)]
pub(super) struct Sided {
    /// USD crossed of the map as it stood at the open, every tier taken to hold all: tier by tier, period after period.
    pub(super) crossed: Vec<f64>,
    /// How far the price went beyond the close before, as a share of it.
    pub(super) beyond: Vec<f64>,
    /// USD reported as liquidated.
    pub(super) usd: Vec<f64>,
}

/// What was liquidated in periods of one length, before it is known what the price did in them.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) period: i64,
    pub(super) from: &'static str,
    /// Open, when it was known, USD of longs and of shorts.
    pub(super) rows: Vec<(Millis, Millis, [f64; 2])>,
}

impl Told {
    /// Sums orders, oldest first: event time, side, USD.
    ///
    /// A period is known once an order came after it, as only then it is sure that the feed went on; the one that the
    /// first order lies in may lack what came before.
    pub(super) fn of_orders(orders: impl Iterator<Item = (Millis, Side, f64)>) -> Self {
        let mut rows: Vec<(Millis, Millis, [f64; 2])> = Vec::new();
        let mut first = None;
        for (timestamp, side, usd) in orders {
            let open = Millis(timestamp.0.div_euclid(HOUR) * HOUR);
            let begin = *first.get_or_insert(open);
            // Every period that ended since is known now, those without orders too.
            while rows.last().map_or(begin, |(last, ..)| *last) < open {
                let next = rows.last().map_or(begin, |(last, ..)| last.on(HOUR));
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
    pub(super) fn of_liquidations(given: &Liquidations) -> Option<Self> {
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
    pub(super) fn crossed(&self, side: usize, row: usize) -> &[f64] {
        self.sides
            .get(side)
            .and_then(|side| side.crossed.get(row * self.tiers..(row + 1) * self.tiers))
            .unwrap_or_default()
    }
}
