//! The coins, exchanges and margin brackets of the simulated market.

use rust_decimal::Decimal;

use crate::model::POWERS_OF_TEN_F64;

/// An exchange, and the share of traders that use it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent traits of a feed"
)]
#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedVenue {
    pub(super) name: &'static str,
    /// In percent.
    pub(super) share: u32,
    /// Whether a liquidation is published as one order per fill.
    ///
    /// Such orders may be identical. Other exchanges publish a liquidation as one order.
    pub(super) by_fill: bool,
    /// Whether coins with very low prices are listed in units of a thousand coins.
    pub(super) thousands: bool,
    /// Whether only the largest liquidation of each symbol and second is published.
    pub(super) is_sampled: bool,
    /// Whether the recording of its feed has a gap.
    pub(super) has_gap: bool,
    /// Whether the positions of its traders are published.
    pub(super) shows_positions: bool,
}

/// Number of exchanges.
pub(super) const VENUE_COUNT: usize = 5;

/// The exchanges, in descending order of their share.
pub(super) const VENUES: [SimulatedVenue; VENUE_COUNT] = [
    SimulatedVenue {
        name: "binance",
        share: 42,
        by_fill: false,
        thousands: true,
        is_sampled: true,
        has_gap: false,
        shows_positions: false,
    },
    SimulatedVenue {
        name: "bybit",
        share: 20,
        by_fill: false,
        thousands: true,
        is_sampled: false,
        has_gap: false,
        shows_positions: false,
    },
    SimulatedVenue {
        name: "okx",
        share: 17,
        by_fill: false,
        thousands: false,
        is_sampled: false,
        has_gap: true,
        shows_positions: false,
    },
    SimulatedVenue {
        name: "bitget",
        share: 13,
        by_fill: false,
        thousands: false,
        is_sampled: false,
        has_gap: false,
        shows_positions: true,
    },
    SimulatedVenue {
        name: "gate",
        share: 8,
        by_fill: true,
        thousands: false,
        is_sampled: false,
        has_gap: false,
        shows_positions: false,
    },
];

/// A margin bracket: maintenance rate and maximum leverage for positions up to `cap` USD.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bracket {
    pub(super) cap: f64,
    pub(super) rate: f64,
    pub(super) leverage: f64,
}

const fn bracket(cap: f64, rate: f64, leverage: f64) -> Bracket {
    Bracket {
        cap,
        rate,
        leverage,
    }
}

const MAJOR: &[Bracket] = &[
    bracket(50e3, 0.004, 125.0),
    bracket(600e3, 0.005, 100.0),
    bracket(3e6, 0.0065, 75.0),
    bracket(12e6, 0.01, 50.0),
    bracket(70e6, 0.02, 25.0),
    bracket(100e6, 0.025, 20.0),
    bracket(f64::INFINITY, 0.05, 10.0),
];
const LARGE: &[Bracket] = &[
    bracket(20e3, 0.005, 100.0),
    bracket(100e3, 0.0065, 75.0),
    bracket(800e3, 0.01, 50.0),
    bracket(4e6, 0.02, 25.0),
    bracket(8e6, 0.025, 20.0),
    bracket(f64::INFINITY, 0.05, 10.0),
];
const MIDDLE: &[Bracket] = &[
    bracket(10e3, 0.005, 75.0),
    bracket(50e3, 0.007, 75.0),
    bracket(750e3, 0.01, 40.0),
    bracket(2e6, 0.02, 25.0),
    bracket(f64::INFINITY, 0.05, 10.0),
];
const SMALL: &[Bracket] = &[
    bracket(20e3, 0.0065, 75.0),
    bracket(200e3, 0.01, 50.0),
    bracket(300e3, 0.015, 40.0),
    bracket(1.5e6, 0.02, 25.0),
    bracket(f64::INFINITY, 0.05, 10.0),
];

/// One simulated coin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SimulatedCoin {
    pub(super) symbol: &'static str,
    /// Price at the start of the simulation, in USD per base unit.
    pub(super) start: f64,
    /// Number of decimals of a price: the tick is `10^-price_digits`.
    price_digits: u32,
    /// Number of decimals of a quantity: the lot is `10^-lot_digits`; -3 means a lot of a thousand base units.
    lot_digits: i32,
    /// Typical open interest in USD; book depth and position sizes are proportional to it.
    pub(super) scale: f64,
    /// Positions opened in an average bar; more arrivals mean smaller positions.
    pub(super) arrivals: f64,
    /// Standard deviation of the daily log return.
    pub(super) volatility: f64,
    /// Correlation of the coin's shocks with the market-wide shocks.
    pub(super) correlation: f64,
    pub(super) brackets: &'static [Bracket],
}

const fn coin(
    symbol: &'static str,
    (start, price_digits, lot_digits): (f64, u32, i32),
    (scale, arrivals): (f64, f64),
    (volatility, correlation): (f64, f64),
    brackets: &'static [Bracket],
) -> SimulatedCoin {
    SimulatedCoin {
        symbol,
        start,
        price_digits,
        lot_digits,
        scale,
        arrivals,
        volatility,
        correlation,
        brackets,
    }
}

/// The coins, in descending order of size.
pub(super) const COINS: [SimulatedCoin; 10] = [
    coin("BTC", (95_000.0, 1, 3), (4.5e9, 26.0), (0.022, 0.95), MAJOR),
    coin("ETH", (3_200.0, 2, 3), (2.4e9, 18.0), (0.031, 0.85), MAJOR),
    coin("SOL", (150.0, 3, 2), (9e8, 12.0), (0.038, 0.8), LARGE),
    coin("XRP", (2.2, 4, 1), (6e8, 10.0), (0.036, 0.7), MIDDLE),
    coin("DOGE", (0.18, 5, 0), (3.5e8, 9.0), (0.042, 0.75), MIDDLE),
    coin("BNB", (850.0, 2, 2), (4e8, 7.0), (0.026, 0.75), LARGE),
    coin("ADA", (0.55, 5, 0), (2e8, 6.0), (0.040, 0.75), MIDDLE),
    coin("AVAX", (18.0, 4, 0), (1.4e8, 6.0), (0.044, 0.75), MIDDLE),
    coin("LINK", (15.0, 4, 1), (1.5e8, 6.0), (0.041, 0.75), MIDDLE),
    coin("PEPE", (8.5e-6, 10, -3), (1.6e8, 6.0), (0.055, 0.65), SMALL),
];

impl SimulatedCoin {
    /// Converts ticks to a price: the double nearest to the exact decimal.
    pub(super) fn price(&self, ticks: i64) -> f64 {
        count(ticks) / power_of_ten(self.price_digits)
    }

    /// Converts a price to the nearest whole number of ticks, at least one.
    pub(super) fn ticks(&self, price: f64) -> i64 {
        nearest(price * power_of_ten(self.price_digits)).max(1)
    }

    /// Converts lots to base units: the double nearest to the exact decimal.
    pub(super) fn quantity(&self, lots: i64) -> f64 {
        let unit = power_of_ten(self.lot_digits.unsigned_abs());
        if self.lot_digits < 0 {
            count(lots) * unit
        } else {
            count(lots) / unit
        }
    }

    /// Converts a quantity to the nearest whole number of lots, at least one.
    pub(super) fn lots(&self, quantity: f64) -> i64 {
        let unit = power_of_ten(self.lot_digits.unsigned_abs());
        let lots = if self.lot_digits < 0 {
            quantity / unit
        } else {
            quantity * unit
        };
        nearest(lots).max(1)
    }

    /// Returns the margin bracket for a position of `notional` USD, with its maintenance deduction.
    ///
    /// The deduction is the amount in USD that makes the maintenance margin continuous across brackets.
    pub(super) fn bracket(&self, notional: f64) -> (Bracket, f64) {
        let mut deduction = 0.0;
        let mut below: Option<Bracket> = None;
        for &bracket in self.brackets {
            if let Some(below) = below {
                deduction += below.cap * (bracket.rate - below.rate);
            }
            if notional <= bracket.cap {
                return (bracket, deduction);
            }
            below = Some(bracket);
        }
        (bracket(f64::INFINITY, 0.05, 10.0), deduction)
    }

    /// Returns pair, price and quantity as an exchange publishes them.
    ///
    /// They may be in units of a thousand coins.
    pub(super) fn listed(
        &self,
        venue: SimulatedVenue,
        ticks: i64,
        lots: i64,
    ) -> (String, Decimal, Decimal) {
        let thousands = self.lot_digits < 0 && venue.thousands;
        let pair = if thousands {
            format!("1000{}USDT", self.symbol)
        } else {
            format!("{}USDT", self.symbol)
        };
        let (price_digits, lot_digits) = if thousands {
            (
                self.price_digits.saturating_sub(3),
                self.lot_digits.saturating_add(3),
            )
        } else {
            (self.price_digits, self.lot_digits)
        };
        let quantity = if lot_digits < 0 {
            Decimal::from(lots) * Decimal::from(10_i64.pow(lot_digits.unsigned_abs()))
        } else {
            Decimal::new(lots, lot_digits.unsigned_abs())
        };
        (pair, Decimal::new(ticks, price_digits), quantity)
    }
}

/// Converts a count to a double; counts of ticks and lots stay far below 2^53.
#[expect(
    clippy::cast_precision_loss,
    reason = "ticks and lots stay far below 2^53"
)]
pub(super) fn count(value: i64) -> f64 {
    value as f64
}

/// Rounds to the nearest whole number.
#[expect(
    clippy::cast_possible_truncation,
    reason = "ticks, lots and bars stay far below 2^53"
)]
pub(super) fn nearest(value: f64) -> i64 {
    value.round() as i64
}

/// Ten to the power of `digits`.
fn power_of_ten(digits: u32) -> f64 {
    POWERS_OF_TEN_F64
        .get(digits as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_the_venues_sum_to_one() {
        let sum: u32 = VENUES.iter().map(|venue| venue.share).sum();
        assert_eq!(sum, 100);
    }

    #[test]
    fn maintenance_margin_is_continuous_from_bracket_to_bracket() {
        for coin in COINS {
            for pair in coin.brackets.windows(2) {
                let cap = pair[0].cap;
                let margin = |notional: f64| {
                    let (bracket, deduction) = coin.bracket(notional);
                    notional * bracket.rate - deduction
                };
                let (at, above) = (margin(cap), margin(cap * (1.0 + 1e-12)));
                assert!((above / at - 1.0).abs() < 1e-9, "{} {cap}", coin.symbol);
            }
        }
    }

    #[test]
    fn a_listing_in_thousands_has_the_same_value() {
        let pepe = COINS.iter().find(|coin| coin.symbol == "PEPE").unwrap();
        let (pair, price, qty) = pepe.listed(VENUES[0], 85_123, 7);
        assert_eq!(pair, "1000PEPEUSDT");
        assert_eq!(
            (price.to_string(), qty.to_string()),
            ("0.0085123".into(), "7".into())
        );
        let (pair, plain_price, plain_qty) = pepe.listed(VENUES[2], 85_123, 7);
        assert_eq!(pair, "PEPEUSDT");
        assert_eq!(
            (plain_price.to_string(), plain_qty.to_string()),
            ("0.0000085123".into(), "7000".into())
        );
        assert_eq!(price * qty, plain_price * plain_qty);
    }
}
