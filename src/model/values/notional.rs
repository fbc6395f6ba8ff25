//! What an order is said to be worth, held against its price and its quantity.

use crate::model::symbols::names::quote_of_pair;
use crate::model::symbols::symbol::Symbol;

/// Quote currencies that count as USD.
const DOLLARS: [&str; 8] = [
    "USDT", "USDC", "USD", "FDUSD", "BUSD", "USD1", "USDE", "TUSD",
];

/// Exchanges whose contracts in USD are held in coins: what stands as their quantity may be a number of contracts.
const INVERSE: [&str; 10] = [
    "binance", "bybit", "okx", "gate", "bitget", "htx", "bitmex", "deribit", "kraken", "coinex",
];

/// By how much a worth may differ that is told of itself.
const FACTOR: f64 = 10.0;
/// What is less apart in USD may be rounded: files have quantities of two decimals.
const ROUNDED: f64 = 100.0;

/// Whether a quote currency counts as USD.
#[must_use]
pub fn is_dollar(quote: &str) -> bool {
    DOLLARS.contains(&quote)
}

/// Whether a pair of an exchange is surely one whose price times quantity is its worth in USD.
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
    // What a contract is held in stands behind the colon.
    if let Some((_, held)) = pair.rsplit_once(':')
        && !is_dollar(&held.trim().to_ascii_uppercase())
    {
        return false;
    }
    let quote = symbol.quote().or_else(|| quote_of_pair(pair));
    symbol.scale() == 1
        && quote.is_some_and(is_dollar)
        && (quote != Some("USD") || !INVERSE.contains(&exchange))
}

/// Whether a worth is more than ten times, and a hundred dollars, off price times quantity.
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
