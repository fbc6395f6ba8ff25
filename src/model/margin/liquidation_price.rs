//! Maintenance margin rates of the estimate, and liquidation prices.

use crate::model::Side;

/// The maintenance margin rate that the estimate assumes for `coin` at `leverage`.
///
/// 0.5 % for BTC and ETH, 1 % for every other coin; at most half of the initial margin, so that no position is
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

/// The settlement currency of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// USD: profit is proportional to the price.
    Linear,
    /// The coin: profit is proportional to 1 / price.
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
    /// Closing fee rate, if the exchange counts it as margin.
    pub fee: f64,
    /// Deduction from the maintenance margin, per unit of a linear contract.
    pub deduction: f64,
    /// Settlement currency.
    pub contract: Contract,
    /// The notional that the rate of a linear contract applies to.
    pub margin_of: MarginOf,
}

impl Terms {
    /// The liquidation price of a position opened at `entry`, where equity equals maintenance margin.
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
            // 100 USD of the coin, settled in the coin.
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
