//! Checks an order's value in USD against price times quantity.

use rust_decimal::Decimal;

use crate::model::symbols::contract_kind::Settlement;
use crate::model::symbols::quotes::is_dollar;
use crate::model::symbols::symbol::Symbol;
use crate::model::values::contract_size::may_be_inverse;
use crate::model::values::short_decimal::nearest_f64;

/// The largest part by which a value in USD may differ from price times quantity.
const APART: f64 = 0.01;
/// Differences of at most this many USD may come from rounded numbers.
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
    symbol.quote().is_some_and(is_dollar)
        && symbol.settlement() != Some(Settlement::Quanto)
        && !may_be_inverse(exchange, &symbol)
}

/// Whether a value in USD contradicts price times quantity: they differ by more than 1 %, and by more than one unit of the
/// last digit of each number explains.
///
/// # Examples
///
/// ```
/// use liqdata::model::contradicts_product;
///
/// let is_contradicted = |price: &str, qty: &str, value: &str| {
///     let [price, qty, value] = [price, qty, value].map(|text| text.parse().unwrap());
///     contradicts_product(price, qty, value)
/// };
/// assert!(is_contradicted("42000", "0.5", "22000"));
/// assert!(!is_contradicted("42000", "0.5", "20950"));
/// assert!(!is_contradicted("0.5", "3.01", "2"));
/// assert_eq!(is_contradicted("0.5", "0.5", "0.0"), is_contradicted("0.5", "0.5", "0"));
/// ```
#[must_use]
pub fn contradicts_product(price: Decimal, qty: Decimal, value_usd: Decimal) -> bool {
    let [one, many, value] = [price, qty, value_usd].map(nearest_f64);
    let worth = one * many;
    let apart = (value - worth).abs();
    if apart <= APART * value.max(worth) {
        return false;
    }
    // A table of doubles has no zeros at the end, so those of a text do not count either.
    let digit = |number: Decimal| nearest_f64(Decimal::new(1, number.normalize().scale()));
    let rounded = digit(price) * many + digit(qty) * one + digit(value_usd);
    apart > rounded.min(ROUNDED)
}
