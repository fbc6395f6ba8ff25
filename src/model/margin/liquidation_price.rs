//! Margin: maintenance rates of the estimate and the price at which a position is liquidated.

use crate::model::Side;

/// The maintenance margin rate the estimate assumes for `coin` at `leverage`.
///
/// 0.5 % for BTC and ETH, 1 % for every other coin; never more than half of the initial margin, so that no position is
/// born dead.
#[must_use]
pub fn maintenance_margin(coin: &str, leverage: f64) -> f64 {
    let rate = match coin {
        "BTC" | "ETH" => 0.005,
        _ => 0.01,
    };
    f64::min(rate, 0.5 / leverage)
}

/// The price at which a linear isolated position is liquidated: equity equals maintenance margin at the mark price.
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

/// What a contract is settled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// Dollars: profit is in proportion to the price.
    Linear,
    /// The coin: profit is in proportion to one over the price.
    Inverse,
}

/// What the maintenance margin is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarginOf {
    /// The position's value at the mark price.
    Mark,
    /// Its value at the entry.
    Entry,
}

/// The terms that an isolated position is held on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Value over initial margin.
    pub leverage: f64,
    /// Maintenance margin rate.
    pub maintenance: f64,
    /// The fee of closing it, where the venue counts it as margin.
    pub fee: f64,
    /// What the maintenance margin is less than its rate tells, per unit of a linear contract.
    pub deduction: f64,
    /// What it is settled in.
    pub contract: Contract,
    /// What the margin of a linear contract is a share of.
    pub margin_of: MarginOf,
}

impl Terms {
    /// The price at which a position from `entry` is liquidated: equity equals maintenance margin.
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
            (Contract::Inverse, _) => entry * (sign + rate) / (sign + initial),
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

    #[test]
    fn equity_is_the_margin_at_the_price() {
        for side in [Side::Long, Side::Short] {
            let sign = if side == Side::Long { 1.0 } else { -1.0 };
            let near = |equity: f64, margin: f64| assert!((equity / margin - 1.0).abs() < 1e-9);
            let price = TERMS.liquidation_price(side, 100.0);
            near(100.0 / 25.0 + sign * (price - 100.0), 0.0105 * price);
            // 100 USD of the coin, in the coin.
            let inverse = Terms {
                contract: Contract::Inverse,
                ..TERMS
            };
            let price = inverse.liquidation_price(side, 100.0);
            near(1.0 / 25.0 + sign * (1.0 - 100.0 / price), 1.05 / price);
            let deducted = Terms {
                deduction: 0.2,
                ..TERMS
            };
            let price = deducted.liquidation_price(side, 100.0);
            near(4.0 + sign * (price - 100.0), 0.0105 * price - 0.2);
            let entered = Terms {
                margin_of: MarginOf::Entry,
                ..deducted
            };
            let price = entered.liquidation_price(side, 100.0);
            near(4.0 + sign * (price - 100.0), 1.05 - 0.2);
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
