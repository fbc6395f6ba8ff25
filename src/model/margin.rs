//! Margin: maintenance rates of the estimate and the price at which a position is liquidated.

use super::Side;

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

/// The rate that the first version of the prior assumes: for BTC and ETH 0.65 % below a leverage of 100.
#[must_use]
pub fn first_margin(coin: &str, leverage: f64) -> f64 {
    match coin {
        "BTC" | "ETH" if leverage < 100.0 => f64::min(0.0065, 0.5 / leverage),
        _ => maintenance_margin(coin, leverage),
    }
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
