//! Maintenance margin rates of the estimate, and liquidation prices.

use crate::model::Side;

/// The maintenance margin rate that the estimate assumes for `coin` at `leverage`.
///
/// 0.5 % for BTC and ETH, 1 % for every other coin; at most half of the initial margin rate, so that no position is
/// liquidated at entry.
#[must_use]
pub fn maintenance_margin(coin: &str, leverage: f64) -> f64 {
    let rate = match coin {
        "BTC" | "ETH" => 0.005,
        _ => 0.01,
    };
    f64::min(rate, 0.5 / leverage)
}

/// The liquidation price of a linear isolated position, where equity equals maintenance margin at the mark price.
///
/// `P = E (1 − 1/L) / (1 − m)` for a long, `P = E (1 + 1/L) / (1 + m)` for a short.
///
/// # Examples
///
/// ```
/// use liqdata::model::{Side, liquidation_price};
///
/// let price = liquidation_price(Side::Long, 100.0, 100.0, 0.005);
/// assert!((price - 99.4975).abs() < 1e-4);
/// ```
#[must_use]
pub fn liquidation_price(side: Side, entry: f64, leverage: f64, maintenance: f64) -> f64 {
    match side {
        Side::Long => entry * (1.0 - 1.0 / leverage) / (1.0 - maintenance),
        Side::Short => entry * (1.0 + 1.0 / leverage) / (1.0 + maintenance),
    }
}

/// How a contract settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// In USD: profit is proportional to the price.
    Linear,
    /// In the coin: profit is proportional to 1 / price.
    Inverse,
}

/// The notional that the maintenance margin rate applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarginOf {
    /// The notional at the mark price.
    Mark,
    /// The notional at the entry price.
    Entry,
}

/// The margin terms of an isolated position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Notional divided by initial margin.
    pub leverage: f64,
    /// Maintenance margin rate.
    pub maintenance: f64,
    /// Closing fee rate, if the exchange adds it to the maintenance margin; otherwise 0.
    pub fee: f64,
    /// Deduction from the maintenance margin, per unit of a linear contract.
    pub deduction: f64,
    /// Settlement currency.
    pub contract: Contract,
    /// The notional that the maintenance margin rate applies to.
    pub margin_of: MarginOf,
}

impl Terms {
    /// The liquidation price of a position opened at `entry`: the price at which equity equals maintenance margin.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::model::{Contract, MarginOf, Side, Terms};
    ///
    /// let terms = Terms {
    ///     leverage: 50.0,
    ///     maintenance: 0.005,
    ///     fee: 0.0,
    ///     deduction: 0.0,
    ///     contract: Contract::Linear,
    ///     margin_of: MarginOf::Entry,
    /// };
    /// assert!((terms.liquidation_price(Side::Long, 20_000.0) - 19_700.0).abs() < 1e-9);
    /// ```
    #[must_use]
    pub fn liquidation_price(&self, side: Side, entry: f64) -> f64 {
        let sign = match side {
            Side::Long => 1.0,
            Side::Short => -1.0,
        };
        let rate = self.maintenance + self.fee;
        let initial = 1.0 / self.leverage;
        match (self.contract, self.margin_of) {
            (Contract::Linear, MarginOf::Mark) => {
                (entry * (sign - initial) - self.deduction) / (sign - rate)
            }
            (Contract::Linear, MarginOf::Entry) => {
                entry * (1.0 - sign * (initial - rate)) - sign * self.deduction
            }
            (Contract::Inverse, MarginOf::Mark) => entry * (sign + rate) / (sign + initial),
            (Contract::Inverse, MarginOf::Entry) => entry / (1.0 + sign * (initial - rate)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::margin::liquidation_price::*;

    const TERMS: Terms = Terms {
        leverage: 25.0,
        maintenance: 0.01,
        fee: 0.0005,
        deduction: 0.0,
        contract: Contract::Linear,
        margin_of: MarginOf::Mark,
    };

    /// Equity minus maintenance margin at `price`, in the settlement currency. The position has a size of one coin if
    /// it is linear, or of one USD if it is inverse.
    fn surplus(terms: Terms, side: Side, entry: f64, price: f64) -> f64 {
        let sign = if side == Side::Long { 1.0 } else { -1.0 };
        // The value of the position at a price, and the sign of the profit when this value rises.
        let (value, rises): (fn(f64) -> f64, f64) = match terms.contract {
            Contract::Linear => (|at| at, sign),
            Contract::Inverse => (|at| 1.0 / at, -sign),
        };
        let equity = value(entry) / terms.leverage + rises * (value(price) - value(entry));
        let base = match terms.margin_of {
            MarginOf::Mark => value(price),
            MarginOf::Entry => value(entry),
        };
        equity - (terms.maintenance + terms.fee) * base + terms.deduction
    }

    #[test]
    fn equity_is_the_margin_at_the_price() {
        for (contract, deductions) in [
            (Contract::Linear, &[0.0, 0.2][..]),
            (Contract::Inverse, &[0.0]),
        ] {
            for margin_of in [MarginOf::Mark, MarginOf::Entry] {
                for side in [Side::Long, Side::Short] {
                    for (leverage, maintenance) in [(1.5, 0.0), (2.0, 0.1), (25.0, 0.01)] {
                        for &deduction in deductions {
                            let terms = Terms {
                                leverage,
                                maintenance,
                                deduction,
                                contract,
                                margin_of,
                                ..TERMS
                            };
                            let price = terms.liquidation_price(side, 100.0);
                            let left = surplus(terms, side, 100.0, price);
                            assert!(left.abs() < 1e-12, "{terms:?} {side:?}: {left} at {price}");
                            // At 1 % above the liquidation price, a long has more equity than margin, and a short has
                            // less.
                            let above = surplus(terms, side, 100.0, price * 1.01);
                            assert_eq!(above > 0.0, side == Side::Long, "{terms:?} {side:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn without_a_fee_and_a_deduction_it_is_the_estimates_price() {
        let plain = Terms { fee: 0.0, ..TERMS };
        for side in [Side::Long, Side::Short] {
            let wanted = liquidation_price(side, 31_000.0, 25.0, 0.01);
            let found = plain.liquidation_price(side, 31_000.0);
            assert!((found / wanted - 1.0).abs() < 1e-14);
        }
    }
}
