//! Checks an order's notional against price times quantity.

use crate::model::symbols::contract_kind::Settlement;
use crate::model::symbols::quotes::is_dollar;
use crate::model::symbols::symbol::Symbol;

/// Exchanges with coin-margined USD contracts. There the quantity of a USD pair may be a number of contracts.
const INVERSE: [&str; 10] = [
    "binance", "bybit", "okx", "gate", "bitget", "htx", "bitmex", "deribit", "kraken", "coinex",
];

/// The largest plausible ratio between notional and price times quantity.
const FACTOR: f64 = 10.0;
/// Differences of at most this many USD may be rounding: some files round quantities to two decimals.
const ROUNDED: f64 = 100.0;

/// Whether price times quantity of a pair is certainly its notional in USD.
///
/// # Examples
///
/// ```
/// use liqdata::model::is_worth_its_product;
///
/// assert!(is_worth_its_product("binance", "BTCUSDT"));
/// assert!(!is_worth_its_product("binance", "BTCUSD_PERP"));
/// assert!(!is_worth_its_product("binance", "ETHBTC"));
/// ```
#[must_use]
pub fn is_worth_its_product(exchange: &str, pair: &str) -> bool {
    let Some(symbol) = Symbol::read(pair) else {
        return false;
    };
    let quote = symbol.quote();
    symbol.scale() == 1
        && quote.is_some_and(is_dollar)
        && symbol
            .settlement()
            .is_none_or(|settlement| settlement == Settlement::Linear)
        && (quote != Some("USD") || !INVERSE.contains(&exchange))
}

/// Whether a notional differs from price times quantity more than tenfold and by more than 100 USD.
///
/// # Examples
///
/// ```
/// use liqdata::model::is_far_from_product;
///
/// assert!(is_far_from_product(2000.0, 3.0, 6e9));
/// assert!(!is_far_from_product(2000.0, 3.0, 5990.0));
/// ```
#[must_use]
pub fn is_far_from_product(price: f64, qty: f64, value_usd: f64) -> bool {
    let worth = price * qty;
    let is_far = value_usd > worth * FACTOR || worth > value_usd * FACTOR;
    is_far && (value_usd - worth).abs() > ROUNDED
}
