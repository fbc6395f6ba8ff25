//! Traders of the simulated market: position size, leverage, holding time and closing prices.

use rand::{Rng, RngExt};

use super::coins::{SimulatedCoin, count, nearest};
use super::price_path::exponential;
use crate::model::Side;

/// A group of traders that share the parameters of their random draws.
#[derive(Debug)]
struct Crowd {
    share: f64,
    /// Selectable leverages, each with its probability.
    leverages: &'static [(f64, f64)],
    /// Smallest position size, in multiples of the coin's `scale` divided by its `arrivals`.
    size: f64,
    /// Exponent of the power law of position sizes; a smaller exponent gives more large positions.
    tail: f64,
    /// Probability of sizes above the maximum; the power law is cut off there.
    beyond: f64,
    /// Mean holding time in bars.
    patience: f64,
}

/// Gamblers, day traders and long-term holders. Leverages cluster at round values, as in order forms.
const CROWDS: [Crowd; 3] = [
    Crowd {
        share: 0.62,
        leverages: &[
            (10.0, 0.10),
            (20.0, 0.24),
            (25.0, 0.14),
            (50.0, 0.22),
            (75.0, 0.07),
            (100.0, 0.18),
            (125.0, 0.05),
        ],
        size: 8e-5,
        tail: 1.15,
        beyond: 1.0e-3,
        patience: 60.0,
    },
    Crowd {
        share: 0.28,
        leverages: &[
            (3.0, 0.08),
            (5.0, 0.20),
            (10.0, 0.30),
            (15.0, 0.08),
            (20.0, 0.12),
            (25.0, 0.06),
            (50.0, 0.12),
            (75.0, 0.02),
            (100.0, 0.02),
        ],
        size: 9e-4,
        tail: 1.3,
        beyond: 1.5e-3,
        patience: 220.0,
    },
    Crowd {
        share: 0.10,
        leverages: &[
            (2.0, 0.22),
            (3.0, 0.26),
            (5.0, 0.26),
            (10.0, 0.20),
            (20.0, 0.06),
        ],
        size: 3.4e-3,
        tail: 1.4,
        beyond: 3.2e-3,
        patience: 1700.0,
    },
];

/// Traders with at least this leverage use a stop loss twice as often.
const HIGH_LEVERAGE: f64 = 50.0;

/// Changes to the default behaviour of the simulated traders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// Each leverage's weight is multiplied by the leverage to this power; below zero, low leverages prevail.
    pub tilt: f64,
    /// Factor by which holding times are multiplied.
    pub patience: f64,
    /// Share of traders that add margin; added margin moves the liquidation price away from the entry.
    pub extra: f64,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            tilt: 0.0,
            patience: 1.0,
            extra: 0.3,
        }
    }
}

impl Habits {
    /// Draws a leverage from those of the crowd.
    fn leverage(&self, crowd: &Crowd, rng: &mut impl Rng) -> Option<f64> {
        let usual = crowd.leverages.iter().copied();
        if self.tilt == 0.0 {
            return pick(usual, rng);
        }
        let tilted = usual.map(|(leverage, weight)| (leverage, weight * leverage.powf(self.tilt)));
        let sum: f64 = tilted.clone().map(|(_, weight)| weight).sum();
        pick(
            tilted.map(|(leverage, weight)| (leverage, weight / sum)),
            rng,
        )
    }
}

/// The position that a trader wants to open, before the entry price is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    leverage: f64,
    /// Notional in USD.
    notional: f64,
    /// Maximum number of bars until the position closes.
    pub(super) bars: usize,
    /// Added margin, roughly in multiples of the initial margin; 0 if the trader adds none.
    extra: f64,
    /// Stop loss as a fraction of the distance from entry to liquidation; `None` without a stop.
    stop: Option<f64>,
    /// Take profit in multiples of the distance from entry to liquidation; `None` without one.
    profit: Option<f64>,
}

/// Side, leverage, entry, size and liquidation price of a position.
#[derive(Clone, Copy, Debug)]
pub(super) struct PositionTerms {
    pub(super) side: Side,
    pub(super) leverage: f64,
    pub(super) entry: f64,
    pub(super) lots: i64,
    /// Mark price at which the position is liquidated.
    pub(super) liquidation: f64,
}

/// Prices at which a position is closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exits {
    /// Lower price at which the position closes: liquidation, stop loss or take profit.
    pub(super) down: Option<f64>,
    /// Upper price at which the position closes: liquidation, stop loss or take profit.
    pub(super) up: Option<f64>,
}

/// Draws one of `items` by its weight; the weights sum to 1.
fn pick<T: Copy>(items: impl Iterator<Item = (T, f64)>, rng: &mut impl Rng) -> Option<T> {
    let mut left: f64 = rng.random();
    let mut last = None;
    for (item, weight) in items {
        last = Some(item);
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    last
}

/// Draws an index by `weights`, which sum to 1.
pub(super) fn place(weights: impl Iterator<Item = f64>, rng: &mut impl Rng) -> usize {
    pick(weights.enumerate(), rng).unwrap_or(0)
}

impl Plan {
    /// Draws the plan of a new trader of `coin`; `None` only if there are no crowds.
    pub(super) fn draw(coin: &SimulatedCoin, habits: &Habits, rng: &mut impl Rng) -> Option<Self> {
        let crowd = pick(CROWDS.iter().map(|crowd| (crowd, crowd.share)), rng)?;
        let wished = habits.leverage(crowd, rng)?;
        // Inverse transform sampling of the power law.
        let tail = (1.0 - rng.random::<f64>() * (1.0 - crowd.beyond)).powf(-1.0 / crowd.tail);
        let notional = coin.scale / coin.arrivals * crowd.size * tail;
        let patience = crowd.patience * habits.patience;
        let bars = usize::try_from(nearest(1.0 + patience * exponential(rng))).unwrap_or(1);
        let extra = if rng.random::<f64>() < habits.extra {
            1.5 * exponential(rng)
        } else {
            0.0
        };
        let careful = if wished < HIGH_LEVERAGE { 0.25 } else { 0.5 };
        let stop = (rng.random::<f64>() < careful).then(|| 0.3 + 0.6 * rng.random::<f64>());
        let profit = (rng.random::<f64>() < 0.4).then(|| 0.5 + 1.5 * exponential(rng));
        Some(Self {
            leverage: wished,
            notional,
            bars,
            extra,
            stop,
            profit,
        })
    }

    /// Opens the planned position at the price `entry`, under the margin brackets of the coin.
    ///
    /// The leverage is limited to the maximum of the bracket.
    pub(super) fn take(
        &self,
        coin: &SimulatedCoin,
        side: Side,
        entry: f64,
    ) -> (PositionTerms, Exits) {
        let lots = coin.lots(self.notional / entry);
        let quantity = coin.quantity(lots);
        let (bracket, deduction) = coin.bracket(quantity * entry);
        let leverage = self.leverage.min(bracket.leverage);
        // All values are per base unit. Added margin covers a part of what the initial margin leaves uncovered, never
        // all of it.
        let initial = entry / leverage;
        let relief = deduction / quantity;
        let uncovered = entry - initial - relief;
        let extra = if self.extra > 0.0 {
            uncovered * (1.0 - (1.0 - 1.0 / leverage).powf(self.extra))
        } else {
            0.0
        };
        let liquidation = match side {
            Side::Long => (uncovered - extra) / (1.0 - bracket.rate),
            Side::Short => (entry + initial + relief + extra) / (1.0 + bracket.rate),
        };
        let away = (liquidation - entry).abs() / entry;
        let stop = self.stop.map(|part| entry + (liquidation - entry) * part);
        let out = Some(stop.unwrap_or(liquidation));
        let (down, up) = match side {
            Side::Long => (out, self.profit.map(|ways| entry * (1.0 + away * ways))),
            Side::Short => (self.profit.map(|ways| entry * (-away * ways).exp()), out),
        };
        let terms = PositionTerms {
            side,
            leverage,
            entry,
            lots,
            liquidation,
        };
        (terms, Exits { down, up })
    }
}

/// Draws the side of the next trader; rising prices favour longs, a surplus of longs favours shorts.
pub(super) fn side(momentum: f64, longs: i64, shorts: i64, rng: &mut impl Rng) -> Side {
    let total = count(longs.saturating_add(shorts)).max(1.0);
    let crowding = count(longs.saturating_sub(shorts)) / total;
    let long = (0.5 + 0.1 * momentum.tanh() - 1.5 * crowding).clamp(0.1, 0.9);
    if rng.random::<f64>() < long {
        Side::Long
    } else {
        Side::Short
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::coins::COINS;
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn no_position_is_born_dead_or_deathless_and_every_leverage_is_allowed() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for coin in COINS {
            for _ in 0..2000 {
                let plan = Plan::draw(&coin, &Habits::default(), &mut rng).unwrap();
                for side in [Side::Long, Side::Short] {
                    let (terms, exits) = plan.take(&coin, side, coin.start);
                    let (bracket, _) = coin.bracket(coin.quantity(terms.lots) * terms.entry);
                    assert!((2.0..=bracket.leverage).contains(&terms.leverage));
                    assert!(terms.lots > 0);
                    match side {
                        Side::Long => {
                            assert!(0.0 < terms.liquidation && terms.liquidation < terms.entry);
                        }
                        Side::Short => assert!(terms.liquidation > terms.entry),
                    }
                    assert!(exits.down.is_none_or(|down| down < terms.entry));
                    assert!(exits.up.is_none_or(|up| up > terms.entry));
                }
            }
        }
    }

    #[test]
    fn habits_change_leverages_holding_times_and_margins_as_they_say() {
        let drawn = |habits: Habits| {
            let mut rng = ChaCha8Rng::seed_from_u64(4);
            let plans: Vec<Plan> = (0..4000)
                .map(|_| Plan::draw(&COINS[0], &habits, &mut rng).unwrap())
                .collect();
            let mean = |of: fn(&Plan) -> f64| {
                plans.iter().map(of).sum::<f64>() / f64::from(u16::try_from(plans.len()).unwrap())
            };
            [
                mean(|plan| plan.leverage),
                mean(|plan| f64::from(u32::try_from(plan.bars).unwrap())),
                mean(|plan| f64::from(u8::from(plan.extra > 0.0))),
            ]
        };
        let usual = Habits::default();
        let [leverage, bars, extra] = drawn(usual);
        assert!((extra - 0.3).abs() < 0.03);
        assert!(
            drawn(Habits {
                tilt: -1.0,
                ..usual
            })[0]
                < 0.6 * leverage
        );
        assert!(drawn(Habits { tilt: 1.0, ..usual })[0] > 1.4 * leverage);
        let patient = drawn(Habits {
            patience: 4.0,
            ..usual
        });
        assert!((patient[1] / bars - 4.0).abs() < 0.1);
        assert_eq!(patient[0].to_bits(), leverage.to_bits());
        let isolated = drawn(Habits {
            extra: 0.0,
            ..usual
        });
        assert_eq!(isolated[2].to_bits(), 0);
    }

    #[test]
    fn an_isolated_small_position_is_liquidated_where_the_formula_says() {
        let plan = Plan {
            leverage: 100.0,
            notional: 10_000.0,
            bars: 1,
            extra: 0.0,
            stop: None,
            profit: None,
        };
        for side in [Side::Long, Side::Short] {
            let (terms, _) = plan.take(&COINS[0], side, 95_000.0);
            let price = crate::model::liquidation_price(side, 95_000.0, 100.0, 0.004);
            assert!((terms.liquidation / price - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_lighter_side_draws_traders() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut longs = |open_lots: (i64, i64)| {
            (0..2000)
                .filter(|_| side(0.0, open_lots.0, open_lots.1, &mut rng) == Side::Long)
                .count()
        };
        assert!(longs((60, 40)) < longs((50, 50)));
        assert!(longs((50, 50)) < longs((40, 60)));
    }
}
